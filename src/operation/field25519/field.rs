//! What a representation of GF(2^255 − 19) must offer, and what follows from that for all of them.

/// A secret bit: a condition that must not become a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice(u64);

impl Choice {
    /// The choice of a bit; only the lowest bit counts.
    pub fn from_bit(bit: u8) -> Self {
        Self(u64::from(bit & 1))
    }

    /// Whether two small numbers are equal, without a branch.
    pub fn equal(a: u8, b: u8) -> Self {
        Self(u64::from(a ^ b).wrapping_sub(1) >> 63)
    }

    /// All ones when chosen, else zero.
    #[inline(always)]
    pub fn mask(self) -> u64 {
        // Without the barrier the compiler may turn a masked move back into a branch.
        std::hint::black_box(self.0.wrapping_neg())
    }
}

/// An element of GF(2^255 − 19) in some representation.
///
/// A value is *reduced* when it comes from [`Field::from_bytes`], a constant, [`Field::mul`],
/// [`Field::square`] or [`Field::mul_small`]. Additions and subtractions may skip the carry, so an operand of any
/// operation may be a sum or difference of at most four reduced values; beyond that limbs may overflow.
pub trait Field: Clone + std::fmt::Debug + 'static {
    /// Name of the representation: limbs × bits a limb. Twins share it.
    const NAME: &'static str;
    /// Limb products that one multiplication takes.
    const MUL_PRODUCTS: u32;
    /// Limb products that one squaring takes.
    const SQUARE_PRODUCTS: u32;

    /// A small integer.
    fn from_small(value: u32) -> Self;
    /// The value of 32 little-endian bytes modulo p. Bit 255 is ignored, as RFC 7748 and RFC 8032 ask.
    fn from_bytes(bytes: &[u8; 32]) -> Self;
    /// The canonical 32 little-endian bytes: the value in 0..p.
    fn to_bytes(&self) -> [u8; 32];
    /// Sum.
    fn add(&self, other: &Self) -> Self;
    /// Difference.
    fn sub(&self, other: &Self) -> Self;
    /// Product.
    fn mul(&self, other: &Self) -> Self;
    /// Square.
    fn square(&self) -> Self;
    /// Product with a small integer, below 2^17.
    fn mul_small(&self, factor: u32) -> Self;
    /// Exchanges two values when chosen, in constant time.
    fn swap_if(a: &mut Self, b: &mut Self, choice: Choice);
    /// Takes the other value when chosen, in constant time.
    fn assign_if(&mut self, other: &Self, choice: Choice);

    /// Zero.
    fn zero() -> Self {
        Self::from_small(0)
    }

    /// One.
    fn one() -> Self {
        Self::from_small(1)
    }

    /// The value squared `n` times; `n` is at least one.
    fn square_times(&self, n: u32) -> Self {
        (1..n).fold(self.square(), |value, _| value.square())
    }

    /// 1 ÷ value, as value^(p − 2); zero for zero. 254 squarings and 11 multiplications.
    fn invert(&self) -> Self {
        invert_by_power(self)
    }

    /// value^((p − 5) ÷ 8), the heart of a square root. 251 squarings and 11 multiplications.
    fn power_p58(&self) -> Self {
        power_p58(self)
    }

    /// value^exponent for a public exponent in 32 little-endian bytes. Plain square and multiply.
    fn power(&self, exponent: &[u8; 32]) -> Self {
        let mut result = Self::one();
        for bit in (0..256).rev() {
            result = result.square();
            if exponent[bit / 8] >> (bit % 8) & 1 == 1 {
                result = result.mul(self);
            }
        }
        result
    }

    /// Whether both stand for the same element.
    fn equals(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

/// value^(p − 2).
pub(super) fn invert_by_power<F: Field>(value: &F) -> F {
    // p − 2 = 2^255 − 21 = (2^250 − 1)·2^5 + 11.
    let (power_250, power_11) = power_250_and_11(value);
    power_250.square_times(5).mul(&power_11)
}

/// value^((p − 5) ÷ 8).
pub(super) fn power_p58<F: Field>(value: &F) -> F {
    // (p − 5) ÷ 8 = 2^252 − 3 = (2^250 − 1)·2^2 + 1.
    power_250_and_11(value).0.square_times(2).mul(value)
}

/// value^(2^250 − 1) and value^11.
fn power_250_and_11<F: Field>(value: &F) -> (F, F) {
    let power_2 = value.square();
    let power_9 = power_2.square_times(2).mul(value);
    let power_11 = power_9.mul(&power_2);
    // From here on, `ones_n` is value^(2^n − 1).
    let ones_5 = power_11.square().mul(&power_9);
    let ones_10 = ones_5.square_times(5).mul(&ones_5);
    let ones_20 = ones_10.square_times(10).mul(&ones_10);
    let ones_40 = ones_20.square_times(20).mul(&ones_20);
    let ones_50 = ones_40.square_times(10).mul(&ones_10);
    let ones_100 = ones_50.square_times(50).mul(&ones_50);
    let ones_200 = ones_100.square_times(100).mul(&ones_100);
    (ones_200.square_times(50).mul(&ones_50), power_11)
}

/// 32 bytes as four little-endian words with bit 255 cleared.
pub(super) fn words_of(bytes: &[u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = chunk.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    }
    words[3] &= TOP - 1;
    words
}

/// The canonical bytes of a value below 2^256.
pub(super) fn canonical(mut words: [u64; 4]) -> [u8; 32] {
    // 2^255 ≡ 19: fold bit 255, which leaves less than 2^255 + 19; then one conditional subtraction of p is
    // enough, and whether it is due shows in bit 255 of value + 19.
    let top = words[3] >> 63;
    words[3] &= TOP - 1;
    words = add_word(words, 19 * top);
    let due = add_word(words, 19)[3] >> 63;
    words = add_word(words, 19 * due);
    words[3] &= TOP - 1;
    let mut bytes = [0; 32];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

const TOP: u64 = 1 << 63;

fn add_word(words: [u64; 4], addend: u64) -> [u64; 4] {
    let mut carry = addend;
    words.map(|word| {
        let (sum, overflow) = word.overflowing_add(carry);
        carry = u64::from(overflow);
        sum
    })
}

/// Makes the field type of a representation, and its twin whose operations the compiler may inline.
///
/// The functions named come from the calling module and are `#[inline(always)]`. In the first type each
/// field operation is one function of its own, so that op count × unit cost has a call boundary and samplers
/// see a name; the twin shows what that boundary costs.
macro_rules! representation {
    (
        $(#[$doc:meta])* $name:ident, $inlined:ident = $label:literal [$limb:ty; $limbs:literal],
        products: $mul_products:literal / $square_products:literal,
        ops: $from_words:path, $to_words:path, $add:path, $sub:path, $mul:path, $square:path, $mul_small:path
    ) => {
        representation!(@type $(#[$doc])* $name, inline(never), $label, $limb, $limbs,
            $mul_products, $square_products, $from_words, $to_words, $add, $sub, $mul, $square, $mul_small);
        representation!(@type
            /// The same representation with every field operation open to inlining: no sampler can tell the
            /// operations apart, and what the call boundary costs is the difference.
            $inlined, inline(always), $label, $limb, $limbs,
            $mul_products, $square_products, $from_words, $to_words, $add, $sub, $mul, $square, $mul_small);
    };
    (
        @type $(#[$doc:meta])* $name:ident, $inline:meta, $label:expr, $limb:ty, $limbs:literal,
        $mul_products:literal, $square_products:literal, $from_words:path, $to_words:path, $add:path, $sub:path,
        $mul:path, $square:path, $mul_small:path
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(pub(super) [$limb; $limbs]);

        impl $crate::operation::field25519::Field for $name {
            const NAME: &'static str = $label;
            const MUL_PRODUCTS: u32 = $mul_products;
            const SQUARE_PRODUCTS: u32 = $square_products;

            fn from_small(value: u32) -> Self {
                Self($from_words([u64::from(value), 0, 0, 0]))
            }
            fn from_bytes(bytes: &[u8; 32]) -> Self {
                Self($from_words($crate::operation::field25519::field::words_of(bytes)))
            }
            fn to_bytes(&self) -> [u8; 32] {
                $crate::operation::field25519::field::canonical($to_words(&self.0))
            }
            #[$inline]
            fn add(&self, other: &Self) -> Self {
                Self($add(&self.0, &other.0))
            }
            #[$inline]
            fn sub(&self, other: &Self) -> Self {
                Self($sub(&self.0, &other.0))
            }
            #[$inline]
            fn mul(&self, other: &Self) -> Self {
                Self($mul(&self.0, &other.0))
            }
            #[$inline]
            fn square(&self) -> Self {
                Self($square(&self.0))
            }
            #[$inline]
            fn mul_small(&self, factor: u32) -> Self {
                debug_assert!(factor < 1 << 17);
                Self($mul_small(&self.0, factor))
            }
            #[$inline]
            fn swap_if(a: &mut Self, b: &mut Self, choice: $crate::operation::field25519::Choice) {
                let mask = choice.mask() as $limb;
                for (a, b) in a.0.iter_mut().zip(&mut b.0) {
                    let difference = (*a ^ *b) & mask;
                    *a ^= difference;
                    *b ^= difference;
                }
            }
            #[$inline]
            fn assign_if(&mut self, other: &Self, choice: $crate::operation::field25519::Choice) {
                let mask = choice.mask() as $limb;
                for (a, b) in self.0.iter_mut().zip(&other.0) {
                    *a ^= (*a ^ *b) & mask;
                }
            }
        }
    };
}
pub(super) use representation;
