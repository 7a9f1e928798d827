//! Ranking records: similarity to the query, and ties to its task, symbols and path.

use mc_domain::{RecordId, RecordKind, RecordState};
use mc_search::names::{is_below, is_tail, path_key, symbol_key};
use mc_search::{Hit, rank_factors};
use mc_store::citations::Citation;
use mc_store::passages::RecordFacet;

use crate::bundle::CitedPlace;
use crate::citations::is_stale;
use crate::confidence::{QueryFeatures, is_latin, names_issue, names_symbol};
use crate::text::as_f32;

/// Weight of the share of the query's words that the record has, in addition to the cosine
/// similarity. docs/retrieval.md lists the alternatives that were measured.
const COVERAGE_WEIGHT: f32 = 0.4;
/// Similarity of a record outside the 200 nearest, as a share of the last nearest one's.
const BELOW_NEAREST_SHARE: f32 = 0.8;
/// Weights between scripts of which the default model knows only one. It places any two such texts
/// near each other, so words count for more.
const FOREIGN_SIMILARITY: f32 = 0.2;
const FOREIGN_COVERAGE_WEIGHT: f32 = 0.6;

/// Relevance that a tie adds.
const TIE_TASK: f32 = 1.0;
const TIE_SYMBOL: f32 = 0.7;
const TIE_FILE: f32 = 0.6;
const TIE_OWNER: f32 = 0.5;
const TIE_MENTION: f32 = 0.45;
const TIE_DIRECTORY: f32 = 0.42;
const TIE_SCOPE: f32 = 0.42;
/// A scope derived from a symbol's name: many classes are named like a part of the system.
const TIE_SCOPE_OF_SYMBOL: f32 = 0.3;
/// Records that may share a tie at its full worth. A repository's own name ties everything.
const RARE_MAX: f32 = 8.0;

/// Factor of a warning over a statement that is as relevant.
const WARNING_FACTOR: f32 = 1.05;
/// Factor of a record whose cited code changed.
const STALE_FACTOR: f32 = 0.8;

/// A record found by a recall, with its rank.
#[derive(Debug, Clone)]
pub struct RankedRecord {
    /// The search hit.
    pub hit: Hit,
    /// The record behind the hit.
    pub facet: RecordFacet,
    /// Relevance; above 1 if both words and ties match.
    pub relevance: f32,
    /// Sort key: relevance times factors for age, use and state.
    pub rank: f32,
    /// Active or stale, by the latest check of its citations.
    pub state: RecordState,
    /// Citations, if they were loaded.
    pub citations: Vec<CitedPlace>,
    /// Whether it is linked to the current task.
    pub is_of_task: bool,
    /// Whether it is an open proposal of the caller.
    pub is_own_proposal: bool,
    /// Its date, and how it contradicts another record of the bundle.
    pub disagrees: Option<String>,
}

impl RankedRecord {
    /// Creates an unranked record from a hit; `None` if the hit is no record.
    pub fn new(hit: Hit, is_of_task: bool) -> Option<Self> {
        let facet = hit.passage.record.clone()?;
        let state = facet.state;
        Some(Self {
            hit,
            facet,
            relevance: 0.0,
            rank: 0.0,
            state,
            citations: Vec::new(),
            is_of_task,
            is_own_proposal: false,
            disagrees: None,
        })
    }

    /// Returns the record's id if it cites code.
    pub fn citing(&self) -> Option<RecordId> {
        self.facet.cites.then_some(self.facet.id)
    }

    /// Takes over citations and the state that follows from them.
    pub fn set_citations(&mut self, citations: &[Citation]) {
        self.state = match is_stale(citations) {
            Some(true) => RecordState::Stale,
            Some(false) => RecordState::Active,
            None => self.state,
        };
        self.citations = citations.iter().map(CitedPlace::from).collect();
    }

    /// Whether it is a rule or a gotcha.
    pub fn is_warning(&self) -> bool {
        matches!(self.facet.kind, RecordKind::Gotcha | RecordKind::Rule)
    }
}

/// Ranks all records and sorts them, best first; newer ones first at the same rank.
pub fn rank(features: &QueryFeatures, records: &mut [RankedRecord]) {
    let ties: Vec<_> = records.iter().map(|record| Ties::of(features, record)).collect();
    let scope_worth = if features.path.is_some() { TIE_SCOPE } else { TIE_SCOPE_OF_SYMBOL };
    let worths = worths(&ties, scope_worth);
    for (record, ties) in records.iter_mut().zip(ties) {
        record.relevance = similarity(features, &record.hit) + ties.worth(&worths);
        record.rank = record.relevance * factor(record);
    }
    records.sort_by(|a, b| {
        let newest_first = || b.facet.updated_at.cmp(&a.facet.updated_at);
        b.rank.total_cmp(&a.rank).then_with(newest_first).then(b.facet.id.cmp(&a.facet.id))
    });
}

