//! Assembling the sections of a bundle from ranked records and other hits.

use std::collections::HashSet;

use mc_domain::{DialogId, RecordKind, RecordState};
use mc_search::Hit;
use mc_store::citations::Citation;
use mc_store::passages::{CodeFacet, DocFacet, RecordFacet};

use super::excerpt::{Excerpt, excerpt, stems};
use super::peripheral;
use super::relevance::RankedRecord;
use crate::bundle::{
    Bundle, CitedPlace, CodePlace, DIALOGS_MAX, DialogExcerpt, FewShot, Link, LinkTarget,
    SOURCE_MAX_CHARS, STATEMENT_MAX_CHARS, Statement, admits, staleness_warning, trust,
};
use crate::confidence::{self, QueryFeatures, evidence, names_symbol};
use crate::task_links::TaskLinks;
use crate::text::cut;

/// Least evidence of code, documents and dialogs if no record was found: they are for further
/// reading and must be surer than records.
const PLACE_FLOOR: f32 = 0.6;
/// Least evidence of a dialog if no record was found, as it is the next best.
const DIALOG_FLOOR: f32 = 0.45;
/// Most places if no record was found.
const PLACES_MAX: usize = 3;
/// Least evidence and number alongside a record that may answer: a merely similar place is noise.
const BESIDE_RECORDS_FLOOR: f32 = 0.85;
const BESIDE_RECORDS_MAX: usize = 1;
/// Least evidence and number if the query seeks places.
const SOUGHT_PLACE_FLOOR: f32 = 0.4;
const SOUGHT_PLACES_MAX: usize = 2;
/// Relevance from which a record is taken to answer the query.
const ANSWER_RELEVANCE: f32 = 0.55;
/// Most places that define a symbol of the query.
const NAMED_PLACES_MAX: usize = 2;
/// Most dialogs linked to the task.
const LINKED_DIALOGS_MAX: usize = DIALOGS_MAX;
/// Least evidence of such a dialog.
const LINKED_EVIDENCE: f32 = 0.6;

/// A hit in code, a document or a dialog, with its evidence.
#[derive(Debug, Clone)]
pub struct Place {
    hit: Hit,
    evidence: f32,
    /// Whether it defines a symbol of the query.
    is_named: bool,
    /// Whether it is linked to a task of the query.
    is_linked: bool,
}

impl Place {
    fn new(features: &QueryFeatures, hit: Hit, linked: &TaskLinks) -> Self {
        let indexed = &hit.passage.indexed;
        let is_linked = linked.passages.contains(&indexed.id);
        let is_named = hit.passage.code.is_some() && names_symbol(features, indexed);
        let aside = if features.seeks_places { 1.0 } else { peripheral::factor(features, indexed) };
        let least = if is_linked { LINKED_EVIDENCE } else { 0.0 };
        let evidence = (evidence(features, &hit) * aside).max(least);
        Self { hit, evidence, is_named, is_linked }
    }
}

impl From<&Citation> for CitedPlace {
    fn from(citation: &Citation) -> Self {
        Self {
            file: citation.file_path.clone(),
            symbol: citation.symbol.clone(),
            lines: citation.lines,
            commit: citation.commit.clone(),
            verdict: citation.verdict,
        }
    }
}

/// Whether a hit may be recalled at all. Proposers see their own proposed rule, as a statement.
fn is_admitted(hit: &Hit, linked: &TaskLinks) -> bool {
    let trust = trust(&hit.passage);
    linked.own_proposals.contains(&hit.passage.indexed.id)
        || hit.passage.record.as_ref().is_none_or(|record| admits(record.kind, trust))
}

/// Splits hits into records, not ranked yet, and the rest.
pub fn split_records(hits: Vec<Hit>, linked: &TaskLinks) -> (Vec<RankedRecord>, Vec<Hit>) {
    let (records, others): (Vec<_>, Vec<_>) = hits
        .into_iter()
        .filter(|hit| is_admitted(hit, linked))
        .partition(|hit| hit.passage.record.is_some());
    let record = |hit: Hit| {
        let passage = hit.passage.indexed.id;
        let record = RankedRecord::new(hit, linked.passages.contains(&passage))?;
        Some(RankedRecord { is_own_proposal: linked.own_proposals.contains(&passage), ..record })
    };
    (records.into_iter().filter_map(record).collect(), others)
}

