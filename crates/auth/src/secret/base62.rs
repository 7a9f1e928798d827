//! Base62 of fixed length: digits, then upper-case letters, then lower-case letters.

use zeroize::Zeroize as _;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Characters of 256 bits.
pub(super) const LEN_256: usize = 43;
/// Characters of 32 bits.
pub(super) const LEN_32: usize = 6;

/// Appends a number as `LEN` digits, the most significant byte first. Wipes its copies of the
/// number.
pub(super) fn push<const LEN: usize, const BYTES: usize>(text: &mut String, number: &[u8; BYTES]) {
    let mut rest = *number;
    let mut digits = [0_u8; LEN];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[usize::from(divide(&mut rest))];
    }
    text.extend(digits.iter().map(|&digit| char::from(digit)));
    digits.zeroize();
}

/// Divides a number by 62 in place and returns the remainder.
fn divide(number: &mut [u8]) -> u8 {
    let mut remainder = 0_u16;
    for byte in number {
        let dividend = (remainder << 8) | u16::from(*byte);
        *byte = u8::try_from(dividend / 62).expect("the remainder is below 62");
        remainder = dividend % 62;
    }
    u8::try_from(remainder).expect("below 62")
}

/// Parses the output of [`push`]; `None` if the number has more than `BYTES` bytes.
pub(super) fn parse<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let mut number = [0; BYTES];
    let mut fits = |digit| value(digit).is_some_and(|value| extend(&mut number, value));
    text.bytes().all(&mut fits).then_some(number)
}

/// Multiplies a number by 62 in place and adds `digit`; returns whether the result fits.
fn extend(number: &mut [u8], digit: u8) -> bool {
    let mut carry = u16::from(digit);
    for byte in number.iter_mut().rev() {
        let [high, low] = (u16::from(*byte) * 62 + carry).to_be_bytes();
        *byte = low;
        carry = u16::from(high);
    }
    carry == 0
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
        push::<LEN_256, 32>(&mut text, &number);
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
        assert_eq!(parse(&written([255; 32])), Some([255; 32]));
        assert_eq!(parse::<32>("yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp2"), None);
        assert_eq!(parse("4gfFC3"), Some(u32::MAX.to_be_bytes()));
        assert_eq!(parse::<4>("4gfFC4"), None);
    }

    proptest! {
        #[test]
        fn numbers_parse_back(number: u32, wide: [u8; 32]) {
            let mut text = String::new();
            push::<LEN_32, 4>(&mut text, &number.to_be_bytes());
            prop_assert_eq!(parse(&text), Some(number.to_be_bytes()));
            prop_assert_eq!(parse(&written(wide)), Some(wide));
        }
    }
}
