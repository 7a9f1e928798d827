//! Settings that replace those of a checkout's configuration by which git would run programs.

use tokio_util::sync::CancellationToken;

use crate::Error;
use crate::plumbing::LIMIT;
use crate::program::Git;

/// Maximum bytes of all names that are overridden: they are passed in the environment.
const MAX_BYTES: usize = 16 * 1024;
/// A merge that git can do itself.
const MERGE: &str = "git merge-file --marker-size=%L %A %O %B";

/// Returns the overrides for the filters and merge drivers that the configuration of a checkout
/// defines. A configuration that depends on the branch is rejected: it may define others later.
pub(super) async fn of(
    git: &Git,
    cancel: &CancellationToken,
) -> Result<Vec<(String, String)>, Error> {
    let list = ["config", "-z", "--includes", "--name-only", "--list"];
    let mut names = Vec::new();
    let mut is_readable = true;
    let on_name = |name: &[u8]| match std::str::from_utf8(name) {
        Ok(name) => names.push(name.to_owned()),
        Err(_) => is_readable = false,
    };
    git.fields(&list, LIMIT, cancel, on_name).await?;
    let rejected = |reason: &str| Err(Error::InvalidLocation(reason.to_owned()));
    if !is_readable {
        return rejected("the configuration of the checkout has a name that is not UTF-8");
    }
    if names.iter().any(|name| name.starts_with("includeif.")) {
        return rejected(
            "the configuration of the checkout includes files by a condition (includeIf); include \
             files of the repository without one, or fetch the repository into a workspace",
        );
    }
    let mut overrides: Vec<(String, String)> = names.iter().flat_map(|name| one(name)).collect();
    overrides.sort();
    overrides.dedup();
    let bytes: usize = overrides.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MAX_BYTES {
        return rejected("the configuration of the checkout defines too many filters");
    }
    Ok(overrides)
}

/// Returns the overrides that a name of the configuration needs. The part between the first and the
/// last dot is the name of the filter or driver, in any spelling.
fn one(name: &str) -> Vec<(String, String)> {
    let Some((section, rest)) = name.split_once('.') else { return Vec::new() };
    let Some((driver, _)) = rest.rsplit_once('.') else { return Vec::new() };
    let set = |key: &str, value: &str| (format!("{section}.{driver}.{key}"), value.to_owned());
    match section {
        "filter" => {
            vec![set("clean", ""), set("smudge", ""), set("process", ""), set("required", "false")]
        }
        "merge" => vec![set("driver", MERGE)],
        _ => Vec::new(),
    }
}
