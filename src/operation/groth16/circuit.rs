//! The two circuits that the published figures use, restated: same numbers of constraints, public inputs (the
//! constant one included) and witnesses, same evaluation domain.

use ark_ff::PrimeField;
use ark_relations::gr1cs::{ConstraintSynthesizer, ConstraintSystemRef, Result, Variable};
use ark_relations::lc;

/// Which circuit, and how wide its numbers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// a·b + c·d = e: 3 constraints, 6 public inputs, 2 witnesses, domain 16. Factors of 32 bits, so witnesses of 64.
    SumOfProductsSmall,
    /// The same with factors as wide as the field.
    SumOfProductsWide,
    /// A chain of 20 products with 4 outputs: 24 constraints, 8 public inputs, 20 witnesses, domain 32. All but the
    /// first factors are as wide as the field.
    Generated24,
}

impl Shape {
    /// Every circuit.
    pub const ALL: [Self; 3] = [Self::SumOfProductsSmall, Self::SumOfProductsWide, Self::Generated24];

    /// Name in rows; the first and the last are published names.
    pub fn name(self) -> &'static str {
        match self {
            Self::SumOfProductsSmall => "sum_of_products_small",
            Self::SumOfProductsWide => "sum_of_products_wide",
            Self::Generated24 => "generated_24_constraints",
        }
    }

    /// Constraints, public inputs with the constant, witnesses, size of the evaluation domain.
    pub fn sizes(self) -> [usize; 4] {
        match self {
            Self::SumOfProductsSmall | Self::SumOfProductsWide => [3, 6, 2, 16],
            Self::Generated24 => [24, 8, 20, 32],
        }
    }

    /// How many inputs [`Circuit`] is built from.
    fn inputs(self) -> usize {
        match self {
            Self::SumOfProductsSmall | Self::SumOfProductsWide => 4,
            Self::Generated24 => 3,
        }
    }
}

/// A circuit with its inputs.
#[derive(Clone, Debug)]
pub struct Circuit<F> {
    shape: Shape,
    inputs: Vec<F>,
}

impl<F: PrimeField> Circuit<F> {
    /// The circuit on inputs drawn from `word`, a source of random 64-bit words.
    pub fn random(shape: Shape, mut word: impl FnMut() -> u64) -> Self {
        let mut input = || match shape {
            Shape::SumOfProductsSmall => F::from(word() >> 32),
            _ => {
                let bytes: Vec<u8> = (0..4).flat_map(|_| word().to_le_bytes()).collect();
                F::from_le_bytes_mod_order(&bytes)
            }
        };
        Self { shape, inputs: (0..shape.inputs()).map(|_| input()).collect() }
    }

    /// The public inputs without the constant: inputs, then outputs.
    pub fn public(&self) -> Vec<F> {
        let mut public = self.inputs.clone();
        public.extend(self.outputs(&self.witnesses()));
        public
    }

    fn witnesses(&self) -> Vec<F> {
        let x = &self.inputs;
        match self.shape {
            Shape::SumOfProductsSmall | Shape::SumOfProductsWide => vec![x[0] * x[1], x[2] * x[3]],
            Shape::Generated24 => {
                let mut chain = vec![x[0] * x[1], x[1] * x[2]];
                for i in 2..CHAIN {
                    chain.push(chain[i - 1] * (chain[i - 2] + x[i % 3]));
                }
                chain
            }
        }
    }

    fn outputs(&self, witnesses: &[F]) -> Vec<F> {
        match self.shape {
            Shape::SumOfProductsSmall | Shape::SumOfProductsWide => vec![witnesses[0] + witnesses[1]],
            Shape::Generated24 => {
                (0..OUTPUTS).map(|i| witnesses[CHAIN - OUTPUTS + i] * (witnesses[i] + F::one())).collect()
            }
        }
    }
}

const CHAIN: usize = 20;
const OUTPUTS: usize = 4;

impl<F: PrimeField> ConstraintSynthesizer<F> for Circuit<F> {
    fn generate_constraints(self, cs: ConstraintSystemRef<F>) -> Result<()> {
        let witnesses = self.witnesses();
        let outputs = self.outputs(&witnesses);
        let input = |value: &F| cs.new_input_variable(|| Ok(*value));
        let x = self.inputs.iter().map(input).collect::<Result<Vec<_>>>()?;
        let y = outputs.iter().map(input).collect::<Result<Vec<_>>>()?;
        let w = witnesses.iter().map(|value| cs.new_witness_variable(|| Ok(*value))).collect::<Result<Vec<_>>>()?;
        match self.shape {
            Shape::SumOfProductsSmall | Shape::SumOfProductsWide => {
                cs.enforce_r1cs_constraint(|| lc![x[0]], || lc![x[1]], || lc![w[0]])?;
                cs.enforce_r1cs_constraint(|| lc![x[2]], || lc![x[3]], || lc![w[1]])?;
                cs.enforce_r1cs_constraint(|| lc![w[0], w[1]], || lc![Variable::One], || lc![y[0]])
            }
            Shape::Generated24 => {
                cs.enforce_r1cs_constraint(|| lc![x[0]], || lc![x[1]], || lc![w[0]])?;
                cs.enforce_r1cs_constraint(|| lc![x[1]], || lc![x[2]], || lc![w[1]])?;
                for i in 2..CHAIN {
                    cs.enforce_r1cs_constraint(|| lc![w[i - 1]], || lc![w[i - 2], x[i % 3]], || lc![w[i]])?;
                }
                for i in 0..OUTPUTS {
                    let factor = || lc![w[i], Variable::One];
                    cs.enforce_r1cs_constraint(|| lc![w[CHAIN - OUTPUTS + i]], factor, || lc![y[i]])?;
                }
                Ok(())
            }
        }
    }
}
