//! What the team knows as a YAML document: what `memory-copilot export` writes, and `import` reads.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mc_domain::{ProjectId, RecordId, Visibility};
use mc_store::citations::{self, Citation};
use mc_store::records::{self, Record, RecordFilter};
use mc_store::{Store, docs, exports};
use serde_json::{Value, json};

use crate::Error;

/// Records read at once.
const PAGE: i64 = 500;
/// A document larger than this is none of ours: 100,000 records are about a tenth of it.
const BYTES_MAX: u64 = 1 << 30;
/// What is exported of a record, in this order; anything else is the service's own business.
const FIELDS: &[&str] = &[
    "kind",
    "title",
    "content",
    "scope",
    "tags",
    "owner",
    "ttl",
    "quality",
    "ci",
    "meta",
    "steps",
    "patch_ref",
    "url",
    "task_external_id",
    "citations",
];
/// What `save` takes beside `meta`, and the service keeps in it.
const KEPT_IN_META: &[&str] = &["steps", "patch_ref", "url"];

/// What `save` needs to make a record anew, of the record as the API shows it. An end that nobody
/// named is not part of it: the new record's life begins with its import.
pub fn exported(mut record: Value) -> Value {
    for field in KEPT_IN_META {
        if let Some(value) = record["meta"].as_object_mut().and_then(|meta| meta.remove(*field)) {
            record[*field] = value;
        }
    }
    if record["is_ttl_explicit"] != true {
        record["ttl"] = Value::Null;
    }
    for citation in record["citations"].as_array_mut().into_iter().flatten() {
        // The next check makes a verdict of its own.
        citation.as_object_mut().and_then(|citation| citation.remove("verdict"));
    }
    let kept = FIELDS.iter().filter_map(|field| {
        let value = record[*field].take();
        (!is_empty(&value)).then(|| ((*field).to_owned(), value))
    });
    Value::Object(kept.collect())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The live records of the team, in the order in which they were made; nobody's private ones, and
/// no proposals.
pub async fn of_team(store: &Store, project: ProjectId) -> Result<Vec<Value>, Error> {
    let team = RecordFilter { visibility: Some(Visibility::Team), ..RecordFilter::default() };
    let mut all = Vec::new();
    let mut after: Option<RecordId> = None;
    loop {
        let page = records::list(store, project, &team, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.id);
        let ids: Vec<_> = page.iter().map(|record| record.id).collect();
        let mut cited: HashMap<_, Vec<Citation>> = HashMap::new();
        for citation in citations::of_records(store, &ids).await? {
            cited.entry(citation.record).or_default().push(citation);
        }
        let documents = docs::behind(store, &ids).await?;
        for record in page {
            let cited = cited.remove(&record.id).unwrap_or_default();
            let mut shown = shown(&record, &cited);
            if let Some(document) = documents.get(&record.id)
                && let Some(whole) = docs::by_id(store, project, *document).await?
            {
                // From which a save makes the statement and the document anew.
                shown["content"] = whole.content.into();
            }
            all.push(exported(shown));
        }
    }
}

/// The record as the API shows it, as far as it is exported.
fn shown(record: &Record, cited: &[Citation]) -> Value {
    let cited = cited.iter().map(|one| {
        let all = json!({
            "file": one.file_path,
            "symbol": one.symbol,
            "line_start": one.lines.map(|lines| lines.0),
            "line_end": one.lines.map(|lines| lines.1),
            "commit": one.commit,
            "content_hash": one.content_hash.as_deref().map(hex::encode),
        });
        let present = all.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        present.map(|(name, value)| (name.clone(), value.clone())).collect::<Value>()
    });
    json!({
        "kind": record.kind,
        "title": record.title,
        "content": record.content,
        "scope": record.scope,
        "tags": record.tags,
        "owner": record.owner,
        "ttl": record.ttl,
        "is_ttl_explicit": record.is_ttl_explicit,
        "quality": record.quality,
        "meta": record.meta,
        "task_external_id": record.task_external_id,
        "citations": cited.collect::<Vec<_>>(),
    })
}

/// Keeps an export of what the team knows now; answers of how many records.
pub async fn keep(store: &Store, project: ProjectId) -> Result<usize, Error> {
    let records = of_team(store, project).await?;
    let document = yaml(&records)?;
    let mut tx = store.begin().await?;
    exports::add(&mut tx, project, records.len(), document.len(), &compress(&document)?).await?;
    tx.commit().await?;
    Ok(records.len())
}

/// The records as a document.
pub fn yaml(records: &[Value]) -> Result<String, Error> {
    serde_norway::to_string(records).map_err(|error| Error::Export(error.to_string()))
}

/// A document as it is kept.
pub fn compress(document: &str) -> Result<Vec<u8>, Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(document.as_bytes()).and_then(|()| encoder.finish());
    written.map_err(|error| Error::Export(error.to_string()))
}

/// The document that is kept so.
pub fn decompress(kept: &[u8]) -> Result<String, Error> {
    let mut document = String::new();
    let read = GzDecoder::new(kept).take(BYTES_MAX).read_to_string(&mut document);
    read.map_err(|error| Error::Export(error.to_string()))?;
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_packed() {
        let records = [json!({"kind": "fact", "content": "Всё — «готово»\nand more"})];
        let document = yaml(&records).expect("a document");
        let kept = compress(&document).expect("packed");
        assert_eq!(decompress(&kept).expect("unpacked"), document);
        assert!(decompress(&kept[..kept.len() / 2]).is_err());
    }

    #[test]
    fn what_save_takes_beside_meta_is_beside_it_and_what_nobody_said_is_left_out() {
        let record = json!({
            "id": "1", "kind": "fewshot", "title": "", "content": "c", "scope": [], "ttl": "2030-01-01",
            "is_ttl_explicit": false, "meta": {"steps": ["a"]}, "hits": 3,
            "citations": [{"file": "a.rb", "verdict": "fresh"}],
        });
        let expected = json!({
            "kind": "fewshot", "content": "c", "steps": ["a"], "citations": [{"file": "a.rb"}],
        });
        assert_eq!(exported(record), expected);
    }
}
