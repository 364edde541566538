//! BN254 once more over base and scalar fields that count: the same constants, the same results, and exactly how
//! often each field operation runs.
//!
//! All constants are taken from `ark-bn254`, element by element; nothing is restated.

use std::cell::Cell;

use ark_bn254::{FqConfig, FrConfig};
use ark_ec::bn::{Bn, BnConfig, TwistType};
use ark_ec::scalar_mul::glv::GLVConfig;
use ark_ec::short_weierstrass::{Affine, Projective, SWCurveConfig};
use ark_ec::{AffineRepr, CurveConfig};
use ark_ff::fields::{Fp, Fp2, Fp2Config, Fp6, Fp6Config, Fp12Config, Fp256, MontBackend, MontConfig};
use ark_ff::{AdditiveGroup, BigInt, Field, PrimeField, Zero};

/// How often each operation of a field ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldOps {
    /// Multiplications.
    pub mul: u64,
    /// Squarings.
    pub square: u64,
    /// Sums of two products, reduced once.
    pub sum_of_products: u64,
    /// Additions.
    pub add: u64,
    /// Subtractions.
    pub sub: u64,
    /// Doublings.
    pub double: u64,
    /// Negations.
    pub neg: u64,
    /// Inversions.
    pub invert: u64,
    /// Conversions from and to plain integers.
    pub convert: u64,
}

/// Operations of the base field and of the scalar field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ops {
    /// The base field, modulo p.
    pub base: FieldOps,
    /// The scalar field, modulo the group order.
    pub scalar: FieldOps,
}

impl FieldOps {
    /// How many operations there are.
    pub const NAMES: usize = 9;

    /// The rounded mean of several counts; zero of none.
    pub fn mean<'a>(all: impl Iterator<Item = &'a Self> + Clone) -> Self {
        let n = (all.clone().count() as u64).max(1);
        let of = |field: fn(&Self) -> u64| (all.clone().map(field).sum::<u64>() + n / 2) / n;
        Self {
            mul: of(|ops| ops.mul),
            square: of(|ops| ops.square),
            sum_of_products: of(|ops| ops.sum_of_products),
            add: of(|ops| ops.add),
            sub: of(|ops| ops.sub),
            double: of(|ops| ops.double),
            neg: of(|ops| ops.neg),
            invert: of(|ops| ops.invert),
            convert: of(|ops| ops.convert),
        }
    }

    /// These and so many times the others.
    pub fn plus(&self, times: u64, other: &Self) -> Self {
        let of = |field: fn(&Self) -> u64| field(self) + times * field(other);
        Self {
            mul: of(|ops| ops.mul),
            square: of(|ops| ops.square),
            sum_of_products: of(|ops| ops.sum_of_products),
            add: of(|ops| ops.add),
            sub: of(|ops| ops.sub),
            double: of(|ops| ops.double),
            neg: of(|ops| ops.neg),
            invert: of(|ops| ops.invert),
            convert: of(|ops| ops.convert),
        }
    }

    /// The operations by name.
    pub fn by_name(&self) -> [(&'static str, u64); Self::NAMES] {
        [
            ("mul", self.mul),
            ("square", self.square),
            ("sum_of_products", self.sum_of_products),
            ("add", self.add),
            ("sub", self.sub),
            ("double", self.double),
            ("neg", self.neg),
            ("invert", self.invert),
            ("convert", self.convert),
        ]
    }
}

type Counter = std::thread::LocalKey<Cell<FieldOps>>;

thread_local! {
    static BASE: Cell<FieldOps> = const { Cell::new(NONE) };
    static SCALAR: Cell<FieldOps> = const { Cell::new(NONE) };
}

const NONE: FieldOps =
    FieldOps { mul: 0, square: 0, sum_of_products: 0, add: 0, sub: 0, double: 0, neg: 0, invert: 0, convert: 0 };

/// Runs `body` and returns its output with what the counting fields did in it on this thread.
pub fn count<T>(body: impl FnOnce() -> T) -> (T, Ops) {
    let (base, scalar) = (BASE.replace(NONE), SCALAR.replace(NONE));
    let output = body();
    (output, Ops { base: BASE.replace(base), scalar: SCALAR.replace(scalar) })
}

