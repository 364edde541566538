//! The boundary: the call site that counts, times, repeats or replays a primitive inside an operation.

/// A named call site of a primitive. Declare it `static` and put it around a pure call.
#[derive(Debug)]
pub struct Boundary {
    name: &'static str,
}

impl Boundary {
    /// A boundary for the primitive of this name.
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }

    /// The primitive's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Runs the closure. It must be pure: same output each time, no effect besides.
    #[inline]
    pub fn call<T: Clone + 'static>(&'static self, body: impl Fn() -> T) -> T {
        body()
    }

    /// Like [`Boundary::call`], with the inputs named so that replay can check them and costs can be
    /// matched to their sizes.
    #[inline]
    pub fn call_on<T: Clone + 'static>(&'static self, _inputs: &[&[u8]], body: impl Fn() -> T) -> T {
        body()
    }
}
