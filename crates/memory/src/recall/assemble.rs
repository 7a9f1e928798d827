//! From hits to the sections of a bundle.

use mc_domain::{DialogId, RecordId, RecordKind, RecordState};
use mc_search::Hit;
use mc_store::citations::Citation;
use mc_store::passages::{CodeFacet, DocFacet, RecordFacet};
use serde_json::Value;

use super::is_warning;
use crate::bundle::{
    CitedPlace, CodePlace, Contents, FewShot, Link, LinkTarget, SOURCE_MAX_CHARS,
    STATEMENT_MAX_CHARS, STEP_MAX_CHARS, STEPS_MAX, Statement, Talk, admits, staleness_warning,
    trust,
};
use crate::citations::is_stale;
use crate::confidence::{FLOOR, Question, evidence, is_about_place};
use crate::text::cut;

/// How much of a score the search's own rank makes; the rest is evidence.
const RANK_SHARE: f32 = 0.4;
/// Code, documents and dialogs are there to read on; memory comes first, so they must be surer.
const PLACE_FLOOR: f32 = 0.45;

/// A hit that is good enough.
#[derive(Debug, Clone)]
pub struct Scored {
    hit: Hit,
    /// How sure it is that it helps, 0 to 1.
    pub evidence: f32,
    score: f32,
    about_place: bool,
    citations: Vec<CitedPlace>,
    state: RecordState,
}

impl Scored {
    /// The record that was hit, if it is one that cites code.
    pub fn citing_record(&self) -> Option<RecordId> {
        self.hit.passage.record.as_ref().filter(|record| record.cites).map(|record| record.id)
    }

    /// Takes over what the record cites, and what follows from it.
    pub fn cite(&mut self, citations: &[Citation]) {
        self.state = match is_stale(citations) {
            Some(true) => RecordState::Stale,
            Some(false) => RecordState::Active,
            None => self.state,
        };
        self.citations = citations.iter().map(place).collect();
    }

    fn warning(&self) -> Option<String> {
        let stale =
            || "cited code changed since this was saved; check before you rely on it".to_owned();
        staleness_warning(&self.citations)
            .or_else(|| (self.state == RecordState::Stale).then(stale))
    }
}

pub(crate) fn place(citation: &Citation) -> CitedPlace {
    CitedPlace {
        file: citation.file_path.clone(),
        symbol: citation.symbol.clone(),
        lines: citation.lines,
        commit: citation.commit.clone(),
        verdict: citation.verdict,
    }
}

/// Whether a hit may be recalled, however well it matches.
fn is_admitted(hit: &Hit) -> bool {
    let trust = trust(&hit.passage);
    hit.passage.record.as_ref().is_none_or(|record| admits(record.kind, trust))
}

/// The hits that are good enough, best first.
pub fn score(question: &Question, hits: Vec<Hit>) -> Vec<Scored> {
    let best = hits.iter().map(|hit| hit.score).fold(f32::EPSILON, f32::max);
    let mut scored: Vec<_> = hits
        .into_iter()
        .filter(is_admitted)
        .filter_map(|hit| {
            let evidence = evidence(question, &hit);
            let floor = if hit.passage.record.is_some() { FLOOR } else { PLACE_FLOOR };
            let score = RANK_SHARE * hit.score / best + (1.0 - RANK_SHARE) * evidence;
            let state =
                hit.passage.record.as_ref().map_or(RecordState::Active, |record| record.state);
            (evidence >= floor).then(|| Scored {
                about_place: is_about_place(question, &hit.passage.indexed),
                hit,
                evidence,
                score,
                citations: Vec::new(),
                state,
            })
        })
        .collect();
    scored.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| b.hit.passage.indexed.id.cmp(&a.hit.passage.indexed.id))
    });
    scored
}

/// Sorts hits into the sections of a bundle. What is fresh comes before what is stale.
pub fn contents(mut scored: Vec<Scored>) -> Contents {
    scored.sort_by_key(|one| one.state == RecordState::Stale);
    let mut contents = Contents::default();
    for one in &scored {
        let passage = &one.hit.passage;
        match (&passage.record, &passage.doc, &passage.code, passage.dialog) {
            (Some(record), ..) => add_record(&mut contents, one, record),
            (_, Some(doc), ..) => add_doc(&mut contents, one, doc),
            (_, _, Some(code), _) => contents.code.push(code_place(one, code)),
            (.., Some(dialog)) => contents.dialogs.push(talk(one, dialog)),
            _ => {}
        }
    }
    contents
}

