//! Numbers of payment cards.

use super::checksums;

/// Whether a number is that of a payment card, by the networks' first digits and lengths.
pub(super) fn is_card(digits: &[u8], shape: &str) -> bool {
    let number = |length: usize| {
        digits.get(..length).unwrap_or_default().iter().fold(0, |n, d| n * 10 + u32::from(d - b'0'))
    };
    let network = match digits.len() {
        13 | 19 => number(1) == 4,
        14 => matches!(number(3), 300..=305) || matches!(number(2), 36 | 38 | 39),
        15 => matches!(number(2), 34 | 37),
        16 => {
            number(1) == 4
                || matches!(number(2), 35 | 51..=55 | 62 | 65)
                || matches!(number(4), 2200..=2204 | 2221..=2720 | 6011)
        }
        _ => false,
    };
    let printed = shape.split([' ', '-']).all(|group| {
        !group.is_empty()
            && group.bytes().all(|b| b == b'9')
            && (group.len() >= 4 || digits.len() == 19)
    });
    network && printed && checksums::luhn(digits) && digits.iter().any(|d| *d != digits[0])
}
