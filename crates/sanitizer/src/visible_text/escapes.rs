//! Escapes of string literals: `\n`, `\u003d`, `\x3d`, `\075`.

/// Returns the character that the escape at `at` stands for, and the end of the escape.
pub(super) fn escape(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let c = match *bytes.get(at + 1)? {
        b'n' => '\n',
        b't' => '\t',
        b'r' => '\r',
        b'a' => '\u{7}',
        b'b' => '\u{8}',
        b'v' | b'f' => '\u{b}',
        b'e' | b'E' => '\u{1b}',
        c @ (b'"' | b'\'' | b'`' | b'\\' | b'/') => char::from(c),
        b'0'..=b'3' => return octal(bytes, at + 1),
        b'x' => return hexadecimal(bytes, at + 2, 2).filter(|(c, _)| c.is_ascii()),
        b'u' => return hexadecimal(bytes, at + 2, 4),
        b'U' => return hexadecimal(bytes, at + 2, 8),
        _ => return None,
    };
    Some((c, at + 2))
}

/// Returns the character whose code begins at `at`, with `digits` digits or in braces.
fn hexadecimal(bytes: &[u8], at: usize, digits: usize) -> Option<(char, usize)> {
    const MAX_DIGITS: usize = 6;
    let is_digit = |byte: &&u8| byte.is_ascii_hexdigit();
    if bytes.get(at) == Some(&b'{') {
        let count = bytes[at + 1..].iter().take(MAX_DIGITS).take_while(is_digit).count();
        let end = at + 1 + count;
        let c = code(&bytes[at + 1..end], 16).filter(|_| bytes.get(end) == Some(&b'}'))?;
        return Some((c, end + 1));
    }
    Some((code(bytes.get(at..at + digits)?, 16)?, at + digits))
}

/// Returns the character whose code has three octal digits at `at`, or is a single zero.
fn octal(bytes: &[u8], at: usize) -> Option<(char, usize)> {
    let is_digit = |byte: &&u8| matches!(byte, b'0'..=b'7');
    let end = at + bytes[at..].iter().take(3).take_while(is_digit).count();
    let is_whole = end - at == 3 || &bytes[at..end] == b"0";
    code(&bytes[at..end], 8).filter(|c| is_whole && c.is_ascii()).map(|c| (c, end))
}

/// Returns the character of a code with at most eight digits.
fn code(digits: &[u8], radix: u32) -> Option<char> {
    let add = |code: u32, digit: &u8| {
        char::from(*digit).to_digit(radix).map(|digit| code.wrapping_mul(radix) + digit)
    };
    (!digits.is_empty()).then_some(())?;
    digits.iter().try_fold(0, add).and_then(char::from_u32)
}
