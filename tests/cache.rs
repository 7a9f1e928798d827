//! The directory that `make setup` fills.

use std::path::PathBuf;

/// Returns the cache directory.
pub fn cache() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(cache) = variable("MEMORY_COPILOT_CACHE") {
        return cache.into();
    }
    let user = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let user = user.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")));
    user.expect("HOME is set").join("memory-copilot")
}
