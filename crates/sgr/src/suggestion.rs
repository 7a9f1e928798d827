//! Suggestions for misspelt names.

use mc_domain::shorten;
use strsim::normalized_damerau_levenshtein;

/// Similarity above which a known name may be the one that was meant.
const SIMILARITY_MIN: f64 = 0.6;
/// Length of the start of a name that is compared, in characters. Known names are shorter.
const COMPARED_MAX_CHARS: usize = 80;

/// Returns the way out of an unknown name: the nearest known one, else all of them.
pub(crate) fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", list(known)),
    }
}

/// Returns names in backticks.
pub(crate) fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = shorten(name, COMPARED_MAX_CHARS).to_lowercase();
    let near = known.map(|known| (normalized_damerau_levenshtein(&name, known), known));
    let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 >= SIMILARITY_MIN).then_some(nearest.1)
}