/// Selects the places of the bundle, best first. Places that define a symbol of the query and
/// dialogs linked to the task are always shown. If the query seeks places, they keep the order of
/// the search. Of the others, the surer the records answer, the fewer are shown.
pub fn select_places(
    features: &QueryFeatures,
    hits: Vec<Hit>,
    records: &[RankedRecord],
    linked: &TaskLinks,
) -> Vec<Place> {
    let answer = records.first().map_or(0.0, |record| record.relevance);
    let (floor, max) = match answer {
        _ if features.seeks_places => (SOUGHT_PLACE_FLOOR, SOUGHT_PLACES_MAX),
        answer if answer >= ANSWER_RELEVANCE => (f32::INFINITY, 0),
        answer if answer > 0.0 => (BESIDE_RECORDS_FLOOR, BESIDE_RECORDS_MAX),
        _ => (PLACE_FLOOR, PLACES_MAX),
    };
    let place = |hit| Place::new(features, hit, linked);
    let mut places: Vec<_> = hits.into_iter().map(place).collect();
    let key = |place: &Place| if features.seeks_places { place.hit.score } else { place.evidence };
    places.sort_by(|a, b| {
        let linked_first = b.is_linked.cmp(&a.is_linked);
        let newest_first = || b.hit.passage.indexed.id.cmp(&a.hit.passage.indexed.id);
        linked_first.then_with(|| key(b).total_cmp(&key(a))).then_with(newest_first)
    });
    let mut dialogs = HashSet::new();
    let (mut linked_count, mut named_count, mut other_count) = (0, 0, 0);
    places.retain(|place| {
        let dialog = place.hit.passage.dialog;
        let (count, limit, floor) = match place {
            Place { is_linked: true, .. } => (&mut linked_count, LINKED_DIALOGS_MAX, 0.0),
            Place { is_named: true, .. } => (&mut named_count, NAMED_PLACES_MAX, 0.0),
            _ if dialog.is_some() && records.is_empty() => {
                (&mut other_count, max, floor.min(DIALOG_FLOOR))
            }
            _ => (&mut other_count, max, floor),
        };
        // The best passage of a dialog is enough.
        let is_kept = *count < limit
            && place.evidence >= floor
            && dialog.is_none_or(|dialog| dialogs.insert(dialog));
        *count += usize::from(is_kept);
        is_kept
    });
    places
}

/// Returns the confidence of the bundle, 0 to 1.
pub fn confidence(records: &[RankedRecord], others: &[Place]) -> f32 {
    let records = records.iter().map(|record| confidence::likely_relevant(record.relevance));
    confidence::confidence(records.chain(others.iter().map(|place| place.evidence)).collect())
}

/// Adds records and places to the sections of a bundle, each best first, and fresh records before
/// stale ones. Only leading warnings come before the statements.
pub fn add_items(
    bundle: &mut Bundle,
    features: &QueryFeatures,
    mut records: Vec<RankedRecord>,
    others: &[Place],
) {
    records.sort_by_key(|record| record.state == RecordState::Stale);
    for record in &records {
        add_record(bundle, record);
    }
    for place in others {
        let passage = &place.hit.passage;
        match (&passage.doc, &passage.code, passage.dialog) {
            (Some(doc), ..) => add_doc(bundle, place, doc),
            (_, Some(code), _) => bundle.code.push(code_place(features, place, code)),
            (.., Some(dialog)) => bundle.dialogs.push(dialog_excerpt(place, dialog)),
            _ => {}
        }
    }
}

fn add_record(bundle: &mut Bundle, record: &RankedRecord) {
    let url = || record.facet.meta.url.as_deref();
    match record.facet.kind {
        RecordKind::Fewshot => bundle.few_shots.push(few_shot(record)),
        RecordKind::AdrLink if let Some(url) = url() => bundle.links.push(decision(record, url)),
        _ if record.is_warning() && !record.is_own_proposal && bundle.facts.is_empty() => {
            bundle.gotchas.push(statement(record));
        }
        _ => bundle.facts.push(statement(record)),
    }
}

fn add_doc(bundle: &mut Bundle, place: &Place, doc: &DocFacet) {
    let target = LinkTarget::Doc(doc.id);
    // Several passages of a document become one link, to the nearest section.
    if bundle.links.iter().any(|link| link.target == target) {
        return;
    }
    let indexed = &place.hit.passage.indexed;
    // A file of a repository without a web address is named by its path.
    let url = if doc.url.is_empty() { &indexed.location } else { &doc.url };
    bundle.links.push(Link {
        title: doc.title.clone(),
        url: url.clone(),
        text: None,
        full_chars: None,
        section: Some(indexed.title.clone()).filter(|section| *section != doc.title),
        lines: doc.lines,
        target,
        passage: indexed.id,
        trust: trust(&place.hit.passage),
        score: place.evidence,
    });
}

