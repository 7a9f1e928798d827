//! How relevant a record is to a question: what it says, and what it is tied to.

use mc_domain::{RecordId, RecordKind, RecordState};
use mc_search::names::{is_below, is_tail, path_key, symbol_key};
use mc_search::{Hit, standing};
use mc_store::citations::Citation;
use mc_store::passages::RecordFacet;

use crate::bundle::CitedPlace;
use crate::citations::is_stale;
use crate::confidence::{QueryFeatures, is_latin, names_issue, names_symbol};

/// What the share of the question's words counts that the record has, beside the cosine similarity of
/// both: docs/retrieval.md has what was tried.
const COVERAGE_WEIGHT: f32 = 0.4;
/// The share of the last nearest one's similarity that a record is taken to have which is not among the nearest: they
/// are 200, of a project that has more.
const BELOW_THE_NEAREST: f32 = 0.8;
/// What similarity counts between scripts of which the default model knows only one: any two texts lie
/// near each other there. What the words say counts for more in its place.
const FOREIGN_SIMILARITY: f32 = 0.2;
const FOREIGN_COVERAGE_WEIGHT: f32 = 0.6;

/// What a tie adds.
const TIE_TASK: f32 = 1.0;
const TIE_SYMBOL: f32 = 0.7;
const TIE_FILE: f32 = 0.6;
const TIE_OWNER: f32 = 0.5;
const TIE_MENTION: f32 = 0.45;
const TIE_DIRECTORY: f32 = 0.42;
const TIE_SCOPE: f32 = 0.42;
/// A scope that only a symbol's name tells: many a class is called like a part of the system.
const TIE_SCOPE_OF_SYMBOL: f32 = 0.3;
/// A tie to a place is worth less where more records than this have it: a repository's own name ties
/// everything.
const RARE: f32 = 8.0;

/// What a warning gains over a statement that is as relevant.
const WARNING_FACTOR: f32 = 1.05;
/// What a record keeps whose cited code changed.
const STALE_FACTOR: f32 = 0.8;

/// A record that was found.
#[derive(Debug, Clone)]
pub struct Note {
    /// The hit.
    pub hit: Hit,
    /// Its record.
    pub record: RecordFacet,
    /// How relevant it is; above 1 where both its words and its ties speak for it.
    pub relevance: f32,
    /// What it is ordered by: relevance, adjusted by age, use and state.
    pub rank: f32,
    /// Active or stale, as its citations were just checked.
    pub state: RecordState,
    /// What it cites.
    pub citations: Vec<CitedPlace>,
    /// Whether it is linked to the task at hand.
    pub is_of_task: bool,
    /// Whether whoever asks has proposed it, and nobody has decided about it.
    pub is_own_proposal: bool,
    /// Its age, and how it differs from another note that can't hold with it.
    pub disagrees: Option<String>,
}

impl Note {
    /// A note of a hit; `None` where the hit is no record.
    pub fn new(hit: Hit, is_of_task: bool) -> Option<Self> {
        let record = hit.passage.record.clone()?;
        let state = record.state;
        Some(Self {
            hit,
            record,
            relevance: 0.0,
            rank: 0.0,
            state,
            citations: Vec::new(),
            is_of_task,
            is_own_proposal: false,
            disagrees: None,
        })
    }

    /// The record's id, where it cites code.
    pub fn citing(&self) -> Option<RecordId> {
        self.record.cites.then_some(self.record.id)
    }

    /// Takes over what the record cites, and what follows from it.
    pub fn cite(&mut self, citations: &[Citation]) {
        self.state = match is_stale(citations) {
            Some(true) => RecordState::Stale,
            Some(false) => RecordState::Active,
            None => self.state,
        };
        self.citations = citations.iter().map(CitedPlace::from).collect();
    }

    /// Whether it tells what to do or to avoid.
    pub fn is_warning(&self) -> bool {
        matches!(self.record.kind, RecordKind::Gotcha | RecordKind::Rule)
    }
}

/// Judges all notes and sorts them, best first.
pub fn judge(question: &QueryFeatures, notes: &mut [Note]) {
    let ties: Vec<_> = notes.iter().map(|note| Ties::of(question, note)).collect();
    let scope_worth = if question.path.is_some() { TIE_SCOPE } else { TIE_SCOPE_OF_SYMBOL };
    let shared = Shared::of(&ties, scope_worth);
    for (note, ties) in notes.iter_mut().zip(ties) {
        note.relevance = similarity(question, &note.hit) + ties.worth(&shared);
        note.rank = note.relevance * factor(note);
    }
    notes.sort_by(|a, b| {
        let newest_first = || b.record.updated_at.cmp(&a.record.updated_at);
        b.rank.total_cmp(&a.rank).then_with(newest_first).then(b.record.id.cmp(&a.record.id))
    });
}

/// How much of what is asked the record says.
fn similarity(question: &QueryFeatures, hit: &Hit) -> f32 {
    let coverage = hit.coverage.unwrap_or_default();
    let is_foreign = !question.is_latin || !is_latin(&hit.passage.indexed.text);
    let is_prose = !question.texts.is_empty() || !question.signals.is_empty();
    let (of_similarity, of_coverage) = match (is_prose, is_foreign) {
        // Names alone have no meaning to be near to.
        (false, _) => (0.0, COVERAGE_WEIGHT),
        (true, true) => (FOREIGN_SIMILARITY, FOREIGN_COVERAGE_WEIGHT),
        (true, false) => (1.0, COVERAGE_WEIGHT),
    };
    // Of one that has the words and is not among the nearest, it is known that it is hardly further off than the last.
    let cosine = hit.similarity.or(hit.similarity_below.map(|end| end * BELOW_THE_NEAREST));
    of_similarity * cosine.unwrap_or_default().max(0.0) + of_coverage * coverage
}

