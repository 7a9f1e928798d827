//! Finding notes that share most features without comparing all pairs, by `MinHash` in bands.
//!
//! A note is the set of its features: the letter trigrams of its words, and its marks. Two notes
//! whose sets have the Jaccard similarity `s` agree in one row of their signatures with probability
//! `s`, in a band of [`ROWS`] rows with `s^ROWS`, and become a candidate pair in at least one of
//! [`BANDS`] bands with `1 - (1 - s^ROWS)^BANDS`:
//!
//! | s | 0.1 | 0.2 | 0.3 | 0.5 | 0.6 | 0.7 | 0.8 | 0.9 |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | candidates | 0.02 % | 0.8 % | 5.7 % | 53 % | 86 % | 98.8 % | 99.99 % | 100 % |
//!
//! Notes that the judge merges share at least 0.7 in nearly all cases: they have at most 15 % of
//! words more, and typos leave most trigrams of a word alone. So one in a hundred of the hardest
//! pairs is missed, and found when either note changes. Unrelated notes share about 0.1. Of the
//! five thousand million pairs of 100,000 notes, a million would be candidates if numbers and
//! denials did not separate them ([`stamp`]). Candidate pairs are compared exactly.

use crate::judge::ParsedNote;

const BANDS: usize = 24;
const ROWS: usize = 5;
/// Most earlier notes that a note of the same bucket is compared with: a thousand notes of one
/// template would be half a million pairs.
const BUCKET_NEIGHBORS_MAX: usize = 32;

/// Band values of a note. Two notes with the same value in the same band are a candidate pair.
pub type Bands = [u64; BANDS];

/// Computes the bands of a note. Notes with different stamps are never a candidate pair.
pub fn bands(note: &ParsedNote) -> Bands {
    let stamp_hash = stamp(note);
    let signature = signature(&features(note));
    let mut bands = [0; BANDS];
    for (band, rows) in bands.iter_mut().zip(signature.chunks_exact(ROWS)) {
        *band = hash(rows.iter().map(|row| u64::from(*row)).chain([stamp_hash]));
    }
    bands
}

/// Returns the pairs that share a bucket in some band, the smaller index first, sorted.
pub fn candidate_pairs(notes: &[Bands]) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    for band in 0..BANDS {
        let mut order: Vec<_> = (0_u32..).zip(notes).map(|(at, bands)| (bands[band], at)).collect();
        order.sort_unstable();
        for bucket in order.chunk_by(|a, b| a.0 == b.0) {
            for (at, (_, later)) in bucket.iter().enumerate() {
                let before = &bucket[at.saturating_sub(BUCKET_NEIGHBORS_MAX)..at];
                pairs.extend(before.iter().map(|(_, earlier)| (*earlier, *later)));
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
    }
    pairs
}

/// Hashes what duplicates always have in common: marks with a digit, operators, and the denials and
/// relations. The judge separates notes that differ in these.
fn stamp(note: &ParsedNote) -> u64 {
    let numbers = note.marks.iter().filter(|mark| mark.contains(|c: char| c.is_ascii_digit()));
    let mut operators: Vec<_> = note.frames.iter().map(|frame| frame.operator).collect();
    operators.sort_unstable();
    operators.dedup();
    let texts = numbers.chain(&note.symbols).map(String::as_str).chain(operators);
    hash(texts.map(|text| hash(text.bytes().map(u64::from))))
}

/// Returns the features of a note as numbers.
fn features(note: &ParsedNote) -> Vec<u64> {
    let mut features = Vec::new();
    for word in &note.words {
        // The ends of a word tell more than its middle.
        let letters: Vec<_> = ['^'].into_iter().chain(word.stem.chars()).chain(['$']).collect();
        let trigrams = letters.windows(3);
        features.extend(trigrams.map(|three| hash(three.iter().map(|letter| u64::from(*letter)))));
    }
    features.extend(note.marks.iter().map(|mark| hash(mark.bytes().map(u64::from))));
    features
}

/// Computes, for each random order of features in [`ORDERS`], the first feature that the note has.
fn signature(features: &[u64]) -> [u32; BANDS * ROWS] {
    let mut signature = [u32::MAX; BANDS * ROWS];
    for feature in features {
        for (first, (times, plus)) in signature.iter_mut().zip(&ORDERS) {
            let place = feature.wrapping_mul(*times).wrapping_add(*plus) >> 32;
            *first = (*first).min(u32::try_from(place).unwrap_or(u32::MAX));
        }
    }
    signature
}

/// Orders of features: the upper half of `feature * times + plus`, with an odd factor.
const ORDERS: [(u64, u64); BANDS * ROWS] = orders();

const fn orders() -> [(u64, u64); BANDS * ROWS] {
    let mut orders = [(0, 0); BANDS * ROWS];
    let mut at = 0;
    while at < orders.len() {
        orders[at] = (mixed(2 * at as u64) | 1, mixed(2 * at as u64 + 1));
        at += 1;
    }
    orders
}

/// Hashes a sequence of numbers, the same in every process.
fn hash(parts: impl IntoIterator<Item = u64>) -> u64 {
    parts.into_iter().fold(0, |hash, part| mixed(hash ^ part))
}

/// The generator `SplitMix64`: every output bit depends on every input bit.
const fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Bands {
        bands(&ParsedNote::read(text))
    }

    fn is_candidate(a: &str, b: &str) -> bool {
        !candidate_pairs(&[of(a), of(b)]).is_empty()
    }

    /// The standard deviation with 120 rows is at most 0.046.
    #[test]
    fn signature_agreement_estimates_jaccard() {
        let numbers: Vec<u64> = (0..400).map(mixed).collect();
        for shared in [40, 100, 160, 190] {
            let (a, b) = (&numbers[..200], &numbers[200 - shared..400 - shared]);
            let exact = shared as f64 / (400 - shared) as f64;
            let rows = signature(a).into_iter().zip(signature(b));
            let agree = rows.filter(|(a, b)| a == b).count() as f64 / (BANDS * ROWS) as f64;
            assert!((agree - exact).abs() < 0.15, "{shared}: {agree} for {exact}");
        }
    }

    #[test]
    fn paraphrase_is_a_candidate_and_another_subject_is_not() {
        let note =
            "The payments worker retries a failed charge 3 times with jitter before it gives up";
        let same =
            "Before it gives up, the payment worker retries failed charges three times with jiter";
        assert!(is_candidate(note, same));
        assert!(!is_candidate(
            note,
            "Cart sessions expire 3 hours after the owner sets a delay in the panel"
        ));
    }

    #[test]
    fn notes_with_other_numbers_or_negations_are_no_candidates() {
        let note = "Retries are enabled in staging for 30 seconds";
        for other in [
            "Retries are enabled in staging for 60 seconds",
            "Retries are not enabled in staging for 30 seconds",
            "Retries are enabled in staging for < 30 seconds",
        ] {
            assert!(!is_candidate(note, other), "{other}");
        }
    }

    #[test]
    fn candidate_pairs_of_similar_notes_are_bounded() {
        let alike = vec![of("Retries are enabled in staging"); 1_000];
        assert!(candidate_pairs(&alike).len() <= 1_000 * BUCKET_NEIGHBORS_MAX);
    }
}
