//! Pools of inputs with known right outputs: how a primitive function becomes a workload.
//!
//! The pool is built from a seed; each entry carries the output that another way of computing it gave
//! (the other side's key, a definition, an inverse), so that every timed output is checked.

use std::hint::black_box;
use std::rc::Rc;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::workload::{Digest, Workload};

/// Distinct inputs in a pool: enough that the branch predictor cannot learn them by heart.
pub const POOL: usize = 64;

/// Why a primitive returns no output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrimitiveError {
    /// The signature does not belong to this key and message.
    #[error("the signature does not verify")]
    BadSignature,
    /// The ciphertext, its tag or its associated data were altered.
    #[error("the ciphertext does not authenticate")]
    Forged,
    /// More output asked for than the function can give, or more input than it takes.
    #[error("the length is out of range")]
    Length,
    /// The bytes encode no point of the curve.
    #[error("the bytes encode no point of the curve")]
    NotAPoint,
}

/// An input and the output that it must give.
pub struct Case<I, O> {
    /// What the primitive reads.
    pub input: I,
    /// What it must return.
    pub expected: O,
}

/// A primitive over a pool of [`POOL`] cases, with a chained form in which the address of each input
/// waits for the output before it.
pub fn workload<I, O>(
    name: &str,
    case: impl Fn(&mut ChaCha20Rng) -> Case<I, O> + Clone + Send + Sync + 'static,
    body: impl Fn(&I) -> O + Clone + Send + Sync + 'static,
    bytes: impl Fn(&O) -> &[u8] + Copy + Send + Sync + 'static,
) -> Workload
where
    I: 'static,
    O: PartialEq + 'static,
{
    let build = move |seed: u64| -> Vec<Case<I, O>> {
        let mut random = ChaCha20Rng::seed_from_u64(seed);
        (0..POOL).map(|_| case(&mut random)).collect()
    };
    let chained_build = build.clone();
    let chained_body = body.clone();
    Workload::primitive(
        name,
        build,
        move |case: &Case<I, O>| body(&case.input),
        move |case, output: &O| {
            if *output == case.expected { Ok(Digest::of(bytes(output))) } else { Err("a wrong output".to_owned()) }
        },
    )
    .chained(
        move |seed| (Rc::new(chained_build(seed)), 0usize),
        move |(pool, at): &(Rc<Vec<Case<I, O>>>, usize)| chained_body(&pool[*at].input),
        move |(pool, at), output| {
            // Zero, but the processor has to wait for the output to know it.
            let waits = bytes(output).first().map_or(0, |byte| usize::from(byte & black_box(0)));
            (pool.clone(), (at + 1 + waits) % POOL)
        },
        move |output| Digest::of(bytes(output)),
    )
}

/// Random bytes of a fixed length.
pub fn array<const N: usize>(random: &mut ChaCha20Rng) -> [u8; N] {
    let mut bytes = [0; N];
    random.fill_bytes(&mut bytes);
    bytes
}

/// The fingerprint of an output that must be the expected one, or both in hexadecimal.
pub fn same<const N: usize>(expected: &[u8; N], output: &[u8; N]) -> Result<Digest, String> {
    if expected == output {
        Ok(Digest::of(output))
    } else {
        Err(format!("expected {expected:02x?}, found {output:02x?}"))
    }
}

/// Random bytes of a chosen length.
pub fn bytes(random: &mut ChaCha20Rng, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    random.fill_bytes(&mut bytes);
    bytes
}

/// The bytes written in hexadecimal; blanks are skipped.
#[cfg(test)]
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.chars().filter_map(|c| c.to_digit(16)).map(|d| d as u8).collect();
    assert!(digits.len().is_multiple_of(2), "an odd number of hexadecimal digits");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Runs every workload over one pool and a half, standing alone and chained: outputs are checked, and
/// the same seed gives the same outputs.
#[cfg(test)]
pub fn assert_workloads_check_out(workloads: Vec<Workload>) {
    for workload in workloads {
        let digests = [0, 1].map(|_| {
            let mut fixture = workload.fixture(11).unwrap();
            fixture.load(0..POOL as u64 * 3 / 2).unwrap();
            fixture.run();
            fixture.unload().unwrap_or_else(|message| panic!("{}: {message}", workload.name))
        });
        assert_eq!(digests[0], digests[1], "{}", workload.name);
        let mut chained = workload.chained_fixture(11).unwrap().unwrap();
        chained.load(0..3).unwrap();
        chained.run();
        chained.unload().unwrap();
    }
}
