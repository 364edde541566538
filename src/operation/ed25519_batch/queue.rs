//! A queue of signatures that are verified together.

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use rand_core::Rng;

use crate::operation::bounded;
use crate::primitive::PrimitiveError;

/// A public key, a message and its signature.
#[derive(Clone, Debug)]
pub struct Signed {
    /// The encoded public key.
    pub public: [u8; 32],
    /// The message.
    pub message: Vec<u8>,
    /// The signature.
    pub signature: [u8; 64],
}

/// What a queue keeps of one signature: all but the message.
#[derive(Clone, Debug)]
pub struct Entry {
    public: [u8; 32],
    commitment: [u8; 32],
    response: [u8; 32],
    /// `SHA-512(R ‖ A ‖ M)` as a scalar.
    pub(super) challenge: Scalar,
}

/// How a queue's entries come by their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// The vector doubles as it fills.
    Growing,
    /// All at once.
    Preallocated,
}

/// Hashes and queues signatures.
pub fn create(signed: &[Signed], entries: Entries) -> Vec<Entry> {
    let mut queue = match entries {
        Entries::Growing => Vec::new(),
        Entries::Preallocated => Vec::with_capacity(signed.len()),
    };
    let mut hashed = Vec::new();
    for Signed { public, message, signature } in signed {
        let [commitment, response] = halves(signature);
        hashed.clear();
        hashed.extend_from_slice(&commitment);
        hashed.extend_from_slice(public);
        hashed.extend_from_slice(message);
        let challenge = Scalar::from_bytes_mod_order_wide(&bounded::sha512(&hashed));
        queue.push(Entry { public: *public, commitment, response, challenge });
    }
    queue
}

fn halves(signature: &[u8; 64]) -> [[u8; 32]; 2] {
    let half = |from: usize| std::array::from_fn(|i| signature[from + i]);
    [half(0), half(32)]
}

/// Verifies all entries by one equation with random weights `z`:
/// `[8] (Σ zᵢ Rᵢ + Σ zᵢ kᵢ Aᵢ − (Σ zᵢ sᵢ) B) = 0`.
///
/// With the cofactor 8, the batch accepts exactly what verifying each signature by the equation with the
/// cofactor accepts (but for a chance of 2⁻¹²⁸); without it, parts of small order might cancel in a batch
/// and not alone. The strict, cofactorless verification of a single signature refuses more.
///
/// # Errors
///
/// [`PrimitiveError::NotAPoint`] where a key or commitment encodes no point, [`PrimitiveError::BadSignature`]
/// where a response is not reduced or some signature does not verify; it does not say which.
pub fn verify(entries: &[Entry], random: &mut impl Rng) -> Result<(), PrimitiveError> {
    let mut scalars = Vec::with_capacity(2 * entries.len() + 1);
    let mut points = Vec::with_capacity(2 * entries.len() + 1);
    let mut of_base = Scalar::ZERO;
    for entry in entries {
        let response = Option::<Scalar>::from(Scalar::from_canonical_bytes(entry.response));
        let weight = weight(random);
        of_base -= weight * response.ok_or(PrimitiveError::BadSignature)?;
        scalars.extend([weight, weight * entry.challenge]);
        points.extend([bounded::edwards_decompress(&entry.commitment)?, bounded::edwards_decompress(&entry.public)?]);
    }
    scalars.push(of_base);
    points.push(ED25519_BASEPOINT_POINT);
    let encodings = || {
        let of_entries = entries.iter().flat_map(|entry| [entry.commitment, entry.public]);
        of_entries.chain([ED25519_BASEPOINT_POINT.compress().to_bytes()]).flatten().collect()
    };
    let sum: EdwardsPoint = bounded::edwards_multiscalar(&scalars, &points, encodings);
    if sum.mul_by_cofactor().is_identity() { Ok(()) } else { Err(PrimitiveError::BadSignature) }
}

/// A random scalar of 128 bits.
fn weight(random: &mut impl Rng) -> Scalar {
    let mut bytes = [0; 16];
    random.fill_bytes(&mut bytes);
    Scalar::from(u128::from_le_bytes(bytes))
}
