//! Detection of invisible characters.

use mc_sanitizer::visible_text::{InvisibleKind, invisible_kind, is_legitimate};

use crate::detection::{Detection, Family};

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
