//! The inputs that other runtimes share, and the published vectors checked in the running module.

use wasm_bindgen::prelude::*;

use super::{error, json};
use crate::primitive::{ed25519, hkdf, sha2, shared, x25519};

/// The pool of a workload as JSON: `{arguments, inputs, outputs}`, bytes in hexadecimal; `null` where
/// the workload's inputs are not plain bytes.
#[wasm_bindgen]
pub fn shared_cases(name: &str, seed: u32) -> Result<String, JsError> {
    #[derive(serde::Serialize)]
    struct Shared {
        arguments: &'static [&'static str],
        inputs: Vec<Vec<String>>,
        outputs: Vec<String>,
    }
    let Some((arguments, cases)) = shared::arguments(name).zip(shared::cases(name, seed.into())) else {
        return Ok("null".to_owned());
    };
    json(&Shared {
        arguments,
        inputs: cases.iter().map(|case| case.inputs.iter().map(|input| to_hex(input)).collect()).collect(),
        outputs: cases.iter().map(|case| to_hex(&case.output)).collect(),
    })
}

/// The digest that the shared outputs of a workload must have, to hold against [`super::measure::Prepared::unload`]
/// over one whole pool.
#[wasm_bindgen]
pub fn shared_digest(name: &str, seed: u32) -> Result<String, JsError> {
    let cases = shared::cases(name, seed.into()).ok_or_else(|| error(format!("{name} is not shared")))?;
    let digest = shared::digest(cases.iter().map(|case| case.output.as_slice()));
    Ok(format!("{:016x}", digest.0))
}

/// Checks published vectors in this module; a JSON array of `[source, holds]`.
#[wasm_bindgen]
pub fn vectors() -> Result<String, JsError> {
    json(&[
        ("RFC 7748 section 5.2, X25519", x25519_vector()),
        ("RFC 7748 section 6.1, public key", x25519_base_vector()),
        ("RFC 8032 section 7.1, test 3", ed25519_vector()),
        ("RFC 5869 appendix A.1, HKDF", hkdf_vector()),
        ("FIPS 180-4, SHA-256 of abc", sha256_vector()),
        ("FIPS 180-4, SHA-512 of abc", sha512_vector()),
    ])
}

fn x25519_vector() -> bool {
    let output = x25519::dh(
        &from_hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4"),
        &from_hex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"),
    );
    to_hex(&output) == "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
}

fn x25519_base_vector() -> bool {
    let public = x25519::base(&from_hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
    to_hex(&public) == "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
}

fn ed25519_vector() -> bool {
    let key = ed25519::keygen(&from_hex("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"));
    let message = [0xaf, 0x82];
    let signature = ed25519::sign(&key, &message);
    let public = key.verifying_key().to_bytes();
    let mut altered = signature;
    altered[0] ^= 1;
    to_hex(&public) == "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
        && to_hex(&signature)
            == "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac\
                18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        && ed25519::verify(&public, &message, &signature).is_ok()
        && ed25519::verify(&public, &message, &altered).is_err()
}

fn hkdf_vector() -> bool {
    let salt: [u8; 13] = from_hex("000102030405060708090a0b0c");
    let info: [u8; 10] = from_hex("f0f1f2f3f4f5f6f7f8f9");
    let key = hkdf::extract(&salt, &[0x0b; 22]);
    let output = hkdf::expand(&key, &info, 42).unwrap_or_default();
    to_hex(&output) == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
}

fn sha256_vector() -> bool {
    to_hex(&sha2::sha256(b"abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
}

fn sha512_vector() -> bool {
    to_hex(&sha2::sha512(b"abc"))
        == "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
            2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
}

fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// The bytes of a constant above.
fn from_hex<const N: usize>(text: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).expect("a constant in hexadecimal"))
}
