//! Percent-encoding, as in URLs and forms.

use std::ops::Range;

use memchr::memchr;

use super::View;

/// Returns a view of each run of characters with percent-encoded bytes.
pub(super) fn views(text: &str) -> impl Iterator<Item = View> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + memchr(b'%', &text.as_bytes()[from..])?;
            from = at + 1;
            if byte_at(text.as_bytes(), at).is_none() {
                continue;
            }
            let run = run_around(text, at);
            from = run.end.max(from);
            return Some(decoded(text, run));
        }
    })
}

/// Maximum bytes of the run before its first encoded byte.
const MAX_BYTES_BEFORE: usize = 256;

fn run_around(text: &str, at: usize) -> Range<usize> {
    let is_outside = |c: char| c.is_whitespace() || "\"'`<>|".contains(c);
    let near = text.floor_char_boundary(at.saturating_sub(MAX_BYTES_BEFORE));
    let start = text[near..at].rfind(is_outside).map_or(near, |outside| near + outside + 1);
    let end = text[at..].find(is_outside).map_or(text.len(), |outside| at + outside);
    text.ceil_char_boundary(start)..end
}

fn decoded(text: &str, run: Range<usize>) -> View {
    let bytes = text.as_bytes();
    let (mut decoded, mut origins) = (Vec::new(), Vec::new());
    let mut at = run.start;
    while at < run.end {
        let (byte, length) = byte_at(bytes, at).map_or((bytes[at], 1), |byte| (byte, 3));
        decoded.push(byte);
        origins.push(at..at + length);
        at += length;
    }
    View::of_bytes_lossy(&decoded, &origins)
}

/// Decodes the byte at `at`.
fn byte_at(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    (bytes[at] == b'%').then_some(())?;
    u8::try_from(digit(at + 1)? * 16 + digit(at + 2)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_spans_map_to_the_encoded_bytes() {
        let text = "see https://a.b/?q=%D0%B6%3Dx&r=1 there";
        let view = views(text).next().expect("one run");
        assert_eq!(view.text, "https://a.b/?q=ж=x&r=1");
        let at = view.text.find("ж=").expect("decoded");
        assert_eq!(&text[view.origin(&(at..at + 3))], "%D0%B6%3D");
        assert_eq!(views("100% of %d and %").count(), 0);
    }
}
