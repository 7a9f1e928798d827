//! Lines as bytes.

/// Splits a text into lines, which keep their LF.
pub(crate) fn split(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Returns a text with LF in place of CRLF.
pub(crate) fn with_unix_endings(text: &[u8]) -> Vec<u8> {
    let lines = split(text).into_iter();
    let unix = lines.flat_map(|line| {
        let end: &[u8] = if line.ends_with(b"\n") { b"\n" } else { b"" };
        [without_ending(line), end]
    });
    unix.collect::<Vec<_>>().concat()
}

/// Returns a line without LF or CRLF.
pub(crate) fn without_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns the ending of a line: LF, CRLF, or none at the end of a file.
pub(crate) fn ending(line: &[u8]) -> &[u8] {
    &line[without_ending(line).len()..]
}

/// Returns the whitespace at the start of a line.
pub(crate) fn indentation(line: &[u8]) -> &[u8] {
    let line = without_ending(line);
    let end = line.iter().position(|byte| !matches!(byte, b' ' | b'\t')).unwrap_or(line.len());
    &line[..end]
}

/// Returns whether a line has nothing but whitespace.
pub(crate) fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii().is_empty()
}

/// Returns the number of letters and digits of a line. Bytes of other scripts count as letters.
pub(crate) fn weight(line: &[u8]) -> usize {
    line.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii()).count()
}
