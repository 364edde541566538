// The columns of the table: which runtime and which build each holds.

/** In reading order. */
export const COLUMNS = [
  { id: 'wasm', label: 'wasm', runtime: 'browser-wasm', flavour: 'wide', fine: '64-bit limbs' },
  { id: 'plain', label: 'wasm', runtime: 'browser-wasm', flavour: 'plain', fine: '32-bit limbs' },
  { id: 'webcrypto', label: 'WebCrypto', runtime: 'webcrypto', fine: 'this browser' },
  { id: 'js', label: 'noble', runtime: 'browser-js', fine: 'pure JavaScript' },
  { id: 'native', label: 'native', runtime: 'native', fine: 'recorded' },
  { id: 'jvm', label: 'JVM', runtime: 'jvm', fine: 'recorded' },
];

/** The column of a row; undefined where it has none. */
export function columnOf(row) {
  return COLUMNS.find((c) => c.runtime === row.runtime && (c.flavour === undefined || c.flavour === row.flavour));
}

/**
 * @param {string[]} names
 * @param {Map<string, object>} rows what was measured here, by key
 * @param {object[]} recorded rows of other runtimes: `{name, runtime, p50}`
 * @returns {Map<string, Map<string, object>>} by workload name, then by column
 */
export function byName(names, rows, recorded) {
  const all = new Map(names.map((name) => [name, new Map()]));
  for (const row of [...recorded, ...rows.values()]) {
    const column = columnOf(row);
    if (column && all.has(row.name)) all.get(row.name).set(column.id, row);
  }
  return all;
}
