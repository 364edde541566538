//! How time is measured: clock, calibration, run loop, allocation, fresh processes, self-check.

pub mod alone;
pub mod clock;
pub mod count;
pub mod explain;

pub mod aa;
#[cfg(not(target_arch = "wasm32"))]
pub mod alloc;
#[cfg(not(target_arch = "wasm32"))]
pub mod calibrate;
#[cfg(not(target_arch = "wasm32"))]
mod cold;
#[cfg(not(target_arch = "wasm32"))]
pub mod doctor;
#[cfg(not(target_arch = "wasm32"))]
pub mod environment;
#[cfg(not(target_arch = "wasm32"))]
pub mod fresh;
pub mod interleave;
#[cfg(not(target_arch = "wasm32"))]
pub mod run;
#[cfg(not(target_arch = "wasm32"))]
pub mod selfcheck;
#[cfg(not(target_arch = "wasm32"))]
pub mod session;
#[cfg(not(target_arch = "wasm32"))]
pub mod stack;
