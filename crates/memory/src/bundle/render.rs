//! Rendering a bundle as the JSON of `POST /recall`.

use mc_domain::CiVerdict;
use serde_json::{Map, Value, json};

use super::{
    Bundle, CitedPlace, CodePlace, DialogExcerpt, FewShot, Handles, Link, LinkTarget, Statement,
    handles,
};

/// Renders the bundle as the JSON of `POST /recall`, on which the token limit is counted.
pub fn as_json(bundle: &Bundle) -> Value {
    let mut json = json!({
        "gotchas": bundle.gotchas.iter().map(statement).collect::<Vec<_>>(),
        "facts": bundle.facts.iter().map(statement).collect::<Vec<_>>(),
        "few_shots": bundle.few_shots.iter().map(few_shot).collect::<Vec<_>>(),
        "links": bundle.links.iter().map(link).collect::<Vec<_>>(),
        "dialogs": bundle.dialogs.iter().map(dialog).collect::<Vec<_>>(),
        "code": bundle.code.iter().map(code).collect::<Vec<_>>(),
        "confidence": rounded(bundle.confidence),
        "bundle_id": bundle.id.0,
        "tokens": bundle.token_count,
        "degraded": bundle.degraded,
    });
    name(&mut json, &handles(bundle));
    if let Some(map) = json.as_object_mut() {
        insert_some(map, "omitted", (bundle.omitted > 0).then_some(bundle.omitted));
        insert_some(map, "reason", bundle.reason.as_deref());
        insert_some(map, "task", bundle.task.as_ref().map(|task| {
            json!({ "external_id": task.external_id, "title": task.title, "status": task.status })
        }));
    }
    json
}

/// Adds the handles to the items.
fn name(json: &mut Value, handles: &Handles) {
    for (section, handles) in handles.by_section() {
        let items = json[section.as_str()].as_array_mut().into_iter().flatten();
        for (item, handle) in items.zip(handles) {
            item["handle"] = json!(handle.to_string());
        }
    }
}

/// Rounds a score to two decimals: more would only cost tokens.
pub(super) fn rounded(score: f32) -> f64 {
    (f64::from(score) * 100.0).round() / 100.0
}

fn insert_some(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

pub(super) fn statement(statement: &Statement) -> Value {
    let mut json = json!({
        "id": statement.id.0,
        "text": statement.text,
        "kind": statement.kind.as_str(),
        "scope": statement.scope,
        "tags": statement.tags,
        "trust": statement.trust.as_str(),
        "score": rounded(statement.score),
        "state": statement.state.as_str(),
    });
    if let Some(map) = json.as_object_mut() {
        if !statement.citations.is_empty() {
            map.insert("citations".to_owned(), statement.citations.iter().map(cited).collect());
        }
        insert_some(map, "full_chars", statement.full_chars);
        insert_some(map, "source", statement.source.as_deref());
        insert_some(map, "ci", statement.ci_status.map(CiVerdict::as_str));
        insert_some(map, "warning", statement.warning.as_deref());
    }
    json
}

fn cited(place: &CitedPlace) -> Value {
    let mut json = json!({ "file": place.file, "verdict": place.verdict.as_str() });
    if let Some(map) = json.as_object_mut() {
        insert_some(map, "symbol", place.symbol.as_deref());
        insert_some(map, "line_start", place.lines.map(|lines| lines.0));
        insert_some(map, "line_end", place.lines.map(|lines| lines.1));
        insert_some(map, "commit", place.commit.as_deref());
    }
    json
}

pub(super) fn few_shot(shot: &FewShot) -> Value {
    let mut json = json!({
        "id": shot.id.0,
        "title": shot.title,
        "steps": shot.steps,
        "scope": shot.scope,
        "trust": shot.trust.as_str(),
        "score": rounded(shot.score),
    });
    if let Some(map) = json.as_object_mut() {
        insert_some(map, "patch_ref", shot.patch_ref.as_deref());
        insert_some(map, "text", shot.text.as_deref());
        insert_some(map, "full_chars", shot.full_chars);
        insert_some(map, "source", shot.source.as_deref());
        insert_some(map, "ci", shot.ci_status.map(CiVerdict::as_str));
        insert_some(map, "warning", shot.warning.as_deref());
    }
    json
}

pub(super) fn link(link: &Link) -> Value {
    let id = match link.target {
        LinkTarget::Record(id) => id.0,
        LinkTarget::Doc(id) => id.0,
    };
    let mut json =
        json!({ "title": link.title, "url": link.url, "id": id, "trust": link.trust.as_str() });
    if let Some(map) = json.as_object_mut() {
        insert_some(map, "text", link.text.as_deref());
        insert_some(map, "full_chars", link.full_chars);
        insert_some(map, "section", link.section.as_deref());
        insert_some(map, "line_start", link.lines.map(|lines| lines.0));
        insert_some(map, "line_end", link.lines.map(|lines| lines.1));
    }
    json
}

pub(super) fn dialog(dialog: &DialogExcerpt) -> Value {
    json!({
        "id": dialog.id.0,
        "text": dialog.text,
        "trust": dialog.trust.as_str(),
        "score": rounded(dialog.score),
    })
}

pub(super) fn code(place: &CodePlace) -> Value {
    let mut json = json!({
        "location": place.location,
        "line_start": place.line_start,
        "line_end": place.line_end,
        "summary": place.summary,
        "trust": place.trust.as_str(),
    });
    if let Some(map) = json.as_object_mut() {
        insert_some(map, "symbol", place.symbol.as_deref());
    }
    json
}