fn add_record(contents: &mut Contents, one: &Scored, record: &RecordFacet) {
    match record.kind {
        RecordKind::Fewshot => contents.few_shots.push(few_shot(one, record)),
        RecordKind::AdrLink => match record.meta.get("url").and_then(Value::as_str) {
            Some(url) => contents.links.push(link(
                one,
                &one.hit.passage.indexed.title,
                url,
                LinkTarget::Record(record.id),
            )),
            None => contents.facts.push(statement(one, record)),
        },
        kind if is_warning(kind) && one.about_place => {
            contents.gotchas.push(statement(one, record));
        }
        RecordKind::Fact | RecordKind::Pattern | RecordKind::Gotcha | RecordKind::Rule => {
            contents.facts.push(statement(one, record));
        }
    }
}

fn add_doc(contents: &mut Contents, one: &Scored, doc: &DocFacet) {
    let target = LinkTarget::Doc(doc.id);
    // Several passages of a document are one link.
    if !contents.links.iter().any(|link| link.target == target) {
        // A file of a repository that has no web address is named by its path.
        let url = if doc.url.is_empty() { &one.hit.passage.indexed.place } else { &doc.url };
        contents.links.push(link(one, &doc.title, url, target));
    }
}

fn statement(one: &Scored, record: &RecordFacet) -> Statement {
    let indexed = &one.hit.passage.indexed;
    Statement {
        id: record.id,
        passage: indexed.id,
        text: cut(&indexed.text, STATEMENT_MAX_CHARS),
        kind: record.kind,
        scope: indexed.scope.clone(),
        tags: indexed.tags.clone(),
        trust: trust(&one.hit.passage),
        source: source(record),
        ci: record.ci,
        score: one.score,
        state: one.state,
        citations: one.citations.clone(),
        warning: one.warning(),
        updated_at: record.updated_at,
    }
}

fn few_shot(one: &Scored, record: &RecordFacet) -> FewShot {
    let indexed = &one.hit.passage.indexed;
    let text = |key: &str| record.meta.get(key).and_then(Value::as_str).map(str::to_owned);
    let steps: Vec<String> = record
        .meta
        .get("steps")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .take(STEPS_MAX)
        .map(|step| cut(step, STEP_MAX_CHARS))
        .collect();
    FewShot {
        id: record.id,
        passage: indexed.id,
        title: indexed.title.clone(),
        text: steps.is_empty().then(|| cut(&indexed.text, STATEMENT_MAX_CHARS)),
        steps,
        patch_ref: text("patch_ref").or_else(|| text("patch_sha")),
        scope: indexed.scope.clone(),
        trust: trust(&one.hit.passage),
        source: source(record),
        ci: record.ci,
        score: one.score,
        warning: one.warning(),
    }
}

/// What the record was taken from, short enough to stand beside what it says.
fn source(record: &RecordFacet) -> Option<String> {
    record.source.as_ref().map(|source| cut(source, SOURCE_MAX_CHARS))
}

fn link(one: &Scored, title: &str, url: &str, target: LinkTarget) -> Link {
    Link {
        title: title.to_owned(),
        url: url.to_owned(),
        target,
        passage: one.hit.passage.indexed.id,
        trust: trust(&one.hit.passage),
        score: one.score,
    }
}

fn talk(one: &Scored, id: DialogId) -> Talk {
    let indexed = &one.hit.passage.indexed;
    Talk {
        id,
        passage: indexed.id,
        text: cut(&indexed.text, STATEMENT_MAX_CHARS),
        trust: trust(&one.hit.passage),
        score: one.score,
    }
}

fn code_place(one: &Scored, code: &CodeFacet) -> CodePlace {
    let indexed = &one.hit.passage.indexed;
    CodePlace {
        passage: indexed.id,
        place: indexed.place.clone(),
        line_start: code.line_start,
        line_end: code.line_end,
        symbol: code.parent_symbol.clone().or_else(|| indexed.symbols.first().cloned()),
        summary: cut(&code.summary, STEP_MAX_CHARS),
        trust: trust(&one.hit.passage),
        score: one.score,
    }
}
