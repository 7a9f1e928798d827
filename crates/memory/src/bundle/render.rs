//! The bundle as the response of `POST /recall`, on which the token limit is counted.

use mc_contract::operations::recall::{
    CodeItem, DialogExcerpt, FewShot, Link, RecallResponse, Statement,
};
use mc_contract::operations::record::Citation;
use mc_domain::{BundleSection as Section, Handle};

use super::{Bundle, CitedPlace, CodePlace, LinkTarget, handles};

/// Returns the bundle as a response, without past changes.
pub fn response(bundle: Bundle) -> RecallResponse {
    let handles = handles(&bundle);
    let of = |section| handles.of(section);
    RecallResponse {
        facts: named(of(Section::Facts), bundle.facts, statement),
        few_shots: named(of(Section::FewShots), bundle.few_shots, few_shot),
        links: named(of(Section::Links), bundle.links, link),
        gotchas: named(of(Section::Gotchas), bundle.gotchas, statement),
        dialogs: named(of(Section::Dialogs), bundle.dialogs, dialog),
        code: named(of(Section::Code), bundle.code, code),
        changes: None,
        confidence: rounded(bundle.confidence),
        bundle_id: bundle.id,
        tokens: bundle.token_count,
        omitted: Some(bundle.omitted).filter(|count| *count > 0),
        degraded: bundle.degraded,
        reason: bundle.reason,
        task: bundle.task,
        prompt_version: bundle.prompt_version.map(|version| version.to_string()),
    }
}

/// Returns items with their handles.
fn named<T, U>(handles: &[Handle], items: Vec<T>, item: impl Fn(String, T) -> U) -> Vec<U> {
    handles.iter().zip(items).map(|(handle, one)| item(handle.to_string(), one)).collect()
}

/// Rounds a score to two decimals: more would only cost tokens.
pub fn rounded(score: f32) -> f64 {
    (f64::from(score) * 100.0).round() / 100.0
}

pub(super) fn statement(handle: String, statement: super::Statement) -> Statement {
    Statement {
        handle,
        id: statement.id,
        text: statement.text,
        full_chars: statement.full_chars,
        kind: statement.kind,
        scope: statement.scope,
        tags: statement.tags,
        trust: statement.trust,
        source: statement.source,
        ci_status: statement.ci_status,
        score: rounded(statement.score),
        state: statement.state,
        citations: statement.citations.into_iter().map(citation).collect(),
        warning: statement.warning,
    }
}

fn citation(place: CitedPlace) -> Citation {
    Citation {
        file: place.file,
        symbol: place.symbol,
        line_start: place.lines.map(|(start, _)| start),
        line_end: place.lines.map(|(_, end)| end),
        commit: place.commit,
        content_hash: None,
        verdict: place.verdict,
    }
}

pub(super) fn few_shot(handle: String, shot: super::FewShot) -> FewShot {
    FewShot {
        handle,
        id: shot.id,
        title: shot.title,
        steps: shot.steps,
        patch_ref: shot.patch_ref,
        text: shot.text,
        full_chars: shot.full_chars,
        scope: shot.scope,
        trust: shot.trust,
        source: shot.source,
        ci_status: shot.ci_status,
        score: rounded(shot.score),
        warning: shot.warning,
    }
}

pub(super) fn link(handle: String, link: super::Link) -> Link {
    Link {
        handle,
        title: link.title,
        url: link.url,
        id: match link.target {
            LinkTarget::Record(id) => id.into(),
            LinkTarget::Doc(id) => id.into(),
        },
        trust: link.trust,
        text: link.text,
        full_chars: link.full_chars,
        section: link.section,
        line_start: link.lines.map(|(start, _)| start),
        line_end: link.lines.map(|(_, end)| end),
    }
}

pub(super) fn dialog(handle: String, dialog: super::DialogExcerpt) -> DialogExcerpt {
    DialogExcerpt {
        handle,
        id: dialog.id,
        text: dialog.text,
        trust: dialog.trust,
        score: rounded(dialog.score),
    }
}

pub(super) fn code(handle: String, place: CodePlace) -> CodeItem {
    CodeItem {
        handle,
        location: place.location,
        line_start: place.line_start,
        line_end: place.line_end,
        symbol: place.symbol,
        summary: place.summary,
        trust: place.trust,
    }
}
