//! Writes tables as Parquet, uncompressed, one row group each; every column is optional.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::table::{Cell, Kind, Table};

/// The table as the bytes of a Parquet file.
///
/// # Errors
/// What the Parquet library says; writing to memory fails only where a table exceeds what a file may hold.
pub fn write(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let fields = table.columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder(table.name).with_fields(fields).build()?;
    let producer = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
    let properties = WriterProperties::builder().set_created_by(producer.into()).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (at, (_, kind)) in table.columns.iter().enumerate() {
        let cells = table.rows.iter().map(|row| &row[at]);
        match kind {
            Kind::Text => column::<ByteArrayType>(&mut group, cells, |cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.as_str())),
                _ => None,
            })?,
            Kind::Number => column::<DoubleType>(&mut group, cells, |cell| match cell {
                Cell::Number(number) => Some(*number),
                _ => None,
            })?,
            Kind::Whole | Kind::Time => column::<Int64Type>(&mut group, cells, |cell| match cell {
                Cell::Whole(whole) => Some(*whole),
                _ => None,
            })?,
        }
    }
    group.close()?;
    writer.into_inner()
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Number => (Physical::DOUBLE, None),
        Kind::Whole => (Physical::INT64, None),
        Kind::Time => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

/// One column: the values that there are, and for each row whether it has one.
fn column<'a, T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: impl Iterator<Item = &'a Cell>,
    value: impl Fn(&Cell) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = cells.map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let present: Vec<T::T> = values.into_iter().flatten().collect();
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("a column more than the schema has".into()));
    };
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}
