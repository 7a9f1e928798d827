//! Invisible characters and their legitimate uses.

use crate::detection::{Detection, Family};

/// The kind of an invisible character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvisibleKind {
    /// Joins, separates or fills without a width.
    ZeroWidth,
    /// Belongs to the layout: soft hyphens, direction marks.
    Layout,
    /// Displays text in another order than it is stored.
    Bidi,
    /// A copy of an ASCII character that no font shows.
    Tag,
    /// Selects a variant of the previous character.
    Selector,
    /// A character of private use.
    Private,
    /// A control character.
    Control,
}

/// Returns the kind of `c` if it is invisible.
pub(crate) fn invisible_kind(c: char) -> Option<InvisibleKind> {
    Some(match c {
        '\t' | '\n' | '\r' | ' '..='~' => return None,
        '\0'..='\x1f' | '\x7f'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fff9}'..='\u{fffb}' => {
            InvisibleKind::Control
        }
        '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{180e}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{2800}'
        | '\u{1d173}'..='\u{1d17a}' => InvisibleKind::ZeroWidth,
        '\u{ad}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => InvisibleKind::Layout,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => InvisibleKind::Bidi,
        '\u{e0000}'..='\u{e007f}' => InvisibleKind::Tag,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' => {
            InvisibleKind::Selector
        }
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. => InvisibleKind::Private,
        _ => return None,
    })
}

/// The character that a tag stands for, where it is one of text.
pub(crate) fn ascii_of_tag(c: char) -> Option<char> {
    let ascii = u8::try_from(u32::from(c).checked_sub(0xE0000)?).ok()?;
    matches!(ascii, b' '..=b'~').then_some(char::from(ascii))
}

/// Whether the script needs `c`: a joiner between Arabic or Indic letters or inside an emoji, or
/// one selector after a symbol.
pub(crate) fn is_legitimate(before: Option<char>, c: char, after: Option<char>) -> bool {
    let joins = |c: char| {
        is_emoji(c)
            || matches!(c, '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
            || matches!(c, '\u{fb50}'..='\u{fdff}')
    };
    match c {
        '\u{200c}' | '\u{200d}' => {
            let before = before
                .is_some_and(|b| joins(b) || invisible_kind(b) == Some(InvisibleKind::Selector));
            before && after.is_none_or(|a| joins(a) || a.is_whitespace())
        }
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{180b}'..='\u{180d}' => before
            .is_some_and(|b| {
                let is_base = !b.is_ascii_alphabetic() && !b.is_whitespace();
                is_base && invisible_kind(b).is_none()
            }),
        _ => false,
    }
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{3030}'..='\u{303d}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether `c` is a combining mark.
fn is_mark(c: char) -> bool {
    !c.is_ascii() && unicode_normalization::char::is_combining_mark(c)
}

/// Maximum number of marks on one letter in any orthography.
const MAX_MARKS: usize = 5;
/// Minimum number of consecutive invisible characters that can encode data.
const MIN_RUN: usize = 3;
/// Minimum number of split words that are intentional.
const MIN_SPLITS: usize = 3;

/// Adds the detections of invisible characters in `text`.
pub(crate) fn find(text: &str, found: &mut Vec<Detection>) {
    if text.is_ascii() && !text.bytes().any(|b| b < 9 || (b > 13 && b < 32)) {
        return;
    }
    let has_rtl =
        text.chars().any(|c| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}'));
    let mut runs = Runs { found, has_rtl, run: None, splits: Vec::new() };
    let mut before = None;
    let mut marks = 0..0;
    let mut count = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let after = characters.peek().map(|(_, c)| *c);
        match invisible_kind(c).filter(|_| !is_legitimate(before, c, after)) {
            Some(kind) => runs.meet(at, c, kind, before),
            None => runs.end(Some(c)),
        }
        if is_mark(c) && invisible_kind(c).is_none() {
            marks = if count == 0 { at..at } else { marks };
            marks.end = at + c.len_utf8();
            count += 1;
        } else {
            if count > MAX_MARKS {
                let confidence = if count > 2 * MAX_MARKS { 0.8 } else { 0.6 };
                let reason = "too many combining marks on one letter";
                runs.found.push(Detection::new(Family::Hidden, marks.clone(), confidence, reason));
            }
            count = 0;
        }
        before = Some(c);
    }
    runs.end(None);
    runs.finish();
}

/// A run of invisible characters.
#[derive(Default)]
struct Run {
    start: usize,
    end: usize,
    length: usize,
    zero_width: usize,
    selectors: usize,
    tags: usize,
    private: usize,
    bidi: usize,
    /// Whether it has an override, which reverses the displayed text.
    reverses: bool,
    before: Option<char>,
}

struct Runs<'f> {
    found: &'f mut Vec<Detection>,
    has_rtl: bool,
    run: Option<Run>,
    /// Words that an invisible character splits.
    splits: Vec<std::ops::Range<usize>>,
}

impl Runs<'_> {
    fn meet(&mut self, at: usize, c: char, kind: InvisibleKind, before: Option<char>) {
        let run = self.run.get_or_insert(Run { start: at, before, ..Run::default() });
        run.end = at + c.len_utf8();
        run.length += 1;
        match kind {
            InvisibleKind::ZeroWidth => run.zero_width += 1,
            InvisibleKind::Selector => run.selectors += 1,
            InvisibleKind::Tag => run.tags += 1,
            InvisibleKind::Private => run.private += 1,
            InvisibleKind::Bidi => {
                run.bidi += 1;
                run.reverses |= matches!(c, '\u{202d}' | '\u{202e}');
            }
            InvisibleKind::Layout | InvisibleKind::Control => {}
        }
    }

    fn end(&mut self, after: Option<char>) {
        let Some(run) = self.run.take() else { return };
        // The flags of England, Scotland and Wales are a black flag and tags.
        let is_flag = run.before == Some('\u{1f3f4}') && run.tags == run.length && run.tags <= 7;
        let detected = if run.tags > 0 && !is_flag {
            Some((0.95, "tag characters, which no font shows"))
        } else if run.reverses {
            Some((0.9, "characters that reverse the displayed text"))
        } else if run.bidi > 0 {
            let confidence = if self.has_rtl { 0.3 } else { 0.8 };
            Some((confidence, "characters that reorder the displayed text"))
        } else if run.selectors >= MIN_RUN {
            Some((0.9, "variation selectors in a row, which can encode bytes"))
        } else if run.zero_width >= 2 * MIN_RUN {
            Some((0.9, "zero-width characters in a row, which can encode bits"))
        } else if run.zero_width >= MIN_RUN {
            Some((0.6, "zero-width characters in a row"))
        } else if run.private >= 2 * MIN_RUN {
            Some((0.5, "characters of private use in a row"))
        } else {
            None
        };
        let span = run.start..run.end;
        if let Some((confidence, reason)) = detected {
            self.found.push(Detection::new(Family::Hidden, span.clone(), confidence, reason));
        }
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
        if run.zero_width > 0 && is_letter(run.before) && is_letter(after) {
            self.splits.push(span);
        }
    }

    fn finish(self) {
        let (Some(first), Some(last)) = (self.splits.first(), self.splits.last()) else { return };
        let confidence = if self.splits.len() >= MIN_SPLITS { 0.8 } else { 0.5 };
        let reason = "words split by zero-width characters";
        self.found.push(Detection::new(Family::Hidden, first.start..last.end, confidence, reason));
    }
}
