//! Repositories on this disk. A file `.git` or `alternates` may name any other directory, from
//! which git would read with the permissions of the service.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::git::Git;
use super::{LOCAL_LIMIT, Location};
use crate::Error;
use crate::protected::{Snapshot, local_path};

/// Maximum number of directories of objects that are checked; git follows fewer levels of them.
const MAX_ALTERNATES: usize = 64;

/// Rejects a location whose repository, or one whose objects it borrows, is protected.
pub(super) async fn check(
    location: &Location,
    protected: &Snapshot,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    for directory in directories(location)? {
        let git = match location {
            Location::Directory(_) => Git::in_place(&directory)?,
            // Git fetches from a `file:` URL as the service's user.
            Location::Url(_) => Git::in_directory(&directory),
        };
        let arguments = ["rev-parse", "--absolute-git-dir", "--git-common-dir"];
        match git.run(&arguments, LOCAL_LIMIT, cancel).await {
            Ok(found) => {
                for own in found.lines().map(|own| directory.join(own)) {
                    protected.check_inside(&own)?;
                    check_alternates(&own.join("objects"), protected)?;
                }
            }
            // No repository.
            Err(Error::Unreachable(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the directories in which git looks for the repository of a location.
fn directories(location: &Location) -> Result<Vec<PathBuf>, Error> {
    let Some(path) = local_path(location)? else { return Ok(Vec::new()) };
    let mut found = vec![path];
    if let Location::Url(_) = location {
        let mut with_suffix = found[0].clone().into_os_string();
        with_suffix.push(".git");
        found.push(with_suffix.into());
    }
    Ok(found)
}

fn check_alternates(objects: &Path, protected: &Snapshot) -> Result<(), Error> {
    let mut directories = vec![objects.to_owned()];
    let mut next = 0;
    while let Some(objects) = directories.get(next).filter(|_| next < MAX_ALTERNATES).cloned() {
        next += 1;
        let listed = std::fs::read(objects.join("info/alternates")).unwrap_or_default();
        for line in String::from_utf8_lossy(&listed).lines().filter(|line| !line.starts_with('#')) {
            // Git accepts a path in quotation marks.
            let alternate = objects.join(line.trim_matches('"'));
            protected.check_inside(&alternate)?;
            directories.push(alternate);
        }
    }
    Ok(())
}
