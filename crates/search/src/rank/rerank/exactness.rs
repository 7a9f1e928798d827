//! Passages that define a symbol, or lie at a path, that the query names.

use mc_domain::SourceKind;

use super::RankContext;
use crate::names;
use crate::query::{Certainty, Name};
use crate::rank::Candidate;

/// A named thing comes before everything else: the weakest exact hit, last of its retriever's list
/// and in no other, times this stands above the strongest one that three retrievers found first,
/// with every other step against it (a test holds that).
pub const NAMED_FACTOR: f32 = 800.0;
/// A name in passing is a strong hint.
const MENTIONED_FACTOR: f32 = 1.6;
/// What a text gains that holds every identifier of the query. Notes of one pattern are neighbours
/// for a vector, whatever their number; above 2, the word's own retriever outvotes it.
const IDENTIFIER_GAIN: f32 = 1.5;
/// The whole name over a mere tail of it, and the same capitals over others.
const WHOLE_NAME: f32 = 1.3;
const SAME_SPELLING: f32 = 1.1;

pub(super) fn symbol(candidate: &Candidate, situation: &RankContext) -> Option<f32> {
    let symbols = &candidate.passage.indexed.symbols;
    let matches = situation.names.symbols.iter().flat_map(|name| {
        symbols.iter().filter_map(|symbol| {
            let key = names::symbol_key(symbol)?;
            factor(name, &key, symbol, '.')
        })
    });
    matches.max_by(f32::total_cmp)
}

pub(super) fn path(candidate: &Candidate, situation: &RankContext) -> Option<f32> {
    let place = &candidate.passage.indexed.location;
    let key = names::path_key(place)?;
    let matches = situation.names.paths.iter().filter_map(|name| factor(name, &key, place, '/'));
    matches.max_by(f32::total_cmp)
}

pub(super) fn identifier(candidate: &Candidate, situation: &RankContext) -> Option<f32> {
    let passage = &candidate.passage.indexed;
    // Code repeats the names that it uses; only where one is defined says something.
    if passage.source == SourceKind::Code {
        return None;
    }
    let wanted = &situation.names.identifiers;
    let texts = [passage.title.to_lowercase(), passage.text.to_lowercase()];
    let held = |word: &&String| texts.iter().any(|text| names::has_name(text, word));
    let share = wanted.iter().filter(held).count() as f32 / wanted.len().max(1) as f32;
    (share > 0.0).then_some(1.0 + IDENTIFIER_GAIN * share)
}

/// How well `name` points at something of this key and spelling.
fn factor(name: &Name, key: &str, spelling: &str, separator: char) -> Option<f32> {
    if !names::is_tail(&name.key, key, separator) {
        return None;
    }
    let certainty = match name.certainty {
        Certainty::Named => NAMED_FACTOR,
        Certainty::Mentioned => MENTIONED_FACTOR,
    };
    let whole = if name.key.len() == key.len() { WHOLE_NAME } else { 1.0 };
    let same =
        if spelling.ends_with(name.written.trim_start_matches("./")) { SAME_SPELLING } else { 1.0 };
    Some(certainty * whole * same)
}
