//! Age, use, scope and state of what was found.

use mc_domain::{CiVerdict, RecordState};
use mc_store::passages::RecordFacet;

use super::RankContext;
use crate::names;
use crate::rank::Candidate;

/// What age can take from a memory or a dialog at most, and in how many days it takes half of that.
const AGE_COST: f32 = 0.2;
const AGE_HALF_LIFE_DAYS: f32 = 90.0;
/// What being of use whenever that is known adds, and never being of use takes, when that is well
/// known.
const USE_RANGE: f32 = 0.3;
/// Pieces of evidence after which half of that counts.
const USE_DOUBT: f32 = 5.0;
/// What evidence weighs that nobody gave by a word, beside a word of feedback: that a later save
/// cites it, that a merged change touches what it cites, and that it was opened, which may also be
/// to find that it does not help.
const CITED_WEIGHT: f32 = 0.5;
const MERGED_WEIGHT: f32 = 0.5;
const OPENED_WEIGHT: f32 = 0.25;
/// What a patch that CI proves adds, and one that it disproves takes: less than people's use can.
const CI_WEIGHT: f32 = 0.1;
/// A scope or tag that the query speaks of.
const SCOPE_FACTOR: f32 = 1.25;
/// Said by somebody whom the query names.
const AUTHOR_FACTOR: f32 = 1.2;
/// Code that a record cites has changed.
const STALE_FACTOR: f32 = 0.6;

/// What people remember fades unless it is used; code and documents are as true as they are.
pub(super) fn recency(candidate: &Candidate, situation: &RankContext) -> Option<f32> {
    let passage = &candidate.passage;
    let changed = match &passage.record {
        Some(record) => {
            record.last_used_at.map_or(record.updated_at, |used| used.max(record.updated_at))
        }
        None if passage.dialog.is_some() => passage.updated_at,
        None => return None,
    };
    let days = (situation.now - changed).num_days().max(0) as f32;
    let factor = 1.0 - AGE_COST * (1.0 - (-days / AGE_HALF_LIFE_DAYS).exp2());
    (days > 0.0).then_some(factor)
}

/// How often a record was of use when it was recalled, and what CI says of the patch that it is
/// about.
pub(super) fn usefulness(candidate: &Candidate, _: &RankContext) -> Option<f32> {
    let record = candidate.passage.record.as_ref()?;
    let proof = record.ci_status.map(|ci| match ci {
        CiVerdict::Passed => CI_WEIGHT,
        CiVerdict::Failed => -CI_WEIGHT,
    });
    let said = [of_use(record), proof];
    said.iter().any(Option::is_some).then(|| 1.0 + said.into_iter().flatten().sum::<f32>())
}

/// The share of what is known of its use that speaks for it, trusted the more the more that is. A
/// recall of which nothing is known counts neither way.
fn of_use(record: &RecordFacet) -> Option<f32> {
    let count = |times: i32| times.max(0) as f32;
    let speaks_for = count(record.use_count)
        + CITED_WEIGHT * count(record.cite_count)
        + MERGED_WEIGHT * count(record.pull_request_count)
        + OPENED_WEIGHT * count(record.open_count);
    let known = speaks_for + count(record.skip_count);
    if known <= 0.0 {
        return None;
    }
    let rate = (speaks_for + 1.0) / (known + 2.0);
    let trust = known / (known + USE_DOUBT);
    Some(2.0 * USE_RANGE * (rate - 0.5) * trust)
}

/// A scope (`checkout`, `app/models`, `app/models/**`) that holds a path of the query or is a word
/// of its text.
pub(super) fn scope(candidate: &Candidate, situation: &RankContext) -> Option<f32> {
    let holds = |scope: &String| {
        let scope = scope.trim_end_matches(['*', '/']).trim_start_matches("./").to_lowercase();
        !scope.is_empty()
            && (situation.names.paths.iter().any(|path| names::is_below(&path.key, &scope))
                || names::has_name(&situation.text, &scope))
    };
    let matches = candidate.passage.indexed.scope.iter().any(holds);
    matches.then_some(SCOPE_FACTOR)
}

/// What "Maria" said, for a question about Maria; any part of a longer name will do.
pub(super) fn author(candidate: &Candidate, situation: &RankContext) -> Option<f32> {
    let author = candidate.passage.indexed.author.to_lowercase();
    let mut names = author.split(|c: char| !c.is_alphanumeric()).filter(|name| name.len() > 1);
    let is_named = names.any(|name| names::has_name(&situation.text, name));
    is_named.then_some(AUTHOR_FACTOR)
}

pub(super) fn stale(candidate: &Candidate, _: &RankContext) -> Option<f32> {
    let stale = candidate.passage.record.as_ref()?.state == RecordState::Stale;
    stale.then_some(STALE_FACTOR)
}
