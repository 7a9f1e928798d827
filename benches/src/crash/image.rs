//! The contents of a project's index, for comparison.

use std::collections::BTreeMap;

use anyhow::Result;
use mc_store::{Store, testing};
use serde::Deserialize;

/// Counts each passage of code and documents by all fields that a search uses.
const PASSAGES: &str = "select coalesce(json_object_agg(what, times), '{}')::text from (
    select md5(concat_ws(E'\\x1f', p.source_kind, p.location, p.ordinal, p.title, p.symbols,
                        p.scope, p.tags, p.language, p.text, encode(p.content_hash, 'hex'),
                        c.line_start, c.line_end)) as what, count(*) as times
    from passages p join projects o on o.id = p.project_id
    left join code_chunks c on c.passage_id = p.id
    where o.key = '{key}' and p.source_kind in ('code', 'doc') group by 1) passages";
/// Lists the records with the number of their passages.
const RECORDS: &str = "select coalesce(json_agg(json_build_object('id', r.id, 'passages', (
        select count(*) from passages p where p.record_id = r.id))), '[]')::text
    from memory_records r join projects o on o.id = r.project_id where o.key = '{key}'";
const WITHOUT_VECTOR: &str =
    "select count(*)::text from passages p join projects o on o.id = p.project_id
    where o.key = '{key}' and not exists (
        select from embeddings e where e.passage_id = p.id and e.text_hash = p.content_hash)";

/// The passages of code and documents.
#[derive(Debug, PartialEq, Eq)]
pub struct Image(BTreeMap<String, u64>);

/// A memory record.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// The id.
    pub id: String,
    /// Number of its passages; must be one.
    pub passages: u64,
}

impl Image {
    /// Reads the index of a project.
    pub async fn read(store: &Store, key: &str) -> Result<Self> {
        let text = testing::text(store, &PASSAGES.replace("{key}", key)).await?;
        Ok(Self(serde_json::from_str(&text)?))
    }

    /// Describes its size.
    pub fn describe(&self) -> String {
        format!("{} passages of code and documents", self.0.values().sum::<u64>())
    }

    /// Returns the differences from a correct index.
    pub fn complaints(&self, right: &Self) -> Vec<String> {
        let times = |image: &Self, what: &String| image.0.get(what).copied().unwrap_or_default();
        let missing = right.0.keys().filter(|what| times(self, what) < times(right, what)).count();
        let extra = self.0.keys().filter(|what| times(self, what) > times(right, what)).count();
        let says =
            [(missing, "missing"), (extra, "there twice, or without being in the repository")];
        let says = says.into_iter().filter(|(count, _)| *count > 0);
        says.map(|(count, what)| format!("{count} passages are {what}")).collect()
    }
}

/// Lists the records of a project.
pub async fn records(store: &Store, key: &str) -> Result<Vec<Record>> {
    let text = testing::text(store, &RECORDS.replace("{key}", key)).await?;
    Ok(serde_json::from_str(&text)?)
}

/// Counts the passages of a project without a vector of their text.
pub async fn without_vector(store: &Store, key: &str) -> Result<usize> {
    Ok(testing::text(store, &WITHOUT_VECTOR.replace("{key}", key)).await?.parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_and_duplicate_passages_are_distinguished() {
        let image = |of: &[(&str, u64)]| {
            Image(of.iter().map(|(what, times)| ((*what).to_owned(), *times)).collect())
        };
        let right = image(&[("a", 1), ("b", 2)]);
        assert!(right.complaints(&right).is_empty());
        assert_eq!(image(&[("a", 1), ("b", 1)]).complaints(&right), ["1 passages are missing"]);
        let both = image(&[("a", 2), ("c", 1)]).complaints(&right);
        assert_eq!(both.len(), 2);
        assert!(both[1].starts_with("2 passages are there twice"), "{both:?}");
    }
}
