//! Use that nobody told of: what was opened after a recall, and what a later save cites. It is noted after the answer,
//! and what can't be noted is only logged.

use std::sync::LazyLock;

use mc_domain::{ProjectId, RecordId};
use mc_store::citations::Citation;
use mc_store::uses::{self, Cites};
use regex::Regex;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use mc_store::uses::Opened;

use crate::MemoryContext;

static ID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
        .expect("a checked expression")
});
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"https?://[^\s<>"'`)\]]+"#).expect("a checked expression"));

/// Ids and addresses of one text that are looked for.
const NAMED_MAX: usize = 64;

/// Notes that whom the context's store was entered for opened what a bundle of theirs had handed out, if one did. Whose
/// a bundle is says its user: as who asks, a caller may name somebody else.
pub fn note_opened(ctx: &MemoryContext, project: ProjectId, item: Opened) {
    let store = ctx.store.clone();
    ctx.journal.spawn_after(async move {
        if let Err(error) = uses::record_opened(&store, project, item).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a use was not noted");
        }
    });
}

/// Notes what of the caller's newest bundles a save refers to, but for the records `besides` that it made or replaced.
pub(crate) fn note_cited(
    ctx: &MemoryContext,
    project: ProjectId,
    besides: Vec<RecordId>,
    cites: Cites,
) {
    if cites.is_empty() {
        return;
    }
    let store = ctx.store.clone();
    ctx.journal.spawn_after(async move {
        if let Err(error) = uses::record_cited(&store, project, &besides, &cites).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "a use was not noted");
        }
    });
}

/// What a note refers to: by its text, by what stands beside that, and by the places that it cites.
pub(crate) fn cites(text: &str, meta: &Map<String, Value>, citations: &[Citation]) -> Cites {
    let mut texts = vec![text.to_owned()];
    if !meta.is_empty() {
        texts.push(Value::Object(meta.clone()).to_string());
    }
    let ids = texts.iter().flat_map(|text| ID.find_iter(text));
    let ids = ids.filter_map(|id| id.as_str().parse::<Uuid>().ok()).take(NAMED_MAX).collect();
    let urls = texts.iter().flat_map(|text| ADDRESS.find_iter(text));
    let urls = urls.map(|url| url.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?']));
    Cites {
        ids,
        urls: urls.take(NAMED_MAX).map(str::to_owned).collect(),
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
    fn what_a_note_names_is_read_from_its_text_and_from_what_stands_beside_it() {
        let (one, other) = (Uuid::now_v7(), Uuid::now_v7());
        let meta = json!({"based_on": [other], "n": 1});
        let text = format!("As {one} has it; see https://wiki.example.org/rules/7.");
        let cites = cites(&text, meta.as_object().expect("a map"), &[]);
        assert_eq!(cites.ids, [one, other]);
        assert_eq!(cites.urls, ["https://wiki.example.org/rules/7"]);
        assert!(super::cites("A rule.", &Map::new(), &[]).is_empty());
    }
}
