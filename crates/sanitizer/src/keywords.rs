//! Finds the occurrences of keywords in a text, in any ASCII case.
//!
//! An automaton of all keywords is larger than the first-level cache of a processor. Most texts use
//! only a part of this filter's tables, which fits into that cache. The tables reject most offsets
//! by the last two bytes, and most of the others by a hash of up to eight bytes.

use std::cmp::Reverse;
use std::ops::Range;

/// Maximum bytes at the end of a keyword that are hashed.
const WINDOW: usize = 8;

/// Bits of a byte that are compared: letters of either case are equal.
const FOLDED: u8 = !0x20;

/// [`FOLDED`] for each byte of a window.
const FOLDED_WINDOW: u64 = u64::from_le_bytes([FOLDED; WINDOW]);

/// Number of windows of a chunk: one for each bit of the mask of [`Keywords::candidates`].
const CHUNK_WINDOWS: usize = u32::BITS as usize;

/// Number of pairs of bytes.
const PAIRS: usize = 1 << u16::BITS;

/// The shift for a pair that is not the end of a keyword. It is the largest valid one.
const NO_KEYWORD: u8 = 63;

/// Bits of a hash that select a bit of the filter, which has 8 KiB.
const FILTER_BITS: u32 = 16;

/// Words of the filter.
const FILTER_WORDS: usize = 1 << (FILTER_BITS - u64::BITS.ilog2());

/// Bits of a hash that select a bucket.
const BUCKET_BITS: u32 = 10;

/// A set of keywords.
#[derive(Debug)]
pub(crate) struct Keywords {
    /// For each pair of last bytes, the number of low bits of a window that are not hashed, or
    /// [`NO_KEYWORD`]. The hashed part has as many bytes as the shortest keyword of the pair, at
    /// most [`WINDOW`], so keywords that end at the same offset have the same hash.
    shifts: Box<[u8; PAIRS]>,
    /// A bit for each hash of a keyword.
    filter: [u64; FILTER_WORDS],
    /// The keywords by bucket. Of those with the same end, the longest one is first.
    by_bucket: Vec<Keyword>,
    /// The ends of the keywords, in the order of `by_bucket`. They reject most keywords of a bucket
    /// that do not match, without a read of their texts on the heap.
    ends: Vec<End>,
    /// The start of each bucket in `by_bucket`, and the end of the last one.
    starts: Vec<u32>,
}

#[derive(Debug)]
struct Keyword {
    index: usize,
    text: Box<[u8]>,
}

/// The last bytes of a keyword, as those of a window, and the mask of these bytes.
#[derive(Debug)]
struct End {
    bytes: u64,
    mask: u64,
}

