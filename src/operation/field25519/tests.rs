//! Every representation against the vectors of RFC 7748 and RFC 8032, edge values, the laws of a field, and
//! curve25519-dalek on random inputs.

use ed25519_dalek::Signer;
use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::ed25519::{Key, sign, verify};
use super::edwards::Curve;
use super::*;

fn hex<const N: usize>(text: &str) -> [u8; N] {
    assert_eq!(text.len(), 2 * N);
    std::array::from_fn(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap())
}

/// p + offset as bytes, for offset in −19..19.
fn near_p(offset: i16) -> [u8; 32] {
    let mut bytes = [0xff; 32];
    bytes[0] = (0xed + offset) as u8;
    bytes[31] = 0x7f;
    bytes
}

fn edge_values<F: Field>() {
    let small = |value: u8| {
        let mut bytes = [0; 32];
        bytes[0] = value;
        bytes
    };
    assert_eq!(F::from_bytes(&near_p(0)).to_bytes(), [0; 32], "p");
    assert_eq!(F::from_bytes(&near_p(-1)).to_bytes(), near_p(-1), "p − 1");
    for offset in 1..19 {
        assert_eq!(F::from_bytes(&near_p(offset)).to_bytes(), small(offset as u8), "p + {offset}");
    }
    let mut with_top_bit = small(5);
    with_top_bit[31] = 0x80;
    assert_eq!(F::from_bytes(&with_top_bit).to_bytes(), small(5), "bit 255 is ignored");
    // 2p and its neighbours as sums.
    let (p, p_less_one) = (F::from_bytes(&near_p(0)), F::from_bytes(&near_p(-1)));
    assert_eq!(p.add(&p).to_bytes(), [0; 32], "2p");
    assert_eq!(p.add(&p_less_one).to_bytes(), near_p(-1), "2p − 1");
    assert_eq!(p_less_one.add(&F::one()).to_bytes(), [0; 32], "p − 1 + 1");
    assert_eq!(F::zero().sub(&F::one()).to_bytes(), near_p(-1), "0 − 1");
    assert_eq!(p_less_one.square().to_bytes(), small(1), "(−1)²");
    assert_eq!(p_less_one.mul(&p_less_one).to_bytes(), small(1), "(−1)·(−1)");
    let most = F::from_bytes(&near_p(18));
    assert_eq!(most.mul(&most).to_bytes(), F::from_small(18 * 18).to_bytes(), "(2^255 − 1)²");
    assert_eq!(F::zero().invert().to_bytes(), [0; 32], "1 ÷ 0 is 0");
    assert_eq!(F::from_small(0x1_ffff).mul_small(0x1_ffff).to_bytes(), F::from_small(0x1_ffff).square().to_bytes());
}

fn rfc7748<F: Field>(iterations: u32) -> [u8; 32] {
    let vectors = [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ];
    for (scalar, u, expected) in vectors {
        assert_eq!(ladder::<F>(&hex(scalar), &hex(u)), hex(expected));
    }
    let (mut k, mut u) = (BASE, BASE);
    for _ in 0..iterations {
        (k, u) = (ladder::<F>(&k, &u), k);
    }
    k
}

fn rfc8032<F: Field>() {
    let curve = Curve::<F>::new();
    let vectors: [(&str, &str, &[u8], &str); 3] = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            &[],
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            &[0x72],
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            &[0xaf, 0x82],
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ];
    for (seed, public, message, signature) in vectors {
        let key = Key::from_seed(&curve, &hex(seed));
        let signature = hex::<64>(signature);
        assert_eq!(*key.public(), hex(public));
        assert_eq!(sign(&curve, &key, message), signature);
        assert!(verify(&curve, key.public(), message, &signature));
        for wrong_byte in [0, 31, 32, 63] {
            let mut wrong = signature;
            wrong[wrong_byte] ^= 1;
            assert!(!verify(&curve, key.public(), message, &wrong));
        }
    }
    // A y of no point, and the encoding of −0.
    let mut minus_zero = [0; 32];
    minus_zero[0] = 1;
    minus_zero[31] = 0x80;
    let mut no_point = [0; 32];
    no_point[0] = 2;
    for public in [minus_zero, no_point] {
        assert!(curve.decompress(&public).is_none());
        assert_eq!(curve25519_dalek::edwards::CompressedEdwardsY(no_point).decompress(), None);
    }
}

fn against_dalek<F: Field>(ladders: u32, signatures: u32) {
    let mut random = ChaCha20Rng::seed_from_u64(7);
    let mut bytes = || crate::primitive::pool::array(&mut random);
    for _ in 0..ladders {
        let (scalar, u) = (bytes(), bytes());
        assert_eq!(ladder::<F>(&scalar, &u), x25519_dalek::x25519(scalar, u));
    }
    let curve = Curve::<F>::new();
    for _ in 0..signatures {
        let (seed, message) = (bytes(), bytes());
        let theirs = ed25519_dalek::SigningKey::from_bytes(&seed);
        let key = Key::from_seed(&curve, &seed);
        assert_eq!(key.public(), theirs.verifying_key().as_bytes());
        let signature = sign(&curve, &key, &message);
        assert_eq!(signature, theirs.sign(&message).to_bytes());
        assert!(verify(&curve, key.public(), &message, &signature));
        assert!(!verify(&curve, key.public(), &seed, &signature));
    }
}

