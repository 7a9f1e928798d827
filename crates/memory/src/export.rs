//! Exporting the team's records as YAML, as `memory-copilot export` writes and `import` reads it.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use mc_domain::{ProjectId, RecordId, Visibility};
use mc_store::citations::Citation;
use mc_store::records::{self, Record, RecordFilter};
use mc_store::{Store, docs, exports};
use serde_json::{Value, json};

use crate::Error;
use crate::citations::last_known;

const PAGE_SIZE: i64 = 500;
/// Largest document that is decompressed, in bytes: 100,000 records are about a tenth of it.
const BYTES_MAX: u64 = 1 << 30;
/// Exported fields of a record, in order; other fields are internal.
const FIELDS: &str = "kind title content scope tags owner ttl quality ci_status meta steps \
    patch_ref url task_external_id citations";
/// Fields of a save request that a record has in `meta`.
const META_FIELDS: &[&str] = &["steps", "patch_ref", "url"];

/// Reduces a record, as the API renders it, to what a save needs to create it again, and its CI
/// status, which an import leaves out. A TTL that is not explicit is left out, as the new record's
/// life begins with its import.
pub fn exported(mut record: Value) -> Value {
    for field in META_FIELDS {
        if let Some(value) = record["meta"].as_object_mut().and_then(|meta| meta.remove(*field)) {
            record[*field] = value;
        }
    }
    if record["is_ttl_explicit"] != true {
        record["ttl"] = Value::Null;
    }
    for citation in record["citations"].as_array_mut().into_iter().flatten() {
        // The next check sets the verdict.
        citation.as_object_mut().and_then(|citation| citation.remove("verdict"));
    }
    let kept = FIELDS.split(' ').filter_map(|field| {
        let value = record[field].take();
        (!is_empty(&value)).then(|| (field.to_owned(), value))
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

/// Returns the live team records in the order of creation, without private ones and proposals.
pub async fn team_records(store: &Store, project: ProjectId) -> Result<Vec<Value>, Error> {
    let team = RecordFilter { visibility: Some(Visibility::Team), ..RecordFilter::default() };
    let mut all = Vec::new();
    let mut after: Option<RecordId> = None;
    loop {
        let page = records::list(store, project, &team, after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = Some(last.id);
        let ids: Vec<_> = page.iter().map(|record| record.id).collect();
        let mut cited = last_known(store, &ids).await?;
        let documents = docs::newest_of_records(store, &ids).await?;
        for record in page {
            let cited = cited.remove(&record.id).unwrap_or_default();
            let mut rendered = rendered(&record, &cited);
            if let Some(document) = documents.get(&record.id)
                && let Some(whole) = docs::by_id(store, project, *document).await?
            {
                // A save derives statement and document from the whole text again.
                rendered["content"] = whole.content.into();
            }
            all.push(exported(rendered));
        }
    }
}

/// Removes the fields of an object that are null.
fn without_nulls(mut json: Value) -> Value {
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    json
}

/// Renders the exported fields of a record as the API does.
fn rendered(record: &Record, cited: &[Citation]) -> Value {
    let cited = cited.iter().map(|one| {
        without_nulls(json!({
            "file": one.file_path,
            "symbol": one.symbol,
            "line_start": one.lines.map(|lines| lines.0),
            "line_end": one.lines.map(|lines| lines.1),
            "commit": one.commit,
            "content_hash": one.content_hash.as_deref().map(hex::encode),
        }))
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
        "ci_status": record.ci_status,
        "meta": record.meta,
        "task_external_id": record.task_external_id,
        "citations": cited.collect::<Vec<_>>(),
    })
}

/// Stores an export of the team's records; returns their number.
pub async fn keep(store: &Store, project: ProjectId) -> Result<usize, Error> {
    let records = team_records(store, project).await?;
    let document = yaml(&records)?;
    let mut tx = store.begin().await?;
    exports::add(&mut tx, project, records.len(), document.len(), &compress(&document)?).await?;
    tx.commit().await?;
    Ok(records.len())
}

/// Renders records as YAML.
pub fn yaml(records: &[Value]) -> Result<String, Error> {
    serde_norway::to_string(records).map_err(|error| Error::Export(error.to_string()))
}

/// Compresses a document for storage.
pub fn compress(document: &str) -> Result<Vec<u8>, Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(document.as_bytes()).and_then(|()| encoder.finish());
    written.map_err(|error| Error::Export(error.to_string()))
}

/// Decompresses a stored document.
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
    fn compressed_document_decompresses_to_itself() {
        let records = [json!({"kind": "fact", "content": "Всё — «готово»\nand more"})];
        let document = yaml(&records).expect("a document");
        let kept = compress(&document).expect("packed");
        assert_eq!(decompress(&kept).expect("unpacked"), document);
        assert!(decompress(&kept[..kept.len() / 2]).is_err());
    }

    #[test]
    fn export_moves_save_fields_out_of_meta_and_omits_empty_ones() {
        let record = json!({
            "id": "1", "kind": "fewshot", "title": "", "content": "c", "scope": [],
            "ttl": "2030-01-01",
            "is_ttl_explicit": false, "meta": {"steps": ["a"]}, "hits": 3, "ci_status": "passed",
            "citations": [{"file": "a.rb", "verdict": "fresh"}],
        });
        let expected = json!({
            "kind": "fewshot", "content": "c", "ci_status": "passed", "steps": ["a"],
            "citations": [{"file": "a.rb"}],
        });
        assert_eq!(exported(record), expected);
    }
}
