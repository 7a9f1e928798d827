//! Rendering a bundle as the JSON of `POST /recall`.

use serde_json::{Value, json};

use super::{
    Bundle, CitedPlace, CodePlace, DialogExcerpt, FewShot, Handles, Link, LinkTarget, Statement,
    handles,
};

/// Renders the bundle as the JSON of `POST /recall`, on which the token limit is counted.
pub fn as_json(bundle: &Bundle) -> Value {
    let task = bundle.task.as_ref().map(|task| {
        json!({ "external_id": task.external_id, "title": task.title, "status": task.status })
    });
    let mut json = without_nulls(json!({
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
        "omitted": (bundle.omitted > 0).then_some(bundle.omitted),
        "reason": bundle.reason,
        "task": task,
    }));
    name(&mut json, &handles(bundle));
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
pub(crate) fn rounded(score: f32) -> f64 {
    (f64::from(score) * 100.0).round() / 100.0
}

/// Removes the fields of an object that are null.
pub(crate) fn without_nulls(mut json: Value) -> Value {
    if let Some(fields) = json.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    json
}

pub(super) fn statement(statement: &Statement) -> Value {
    let citations: Vec<_> = statement.citations.iter().map(cited).collect();
    without_nulls(json!({
        "id": statement.id.0,
        "text": statement.text,
        "kind": statement.kind.as_str(),
        "scope": statement.scope,
        "tags": statement.tags,
        "trust": statement.trust.as_str(),
        "score": rounded(statement.score),
        "state": statement.state.as_str(),
        "citations": Some(citations).filter(|citations| !citations.is_empty()),
        "full_chars": statement.full_chars,
        "source": statement.source,
        "ci_status": statement.ci_status,
        "warning": statement.warning,
    }))
}

fn cited(place: &CitedPlace) -> Value {
    without_nulls(json!({
        "file": place.file,
        "verdict": place.verdict.as_str(),
        "symbol": place.symbol,
        "line_start": place.lines.map(|lines| lines.0),
        "line_end": place.lines.map(|lines| lines.1),
        "commit": place.commit,
    }))
}

pub(super) fn few_shot(shot: &FewShot) -> Value {
    without_nulls(json!({
        "id": shot.id.0,
        "title": shot.title,
        "steps": shot.steps,
        "scope": shot.scope,
        "trust": shot.trust.as_str(),
        "score": rounded(shot.score),
        "patch_ref": shot.patch_ref,
        "text": shot.text,
        "full_chars": shot.full_chars,
        "source": shot.source,
        "ci_status": shot.ci_status,
        "warning": shot.warning,
    }))
}

pub(super) fn link(link: &Link) -> Value {
    let id = match link.target {
        LinkTarget::Record(id) => id.0,
        LinkTarget::Doc(id) => id.0,
    };
    without_nulls(json!({
        "title": link.title,
        "url": link.url,
        "id": id,
        "trust": link.trust.as_str(),
        "text": link.text,
        "full_chars": link.full_chars,
        "section": link.section,
        "line_start": link.lines.map(|lines| lines.0),
        "line_end": link.lines.map(|lines| lines.1),
    }))
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
    without_nulls(json!({
        "location": place.location,
        "line_start": place.line_start,
        "line_end": place.line_end,
        "summary": place.summary,
        "trust": place.trust.as_str(),
        "symbol": place.symbol,
    }))
}
