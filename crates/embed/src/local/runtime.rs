//! The ONNX runtime, a shared library that is loaded at the first use of a local model.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::cache_dir::onnx_library_name;

/// Loads the library for the whole process; the first path that loads stays.
pub(super) fn load_library(path: Option<&Path>) -> Result<(), Error> {
    let path = path.map_or_else(|| PathBuf::from(onnx_library_name()), Path::to_path_buf);
    match ort::init_from(&path) {
        // fastembed makes the environment; this was only about the library.
        Ok(_environment) => Ok(()),
        Err(reason) => Err(Error::Library { path, reason: reason.to_string() }),
    }
}