/// What of a record's worth hangs on nothing that is asked.
fn factor(note: &Note) -> f32 {
    let standing: f32 = standing(&note.hit.passage, chrono::Utc::now())
        .into_iter()
        .map(|(_, factor)| factor)
        .product();
    // `standing` knows the state of the last check.
    let stale = match (note.record.state, note.state) {
        (RecordState::Active, RecordState::Stale) => STALE_FACTOR,
        _ => 1.0,
    };
    standing * stale * if note.is_warning() { WARNING_FACTOR } else { 1.0 }
}

/// What ties a record to the question.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a tie of its own, and any may hold")]
struct Ties {
    task: bool,
    symbol: bool,
    owner: bool,
    mention: bool,
    file: bool,
    directory: bool,
    scope: bool,
}

impl Ties {
    fn of(question: &QueryFeatures, note: &Note) -> Self {
        let indexed = &note.hit.passage.indexed;
        let cited = note.citations.iter().filter_map(|place| place.symbol.as_deref());
        let cited: Vec<_> = cited
            .chain(indexed.symbols.iter().map(String::as_str))
            .filter_map(symbol_key)
            .collect();
        let asked: Vec<_> = question.named.iter().filter_map(|name| symbol_key(name)).collect();
        let any = |test: fn(&str, &str) -> bool| {
            asked.iter().any(|asked| cited.iter().any(|cited| test(asked, cited)))
        };
        let files: Vec<_> = note
            .citations
            .iter()
            .map(|place| place.file.as_str())
            .chain([indexed.location.as_str()])
            .filter_map(path_key)
            .collect();
        let path = question.path.as_deref().and_then(path_key);
        let at = |test: fn(&str, &str) -> bool| {
            path.as_ref().is_some_and(|path| files.iter().any(|file| test(path, file)))
        };
        let own_scope = || indexed.scope.iter().map(|scope| scope.to_lowercase());
        let in_scope = own_scope().any(|scope| {
            question.scope.contains(&scope)
                || path.as_ref().is_some_and(|path| is_below(path, scope.trim_matches(['*', '/'])))
        });
        Self {
            task: note.is_of_task,
            symbol: any(|asked, cited| is_tail(asked, cited, '.')),
            owner: any(|asked, cited| is_below_name(asked, cited) || is_below_name(cited, asked)),
            mention: names_symbol(question, indexed) || names_issue(question, indexed),
            file: at(|path, file| is_tail(path, file, '/')),
            directory: at(is_beside),
            scope: in_scope,
        }
    }

    fn worth(self, shared: &Shared) -> f32 {
        let place = [
            (self.symbol, TIE_SYMBOL),
            (self.owner, TIE_OWNER * rarity(shared.owner)),
            (self.mention, TIE_MENTION * rarity(shared.mention)),
            (self.file, TIE_FILE * rarity(shared.file)),
            (self.directory, TIE_DIRECTORY * rarity(shared.directory)),
            (self.scope, shared.scope_worth * rarity(shared.scope)),
        ];
        let best = place.into_iter().filter(|(is_tied, _)| *is_tied).map(|(_, worth)| worth);
        best.fold(0.0, f32::max) + if self.task { TIE_TASK } else { 0.0 }
    }
}

/// How many records each tie has.
#[derive(Debug, Default)]
struct Shared {
    owner: usize,
    mention: usize,
    file: usize,
    directory: usize,
    scope: usize,
    scope_worth: f32,
}

impl Shared {
    fn of(ties: &[Ties], scope_worth: f32) -> Self {
        let count = |has: fn(&Ties) -> bool| ties.iter().filter(|ties| has(ties)).count();
        Self {
            owner: count(|ties| ties.owner),
            mention: count(|ties| ties.mention),
            file: count(|ties| ties.file),
            directory: count(|ties| ties.directory),
            scope: count(|ties| ties.scope),
            scope_worth,
        }
    }
}

fn rarity(count: usize) -> f32 {
    let count = f32::from(u16::try_from(count).unwrap_or(u16::MAX));
    if count > RARE { (RARE / count).sqrt() } else { 1.0 }
}

/// Whether a file lies below the asked path, or in the directory of the asked file.
fn is_beside(path: &str, file: &str) -> bool {
    let directory = path.rsplit_once('/').map(|(directory, name)| (directory, name.contains('.')));
    is_below(file, path)
        || matches!(directory, Some((directory, true)) if !directory.is_empty()
            && file.rsplit_once('/').is_some_and(|(own, _)| own == directory))
}

fn is_below_name(owner: &str, name: &str) -> bool {
    name.strip_prefix(owner).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_that_many_records_have_is_worth_less() {
        assert!(rarity(1) >= 1.0 && rarity(8) >= 1.0);
        assert!(rarity(32) <= 0.5 && rarity(200) <= 0.2);
    }

    #[test]
    fn files_of_one_directory_are_beside_each_other() {
        assert!(is_beside("app/models/cart.rb", "app/models/order.rb"));
        assert!(is_beside("app/models", "app/models/cart/item.rb"));
        assert!(!is_beside("app/models/cart.rb", "app/jobs/order.rb"));
        assert!(!is_beside("cart.rb", "order.rb"), "the root is no directory to speak of");
    }

    #[test]
    fn a_class_owns_its_methods() {
        assert!(is_below_name("cart.setting", "cart.setting.delay"));
        assert!(!is_below_name("cart.set", "cart.setting"));
    }
}