fn tally(counter: &'static Counter, one: impl FnOnce(&mut FieldOps)) {
    let mut ops = counter.get();
    one(&mut ops);
    counter.set(ops);
}

/// A field that counts and leaves the work to another of the same modulus.
macro_rules! counting_field {
    ($(#[$doc:meta])* $config:ident, $inner:ty, $counter:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $config;

        impl MontConfig<4> for $config {
            const MODULUS: BigInt<4> = <$inner>::MODULUS;
            const GENERATOR: Fp<MontBackend<Self, 4>, 4> = of(<$inner>::GENERATOR);
            const TWO_ADIC_ROOT_OF_UNITY: Fp<MontBackend<Self, 4>, 4> = of(<$inner>::TWO_ADIC_ROOT_OF_UNITY);
            const SMALL_SUBGROUP_BASE: Option<u32> = <$inner>::SMALL_SUBGROUP_BASE;
            const SMALL_SUBGROUP_BASE_ADICITY: Option<u32> = <$inner>::SMALL_SUBGROUP_BASE_ADICITY;
            const LARGE_SUBGROUP_ROOT_OF_UNITY: Option<Fp<MontBackend<Self, 4>, 4>> =
                match <$inner>::LARGE_SUBGROUP_ROOT_OF_UNITY {
                    Some(root) => Some(of(root)),
                    None => None,
                };

            fn add_assign(a: &mut Fp<MontBackend<Self, 4>, 4>, b: &Fp<MontBackend<Self, 4>, 4>) {
                tally(&$counter, |ops| ops.add += 1);
                within::<Self, $inner, _>(a, |a| <$inner>::add_assign(a, &of(*b)));
            }
            fn sub_assign(a: &mut Fp<MontBackend<Self, 4>, 4>, b: &Fp<MontBackend<Self, 4>, 4>) {
                tally(&$counter, |ops| ops.sub += 1);
                within::<Self, $inner, _>(a, |a| <$inner>::sub_assign(a, &of(*b)));
            }
            fn double_in_place(a: &mut Fp<MontBackend<Self, 4>, 4>) {
                tally(&$counter, |ops| ops.double += 1);
                within::<Self, $inner, _>(a, |a| <$inner>::double_in_place(a));
            }
            fn neg_in_place(a: &mut Fp<MontBackend<Self, 4>, 4>) {
                tally(&$counter, |ops| ops.neg += 1);
                within::<Self, $inner, _>(a, |a| <$inner>::neg_in_place(a));
            }
            fn mul_assign(a: &mut Fp<MontBackend<Self, 4>, 4>, b: &Fp<MontBackend<Self, 4>, 4>) {
                tally(&$counter, |ops| ops.mul += 1);
                within::<Self, $inner, _>(a, |a| <$inner>::mul_assign(a, &of(*b)));
            }
            fn square_in_place(a: &mut Fp<MontBackend<Self, 4>, 4>) {
                tally(&$counter, |ops| ops.square += 1);
                within::<Self, $inner, _>(a, |a| <$inner>::square_in_place(a));
            }
            fn inverse(a: &Fp<MontBackend<Self, 4>, 4>) -> Option<Fp<MontBackend<Self, 4>, 4>> {
                tally(&$counter, |ops| ops.invert += 1);
                <$inner>::inverse(&of(*a)).map(of)
            }
            fn from_bigint(value: BigInt<4>) -> Option<Fp<MontBackend<Self, 4>, 4>> {
                tally(&$counter, |ops| ops.convert += 1);
                <$inner>::from_bigint(value).map(of)
            }
            fn into_bigint(a: Fp<MontBackend<Self, 4>, 4>) -> BigInt<4> {
                tally(&$counter, |ops| ops.convert += 1);
                <$inner>::into_bigint(of(a))
            }
            fn sum_of_products<const M: usize>(
                a: &[Fp<MontBackend<Self, 4>, 4>; M],
                b: &[Fp<MontBackend<Self, 4>, 4>; M],
            ) -> Fp<MontBackend<Self, 4>, 4> {
                tally(&$counter, |ops| ops.sum_of_products += 1);
                of(<$inner>::sum_of_products(&a.map(of), &b.map(of)))
            }
        }
    };
}

counting_field! {
    /// The base field of BN254, counting.
    CountingFq, FqConfig, BASE
}
counting_field! {
    /// The scalar field of BN254, counting.
    CountingFr, FrConfig, SCALAR
}

/// The base field.
pub type Fq = Fp256<MontBackend<CountingFq, 4>>;
/// The scalar field.
pub type Fr = Fp256<MontBackend<CountingFr, 4>>;
/// Its quadratic extension.
pub type Fq2 = Fp2<Fq2Config>;
/// Its extension of degree 6.
pub type Fq6 = Fp6<Fq6Config>;
/// The pairing engine.
pub type CountingBn254 = Bn<Config>;

/// The same element under another configuration of the same modulus.
const fn of<From: MontConfig<4>, To: MontConfig<4>>(element: Fp<MontBackend<From, 4>, 4>) -> Fp<MontBackend<To, 4>, 4> {
    Fp(element.0, std::marker::PhantomData)
}

fn within<From: MontConfig<4>, To: MontConfig<4>, T>(
    element: &mut Fp<MontBackend<From, 4>, 4>,
    body: impl FnOnce(&mut Fp<MontBackend<To, 4>, 4>) -> T,
) {
    let mut inner = of(*element);
    body(&mut inner);
    *element = of(inner);
}

const fn of2(element: ark_bn254::Fq2) -> Fq2 {
    Fq2::new(of(element.c0), of(element.c1))
}

const fn all2<const N: usize>(elements: &[ark_bn254::Fq2]) -> [Fq2; N] {
    let mut all = [of2(elements[0]); N];
    let mut i = 0;
    while i < N {
        all[i] = of2(elements[i]);
        i += 1;
    }
    all
}

/// Quadratic extension.
#[derive(Debug)]
pub struct Fq2Config;

impl Fp2Config for Fq2Config {
    type Fp = Fq;
    const NONRESIDUE: Fq = of(ark_bn254::Fq2Config::NONRESIDUE);
    const FROBENIUS_COEFF_FP2_C1: &'static [Fq] =
        &[of(ark_bn254::Fq2Config::FROBENIUS_COEFF_FP2_C1[0]), of(ark_bn254::Fq2Config::FROBENIUS_COEFF_FP2_C1[1])];

    fn mul_fp_by_nonresidue_in_place(fe: &mut Fq) -> &mut Fq {
        use ark_ff::AdditiveGroup as _;
        fe.neg_in_place()
    }
}

/// Cubic extension of the quadratic one.
#[derive(Clone, Copy, Debug)]
pub struct Fq6Config;

impl Fp6Config for Fq6Config {
    type Fp2Config = Fq2Config;
    const NONRESIDUE: Fq2 = of2(ark_bn254::Fq6Config::NONRESIDUE);
    const FROBENIUS_COEFF_FP6_C1: &'static [Fq2] = &all2::<6>(ark_bn254::Fq6Config::FROBENIUS_COEFF_FP6_C1);
    const FROBENIUS_COEFF_FP6_C2: &'static [Fq2] = &all2::<6>(ark_bn254::Fq6Config::FROBENIUS_COEFF_FP6_C2);

    /// Times 9 + u, by doublings, as `ark-bn254` does it: 8·c + c, and the cross terms.
    fn mul_fp2_by_nonresidue_in_place(fe: &mut Fq2) -> &mut Fq2 {
        let mut eightfold = *fe;
        eightfold.double_in_place().double_in_place().double_in_place();
        let mut c0 = fe.c1;
        Fq2Config::mul_fp_by_nonresidue_in_place(&mut c0);
        c0 += &eightfold.c0;
        c0 += &fe.c0;
        let c1 = eightfold.c1 + fe.c1 + fe.c0;
        *fe = Fq2::new(c0, c1);
        fe
    }
}

/// Quadratic extension of the cubic one.
#[derive(Clone, Copy, Debug)]
pub struct Fq12Config;

impl Fp12Config for Fq12Config {
    type Fp6Config = Fq6Config;
    const NONRESIDUE: Fq6 = Fq6::new(Fq2::ZERO, Fq2::ONE, Fq2::ZERO);
    const FROBENIUS_COEFF_FP12_C1: &'static [Fq2] = &all2::<12>(ark_bn254::Fq12Config::FROBENIUS_COEFF_FP12_C1);
}

/// The first group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct G1Config;

impl CurveConfig for G1Config {
    type BaseField = Fq;
    type ScalarField = Fr;
    const COFACTOR: &'static [u64] = ark_bn254::g1::Config::COFACTOR;
    const COFACTOR_INV: Fr = of(ark_bn254::g1::Config::COFACTOR_INV);
}

impl SWCurveConfig for G1Config {
    const COEFF_A: Fq = of(ark_bn254::g1::Config::COEFF_A);
    const COEFF_B: Fq = of(ark_bn254::g1::Config::COEFF_B);
    const GENERATOR: Affine<Self> =
        Affine::new_unchecked(of(ark_bn254::g1::G1_GENERATOR_X), of(ark_bn254::g1::G1_GENERATOR_Y));
    type ZeroFlag = ();

    fn mul_by_a(_: Fq) -> Fq {
        Fq::zero()
    }
    fn mul_projective(point: &Projective<Self>, scalar: &[u64]) -> Projective<Self> {
        Self::glv_mul_projective(*point, Fr::from_sign_and_limbs(true, scalar))
    }
    fn is_in_correct_subgroup_assuming_on_curve(_: &Affine<Self>) -> bool {
        true
    }
}

impl GLVConfig for G1Config {
    const ENDO_COEFFS: &'static [Fq] = &[of(ark_bn254::g1::Config::ENDO_COEFFS[0])];
    const LAMBDA: Fr = of(ark_bn254::g1::Config::LAMBDA);
    const SCALAR_DECOMP_COEFFS: [(bool, BigInt<4>); 4] = ark_bn254::g1::Config::SCALAR_DECOMP_COEFFS;

    fn endomorphism(point: &Projective<Self>) -> Projective<Self> {
        let mut image = *point;
        image.x *= Self::ENDO_COEFFS[0];
        image
    }
    fn endomorphism_affine(point: &Affine<Self>) -> Affine<Self> {
        let mut image = *point;
        image.x *= Self::ENDO_COEFFS[0];
        image
    }
}

/// The second group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct G2Config;

impl CurveConfig for G2Config {
    type BaseField = Fq2;
    type ScalarField = Fr;
    const COFACTOR: &'static [u64] = ark_bn254::g2::Config::COFACTOR;
    const COFACTOR_INV: Fr = of(ark_bn254::g2::Config::COFACTOR_INV);
}

impl SWCurveConfig for G2Config {
    const COEFF_A: Fq2 = of2(ark_bn254::g2::Config::COEFF_A);
    const COEFF_B: Fq2 = of2(ark_bn254::g2::Config::COEFF_B);
    const GENERATOR: Affine<Self> =
        Affine::new_unchecked(of2(ark_bn254::g2::G2_GENERATOR_X), of2(ark_bn254::g2::G2_GENERATOR_Y));
    type ZeroFlag = ();

    fn mul_by_a(_: Fq2) -> Fq2 {
        Fq2::zero()
    }
    /// Whether the order of the group takes the point to zero; the library has a shorter way, which no row counts.
    fn is_in_correct_subgroup_assuming_on_curve(point: &Affine<Self>) -> bool {
        point.mul_bigint(Fr::MODULUS).is_zero()
    }
}

/// The pairing's parameters.
#[derive(Debug)]
pub struct Config;

impl BnConfig for Config {
    const X: &'static [u64] = ark_bn254::Config::X;
    const X_IS_NEGATIVE: bool = ark_bn254::Config::X_IS_NEGATIVE;
    const ATE_LOOP_COUNT: &'static [i8] = ark_bn254::Config::ATE_LOOP_COUNT;
    const TWIST_MUL_BY_Q_X: Fq2 = of2(ark_bn254::Config::TWIST_MUL_BY_Q_X);
    const TWIST_MUL_BY_Q_Y: Fq2 = of2(ark_bn254::Config::TWIST_MUL_BY_Q_Y);
    const TWIST_TYPE: TwistType = ark_bn254::Config::TWIST_TYPE;
    type Fp = Fq;
    type Fp2Config = Fq2Config;
    type Fp6Config = Fq6Config;
    type Fp12Config = Fq12Config;
    type G1Config = G1Config;
    type G2Config = G2Config;
}
