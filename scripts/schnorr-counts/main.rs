//! Prints the counts of each operation over 64 inputs: operation, what, mean, lowest, highest.

use std::collections::BTreeMap;

use k256::schnorr::{Signature, SigningKey, VerifyingKey};

const INPUTS: u8 = 64;

fn count(body: impl FnOnce()) -> BTreeMap<&'static str, u64> {
    k256::COUNTS.with(|counts| counts.borrow_mut().clear());
    body();
    k256::COUNTS.with(|counts| counts.borrow().clone())
}

fn main() {
    let inputs: Vec<_> = (0..INPUTS)
        .map(|i| {
            let mut secret = [i.wrapping_mul(37) ^ 0x5a; 32];
            secret[0] = 1;
            secret[31] = i;
            let key = SigningKey::from_bytes(&secret.into()).expect("below the group order");
            let message = [i; 32];
            let signature = key.sign_raw(&message, &[i ^ 0xff; 32]).expect("a signature").to_bytes();
            (secret, key, message, signature)
        })
        .collect();
    println!("# Field and group operations of k256 0.14, counted by scripts/schnorr-counts/run over {INPUTS} inputs.");
    println!("operation\twhat\tmean\tlowest\thighest");
    let print = |operation: &str, body: &dyn Fn(usize)| {
        let all: Vec<_> = (0..inputs.len()).map(|i| count(|| body(i))).collect();
        let names: std::collections::BTreeSet<_> = all.iter().flat_map(|one| one.keys().copied()).collect();
        for name in names {
            let counts: Vec<u64> = all.iter().map(|one| one.get(name).copied().unwrap_or(0)).collect();
            let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
            let (low, high) = (counts.iter().min().unwrap_or(&0), counts.iter().max().unwrap_or(&0));
            println!("{operation}\t{name}\t{mean}\t{low}\t{high}");
        }
    };
    print("create", &|i| {
        SigningKey::from_bytes(&inputs[i].0.into()).expect("below the group order");
    });
    print("sign", &|i| {
        inputs[i].1.sign_raw(&inputs[i].2, &[7; 32]).expect("a signature");
    });
    print("lift_x", &|i| {
        VerifyingKey::from_bytes(&inputs[i].1.verifying_key().to_bytes()).expect("a key");
    });
    print("verify_lifted", &|i| {
        let signature = Signature::from_bytes(&inputs[i].3).expect("a signature");
        inputs[i].1.verifying_key().verify_raw(&inputs[i].2, &signature).expect("valid");
    });
    print("ecdh", &|i| {
        let other = inputs[(i + 1) % inputs.len()].1.verifying_key();
        k256::ecdh::diffie_hellman(inputs[i].1.as_nonzero_scalar(), other.as_affine());
    });
}