impl Keywords {
    /// Creates a set of keywords, none of which is empty. Later, a keyword is named by its index.
    pub(crate) fn new<'k>(keywords: impl Iterator<Item = &'k str>) -> Self {
        let mut keywords: Vec<(End, Keyword)> = keywords
            .enumerate()
            .map(|(index, text)| (End::of(text), Keyword { index, text: text.as_bytes().into() }))
            .collect();
        let mut shifts: Box<[u8; PAIRS]> =
            vec![NO_KEYWORD; PAIRS].try_into().expect("a shift for each pair");
        for (end, _) in &keywords {
            for pair in end.pairs() {
                let shift = end.shift();
                let is_first = shifts[pair] == NO_KEYWORD;
                shifts[pair] = if is_first { shift } else { shifts[pair].max(shift) };
            }
        }
        // All pairs of a keyword have the same shift, so that of one pair is enough.
        let hash_of = |end: &End| hash(end.bytes >> shifts[pair(end.bytes)]);
        keywords.sort_by_key(|(end, keyword)| (bucket(hash_of(end)), Reverse(keyword.text.len())));
        let mut filter = [0; FILTER_WORDS];
        let mut starts = vec![0; (1 << BUCKET_BITS) + 1];
        for (end, _) in &keywords {
            let hash = hash_of(end);
            let (word, bit) = filter_bit(hash);
            filter[word] |= bit;
            starts[bucket(hash) + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let (ends, by_bucket) = keywords.into_iter().unzip();
        Self { shifts, filter, by_bucket, ends, starts }
    }

    /// Calls `found` with the index of each keyword in the text and its range, in the order of the
    /// ends. Of keywords with the same end, the longest one is first.
    pub(crate) fn find(&self, text: &str, mut found: impl FnMut(usize, Range<usize>)) {
        let bytes = text.as_bytes();
        let mut check = |end: usize| {
            if self.may_end(window(&bytes[..end])) {
                self.find_at(bytes, end, &mut found);
            }
        };
        let short = bytes.len().min(WINDOW - 1);
        (1..=short).for_each(&mut check);
        let mut end = WINDOW;
        while let Some(chunk) = bytes.get(end - WINDOW..).and_then(<[u8]>::first_chunk) {
            let mut candidates = self.candidates(chunk);
            while candidates != 0 {
                check(end + candidates.trailing_zeros() as usize);
                candidates &= candidates - 1;
            }
            end += CHUNK_WINDOWS;
        }
        (end..=bytes.len()).for_each(check);
    }

    /// Returns a bit mask of the windows of a chunk whose last two bytes are those of a keyword, in
    /// either case. The lowest bit is the first window. Most windows are rejected here, without a
    /// branch.
    fn candidates(&self, chunk: &[u8; WINDOW - 1 + CHUNK_WINDOWS]) -> u32 {
        let pairs = chunk[WINDOW - 2..].array_windows().map(|pair| u16::from_le_bytes(*pair));
        let is_end = |pair| u32::from(self.shifts[usize::from(pair)] != NO_KEYWORD);
        pairs.enumerate().fold(0, |ends, (at, pair)| ends | is_end(pair) << at)
    }

    /// Whether a keyword may end at the end of the window.
    fn may_end(&self, window: u64) -> bool {
        let (word, bit) = filter_bit(self.hash(window));
        self.filter[word] & bit != 0
    }

    fn hash(&self, window: u64) -> u32 {
        hash((window & FOLDED_WINDOW) >> self.shifts[pair(window)])
    }

    /// Calls `found` with each keyword that ends at `end`. Few offsets come here: as a function of
    /// its own, it takes no registers from the loop over all chunks.
    #[inline(never)]
    fn find_at(&self, bytes: &[u8], end: usize, found: &mut impl FnMut(usize, Range<usize>)) {
        let window = window(&bytes[..end]);
        let bucket = bucket(self.hash(window));
        let (first, last) = (self.starts[bucket] as usize, self.starts[bucket + 1] as usize);
        let ends = self.ends[first..last].iter();
        for (known, keyword) in ends.zip(&self.by_bucket[first..last]) {
            if window & known.mask != known.bytes {
                continue;
            }
            let Some(start) = end.checked_sub(keyword.text.len()) else { continue };
            if bytes[start..end].eq_ignore_ascii_case(&keyword.text) {
                found(keyword.index, start..end);
            }
        }
    }
}

impl End {
    fn of(keyword: &str) -> Self {
        let mut mask = [0; WINDOW];
        mask[WINDOW.saturating_sub(keyword.len())..].fill(FOLDED);
        let mask = u64::from_le_bytes(mask);
        Self { bytes: window(keyword.as_bytes()) & mask, mask }
    }

    /// Returns the number of low bits of a window that are before the keyword.
    fn shift(&self) -> u8 {
        u8::try_from(self.mask.trailing_zeros()).expect("at most 64")
    }

    /// Returns the pairs of last bytes that the keyword may have in a text, in either case. If it
    /// has one byte, any byte may be before it.
    fn pairs(&self) -> impl Iterator<Item = usize> {
        let is_single = usize::from(self.shift()) == 8 * (WINDOW - 1);
        let last = pair(self.bytes);
        let bytes_before = if is_single { 0..1 << u8::BITS } else { 0..1 };
        let in_both_cases = |pair| [pair, pair | 0x20, pair | 0x2000, pair | 0x2020];
        bytes_before.flat_map(move |before| in_both_cases(last | before))
    }
}

/// Returns the last [`WINDOW`] bytes of a text as a little-endian number. Bytes before the start
/// of the text are zeros.
fn window(bytes: &[u8]) -> u64 {
    let shorter = || bytes.iter().fold(0, |all, byte| all >> 8 | u64::from(*byte) << 56);
    bytes.last_chunk().map_or_else(shorter, |last| u64::from_le_bytes(*last))
}

/// Returns the last two bytes of a window.
fn pair(window: u64) -> usize {
    (window >> (u64::BITS - u16::BITS)) as usize
}

fn hash(end: u64) -> u32 {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    (end.wrapping_mul(MULTIPLIER) >> u32::BITS) as u32
}

/// Returns the word of the filter for a hash, and the bit in it.
fn filter_bit(hash: u32) -> (usize, u64) {
    let bit = hash >> (u32::BITS - FILTER_BITS);
    ((bit / u64::BITS) as usize, 1 << (bit % u64::BITS))
}

fn bucket(hash: u32) -> usize {
    (hash >> (u32::BITS - BUCKET_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use aho_corasick::AhoCorasick;

    use super::*;

    #[test]
    fn same_occurrences_are_found_as_by_an_automaton() {
        let words = [
            "a",
            "ab",
            "BAB",
            "babab",
            "б.",
            "парол",
            "рол",
            "ab",
            ".\n",
            "a.b",
            "x\r\n",
            "q",
            "@",
            "1234567",
            "12345678",
            "x12345678",
            "y12345678",
        ];
        // Many of these words have the same last two bytes, but different bytes before them.
        let numbers: Vec<String> = (0..200).map(|number| format!("ab{number}")).collect();
        let words: Vec<&str> =
            words.into_iter().chain(numbers.iter().map(String::as_str)).collect();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&words)
            .expect("the words are few");
        let keywords = Keywords::new(words.into_iter());
        let parts = [
            "a",
            "B",
            "b",
            ".",
            "\n",
            "x\r",
            "парол",
            "рол",
            "б",
            "Q",
            "ab1",
            "7",
            "3",
            "z",
            "`",
            "x",
            "12345678",
            "Y12345678",
        ];
        let mut random = 0x2545_f491_u64;
        for length in (0..60).cycle().take(6000) {
            let mut text = String::new();
            for _ in 0..length {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let choice = usize::try_from(random >> 33).unwrap_or_default();
                text.push_str(parts[choice % parts.len()]);
            }
            let expected: Vec<(usize, Range<usize>)> = automaton
                .find_overlapping_iter(&text)
                .map(|hit| (hit.pattern().as_usize(), hit.range()))
                .collect();
            let mut found = Vec::new();
            keywords.find(&text, |index, range| found.push((index, range)));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
