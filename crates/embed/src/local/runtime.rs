//! The ONNX runtime, a shared library that is loaded at the first use of a local model.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;

use mc_privileges::raise_privileges;

use crate::Error;

/// Loads the library for the whole process; the first path that loads stays.
pub(super) fn load_library(path: Option<&Path>) -> Result<(), Error> {
    let default = format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}");
    let path = path.map_or_else(|| default.into(), Path::to_path_buf);
    // Root's cache may be closed to other users.
    let _raised = raise_privileges();
    match ort::init_from(&path) {
        // fastembed creates the environment.
        Ok(_environment) => Ok(()),
        Err(reason) => Err(Error::Library { path, reason: reason.to_string() }),
    }
}
