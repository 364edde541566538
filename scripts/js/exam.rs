//! The wasm side of the exam, compiled twice: with bodies that stay functions, and with bodies inlined into
//! their caller as an optimiser would.
#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

const STEPS: u32 = 400;

#[unsafe(no_mangle)]
#[cfg_attr(separate, inline(never))]
#[cfg_attr(not(separate), inline(always))]
pub extern "C" fn light(x: u32) -> u32 {
    (0..STEPS).fold(x, |a, i| (a ^ (a >> 13)).wrapping_mul(0x5bd1_e995).wrapping_add(i))
}

#[unsafe(no_mangle)]
#[cfg_attr(separate, inline(never))]
#[cfg_attr(not(separate), inline(always))]
pub extern "C" fn heavy(x: u32) -> u32 {
    (0..STEPS).fold(x, |a, i| (a ^ (a >> 15)).wrapping_mul(0x27d4_eb2d).wrapping_add(i))
}

/// One light and three heavy calls a round.
#[unsafe(no_mangle)]
pub extern "C" fn mixed(rounds: u32, x: u32) -> u32 {
    (0..rounds).fold(x, |x, _| light(heavy(heavy(heavy(x)))))
}
