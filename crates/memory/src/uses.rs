//! Implicit use of records: items opened after a recall, and items that a later save cites. It is
//! recorded after the response; a failure is only logged.

use std::sync::LazyLock;

use mc_domain::{ProjectId, RecordId, RecordMeta};
use mc_store::citations::Citation;
use mc_store::uses::{self, Cites};
use regex::Regex;
use uuid::Uuid;

pub use mc_store::uses::Opened;

use crate::MemoryContext;
use crate::text::regex;

static ID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"));
static ADDRESS: LazyLock<Regex> = LazyLock::new(|| regex(r#"https?://[^\s<>"'`)\]]+"#));

/// Most ids and most addresses of one text that are looked up.
const REFERENCES_MAX: usize = 64;

/// Records that the caller opened an item, if one of the caller's bundles contained it. Bundles
/// belong to the user of the store, as a caller may state any name.
pub fn note_opened(ctx: &MemoryContext, project: ProjectId, item: Opened) {
    let store = ctx.store.clone();
    spawn(ctx, async move { uses::record_opened(&store, project, item).await });
}

/// Records the items of the caller's newest bundles that a save cites, but not `own_records`.
pub(crate) fn note_cited(
    ctx: &MemoryContext,
    project: ProjectId,
    own_records: Vec<RecordId>,
    cites: Cites,
) {
    if cites.is_empty() {
        return;
    }
    let store = ctx.store.clone();
    spawn(ctx, async move { uses::record_cited(&store, project, &own_records, &cites).await });
}

fn spawn<T>(
    ctx: &MemoryContext,
    record: impl Future<Output = Result<T, mc_store::Error>> + Send + 'static,
) {
    ctx.bundle_writer.spawn_after(async move {
        if let Err(error) = record.await {
            tracing::warn!(error = &error as &dyn std::error::Error, "recording a use failed");
        }
    });
}

/// Collects what a note refers to in its text, `meta` and citations.
pub(crate) fn cites(text: &str, meta: &RecordMeta, citations: &[Citation]) -> Cites {
    let mut texts = vec![text.to_owned()];
    if *meta != RecordMeta::default() {
        texts.push(meta.to_json().to_string());
    }
    let ids = texts.iter().flat_map(|text| ID.find_iter(text));
    let ids = ids.filter_map(|id| id.as_str().parse::<Uuid>().ok()).take(REFERENCES_MAX).collect();
    let urls = texts.iter().flat_map(|text| ADDRESS.find_iter(text));
    let urls = urls.map(|url| url.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?']));
    Cites {
        ids,
        urls: urls.take(REFERENCES_MAX).map(str::to_owned).collect(),
        places: citations
            .iter()
            .map(|one| (one.file_path.clone(), one.symbol.clone(), one.lines))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_read_from_text_and_meta() {
        let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
        let meta = serde_json::from_value(json!({"based_on": [other], "n": 1})).expect("meta");
        let text = format!("As {one} has it; see https://wiki.example.org/rules/7.");
        let cites = cites(&text, &meta, &[]);
        assert_eq!(cites.ids, [one, other]);
        assert_eq!(cites.urls, ["https://wiki.example.org/rules/7"]);
        assert!(super::cites("A rule.", &RecordMeta::default(), &[]).is_empty());
    }
}
