//! The rows: both libraries, batches, and caches at stated shares of known keys.

use std::cell::RefCell;
use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::batch::{Claim, verify_batch, verify_batch_unsound};
use super::cache::{Cache, Keys};
use super::rust::KeyTable;
use super::{K256, Library};
use crate::primitive::pool::{array, same};
use crate::workload::{Digest, Family, Kind, Workload};

/// Distinct inputs a row.
const INPUTS: usize = 64;
/// Signatures in a batch.
const BATCHES: [u64; 5] = [4, 8, 16, 32, 64];
/// Look-ups in a hundred that find their key.
const KNOWN: [u64; 4] = [100, 90, 50, 0];

/// Every row of the family.
pub fn all() -> Vec<Workload> {
    let mut all = library::<K256>();
    #[cfg(all(feature = "secp256k1-c", not(target_arch = "wasm32")))]
    all.extend(library::<super::C>());
    all.push(table_row());
    all.extend(KNOWN.map(cache_row::<<K256 as Library>::Public>));
    all.extend(KNOWN.map(cache_row::<KeyTable>));
    all
}

/// Batches under one key, of any size.
pub fn families() -> Vec<Family> {
    let family = |name: &'static str, verify: fn(&[u8; 32], &[Claim<'_>]) -> bool, how: &'static str| {
        Family::new(&format!("schnorr/{name}"), &BATCHES, move |n| batch_row(name, n as usize, verify, how))
            .at_most(1_000_000, "each signature is made at set-up")
    };
    vec![
        family("batch_verify", verify_batch, "sound: 128-bit weights"),
        family("batch_verify_unsound", verify_batch_unsound, "UNSOUND: plain sum, accepts invalid signatures"),
    ]
}

/// A signature with all that made it.
#[derive(Clone)]
pub(super) struct Signed {
    pub(super) secret: [u8; 32],
    pub(super) public: [u8; 32],
    pub(super) message: [u8; 32],
    pub(super) auxiliary: [u8; 32],
    pub(super) signature: [u8; 64],
}

/// `count` signatures by keys of their own, made by `k256`.
pub(super) fn signatures(seed: u64, count: usize) -> Vec<Signed> {
    let mut random = ChaCha20Rng::seed_from_u64(seed);
    std::iter::repeat_with(|| signed(array(&mut random), array(&mut random), array(&mut random)))
        .flatten()
        .take(count)
        .collect()
}

/// `None` where the bytes are no secret key.
fn signed(secret: [u8; 32], message: [u8; 32], auxiliary: [u8; 32]) -> Option<Signed> {
    let key = K256::create(&secret)?;
    let signature = K256::sign(&key, &message, &auxiliary);
    Some(Signed { secret, public: K256::x_only(&key), message, auxiliary, signature })
}

fn library<L: Library>() -> Vec<Workload> {
    let create = Workload::primitive(
        &format!("schnorr/create/{}", L::NAME),
        |seed| signatures(seed, INPUTS),
        |input| L::create(&input.secret),
        |input, key| same(&input.public, &key.as_ref().map(L::x_only).unwrap_or_default()),
    );
    let sign = Workload::primitive(
        &format!("schnorr/sign/{}", L::NAME),
        |seed| {
            signatures(seed, INPUTS).into_iter().filter_map(|input| Some((L::create(&input.secret)?, input))).collect()
        },
        |(key, input)| L::sign(key, &input.message, &input.auxiliary),
        |(_, input), signature| same(&input.signature, signature),
    );
    let verify = Workload::primitive(
        &format!("schnorr/verify/{}", L::NAME),
        |seed| signatures(seed, INPUTS),
        |input| L::verify(&input.public, &input.message, &input.signature),
        |input, valid| accepted(*valid, &input.signature),
    );
    let lifted = |seed| {
        signatures(seed, INPUTS).into_iter().filter_map(|input| Some((L::lift_x(&input.public)?, input))).collect()
    };
    let verify_lifted = Workload::primitive(
        &format!("schnorr/verify_lifted/{}", L::NAME),
        lifted,
        |(key, input): &(L::Public, Signed)| L::verify_lifted(key, &input.message, &input.signature),
        |(_, input), valid| accepted(*valid, &input.signature),
    );
    let lift_x = Workload::primitive(
        &format!("schnorr/lift_x/{}", L::NAME),
        |seed| signatures(seed, INPUTS),
        |input| L::lift_x(&input.public),
        |input, key| accepted(key.is_some(), &input.signature),
    );
    let ecdh = Workload::primitive(
        &format!("schnorr/ecdh/{}", L::NAME),
        |seed| {
            let inputs = signatures(seed, INPUTS);
            let pairs = inputs.iter().zip(inputs.iter().cycle().skip(1));
            pairs
                .filter_map(|(one, other)| {
                    Some((L::create(&one.secret)?, L::lift_x(&other.public)?, one.secret, other.public))
                })
                .collect()
        },
        |(secret, public, ..)| L::diffie_hellman(secret, public),
        |(_, _, secret, public), shared| {
            let expected = K256::create(secret).zip(K256::lift_x(public)).map(|(s, p)| K256::diffie_hellman(&s, &p));
            same(&expected.unwrap_or_default(), shared)
        },
    );
    [create, sign, verify, verify_lifted, lift_x, ecdh]
        .map(|mut row| {
            row.kind = Kind::Operation;
            row.family("schnorr").implementation(L::IMPLEMENTATION)
        })
        .into()
}

