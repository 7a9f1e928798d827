//! Directories of the service, which commands are not given.

use std::path::{Path, PathBuf};

use crate::settings::Settings;

/// The protected paths, and the directories in them below which commands may have directories. All
/// are without links.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProtectedPaths {
    protected: Vec<PathBuf>,
    allowed_roots: Vec<PathBuf>,
}

impl ProtectedPaths {
    /// Returns the paths of checked settings.
    pub fn of(settings: &Settings) -> Self {
        Self {
            protected: settings.protected_paths.clone(),
            allowed_roots: settings.allowed_roots.clone(),
        }
    }

    /// Returns whether a directory contains files of the service.
    pub fn contain(&self, directory: &Path) -> bool {
        let is_protected = |protected: &PathBuf| {
            protected.starts_with(directory)
                || directory.starts_with(protected) && !self.is_allowed(directory, protected)
        };
        directory == Path::new("/") || self.protected.iter().any(is_protected)
    }

    /// An allowed root outside of the protected path does not count: the protected path may lie
    /// in it.
    fn is_allowed(&self, directory: &Path, protected: &Path) -> bool {
        let roots = self.allowed_roots.iter().filter(|root| root.starts_with(protected));
        roots.into_iter().any(|root| directory != root && directory.starts_with(root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_around_or_in_a_protected_path_is_protected() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        let paths = ProtectedPaths {
            protected: paths(&["/srv/data", "/srv/data/trees/keys"]),
            allowed_roots: paths(&["/srv/data/trees"]),
        };
        for (directory, expected) in [
            ("/", true),
            ("/srv", true),
            ("/srv/data", true),
            ("/srv/data/secrets", true),
            ("/srv/data/trees", true),
            ("/srv/data/trees2/1", true),
            ("/srv/data/trees/keys", true),
            ("/srv/data/trees/keys/1", true),
            ("/srv/data/trees/1", false),
            ("/srv/data/trees/1/tree", false),
            ("/srv/data2", false),
            ("/home/user", false),
        ] {
            assert_eq!(paths.contain(Path::new(directory)), expected, "{directory}");
        }
    }
}
