//! What the page calls. Values cross the border as JSON text, so that the page and the files that it
//! exports have one form, and nothing here reads a clock: one loop in JavaScript times every runtime.

mod measure;
#[cfg(feature = "web-operations")]
mod operations;
#[cfg(feature = "import")]
mod profiles;
#[cfg(feature = "crypto")]
mod shared;

use wasm_bindgen::prelude::JsError;

fn error(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

fn json(value: &impl serde::Serialize) -> Result<String, JsError> {
    serde_json::to_string(value).map_err(error)
}