fn table_row() -> Workload {
    Workload::primitive(
        "schnorr/key_table/k256",
        |seed| {
            signatures(seed, INPUTS)
                .into_iter()
                .filter_map(|input| Some((K256::lift_x(&input.public)?, input)))
                .collect()
        },
        |(key, _)| KeyTable::new(key),
        |(_, input), table| accepted(table.verify(&input.message, &input.signature), &input.signature),
    )
    .family("schnorr")
    .implementation("k256 0.14, table of 65 × 8 multiples")
}

fn batch_row(name: &str, n: usize, verify: fn(&[u8; 32], &[Claim<'_>]) -> bool, how: &str) -> Workload {
    // Sixteen batches under keys of their own: enough to keep branches unpredictable without hours of set-up.
    const KEYS: usize = 16;
    let mut row = Workload::primitive(
        &format!("schnorr/{name}/{n}"),
        move |seed| {
            let mut random = ChaCha20Rng::seed_from_u64(seed);
            let mut batch = |key: &Signed| {
                let one = || signed(key.secret, array(&mut random), array(&mut random));
                (key.public, std::iter::repeat_with(one).flatten().take(n).collect::<Vec<_>>())
            };
            signatures(seed, KEYS).iter().map(&mut batch).collect()
        },
        move |(public, signed): &([u8; 32], Vec<Signed>)| {
            let claims: Vec<_> =
                signed.iter().map(|one| Claim { message: &one.message, signature: &one.signature }).collect();
            verify(public, &claims)
        },
        |(public, _), valid| accepted(*valid, public),
    );
    row.kind = Kind::Operation;
    row.family("schnorr").implementation(&format!("k256 0.14, one key, {how}"))
}

/// What a cached verification works on: the cache, and a signature.
struct LookUp<T> {
    keys: Arc<RefCell<Keys<T>>>,
    signed: Signed,
}

fn cache_row<T: Cache>(known: u64) -> Workload {
    let mut row = Workload::operation(
        &format!("schnorr/verify_cached_{}/{known}", T::NAME),
        |seed| {
            // Familiar keys come round often enough to keep their places among the strangers.
            let familiar = signatures(seed, INPUTS);
            let mut keys = Keys::<T>::new(4 * INPUTS);
            for signed in &familiar {
                keys.verify(&signed.public, &signed.message, &signed.signature);
            }
            #[allow(clippy::arc_with_non_send_sync)] // The fixture stays on its thread; Arc only shares it.
            Ok((familiar, Arc::new(RefCell::new(keys)), seed))
        },
        move |(familiar, keys, seed), index| {
            // Spread evenly: of a hundred consecutive look-ups, `known` find their key.
            let is_known = (index + 1) * known / 100 != index * known / 100;
            if is_known {
                let signed = familiar[(index % INPUTS as u64) as usize].clone();
                return Ok(LookUp { keys: keys.clone(), signed });
            }
            let signed = signatures(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 1, 1).remove(0);
            // An iteration may be run again; its stranger must be one again.
            keys.borrow_mut().forget(&signed.public);
            Ok(LookUp { keys: keys.clone(), signed })
        },
        |LookUp { keys, signed }| keys.borrow_mut().verify(&signed.public, &signed.message, &signed.signature),
        |_, _, valid| accepted(*valid, &[]),
    );
    row.kind = Kind::Operation;
    row.family("schnorr").implementation(&format!("k256 0.14, {} cache, {known} % of look-ups find their key", T::NAME))
}

fn accepted(valid: bool, about: &[u8]) -> Result<Digest, String> {
    if valid { Ok(Digest::of(about)) } else { Err("what is valid was refused".to_owned()) }
}
