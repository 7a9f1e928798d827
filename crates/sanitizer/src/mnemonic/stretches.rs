//! The stretches of a text with enough words for a phrase, whose words have as many letters as
//! listed ones. Most of a text is in none.

use std::ops::Range;

use wide::u8x64;

/// Bytes of a block. A mask has a bit for each of them, the lowest one for the first byte.
const BLOCK: usize = 64;

/// Returns the stretches that may have `min_words` words of three to eight letters in a row, in
/// text order. Shorter and longer words separate them. A stretch may end with the first letters of
/// a longer word, and the end of a longer word before it counts as a word.
pub(super) fn stretches(bytes: &[u8], min_words: usize) -> Vec<Range<usize>> {
    let (blocks, rest) = bytes.as_chunks();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let mut found = Vec::new();
    let mut before = 0;
    // The start of a stretch, and the number of its words.
    let (mut start, mut words) = (0, 0);
    for (index, block) in blocks.iter().chain([&last]).enumerate() {
        let letters = letters(block);
        let (mut ends, mut cuts) = ends_and_cuts(letters, before);
        before = letters;
        if count(ends) < min_words {
            // No stretch with enough words begins and ends in this block, so only its first and
            // last cut matter. This is much faster.
            cuts = outermost(cuts);
        }
        while cuts != 0 {
            let cut = cuts.trailing_zeros();
            words += count(ends & ((1 << cut) - 1));
            let end = index * BLOCK + cut as usize;
            found.extend((words >= min_words).then_some(start..end));
            (start, words) = (end + 1, 0);
            ends &= u64::MAX << 1 << cut;
            cuts &= cuts - 1;
        }
        words += count(ends);
    }
    found.extend((words >= min_words).then_some(start..bytes.len()));
    found
}

/// Returns the letters of a block.
fn letters(block: &[u8; BLOCK]) -> u64 {
    let lower = u8x64::new(*block) | u8x64::splat(b'a' ^ b'A');
    (lower - u8x64::splat(b'a')).simd_lt(u8x64::splat(26)).to_bitmask()
}

/// Returns the bytes after words, and those that cut the text: the byte after a word of one or two
/// letters, and each letter after the eighth one of a word. The letters are those of a block and of
/// the block before it.
fn ends_and_cuts(letters: u64, before: u64) -> (u64, u64) {
    let letters = u128::from(letters) << BLOCK | u128::from(before);
    let two = letters << 1 & letters << 2;
    let four = two & two << 2;
    let ends = !letters & letters << 1;
    let short = ends & !(two & letters << 3);
    let long = letters & four & four << 4;
    let of_block = |mask: u128| (mask >> BLOCK) as u64;
    (of_block(ends), of_block(short | long))
}

fn count(mask: u64) -> usize {
    mask.count_ones() as usize
}

/// Returns the lowest and the highest bit.
fn outermost(mask: u64) -> u64 {
    let highest = (1_u64 << (u64::BITS - 1)).checked_shr(mask.leading_zeros());
    mask & mask.wrapping_neg() | highest.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN_WORDS: usize = 5;

    /// Does the same byte by byte.
    fn expected(bytes: &[u8]) -> Vec<Range<usize>> {
        let is_letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        let letters_before = |at: usize| (0..at).rev().take_while(|at| is_letter(*at)).count();
        let (mut found, mut start, mut words) = (Vec::new(), 0, 0);
        for at in 0..=bytes.len() {
            let (length, ends) = (letters_before(at), !is_letter(at));
            let cuts = if ends { (1..3).contains(&length) } else { length >= 8 };
            if cuts || at == bytes.len() {
                words += usize::from(ends && (3..9).contains(&length));
                found.extend((words >= MIN_WORDS).then_some(start..at));
                (start, words) = (at + 1, 0);
            } else {
                words += usize::from(ends && length > 0);
            }
        }
        found
    }

    #[test]
    fn stretches_are_between_short_and_long_words() {
        let words = ["abc", "Letters", "eighties", "ZOO", "a", "of", "ninewords", "é", "1"];
        let signs = [" ", "; ", "", " 12. ", "@", "[", "`", "{"];
        let mut random = 0x2545_f491_u64;
        let mut choose = |count: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(random >> 33).unwrap_or_default() % count
        };
        let mut count = 0;
        for length in (0..80).cycle().take(8000) {
            let mut text = String::new();
            for _ in 0..length {
                // Few of the words cut the text.
                let choices = if choose(8) == 0 { words.len() } else { 4 };
                text.push_str(words[choose(choices)]);
                text.push_str(signs[choose(signs.len())]);
            }
            let found = stretches(text.as_bytes(), MIN_WORDS);
            assert_eq!(found, expected(text.as_bytes()), "{text:?}");
            count += found.len();
        }
        assert!(count > 4000, "{count} stretches");
    }
}
