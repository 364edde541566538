//! The rows: X25519, Ed25519 and single field operations in every representation.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::ed25519::{self, Key};
use super::edwards::Curve;
use super::{
    BASE, Boxed, Field, Limbs4, Limbs4Inlined, Limbs5, Limbs5Inlined, Limbs10, Limbs10Inlined, Limbs16, Limbs16Inlined,
    Limbs16Peeled, Limbs16PeeledInlined, Limbs16Symmetric, Limbs16SymmetricInlined, carry_peeled, carry_wrapping,
    ladder,
};
use crate::primitive::pool::{array, same};
use crate::workload::{Digest, Kind, Rewrite, Workload};

/// Distinct inputs a row.
const INPUTS: usize = 64;
/// Bytes of an Ed25519 message, as in the published rows.
const MESSAGE: usize = 256;

/// Every row of the family.
pub fn all() -> Vec<Workload> {
    let mut all = Vec::new();
    representation::<Limbs16, Limbs16Inlined>(&mut all);
    representation::<Limbs16Peeled, Limbs16PeeledInlined>(&mut all);
    representation::<Limbs16Symmetric, Limbs16SymmetricInlined>(&mut all);
    representation::<Limbs10, Limbs10Inlined>(&mut all);
    representation::<Limbs5, Limbs5Inlined>(&mut all);
    representation::<Limbs4, Limbs4Inlined>(&mut all);
    all.push(carry_row("wrapping", carry_wrapping));
    all.push(carry_row("peeled", carry_peeled));
    all
}

/// The rewrite that a profile of a 16-limb field suggests: the carry with its last step peeled off.
pub fn rewrites() -> Vec<Rewrite> {
    use super::{CARRIES_PER_MUL, Counted, count};
    let scalar = std::array::from_fn(|i| i as u8 + 1);
    let (_, ops) = count(|| ladder::<Counted<Limbs16>>(&scalar, &BASE));
    let carries = (ops.mul + ops.square + ops.mul_small) * u64::from(CARRIES_PER_MUL);
    vec![Rewrite {
        name: "carry".to_owned(),
        operation: name::<Limbs16>("ladder", ""),
        rewritten: name::<Limbs16Peeled>("ladder", ""),
        blamed: "*::carry_wrapping".to_owned(),
        blamed_alone: "field25519/carry/16x16-wrapping".to_owned(),
        rewrite_alone: "field25519/carry/16x16-peeled".to_owned(),
        calls: carries as f64,
    }]
}

fn representation<F: Field, Inlined: Field>(all: &mut Vec<Workload>) {
    all.extend([mul_row::<F>(), square_row::<F>()]);
    operations::<F>(all, "");
    operations::<Boxed<F>>(all, "-boxed");
    // The ladder alone: inlined into signing and verification as well, the field would take minutes to compile.
    all.push(ladder_row::<Inlined>("-inlined"));
}

fn operations<F: Field>(all: &mut Vec<Workload>, form: &str) {
    all.extend([ladder_row::<F>(form), sign_row::<F>(form), verify_row::<F>(form)]);
}

fn name<F: Field>(operation: &str, form: &str) -> String {
    format!("field25519/{operation}/{}{form}", F::NAME)
}

fn finish<F: Field>(workload: Workload) -> Workload {
    let implementation = format!(
        "countercheck {}, {} products a multiplication, {} a squaring",
        F::NAME,
        F::MUL_PRODUCTS,
        F::SQUARE_PRODUCTS
    );
    workload.family("field25519").implementation(&implementation)
}

/// Finished as an operation, although its inputs are only read.
fn operation<F: Field>(workload: Workload) -> Workload {
    let mut workload = finish::<F>(workload);
    workload.kind = Kind::Operation;
    workload
}

fn ladder_row<F: Field>(form: &str) -> Workload {
    operation::<F>(Workload::primitive(
        &name::<F>("ladder", form),
        |seed| {
            let mut random = ChaCha20Rng::seed_from_u64(seed);
            let mut pair = || {
                let (scalar, public) = (array(&mut random), x25519_dalek::x25519(array(&mut random), BASE));
                (scalar, public, x25519_dalek::x25519(scalar, public))
            };
            (0..INPUTS).map(|_| pair()).collect()
        },
        |(scalar, u, _)| ladder::<F>(scalar, u),
        |(_, _, expected), output| same(expected, output),
    ))
}

fn sign_row<F: Field>(form: &str) -> Workload {
    operation::<F>(Workload::primitive(
        &name::<F>("sign", form),
        |seed| {
            let curve = std::sync::Arc::new(Curve::<F>::new());
            signatures(seed).into_iter().map(|input| (curve.clone(), input)).collect()
        },
        |(curve, input)| ed25519::sign(curve, &input.key, &input.message),
        |(_, input), output| same(&input.signature, output),
    ))
}

