//! Where the chains of the audit end, as far as this service knows: kept beside the database, so
//! that it is noticed when an end is cut off there.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use mc_crypto::Head;
use uuid::Uuid;

use crate::private_file;

const WHAT: &str = "the ends of the audit's chains";

/// The ends that an earlier run knew; none before the first.
pub fn read(path: &Path) -> Result<HashMap<Uuid, Head>> {
    if !path.exists() {
        return Ok(HashMap::new());
    }
    let text = private_file::read(path, WHAT)?;
    let unreadable = || {
        format!(
            "{} does not hold {WHAT}; restore it, or delete it: then it can't be noticed that an \
             end was cut off before now",
            path.display()
        )
    };
    serde_json::from_slice(&text).with_context(unreadable)
}

/// Writes the ends, for the next run.
pub fn write(path: &Path, heads: &HashMap<Uuid, Head>) -> Result<()> {
    private_file::write(path, WHAT, &serde_json::to_vec(heads)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_known_is_known_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("heads");
        assert_eq!(read(&path).expect("none yet"), HashMap::new());
        let heads = HashMap::from([(Uuid::now_v7(), Head { seq: 7, mac: [3; 32] })]);
        write(&path, &heads).expect("written");
        assert_eq!(read(&path).expect("read"), heads);
        std::fs::write(&path, "{").expect("damaged");
        let said = format!("{:#}", read(&path).expect_err("damaged"));
        assert!(said.contains("restore it, or delete it"), "{said}");
    }
}
