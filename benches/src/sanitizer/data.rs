//! Labelled texts, one JSON object a line.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A text with a secret in it.
#[derive(Debug, Deserialize)]
pub struct Positive {
    pub kind: String,
    pub text: String,
    /// The part that must not survive.
    pub secret: String,
}

/// A text without one.
#[derive(Debug, Deserialize)]
pub struct Negative {
    pub kind: String,
    pub text: String,
}

/// The rows of `<name>.jsonl`, or of `<name>.jsonl.gz`.
pub fn read<Row: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<Row>> {
    let text = text(folder, name)?;
    let rows = text.lines().enumerate().map(|(at, line)| {
        serde_json::from_str(line).with_context(|| format!("{name}, line {}", at + 1))
    });
    rows.collect()
}

fn text(folder: &Path, name: &str) -> Result<String> {
    let plain = folder.join(format!("{name}.jsonl"));
    if plain.exists() {
        return std::fs::read_to_string(&plain)
            .with_context(|| format!("{} can't be read", plain.display()));
    }
    let packed = folder.join(format!("{name}.jsonl.gz"));
    let file = std::fs::File::open(&packed).with_context(|| {
        format!("neither {} nor {} can be read", plain.display(), packed.display())
    })?;
    let mut text = String::new();
    MultiGzDecoder::new(file)
        .read_to_string(&mut text)
        .with_context(|| format!("{} can't be unpacked", packed.display()))?;
    Ok(text)
}

/// The rows of each kind, in the order of their names.
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