fn verify_row<F: Field>(form: &str) -> Workload {
    operation::<F>(Workload::primitive(
        &name::<F>("verify", form),
        |seed| {
            let curve = std::sync::Arc::new(Curve::<F>::new());
            signatures(seed).into_iter().map(|input| (curve.clone(), input)).collect()
        },
        |(curve, input)| ed25519::verify(curve, input.key.public(), &input.message, &input.signature),
        |(_, input), valid| {
            if *valid { Ok(Digest::of(&input.signature)) } else { Err("a valid signature was refused".to_owned()) }
        },
    ))
}

/// The row of an operation of [`OPERATIONS`](super::explain::OPERATIONS) in this representation.
pub(super) fn row<F: Field>(operation: &str) -> Workload {
    match operation {
        "ladder" => ladder_row::<F>(""),
        "sign" => sign_row::<F>(""),
        _ => verify_row::<F>(""),
    }
}

/// A key, a message and the signature that ed25519-dalek makes of it.
#[derive(Clone)]
pub(super) struct Signed {
    pub(super) key: Key,
    pub(super) message: [u8; MESSAGE],
    pub(super) signature: [u8; 64],
}

pub(super) fn signatures(seed: u64) -> Vec<Signed> {
    use ed25519_dalek::Signer;
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    // Keys are the same in every representation; the fastest expands them.
    let curve = Curve::<Limbs5>::new();
    let mut signed = || {
        let seed = array(&mut random);
        let message = array(&mut random);
        let signature = ed25519_dalek::SigningKey::from_bytes(&seed).sign(&message).to_bytes();
        Signed { key: Key::from_seed(&curve, &seed), message, signature }
    };
    (0..INPUTS).map(|_| signed()).collect()
}

fn mul_row<F: Field>() -> Workload {
    let row = Workload::primitive(
        &name::<F>("mul", ""),
        |seed| pairs::<F>(seed, INPUTS),
        |(a, b)| a.mul(b),
        |(a, b), output| agrees(output, |a, b| a.mul(b), a, b),
    );
    finish::<F>(row.chained(
        |seed| pairs::<F>(seed, 1).remove(0),
        |(a, b)| a.mul(b),
        |(_, b), output| (output.clone(), b.clone()),
        |output| Digest::of(&output.to_bytes()),
    ))
}

fn square_row<F: Field>() -> Workload {
    let row = Workload::primitive(
        &name::<F>("square", ""),
        |seed| pairs::<F>(seed, INPUTS),
        |(a, _)| a.square(),
        |(a, _), output| agrees(output, |a, b| a.mul(b), a, a),
    );
    finish::<F>(row.chained(
        |seed| pairs::<F>(seed, 1).remove(0).0,
        |a| a.square(),
        |_, output| output.clone(),
        |output| Digest::of(&output.to_bytes()),
    ))
}

fn carry_row(form: &str, carry: fn(&mut [i64; 16])) -> Workload {
    Workload::primitive(
        &format!("field25519/carry/16x16-{form}"),
        |seed| {
            let mut random = ChaCha20Rng::seed_from_u64(seed);
            // As large as the column sums of a product are.
            (0..INPUTS).map(|_| std::array::from_fn(|_| random.next_u64() as i64 >> 21)).collect()
        },
        move |columns: &[i64; 16]| {
            let mut limbs = *columns;
            carry(&mut limbs);
            limbs
        },
        |columns, limbs| {
            let mut expected = *columns;
            carry_wrapping(&mut expected);
            if expected == *limbs {
                Ok(limbs.iter().fold(Digest::default(), |digest, limb| digest.with(&limb.to_le_bytes())))
            } else {
                Err("the two forms of the carry differ".to_owned())
            }
        },
    )
    .family("field25519")
    .implementation("countercheck 16x16")
}

/// Pairs of reduced elements.
pub(super) fn pairs<F: Field>(seed: u64, count: usize) -> Vec<(F, F)> {
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    let mut element = || F::from_bytes(&array(&mut random));
    (0..count).map(|_| (element(), element())).collect()
}

/// Compares an output with what another representation makes of the same operands.
fn agrees<F: Field>(
    output: &F,
    operation: impl Fn(&Limbs10, &Limbs10) -> Limbs10,
    a: &F,
    b: &F,
) -> Result<Digest, String> {
    let [a, b] = [a, b].map(|operand| Limbs10::from_bytes(&operand.to_bytes()));
    same(&operation(&a, &b).to_bytes(), &output.to_bytes())
}
