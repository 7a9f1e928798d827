//! From hits to the sections of a bundle.

use std::collections::HashSet;

use mc_domain::{DialogId, RecordKind, RecordState};
use mc_search::Hit;
use mc_store::citations::Citation;
use mc_store::passages::{CodeFacet, DocFacet, RecordFacet};
use serde_json::Value;

use super::aside;
use super::excerpt::{Excerpt, excerpt, stems};
use super::relevance::Note;
use crate::bundle::{
    CitedPlace, CodePlace, Contents, DIALOGS_MAX, DialogExcerpt, FewShot, Link, LinkTarget,
    SOURCE_MAX_CHARS, STATEMENT_MAX_CHARS, Statement, admits, staleness_warning, trust,
};
use crate::confidence::{self, QueryFeatures, evidence, names_symbol};
use crate::text::cut;
use crate::tied::Linked;

/// Code, documents and dialogs are there to read on; they must be surer than records.
const PLACE_FLOOR: f32 = 0.6;
/// The same for what people said, where no record answers: the next best thing to one.
const DIALOG_FLOOR: f32 = 0.45;
/// Most of them where no record is good enough.
const PLACES_MAX: usize = 3;
/// The same beside a record that may answer: what is only near would be noise.
const BESIDE_NOTES_FLOOR: f32 = 0.85;
const BESIDE_NOTES_MAX: usize = 1;
/// The same for a question that seeks places.
const SOUGHT_FLOOR: f32 = 0.4;
const SOUGHT_MAX: usize = 2;
/// Relevance from which a record is taken to answer.
const ANSWERS: f32 = 0.55;
/// Places that are named are shown, at most this many.
const NAMED_PLACES: usize = 2;
/// Of what is linked to a task, and is no record: dialogs, at most this many.
const LINKED_PLACES: usize = DIALOGS_MAX;
/// What such a link says at least.
const LINKED_EVIDENCE: f32 = 0.6;

/// Code, a document or a dialog that is good enough.
#[derive(Debug, Clone)]
pub struct Place {
    hit: Hit,
    evidence: f32,
    /// Whether it defines a symbol that is asked about.
    is_named: bool,
    /// Whether it is linked to a task that is asked about.
    is_linked: bool,
}

