//! The two halves of BN254's final exponentiation, which the library offers only as a whole.

use ark_bn254::{Config, Fq12};
use ark_ec::bn::BnConfig;
use ark_ff::{CyclotomicMultSubgroup, Field};

/// f^((p⁶ − 1)(p² + 1)); `None` for zero.
#[inline(never)]
pub fn easy(f: &Fq12) -> Option<Fq12> {
    let mut conjugate = *f;
    conjugate.cyclotomic_inverse_in_place();
    let power = conjugate * f.inverse()?;
    let mut frobenius = power;
    frobenius.frobenius_map_in_place(2);
    Some(frobenius * power)
}

/// r^((p⁴ − p² + 1) ÷ order), up to a fixed power prime to the order, by the addition chain of Fuentes-Castañeda,
/// Knapp and Rodríguez-Henríquez, "Faster hashing to G2" (2011). `r` must come from [`easy`].
#[inline(never)]
pub fn hard(r: &Fq12) -> Fq12 {
    // To the power of −x, with x the curve's parameter.
    let to_minus_x = |f: Fq12| {
        let mut power = f.cyclotomic_exp(Config::X);
        if !Config::X_IS_NEGATIVE {
            power.cyclotomic_inverse_in_place();
        }
        power
    };
    let inverse = |mut f: Fq12| {
        f.cyclotomic_inverse_in_place();
        f
    };
    let frobenius = |mut f: Fq12, power: usize| {
        f.frobenius_map_in_place(power);
        f
    };
    let x1 = to_minus_x(*r).cyclotomic_square();
    let x3 = x1.cyclotomic_square() * x1;
    let x6 = to_minus_x(x3);
    let x12 = to_minus_x(x6.cyclotomic_square());
    let a = inverse(x12) * x6 * inverse(x3);
    let b = a * x1;
    let low = a * x6 * r;
    let middle = frobenius(b, 1) * low;
    let upper = frobenius(a, 2) * middle;
    frobenius(inverse(*r) * b, 3) * upper
}
