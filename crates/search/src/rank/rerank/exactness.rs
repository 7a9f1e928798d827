//! Factors of passages that match a name in the query.

use mc_domain::SourceKind;

use super::RankContext;
use crate::names;
use crate::query::{Certainty, Name, stems};
use crate::rank::Candidate;

/// Factor of a requested name. It ranks such a passage above all others, which a test checks: even
/// the last exact hit, found by no other retriever and with all other steps against it, ranks above
/// the best hit of three retrievers.
pub const NAMED_FACTOR: f32 = 800.0;
/// Factor of a mentioned name.
const MENTIONED_FACTOR: f32 = 1.6;
/// Gain of a text with all identifiers of the query. It separates notes that differ only in a
/// number and so have similar vectors. A gain above 2 would override the keyword retriever.
const IDENTIFIER_GAIN: f32 = 1.5;
/// Factor of a file that matches the scope prefix, evaluated in docs/retrieval.md.
const SCOPE_PREFIX_FACTOR: f32 = 1.4;
/// Factor of a match of the full name instead of its end.
const FULL_NAME: f32 = 1.3;
/// Factor of a match with the same case.
const SAME_SPELLING: f32 = 1.1;

pub(super) fn symbol(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let symbols = &candidate.passage.indexed.symbols;
    let matches = context.names.symbols.iter().flat_map(|name| {
        symbols.iter().filter_map(|symbol| {
            let key = names::symbol_key(symbol)?;
            factor(name, &key, symbol, '.')
        })
    });
    matches.max_by(f32::total_cmp)
}

pub(super) fn path(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let location = &candidate.passage.indexed.location;
    let key = names::path_key(location)?;
    let matches = context.names.paths.iter().filter_map(|name| factor(name, &key, location, '/'));
    matches.max_by(f32::total_cmp)
}

pub(super) fn identifier(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let passage = &candidate.passage.indexed;
    // Code repeats the names that it uses; only the definition matters, which `symbol` ranks.
    if passage.source == SourceKind::Code {
        return None;
    }
    let identifiers = &context.names.identifiers;
    let texts = [passage.title.to_lowercase(), passage.text.to_lowercase()];
    let is_found = |word: &&String| texts.iter().any(|text| names::has_name(text, word));
    let found = identifiers.iter().filter(is_found).count();
    let share = found as f32 / identifiers.len().max(1) as f32;
    (share > 0.0).then_some(1.0 + IDENTIFIER_GAIN * share)
}

pub(super) fn scope_prefix(candidate: &Candidate, context: &RankContext) -> Option<f32> {
    let scope = &context.names.scope_prefix;
    if scope.is_empty() || candidate.passage.code.is_none() {
        return None;
    }
    let location = stems(&candidate.passage.indexed.location);
    scope.iter().all(|word| location.contains(word)).then_some(SCOPE_PREFIX_FACTOR)
}

/// Returns the factor of a name for a symbol or path with this key and spelling.
fn factor(name: &Name, key: &str, spelling: &str, separator: char) -> Option<f32> {
    if !names::is_tail(&name.key, key, separator) {
        return None;
    }
    let certainty = match name.certainty {
        Certainty::Named => NAMED_FACTOR,
        Certainty::Mentioned => MENTIONED_FACTOR,
    };
    let full_name = if name.key.len() == key.len() { FULL_NAME } else { 1.0 };
    let same_case =
        if spelling.ends_with(name.written.trim_start_matches("./")) { SAME_SPELLING } else { 1.0 };
    Some(certainty * full_name * same_case)
}
