//! Factors of the age, use, scope, author and state of a passage.

use mc_domain::{CiVerdict, RecordState};
use mc_store::passages::RecordFacet;

use super::RankContext;
use crate::names;
use crate::rank::Candidate;

/// Maximum reduction of a record or dialog by age.
const AGE_COST: f32 = 0.2;
/// Age in days at which half of the reduction applies.
const AGE_HALF_LIFE_DAYS: f32 = 90.0;
/// Maximum gain of a record that was always useful, and maximum reduction of one that never was.
const USE_RANGE: f32 = 0.3;
/// Number of observations at which half of the range applies.
const USE_HALF_TRUST: f32 = 5.0;
/// Weight of a citation by a later record, relative to explicit feedback.
const CITED_WEIGHT: f32 = 0.5;
/// Weight of a merged pull request that touches the cited code.
const MERGED_WEIGHT: f32 = 0.5;
/// Weight of opening the record, which may also show that it does not help.
const OPENED_WEIGHT: f32 = 0.25;
/// Gain of a patch that passed CI, and reduction of one that failed: less than the range of use.
const CI_WEIGHT: f32 = 0.1;
/// Factor of a scope that matches the query.
const SCOPE_FACTOR: f32 = 1.25;
/// Factor of an author whom the query names.
const AUTHOR_FACTOR: f32 = 1.2;
/// Factor of a record whose cited code has changed.
const STALE_FACTOR: f32 = 0.6;

/// Returns the factor of the age of a record or dialog; code and documents do not age.
pub(super) fn recency(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let passage = &candidate.passage;
    let changed = match &passage.record {
        Some(record) => {
            record.last_used_at.map_or(record.updated_at, |used| used.max(record.updated_at))
        }
        None if passage.dialog.is_some() => passage.updated_at,
        None => return None,
    };
    let days = (context.now - changed).num_days().max(0) as f32;
    let factor = 1.0 - AGE_COST * (1.0 - (-days / AGE_HALF_LIFE_DAYS).exp2());
    (days > 0.0).then_some(factor)
}

/// Returns the factor of the use of a record, and of the CI result of its patch.
pub(super) fn usefulness(candidate: &Candidate, _: &RankContext) -> Option<f32> {
    let record = candidate.passage.record.as_ref()?;
    let ci = record.ci_status.map(|ci| match ci {
        CiVerdict::Passed => CI_WEIGHT,
        CiVerdict::Failed => -CI_WEIGHT,
    });
    let signals = [use_signal(record), ci];
    signals.iter().any(Option::is_some).then(|| 1.0 + signals.into_iter().flatten().sum::<f32>())
}

/// Returns the gain or reduction by the share of positive observations, which increases with their
/// number. A recall without feedback counts as no observation.
fn use_signal(record: &RecordFacet) -> Option<f32> {
    let count = |times: i32| times.max(0) as f32;
    let positive = count(record.use_count)
        + CITED_WEIGHT * count(record.cite_count)
        + MERGED_WEIGHT * count(record.pull_request_count)
        + OPENED_WEIGHT * count(record.open_count);
    let total = positive + count(record.skip_count);
    if total <= 0.0 {
        return None;
    }
    let rate = (positive + 1.0) / (total + 2.0);
    let trust = total / (total + USE_HALF_TRUST);
    Some(2.0 * USE_RANGE * (rate - 0.5) * trust)
}

/// Returns the factor of a scope (`checkout`, `app/models`, `app/models/**`) that contains a path
/// of the query or is a word of its text.
pub(super) fn scope(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let matches_query = |scope: &String| {
        let scope = scope.trim_end_matches(['*', '/']).trim_start_matches("./").to_lowercase();
        !scope.is_empty()
            && (context.names.paths.iter().any(|path| names::is_below(&path.key, &scope))
                || names::has_name(&context.text, &scope))
    };
    let matches = candidate.passage.indexed.scope.iter().any(matches_query);
    matches.then_some(SCOPE_FACTOR)
}

/// Returns the factor of a passage whose author the query names, by any part of the name.
pub(super) fn author(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let author = candidate.passage.indexed.author.to_lowercase();
    let mut names = author.split(|c: char| !c.is_alphanumeric()).filter(|name| name.len() > 1);
    let is_named = names.any(|name| names::has_name(&context.text, name));
    is_named.then_some(AUTHOR_FACTOR)
}

pub(super) fn stale(candidate: &Candidate, _: &RankContext) -> Option<f32> {
    let is_stale = candidate.passage.record.as_ref()?.state == RecordState::Stale;
    is_stale.then_some(STALE_FACTOR)
}