/// The laws, on operands that are sums and differences of up to four reduced values.
fn laws<F: Field>(elements: &[[u8; 32]; 6], factor: u32) -> Result<(), TestCaseError> {
    let [a, b, c, d, e, f] = elements.each_ref().map(|bytes| F::from_bytes(bytes));
    let x = a.add(&b).add(&c).add(&d);
    let y = c.sub(&d).sub(&e.add(&f));
    let is = |left: &F, right: &F| {
        prop_assert_eq!(left.to_bytes(), right.to_bytes());
        Ok(())
    };
    is(&x.mul(&y), &y.mul(&x))?;
    is(&x.mul(&y).mul(&a), &x.mul(&y.mul(&a)))?;
    is(&a.mul(&x), &a.mul(&b).add(&a.mul(&a)).add(&a.mul(&c)).add(&a.mul(&d)))?;
    is(&x.square(), &x.mul(&x))?;
    is(&y.square(), &y.mul(&y))?;
    is(&x.mul_small(factor), &x.mul(&F::from_small(factor)))?;
    is(&y.mul_small(factor), &y.mul(&F::from_small(factor)))?;
    is(&a.sub(&b).add(&b), &a)?;
    is(&F::zero().sub(&a).add(&a), &F::zero())?;
    is(&F::from_bytes(&x.to_bytes()), &x)?;
    is(&F::from_bytes(&y.to_bytes()), &y)?;
    if x.to_bytes() != [0; 32] {
        is(&x.invert().mul(&x), &F::one())?;
    }
    let (mut left, mut right) = (a.clone(), b.clone());
    F::swap_if(&mut left, &mut right, Choice::from_bit(0));
    is(&left, &a)?;
    F::swap_if(&mut left, &mut right, Choice::from_bit(1));
    is(&left, &b)?;
    is(&right, &a)?;
    left.assign_if(&c, Choice::from_bit(0));
    is(&left, &b)?;
    left.assign_if(&c, Choice::from_bit(1));
    is(&left, &c)
}

/// Random bytes, and bytes where limbs are at their ends.
fn element() -> impl Strategy<Value = [u8; 32]> {
    let extreme = prop::array::uniform32(prop::sample::select(vec![0, 1, 0x7f, 0x80, 0xfe, 0xff]));
    prop_oneof![prop::array::uniform32(any::<u8>()), extreme, (-19i16..19).prop_map(near_p)]
}

macro_rules! representations {
    ($($module:ident: $field:ty, $ladders:literal, $signatures:literal;)*) => {$(
        mod $module {
            use super::*;

            #[test]
            fn meets_edge_values() {
                edge_values::<$field>();
            }

            #[test]
            fn meets_rfc_7748() {
                assert_eq!(
                    rfc7748::<$field>(1),
                    hex("422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")
                );
                assert_eq!(
                    rfc7748::<$field>(1000),
                    hex("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
                );
            }

            #[test]
            #[ignore = "takes 1,000,000 ladders"]
            fn meets_rfc_7748_a_million_times() {
                assert_eq!(
                    rfc7748::<$field>(1_000_000),
                    hex("7c3911e0ab2586fd864497297e575e6f3bc601c0883c30df5f4dd2d24f665424")
                );
            }

            #[test]
            fn meets_rfc_8032() {
                rfc8032::<$field>();
            }

            #[test]
            fn agrees_with_dalek() {
                against_dalek::<$field>($ladders, $signatures);
            }

            proptest! {
                #[test]
                fn obeys_the_laws(
                    elements in [element(), element(), element(), element(), element(), element()],
                    factor in 0u32..1 << 17,
                ) {
                    laws::<$field>(&elements, factor)?;
                }
            }
        }
    )*};
}

representations! {
    limbs16: Limbs16, 20_000, 300;
    limbs16_peeled: Limbs16Peeled, 2_000, 100;
    limbs16_symmetric: Limbs16Symmetric, 5_000, 300;
    limbs10: Limbs10, 20_000, 1_000;
    limbs5: Limbs5, 20_000, 1_000;
    limbs4: Limbs4, 20_000, 1_000;
    limbs5_inlined: Limbs5Inlined, 500, 50;
    limbs5_boxed: Boxed<Limbs5>, 500, 50;
    limbs5_counted: Counted<Limbs5>, 500, 50;
}

#[test]
fn a_ladder_takes_the_same_operations_for_every_input() {
    for seed in 0..5 {
        let (_, ops) = count(|| ladder::<Counted<Limbs5>>(&[seed * 37; 32], &[seed + 2; 32]));
        // 255 steps of 5 multiplications, 4 squarings, 4 additions, 4 subtractions and 1 small multiplication;
        // the inversion's 11 and 254; one last multiplication; two swaps a step and two at the end.
        let expected = FieldOps {
            mul: 255 * 5 + 11 + 1,
            square: 255 * 4 + 254,
            add: 255 * 4,
            sub: 255 * 4,
            mul_small: 255,
            swap: 2 * 256,
            assign: 0,
            invert: 1,
            chained_mul: 11,
            chained_square: 254,
        };
        assert_eq!(ops, expected);
    }
}

#[test]
fn signing_takes_the_same_operations_for_every_input() {
    let curve = Curve::<Counted<Limbs4>>::new();
    let ops = |seed: u8| {
        let key = Key::from_seed(&curve, &[seed; 32]);
        count(|| sign(&curve, &key, &[seed; 7])).1
    };
    assert_eq!(ops(1), ops(2));
    assert!(ops(1).mul > 1000);
}

#[test]
fn every_row_runs_and_checks_its_outputs() {
    for workload in all() {
        let mut fixture = workload.fixture(3).unwrap();
        fixture.load(0..2).unwrap();
        fixture.run();
        fixture.unload().unwrap();
    }
}
