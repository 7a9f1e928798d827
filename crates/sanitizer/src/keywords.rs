//! Finds the occurrences of keywords in a text, in any ASCII case.
//!
//! An automaton of all keywords is larger than a processor's first cache. The tables of this filter
//! are not: they refuse most offsets by a hash of the last bytes.

use std::cmp::Reverse;
use std::ops::Range;

/// Maximum bytes at the end of a keyword that are hashed.
const WINDOW: usize = 4;

/// Bits of a byte that are compared: letters of either case are equal.
const FOLDED: u8 = !0x20;

/// Offsets that the innermost loop tests.
const OFFSETS: usize = 4;

/// Bits of a hash that select a bit of the filter, which has 8 KiB.
const FILTER_BITS: u32 = 16;

/// Words of the filter.
const FILTER_WORDS: usize = 1 << (FILTER_BITS - u64::BITS.ilog2());

/// Bits of a hash that select a bucket.
const BUCKET_BITS: u32 = 10;

/// A set of keywords.
#[derive(Debug)]
pub(crate) struct Keywords {
    /// For each byte, the mask of the bytes up to it that are hashed: those that all keywords with
    /// this last byte have, so that keywords that end together have the same hash.
    hashed: [u32; 256],
    /// A bit for each hash of a keyword.
    filter: [u64; FILTER_WORDS],
    /// The keywords by bucket. Of those with the same end, the longest one is first.
    by_bucket: Vec<Keyword>,
    /// The ends of the keywords, in the order of `by_bucket`. Most keywords are refused by them,
    /// and this table is much smaller.
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
    bytes: u32,
    mask: u32,
}

impl Keywords {
    /// Creates a set. Later, a keyword is named by its index.
    pub(crate) fn new<'k>(keywords: impl Iterator<Item = &'k str>) -> Self {
        let mut keywords: Vec<(End, Keyword)> = keywords
            .enumerate()
            .map(|(index, text)| (End::of(text), Keyword { index, text: text.as_bytes().into() }))
            .collect();
        let mut hashed = [0; 256];
        for (end, keyword) in &keywords {
            for byte in (0..=u8::MAX).filter(|byte| keyword.ends_in(*byte)) {
                let shared: &mut u32 = &mut hashed[usize::from(byte)];
                *shared = if *shared == 0 { end.mask } else { *shared & end.mask };
            }
        }
        let hash_of = |end: &End, keyword: &Keyword| hash(end.bytes & hashed[keyword.last_byte()]);
        keywords.sort_by_key(|(end, keyword)| {
            (bucket(hash_of(end, keyword)), Reverse(keyword.text.len()))
        });
        let mut filter = [0; FILTER_WORDS];
        let mut starts = vec![0; (1 << BUCKET_BITS) + 1];
        for (end, keyword) in &keywords {
            let hash = hash_of(end, keyword);
            let bit = hash >> (u32::BITS - FILTER_BITS);
            filter[(bit / u64::BITS) as usize] |= 1 << (bit % u64::BITS);
            starts[bucket(hash) + 1] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let (ends, by_bucket) = keywords.into_iter().unzip();
        Self { hashed, filter, by_bucket, ends, starts }
    }

    /// Calls `found` with the index of each keyword in the text and its range, in the order of the
    /// ends. Of keywords with the same end, the longest one is first.
    pub(crate) fn find(&self, text: &str, mut found: impl FnMut(usize, Range<usize>)) {
        let bytes = text.as_bytes();
        let short = bytes.len().min(WINDOW - 1);
        (1..=short).for_each(|end| self.find_at(bytes, end, &mut found));
        let mut end = WINDOW;
        while let Some(chunk) = bytes.get(end - WINDOW..).and_then(<[u8]>::first_chunk) {
            let chunk: &[u8; WINDOW - 1 + OFFSETS] = chunk;
            for (at, window) in chunk.array_windows().enumerate() {
                if self.may_end(*window) {
                    self.find_at(bytes, end + at, &mut found);
                }
            }
            end += OFFSETS;
        }
        (end..=bytes.len()).for_each(|end| self.find_at(bytes, end, &mut found));
    }

    /// Whether a keyword may end with the last byte of the window.
    fn may_end(&self, window: [u8; WINDOW]) -> bool {
        let bit = self.hash(window) >> (u32::BITS - FILTER_BITS);
        self.filter[(bit / u64::BITS) as usize] >> (bit % u64::BITS) & 1 == 1
    }

    fn hash(&self, window: [u8; WINDOW]) -> u32 {
        hash(u32::from_le_bytes(window) & self.hashed[usize::from(window[WINDOW - 1])])
    }

    /// Calls `found` with each keyword that ends at `end`. A function of its own keeps the loop
    /// over all bytes in registers.
    #[inline(never)]
    fn find_at(&self, bytes: &[u8], end: usize, found: &mut impl FnMut(usize, Range<usize>)) {
        let known = &bytes[end.saturating_sub(WINDOW)..end];
        let mut window = [0; WINDOW];
        window[WINDOW - known.len()..].copy_from_slice(known);
        let bucket = bucket(self.hash(window));
        let window = u32::from_le_bytes(window);
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
        let known = &keyword.as_bytes()[keyword.len().saturating_sub(WINDOW)..];
        let (mut window, mut mask) = ([0; WINDOW], [0; WINDOW]);
        window[WINDOW - known.len()..].copy_from_slice(known);
        mask[WINDOW - known.len()..].fill(FOLDED);
        let mask = u32::from_le_bytes(mask);
        Self { bytes: u32::from_le_bytes(window) & mask, mask }
    }
}

impl Keyword {
    /// Returns the last byte as an index, in the case of the keyword.
    fn last_byte(&self) -> usize {
        self.text.last().copied().map_or(0, usize::from)
    }

    fn ends_in(&self, byte: u8) -> bool {
        self.text.last().is_some_and(|last| last.eq_ignore_ascii_case(&byte))
    }
}

fn hash(end: u32) -> u32 {
    const MULTIPLIER: u32 = 0x9e37_79b1;
    end.wrapping_mul(MULTIPLIER)
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
        let words = ["a", "ab", "BAB", "babab", "б.", "парол", "ab", ".\n", "a.b", "x\r\n", "q"];
        // Some have equal ends of more bytes than the filter compares.
        let numbers: Vec<String> = (0..200).map(|number| format!("ab{number}")).collect();
        let words: Vec<&str> =
            words.into_iter().chain(numbers.iter().map(String::as_str)).collect();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&words)
            .expect("the words are few");
        let keywords = Keywords::new(words.into_iter());
        let parts = ["a", "B", "b", ".", "\n", "x\r", "парол", "б", "Q", "ab1", "7", "3", "z"];
        let mut random = 0x2545_f491_u64;
        for length in (0..20).cycle().take(4000) {
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
