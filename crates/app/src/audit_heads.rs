//! The heads of the audit chains, stored in a file outside the database, so that the removal of the
//! newest events is detected.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result};
use mc_crypto::{AuditMacKeys, Encryptor, Head};
use mc_store::audit::Chains;
use uuid::Uuid;

use crate::config::Config;
use crate::private_file;

const NAME: &str = "the heads of the audit chains";

/// Returns the audit chains, with the heads that an earlier run stored.
pub fn open_chains(config: &Config, encryptor: &Encryptor) -> Result<Chains> {
    Ok(Chains::new(AuditMacKeys::derive(encryptor), read(&config.audit_heads_file())?))
}

/// Reads the heads that an earlier run stored; returns none before the first run.
pub fn read(path: &Path) -> Result<HashMap<Uuid, Head>> {
    if !private_file::exists(path)? {
        return Ok(HashMap::new());
    }
    let text = private_file::read(path, NAME)?;
    let unreadable = || {
        format!(
            "{} does not hold {NAME}; restore it, or delete it: then the removal of audit events \
            before now can't be detected",
            path.display()
        )
    };
    serde_json::from_slice(&text).with_context(unreadable)
}

/// Stores the heads for the next run.
pub fn write(path: &Path, heads: &HashMap<Uuid, Head>) -> Result<()> {
    private_file::write(path, NAME, &serde_json::to_vec(heads)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn audit_heads_round_trip() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("heads");
        assert_eq!(read(&path).expect("none yet"), HashMap::new());
        let heads = HashMap::from([(Uuid::now_v7(), Head { seq: 7, mac: [3; 32] })]);
        write(&path, &heads).expect("written");
        assert_eq!(read(&path).expect("read"), heads);
        std::fs::write(&path, "{").expect("damaged");
        let message = format!("{:#}", read(&path).expect_err("damaged"));
        assert!(message.contains("restore it, or delete it"), "{message}");
    }
}
