//! GF(2^255 − 19) in several representations, from first principles, and what X25519 and Ed25519 cost on each.
//!
//! Here calls last nanoseconds, too short for a [`Boundary`](crate::Boundary): op counts come from [`Counted`].
//! Each field operation of a representation is one function that is never inlined, so that it has a cost, a
//! count and a name in a profile. The `-inlined` twins leave inlining to the compiler and show what
//! that costs; the `-boxed` twins allocate every result.
//!
//! These are measuring objects. The ladder and signing do the same operations for every secret, but nobody has
//! audited the machine code: use `x25519-dalek` and `ed25519-dalek` for keys that matter.

mod boxed;
mod costs;
mod counted;
pub mod ed25519;
pub mod edwards;
pub mod explain;
mod field;
mod ladder;
mod limbs10;
mod limbs16;
mod limbs4;
mod limbs5;
pub mod representations;
#[cfg(test)]
mod tests;
mod workloads;

pub use boxed::Boxed;
pub use costs::{Operation, Surroundings};
pub use counted::{Counted, FieldOps, count};
pub use field::{Choice, Field};
pub use ladder::{BASE, ladder};
pub use limbs4::{Limbs4, Limbs4Inlined};
pub use limbs5::{Limbs5, Limbs5Inlined};
pub use limbs10::{Limbs10, Limbs10Inlined};
pub use limbs16::{
    CARRIES_PER_MUL, Limbs16, Limbs16Inlined, Limbs16Peeled, Limbs16PeeledInlined, Limbs16Symmetric,
    Limbs16SymmetricInlined, carry_peeled, carry_wrapping,
};
pub use workloads::{all, rewrites};
