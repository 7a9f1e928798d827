//! Directory in which `make setup` stores downloads.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Directory of downloads: the ONNX runtime and models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDir(PathBuf);

/// Default model, which `make setup` downloads.
const DEFAULT_MODEL: &str = "all-minilm-l6-v2-int8";

impl CacheDir {
    /// `$MEMORY_COPILOT_CACHE`, else `memory-copilot` in `$XDG_CACHE_HOME` or `$HOME/.cache`;
    /// nothing when none of the three is set. An empty variable counts as unset.
    pub fn locate(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let folder =
            |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let in_user_cache = || {
            let cache =
                folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
            Some(cache.join("memory-copilot"))
        };
        folder("MEMORY_COPILOT_CACHE").or_else(in_user_cache).map(Self)
    }

    /// Uses the given directory.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of the ONNX runtime's shared library.
    pub fn onnx_library(&self) -> PathBuf {
        self.0.join("onnxruntime").join(onnx_library_name())
    }

    /// Returns the directory of the default model.
    pub fn default_model(&self) -> PathBuf {
        self.0.join("models").join(DEFAULT_MODEL)
    }

    /// Returns the directory of models from the Hugging Face hub.
    pub fn hub(&self) -> PathBuf {
        self.0.join("hub")
    }
}

/// Returns the platform's name of the library, `libonnxruntime.so` on Linux.
pub(crate) fn onnx_library_name() -> String {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    format!("{DLL_PREFIX}onnxruntime{DLL_SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(set: &[(&str, &str)]) -> Option<PathBuf> {
        let variable = |name: &str| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        CacheDir::locate(variable).map(|cache| cache.path().to_owned())
    }

    #[test]
    fn the_nearest_variable_that_is_set_names_the_folder() {
        let all = [("MEMORY_COPILOT_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(located(&all), Some("/a".into()));
        assert_eq!(located(&all[1..]), Some("/b/memory-copilot".into()));
        assert_eq!(located(&all[2..]), Some("/c/.cache/memory-copilot".into()));
        assert_eq!(located(&[("MEMORY_COPILOT_CACHE", "")]), None);
    }
}