/// Returns the similarity of a record to the query: weighted cosine plus word coverage.
fn similarity(features: &QueryFeatures, hit: &Hit) -> f32 {
    let coverage = hit.coverage.unwrap_or_default();
    let is_foreign = !features.is_latin || !is_latin(&hit.passage.indexed.text);
    let is_prose = !features.texts.is_empty() || !features.signals.is_empty();
    let (of_similarity, of_coverage) = match (is_prose, is_foreign) {
        // Names alone have no meaning that a vector could match.
        (false, _) => (0.0, COVERAGE_WEIGHT),
        (true, true) => (FOREIGN_SIMILARITY, FOREIGN_COVERAGE_WEIGHT),
        (true, false) => (1.0, COVERAGE_WEIGHT),
    };
    // A record outside the nearest is hardly more distant than the last of them.
    let cosine = hit.similarity.or(hit.similarity_below.map(|end| end * BELOW_NEAREST_SHARE));
    of_similarity * cosine.unwrap_or_default().max(0.0) + of_coverage * coverage
}

/// Returns the factors of a record that do not depend on the query.
fn factor(record: &RankedRecord) -> f32 {
    let rank_factor: f32 = rank_factors(&record.hit.passage, chrono::Utc::now())
        .into_iter()
        .map(|(_, factor)| factor)
        .product();
    // `rank_factor` has the state of the previous check.
    let stale = match (record.facet.state, record.state) {
        (RecordState::Active, RecordState::Stale) => STALE_FACTOR,
        _ => 1.0,
    };
    rank_factor * stale * if record.is_warning() { WARNING_FACTOR } else { 1.0 }
}

/// Ties between a record and the query.
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
    fn of(features: &QueryFeatures, record: &RankedRecord) -> Self {
        let indexed = &record.hit.passage.indexed;
        let cited = record.citations.iter().filter_map(|place| place.symbol.as_deref());
        let cited: Vec<_> = cited
            .chain(indexed.symbols.iter().map(String::as_str))
            .filter_map(symbol_key)
            .collect();
        let wanted: Vec<_> = features.named.iter().filter_map(|name| symbol_key(name)).collect();
        let any = |test: fn(&str, &str) -> bool| {
            wanted.iter().any(|wanted| cited.iter().any(|cited| test(wanted, cited)))
        };
        let files: Vec<_> = record
            .citations
            .iter()
            .map(|place| place.file.as_str())
            .chain([indexed.location.as_str()])
            .filter_map(path_key)
            .collect();
        let path = features.path.as_deref().and_then(path_key);
        let at = |test: fn(&str, &str) -> bool| {
            path.as_ref().is_some_and(|path| files.iter().any(|file| test(path, file)))
        };
        let own_scope = || indexed.scope.iter().map(|scope| scope.to_lowercase());
        let in_scope = own_scope().any(|scope| {
            features.scope.contains(&scope)
                || path.as_ref().is_some_and(|path| is_below(path, scope.trim_matches(['*', '/'])))
        });
        Self {
            task: record.is_of_task,
            symbol: any(|wanted, cited| is_tail(wanted, cited, '.')),
            owner: any(|wanted, cited| {
                is_below_name(wanted, cited) || is_below_name(cited, wanted)
            }),
            mention: names_symbol(features, indexed) || names_issue(features, indexed),
            file: at(|path, file| is_tail(path, file, '/')),
            directory: at(is_beside),
            scope: in_scope,
        }
    }

    fn worth(self, worths: &[(HasTie, f32)]) -> f32 {
        let tied = worths.iter().filter(|(has, _)| has(&self)).map(|(_, worth)| *worth);
        tied.fold(0.0, f32::max) + if self.task { TIE_TASK } else { 0.0 }
    }
}

type HasTie = fn(&Ties) -> bool;

/// Returns the worth of each tie but the task's, which depends on how many records have the tie.
fn worths(ties: &[Ties], scope_worth: f32) -> [(HasTie, f32); 6] {
    let count = |has: HasTie| ties.iter().filter(|ties| has(ties)).count();
    let rare = |has: HasTie, worth: f32| (has, worth * rarity(count(has)));
    [
        (|ties| ties.symbol, TIE_SYMBOL),
        rare(|ties| ties.owner, TIE_OWNER),
        rare(|ties| ties.mention, TIE_MENTION),
        rare(|ties| ties.file, TIE_FILE),
        rare(|ties| ties.directory, TIE_DIRECTORY),
        rare(|ties| ties.scope, scope_worth),
    ]
}

fn rarity(count: usize) -> f32 {
    let count = as_f32(count);
    if count > RARE_MAX { (RARE_MAX / count).sqrt() } else { 1.0 }
}

/// Whether a file lies below the query's path, or in the directory of its file.
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
    fn link_shared_by_many_records_weighs_less() {
        assert!(rarity(1) >= 1.0 && rarity(8) >= 1.0);
        assert!(rarity(32) <= 0.5 && rarity(200) <= 0.2);
    }

    #[test]
    fn files_of_one_directory_are_siblings() {
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
