//! Base62 of fixed length: digits, then upper-case letters, then lower-case letters.

use zeroize::Zeroize as _;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters of 256 bits.
pub(super) const LEN_256: usize = 43;
/// Characters of 32 bits.
pub(super) const LEN_32: usize = 6;

/// Appends a number of 256 bits, the most significant byte first.
pub(super) fn push_256(text: &mut String, number: &[u8; 32]) {
    let mut rest = *number;
    let mut digits = [0_u8; LEN_256];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[usize::from(divide(&mut rest))];
    }
    text.extend(digits.iter().map(|&digit| char::from(digit)));
    digits.zeroize();
}

/// Divides a number by 62 in place and returns the remainder.
fn divide(number: &mut [u8; 32]) -> u8 {
    let mut remainder = 0_u16;
    for byte in number {
        let dividend = (remainder << 8) | u16::from(*byte);
        *byte = u8::try_from(dividend / 62).expect("the remainder is below 62");
        remainder = dividend % 62;
    }
    u8::try_from(remainder).expect("below 62")
}

/// Whether `text` is an output of [`push_256`]: a number below 2^256.
pub(super) fn is_256(text: &str) -> bool {
    let mut number = [0_u8; 32];
    text.len() == LEN_256
        && text.bytes().all(|digit| value(digit).is_some_and(|value| extend(&mut number, value)))
}

/// Multiplies a number by 62 in place and adds `digit`; returns whether the result fits.
fn extend(number: &mut [u8; 32], digit: u8) -> bool {
    let mut carry = u16::from(digit);
    for byte in number.iter_mut().rev() {
        let [high, low] = (u16::from(*byte) * 62 + carry).to_be_bytes();
        *byte = low;
        carry = u16::from(high);
    }
    carry == 0
}

/// Appends a number of 32 bits.
pub(super) fn push_32(text: &mut String, number: u32) {
    let mut rest = number;
    let mut digits = [0_u8; LEN_32];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    text.extend(digits.iter().map(|&digit| char::from(digit)));
}

/// Parses the output of [`push_32`].
pub(super) fn read_32(text: &str) -> Option<u32> {
    text.bytes().try_fold(0_u32, |number, digit| {
        number.checked_mul(62)?.checked_add(u32::from(value(digit)?))
    })
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'Z' => Some(digit - b'A' + 10),
        b'a'..=b'z' => Some(digit - b'a' + 36),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(number: [u8; 32]) -> String {
        let mut text = String::new();
        push_256(&mut text, &number);
        text
    }

    #[test]
    fn smallest_and_largest_numbers_have_full_length() {
        assert_eq!(written([0; 32]), "0".repeat(LEN_256));
        let mut small = [0; 32];
        small[31] = 62;
        assert_eq!(written(small), format!("{}10", "0".repeat(LEN_256 - 2)));
        // 2^256 - 1, by an independent calculation.
        assert_eq!(written([255; 32]), "yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp1");
    }

    #[test]
    fn numbers_beyond_the_range_are_rejected() {
        assert!(is_256(&written([255; 32])));
        assert!(!is_256("yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp2"));
        assert_eq!(read_32("4gfFC3"), Some(u32::MAX));
        assert_eq!(read_32("4gfFC4"), None);
    }

    proptest! {
        #[test]
        fn numbers_parse_back(number: u32, wide: [u8; 32]) {
            let mut text = String::new();
            push_32(&mut text, number);
            prop_assert_eq!((text.len(), read_32(&text)), (LEN_32, Some(number)));
            prop_assert!(is_256(&written(wide)));
        }
    }
}
