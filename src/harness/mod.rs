//! How time is measured: clock, calibration, run loop, allocation, fresh processes, self-check.

pub mod aa;
#[cfg(not(target_arch = "wasm32"))]
pub mod alloc;
#[cfg(not(target_arch = "wasm32"))]
pub mod alone;
#[cfg(not(target_arch = "wasm32"))]
pub mod calibrate;
pub mod clock;
#[cfg(not(target_arch = "wasm32"))]
mod cold;
pub mod count;
#[cfg(not(target_arch = "wasm32"))]
pub mod doctor;
#[cfg(not(target_arch = "wasm32"))]
pub mod environment;
#[cfg(not(target_arch = "wasm32"))]
pub mod explain;
pub mod falsify;
#[cfg(not(target_arch = "wasm32"))]
pub mod fresh;
pub mod interleave;
#[cfg(not(target_arch = "wasm32"))]
pub mod run;
#[cfg(not(target_arch = "wasm32"))]
pub mod selfcheck;
#[cfg(not(target_arch = "wasm32"))]
pub mod session;
pub mod stack;
#[cfg(not(target_arch = "wasm32"))]
pub mod whatif;
