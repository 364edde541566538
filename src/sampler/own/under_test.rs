//! The crate's own tests under the own sampler: it starts with the test program where `COUNTERCHECK_UNDER_OWN`
//! is set, and says at the end what it saw. `scripts/soak` runs the tests so.

use std::sync::Mutex;

use super::{Recording, Stacks};
use crate::sampler::window::Gate;

#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);

extern "C" fn start() {
    if std::env::var_os("COUNTERCHECK_UNDER_OWN").is_none() {
        return;
    }
    let mut recording = Recording::start(997).expect("the own sampler starts");
    recording.open();
    *RECORDING.lock().expect("nothing has panicked yet") = Some(recording);
    // SAFETY: the function may be called at any time after this.
    unsafe { libc::atexit(report) };
}

extern "C" fn report() {
    let Ok(mut recording) = RECORDING.lock() else { return };
    let Some(mut recording) = recording.take() else { return };
    recording.close();
    let stacks: Stacks = recording.finish().0;
    let (cpu_ns, lost) = (stacks.cpu_ns(), stacks.lost);
    let profile = stacks.profile(0);
    println!(
        "under the own sampler: {} samples of {} threads, {:.1} s of CPU time, {lost} lost",
        profile.samples.len(),
        profile.threads.len(),
        cpu_ns as f64 / 1e9
    );
}
