//! Labeled texts, one JSON object per line.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A text with a secret.
#[derive(Debug, Deserialize)]
pub struct Positive {
    pub kind: String,
    pub text: String,
    /// The part that must be masked.
    pub secret: String,
}

/// A text without a secret.
#[derive(Debug, Deserialize)]
pub struct Negative {
    pub kind: String,
    pub text: String,
}

/// Reads the rows of `<name>.jsonl`, or of `<name>.jsonl.gz`.
pub fn read<Row: DeserializeOwned>(directory: &Path, name: &str) -> Result<Vec<Row>> {
    let text = text(directory, name)?;
    let rows = text.lines().enumerate().map(|(at, line)| {
        serde_json::from_str(line).with_context(|| format!("{name}, line {}", at + 1))
    });
    rows.collect()
}

fn text(directory: &Path, name: &str) -> Result<String> {
    let plain = directory.join(format!("{name}.jsonl"));
    if plain.exists() {
        return std::fs::read_to_string(&plain)
            .with_context(|| format!("{} can't be read", plain.display()));
    }
    let packed = directory.join(format!("{name}.jsonl.gz"));
    let file = std::fs::File::open(&packed).with_context(|| {
        format!("neither {} nor {} can be read", plain.display(), packed.display())
    })?;
    let mut text = String::new();
    MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .with_context(|| format!("{} can't be unpacked", packed.display()))?;
    Ok(text)
}

/// Groups the rows by kind, sorted by name.
pub fn by_kind<Row>(
    rows: &[Row],
    kind: impl Fn(&Row) -> &str,
) -> impl Iterator<Item = (&str, Vec<&Row>)> {
    let mut kinds: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        kinds.entry(kind(row)).or_default().push(row);
    }
    kinds.into_iter()
}