fn warning(record: &RankedRecord) -> Option<String> {
    let stale =
        || "cited code changed since this was saved; check before you rely on it".to_owned();
    let stale = staleness_warning(&record.citations)
        .or_else(|| (record.state == RecordState::Stale).then(stale));
    let undecided =
        record.is_own_proposal.then(|| "you proposed this; it waits for a review".to_owned());
    let warnings: Vec<_> = record.disagrees.iter().cloned().chain(stale).chain(undecided).collect();
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

fn statement(record: &RankedRecord) -> Statement {
    let indexed = &record.hit.passage.indexed;
    Statement {
        id: record.facet.id,
        passage: indexed.id,
        text: indexed.text.clone(),
        full_chars: record.facet.whole_chars,
        kind: record.facet.kind,
        scope: indexed.scope.clone(),
        tags: indexed.tags.clone(),
        trust: trust(&record.hit.passage),
        source: source(&record.facet),
        ci_status: record.facet.ci_status,
        score: record.rank.min(1.0),
        state: record.state,
        citations: record.citations.clone(),
        warning: warning(record),
        updated_at: record.facet.updated_at,
    }
}

fn few_shot(record: &RankedRecord) -> FewShot {
    let indexed = &record.hit.passage.indexed;
    let meta = &record.facet.meta;
    let patch_sha = || meta.text("patch_sha").map(str::to_owned);
    FewShot {
        id: record.facet.id,
        passage: indexed.id,
        title: indexed.title.clone(),
        text: Some(without_steps(&indexed.text, &meta.steps)),
        full_chars: record.facet.whole_chars,
        steps: meta.steps.clone(),
        patch_ref: meta.patch_ref.clone().or_else(patch_sha),
        scope: indexed.scope.clone(),
        trust: trust(&record.hit.passage),
        source: source(&record.facet),
        ci_status: record.facet.ci_status,
        score: record.rank.min(1.0),
        warning: warning(record),
    }
}

/// Removes the steps from an example's text, where they are numbered and perhaps shortened.
fn without_steps(text: &str, steps: &[String]) -> String {
    let is_step = |line: &str| {
        let Some((number, query_stems)) = line.trim().split_once('.') else { return false };
        let step = number.parse::<usize>().ok().and_then(|n| steps.get(n.checked_sub(1)?));
        let query_stems = query_stems.trim().trim_end_matches('…').trim_end();
        step.is_some_and(|step| step.trim().starts_with(query_stems))
    };
    let kept: Vec<_> = text.lines().filter(|line| !is_step(line)).collect();
    kept.join("\n").trim_end().to_owned()
}

/// Returns the record's source, shortened.
fn source(record: &RecordFacet) -> Option<String> {
    record.source.as_ref().map(|source| cut(source, SOURCE_MAX_CHARS))
}

/// Returns a link to a decision, with its statement.
fn decision(record: &RankedRecord, url: &str) -> Link {
    let indexed = &record.hit.passage.indexed;
    Link {
        title: indexed.title.clone(),
        url: url.to_owned(),
        text: Some(indexed.text.clone()),
        full_chars: record.facet.whole_chars,
        section: None,
        lines: None,
        target: LinkTarget::Record(record.facet.id),
        passage: indexed.id,
        trust: trust(&record.hit.passage),
        score: record.rank.min(1.0),
    }
}

fn dialog_excerpt(place: &Place, id: DialogId) -> DialogExcerpt {
    let indexed = &place.hit.passage.indexed;
    DialogExcerpt {
        id,
        passage: indexed.id,
        text: cut(&indexed.text, STATEMENT_MAX_CHARS),
        trust: trust(&place.hit.passage),
        score: place.evidence,
    }
}

fn code_place(features: &QueryFeatures, place: &Place, code: &CodeFacet) -> CodePlace {
    let indexed = &place.hit.passage.indexed;
    let query_symbol =
        indexed.symbols.iter().find(|own| features.symbols.contains(&own.to_lowercase()));
    let query_stems =
        features.texts.iter().chain(&features.signals).flat_map(|record| stems(record.text()));
    let Excerpt { symbol, text } = excerpt(
        &indexed.text,
        &indexed.symbols,
        query_symbol.map(String::as_str),
        &query_stems.collect(),
    );
    let owner = || code.parent_symbol.clone().or_else(|| indexed.symbols.first().cloned());
    CodePlace {
        passage: indexed.id,
        location: indexed.location.clone(),
        line_start: code.line_start,
        line_end: code.line_end,
        summary: text,
        symbol: symbol.or_else(owner),
        trust: trust(&place.hit.passage),
        score: place.evidence,
    }
}