impl Place {
    fn new(question: &QueryFeatures, hit: Hit, linked: &Linked) -> Self {
        let indexed = &hit.passage.indexed;
        let is_linked = linked.passages.contains(&indexed.id);
        let is_named = hit.passage.code.is_some() && names_symbol(question, indexed);
        let aside = if question.seeks_places { 1.0 } else { aside::factor(question, indexed) };
        let least = if is_linked { LINKED_EVIDENCE } else { 0.0 };
        let evidence = (evidence(question, &hit) * aside).max(least);
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

/// Whether a hit may be recalled, however well it matches. Whoever proposed a rule meets it again, as a statement.
fn is_admitted(hit: &Hit, linked: &Linked) -> bool {
    let trust = trust(&hit.passage);
    linked.own_proposals.contains(&hit.passage.indexed.id)
        || hit.passage.record.as_ref().is_none_or(|record| admits(record.kind, trust))
}

/// Records, and what else was found.
pub fn part(hits: Vec<Hit>, linked: &Linked) -> (Vec<Note>, Vec<Hit>) {
    let (records, others): (Vec<_>, Vec<_>) = hits
        .into_iter()
        .filter(|hit| is_admitted(hit, linked))
        .partition(|hit| hit.passage.record.is_some());
    let note = |hit: Hit| {
        let passage = hit.passage.indexed.id;
        let note = Note::new(hit, linked.passages.contains(&passage))?;
        Some(Note { is_own_proposal: linked.own_proposals.contains(&passage), ..note })
    };
    (records.into_iter().filter_map(note).collect(), others)
}

/// Of the rest what is good enough beside the records, best first. A place that is named and a dialog that is linked
/// to the task are shown whatever else is, and places that are sought stand in the order of the search, which knows
/// code best; for the others, the surer the records answer, the less room there is.
pub fn others(
    question: &QueryFeatures,
    hits: Vec<Hit>,
    notes: &[Note],
    linked: &Linked,
) -> Vec<Place> {
    let answer = notes.first().map_or(0.0, |note| note.relevance);
    let (floor, most) = match answer {
        _ if question.seeks_places => (SOUGHT_FLOOR, SOUGHT_MAX),
        answer if answer >= ANSWERS => (f32::INFINITY, 0),
        answer if answer > 0.0 => (BESIDE_NOTES_FLOOR, BESIDE_NOTES_MAX),
        _ => (PLACE_FLOOR, PLACES_MAX),
    };
    let place = |hit| Place::new(question, hit, linked);
    let mut places: Vec<_> = hits.into_iter().map(place).collect();
    let key = |place: &Place| if question.seeks_places { place.hit.score } else { place.evidence };
    places.sort_by(|a, b| {
        let linked_first = b.is_linked.cmp(&a.is_linked);
        let newest_first = || b.hit.passage.indexed.id.cmp(&a.hit.passage.indexed.id);
        linked_first.then_with(|| key(b).total_cmp(&key(a))).then_with(newest_first)
    });
    let mut dialogs = HashSet::new();
    let (mut of_task, mut named, mut others) = (0, 0, 0);
    places.retain(|place| {
        let dialog = place.hit.passage.dialog;
        let (count, limit, floor) = match place {
            Place { is_linked: true, .. } => (&mut of_task, LINKED_PLACES, 0.0),
            Place { is_named: true, .. } => (&mut named, NAMED_PLACES, 0.0),
            _ if dialog.is_some() && notes.is_empty() => {
                (&mut others, most, floor.min(DIALOG_FLOOR))
            }
            _ => (&mut others, most, floor),
        };
        // Of a dialog of several passages the best one is enough.
        let is_kept = *count < limit
            && place.evidence >= floor
            && dialog.is_none_or(|dialog| dialogs.insert(dialog));
        *count += usize::from(is_kept);
        is_kept
    });
    places
}

/// How sure it is that all of it helps, 0 to 1.
pub fn confidence(notes: &[Note], others: &[Place]) -> f32 {
    let notes = notes.iter().map(|note| confidence::likely_relevant(note.relevance));
    confidence::confidence(notes.chain(others.iter().map(|place| place.evidence)).collect())
}

/// Sorts notes and places into the sections of a bundle, each best first. What is fresh comes before
/// what is stale. Warnings that lead stand before the statements; one that is less to the point stands
/// where it ranks.
pub fn contents(question: &QueryFeatures, mut notes: Vec<Note>, others: &[Place]) -> Contents {
    notes.sort_by_key(|note| note.state == RecordState::Stale);
    let mut contents = Contents::default();
    for note in &notes {
        add_record(&mut contents, note);
    }
    for place in others {
        let passage = &place.hit.passage;
        match (&passage.doc, &passage.code, passage.dialog) {
            (Some(doc), ..) => add_doc(&mut contents, place, doc),
            (_, Some(code), _) => contents.code.push(code_place(question, place, code)),
            (.., Some(dialog)) => contents.dialogs.push(talk(place, dialog)),
            _ => {}
        }
    }
    contents
}

fn add_record(contents: &mut Contents, note: &Note) {
    let url = || note.record.meta.get("url").and_then(Value::as_str);
    match note.record.kind {
        RecordKind::Fewshot => contents.few_shots.push(few_shot(note)),
        RecordKind::AdrLink if let Some(url) = url() => contents.links.push(decision(note, url)),
        _ if note.is_warning() && !note.is_own_proposal && contents.facts.is_empty() => {
            contents.gotchas.push(statement(note));
        }
        _ => contents.facts.push(statement(note)),
    }
}

fn add_doc(contents: &mut Contents, place: &Place, doc: &DocFacet) {
    let target = LinkTarget::Doc(doc.id);
    // Several passages of a document are one link: to the section that is nearest.
    if contents.links.iter().any(|link| link.target == target) {
        return;
    }
    let indexed = &place.hit.passage.indexed;
    // A file of a repository that has no web address is named by its path.
    let url = if doc.url.is_empty() { &indexed.location } else { &doc.url };
    contents.links.push(Link {
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

fn warning(note: &Note) -> Option<String> {
    let stale =
        || "cited code changed since this was saved; check before you rely on it".to_owned();
    let stale = staleness_warning(&note.citations)
        .or_else(|| (note.state == RecordState::Stale).then(stale));
    let undecided = note
        .is_own_proposal
        .then(|| "you proposed this, and nobody has decided about it yet".to_owned());
    let warnings: Vec<_> = note.disagrees.iter().cloned().chain(stale).chain(undecided).collect();
    (!warnings.is_empty()).then(|| warnings.join("; "))
}

fn statement(note: &Note) -> Statement {
    let indexed = &note.hit.passage.indexed;
    Statement {
        id: note.record.id,
        passage: indexed.id,
        text: indexed.text.clone(),
        full_chars: note.record.whole_chars,
        kind: note.record.kind,
        scope: indexed.scope.clone(),
        tags: indexed.tags.clone(),
        trust: trust(&note.hit.passage),
        source: source(&note.record),
        ci_status: note.record.ci_status,
        score: note.rank.min(1.0),
        state: note.state,
        citations: note.citations.clone(),
        warning: warning(note),
        updated_at: note.record.updated_at,
    }
}

fn few_shot(note: &Note) -> FewShot {
    let indexed = &note.hit.passage.indexed;
    let text = |key: &str| note.record.meta.get(key).and_then(Value::as_str).map(str::to_owned);
    let steps = note.record.meta.get("steps").and_then(Value::as_array).into_iter().flatten();
    let steps: Vec<_> = steps.filter_map(Value::as_str).map(str::to_owned).collect();
    FewShot {
        id: note.record.id,
        passage: indexed.id,
        title: indexed.title.clone(),
        text: Some(without_steps(&indexed.text, &steps)),
        full_chars: note.record.whole_chars,
        steps,
        patch_ref: text("patch_ref").or_else(|| text("patch_sha")),
        scope: indexed.scope.clone(),
        trust: trust(&note.hit.passage),
        source: source(&note.record),
        ci_status: note.record.ci_status,
        score: note.rank.min(1.0),
        warning: warning(note),
    }
}

/// An example's text without its steps: a record's text has them, too, numbered and perhaps shortened, so that they are
/// searched.
fn without_steps(text: &str, steps: &[String]) -> String {
    let is_step = |line: &str| {
        let Some((number, said)) = line.trim().split_once('.') else { return false };
        let step = number.parse::<usize>().ok().and_then(|n| steps.get(n.checked_sub(1)?));
        let said = said.trim().trim_end_matches('…').trim_end();
        step.is_some_and(|step| step.trim().starts_with(said))
    };
    let kept: Vec<_> = text.lines().filter(|line| !is_step(line)).collect();
    kept.join("\n").trim_end().to_owned()
}

/// What the record was taken from, short enough to stand beside what it says.
fn source(record: &RecordFacet) -> Option<String> {
    record.source.as_ref().map(|source| cut(source, SOURCE_MAX_CHARS))
}

/// A decision: what was decided, and where to read on.
fn decision(note: &Note, url: &str) -> Link {
    let indexed = &note.hit.passage.indexed;
    Link {
        title: indexed.title.clone(),
        url: url.to_owned(),
        text: Some(indexed.text.clone()),
        full_chars: note.record.whole_chars,
        section: None,
        lines: None,
        target: LinkTarget::Record(note.record.id),
        passage: indexed.id,
        trust: trust(&note.hit.passage),
        score: note.rank.min(1.0),
    }
}

fn talk(place: &Place, id: DialogId) -> DialogExcerpt {
    let indexed = &place.hit.passage.indexed;
    DialogExcerpt {
        id,
        passage: indexed.id,
        text: cut(&indexed.text, STATEMENT_MAX_CHARS),
        trust: trust(&place.hit.passage),
        score: place.evidence,
    }
}

fn code_place(question: &QueryFeatures, place: &Place, code: &CodeFacet) -> CodePlace {
    let indexed = &place.hit.passage.indexed;
    let asked = indexed.symbols.iter().find(|own| question.symbols.contains(&own.to_lowercase()));
    let said = question.texts.iter().chain(&question.signals).flat_map(|note| stems(note.text()));
    let Excerpt { symbol, text } =
        excerpt(&indexed.text, &indexed.symbols, asked.map(String::as_str), &said.collect());
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
