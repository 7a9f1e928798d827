//! Two normalized forms of a text, each with a mapping back to its bytes.
//!
//! *Plain* is the visible text (see [`mc_sanitizer::visible_text`]): without invisible characters,
//! escapes and terminal sequences. It also has no compatibility forms and no accents on Latin
//! letters, and Latin letters replace look-alikes in mixed words. Regexes for code and markup read
//! it.
//! *Folded* has in addition lower case, letters in place of similar digits, single spaces, and no
//! punctuation inside words. The lexicon reads it.

use std::ops::Range;
use std::sync::LazyLock;

use mc_sanitizer::visible_text::{self, Piece, Shown, invisible_kind, string_of_sequence};
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// A mapping from offsets in a form to offsets in the text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offsets {
    /// Pairs of offsets in the form and in the text, where their difference changes.
    marks: Vec<(usize, usize)>,
}

impl Offsets {
    pub fn add(&mut self, read: usize, text: usize) {
        let follows = self.marks.last().is_some_and(|(r, t)| read - r == text.wrapping_sub(*t));
        if !follows {
            self.marks.push((read, text));
        }
    }

    pub fn origin(&self, read: usize) -> usize {
        let next = self.marks.partition_point(|(r, _)| *r <= read);
        self.marks.get(next.wrapping_sub(1)).map_or(0, |(r, t)| t + (read - r))
    }

    /// Maps a span from its first to its last character. Characters that were removed after the
    /// last one are not included.
    fn span(&self, span: &Range<usize>, form: &str, text: &str) -> Range<usize> {
        let last = form[..span.end].char_indices().next_back().map_or(0, |(at, _)| at);
        let end = self.origin(last.max(span.start));
        self.origin(span.start)..end + text[end..].chars().next().map_or(0, char::len_utf8)
    }
}

/// The plain form of a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plain {
    pub text: String,
    offsets: Offsets,
    /// Words of the form in which letters of other scripts were replaced by Latin ones.
    pub mixed: Vec<Range<usize>>,
    /// Strings of terminal sequences, such as titles, as bytes of the text. They are not in `text`.
    pub strings: Vec<Range<usize>>,
}

impl Plain {
    pub fn of(text: &str) -> Self {
        let mut plain = Self::default();
        plain.text.reserve(text.len());
        if text.is_ascii() && visible_text::next_change(text, 0).is_none() {
            plain.text.push_str(text);
            plain.offsets.add(0, 0);
            return plain;
        }
        let mut word = Word::default();
        for Piece { shown, at } in visible_text::pieces(text) {
            let Shown::Char(c) = shown else {
                plain.strings.extend(string_of_sequence(text, &at));
                continue;
            };
            if c.is_ascii() {
                plain.take(&mut word, at.start, Some(c));
                continue;
            }
            match latin_base(c) {
                Some(base) => plain.take(&mut word, at.start, Some(base)),
                None if is_accent(c) || invisible_kind(c).is_some() => {}
                // Before its compatibility form, which may not look like a Latin letter.
                None if latin_twin(c).is_some() => plain.take(&mut word, at.start, Some(c)),
                None => plain.take(&mut word, at.start, std::iter::once(c).nfkc()),
            }
        }
        plain.flush(&mut word);
        plain
    }

    fn take(&mut self, word: &mut Word, at: usize, characters: impl IntoIterator<Item = char>) {
        for c in characters {
            if c.is_alphabetic() {
                word.push(at, c);
            } else {
                self.flush(word);
                self.push(at, c);
            }
        }
    }

    fn push(&mut self, at: usize, c: char) {
        self.offsets.add(self.text.len(), at);
        self.text.push(c);
    }

    fn flush(&mut self, word: &mut Word) {
        let start = self.text.len();
        let folds = word.has_look_alikes();
        for (at, c) in word.letters.drain(..) {
            let shown = if folds { latin_twin(c).unwrap_or(c) } else { c };
            self.push(at, shown);
        }
        if folds {
            self.mixed.push(start..self.text.len());
        }
        *word = Word { letters: std::mem::take(&mut word.letters), ..Word::default() };
    }

    /// Maps `span` of this form to `text`.
    pub fn origin(&self, span: &Range<usize>, text: &str) -> Range<usize> {
        self.offsets.span(span, &self.text, text)
    }
}

/// A run of letters.
#[derive(Debug, Default)]
struct Word {
    letters: Vec<(usize, char)>,
    ascii: usize,
    foreign: usize,
    scripts: Scripts,
}

/// The alphabets of a word that have look-alikes of Latin letters.
#[derive(Debug, Default, Clone, Copy)]
struct Scripts {
    cyrillic: bool,
    greek: bool,
    other: bool,
}

impl Word {
    fn push(&mut self, at: usize, c: char) {
        self.letters.push((at, c));
        if c.is_ascii() {
            self.ascii += 1;
            return;
        }
        self.foreign += 1;
        match c {
            '\u{400}'..='\u{52f}' => self.scripts.cyrillic = true,
            '\u{370}'..='\u{3ff}' => self.scripts.greek = true,
            _ => self.scripts.other = true,
        }
    }

    /// Whether the word mixes alphabets, or uses one that is neither Latin, Cyrillic nor Greek.
    fn has_look_alikes(&self) -> bool {
        if self.foreign == 0 || self.letters.len() < 3 || self.letters.len() > 40 {
            return false;
        }
        let scripts = self.scripts;
        let alphabets = [self.ascii > 0, scripts.cyrillic, scripts.greek, scripts.other];
        let mixed = alphabets.iter().filter(|one| **one).count() > 1;
        (mixed || !(scripts.cyrillic || scripts.greek))
            && self.letters.iter().any(|(_, c)| !c.is_ascii() && latin_twin(*c).is_some())
    }
}

/// Returns a Latin letter without its accents.
fn latin_base(c: char) -> Option<char> {
    // Alphabets and ideographs without any form of a Latin letter, for speed.
    if matches!(c, '\u{370}'..='\u{1cff}' | '\u{3040}'..='\u{d7ff}') {
        return None;
    }
    let base = std::iter::once(c).nfkd().next()?;
    let rest_are_accents = || std::iter::once(c).nfkd().skip(1).all(is_accent);
    (base.is_ascii() && rest_are_accents()).then_some(base)
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}')
        || matches!(c, '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Returns the Latin letter that looks like `c`.
fn latin_twin(c: char) -> Option<char> {
    match c {
        ..'\u{600}' => TWINS[c as usize],
        // Ideographs do not look like letters.
        '\u{3040}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' => None,
        _ => twin(c),
    }
}

/// The look-alikes in the most frequent alphabets.
static TWINS: LazyLock<Vec<Option<char>>> =
    LazyLock::new(|| (0..0x600).map(|code| char::from_u32(code).and_then(twin)).collect());

fn twin(c: char) -> Option<char> {
    let mut buffer = [0; 4];
    let mut twin = skeleton(c.encode_utf8(&mut buffer));
    let first = twin.next().filter(char::is_ascii_alphabetic);
    first.filter(|_| twin.next().is_none())
}

/// The folded form of a text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folded {
    pub text: String,
    offsets: Offsets,
    /// Offsets where punctuation or a space inside a word was removed: a word may begin or end
    /// there.
    joins: Vec<usize>,
}

impl Folded {
    pub fn of(plain: &str) -> Self {
        let mut folded = Self::default();
        folded.text.reserve(plain.len());
        let mut before = None;
        // Whether the previous letter is single: `i g n o r e` is a word.
        let mut alone = false;
        let mut rest = plain;
        while let Some(c) = rest.chars().next() {
            let at = plain.len() - rest.len();
            rest = &rest[c.len_utf8()..];
            let after = rest.chars().next();
            if c.is_whitespace() {
                let spaces = rest.len() - rest.trim_start().len();
                let lines = plain[at..at + c.len_utf8() + spaces].matches('\n').count();
                rest = &rest[spaces..];
                if alone && spaces == 0 && begins_with_lone_letter(rest) {
                    folded.add_join();
                    continue;
                }
                folded.push(at, if lines > 1 { '\n' } else { ' ' });
                (before, alone) = (Some(' '), false);
                continue;
            }
            if is_inner_punctuation(c) && is_letter(before) && is_letter(after) {
                folded.add_join();
                continue;
            }
            let shown = fold(c, before, after);
            let joined = folded.joins.last() == Some(&folded.text.len());
            alone = shown.is_alphabetic() && (!is_letter(before) || (alone && joined));
            folded.push(at, shown);
            before = Some(shown);
        }
        folded
    }

    fn push(&mut self, at: usize, c: char) {
        self.offsets.add(self.text.len(), at);
        self.text.push(c);
    }

    fn add_join(&mut self) {
        self.joins.push(self.text.len());
    }

    /// Whether a word begins or ends at `at`.
    pub fn is_edge(&self, at: usize) -> bool {
        let inside = is_letter(self.text[..at].chars().next_back())
            && is_letter(self.text[at..].chars().next());
        !inside || self.joins.binary_search(&at).is_ok()
    }

    /// Maps `span` of this form to `plain`.
    pub fn origin(&self, span: &Range<usize>, plain: &str) -> Range<usize> {
        self.offsets.span(span, &self.text, plain)
    }
}

/// Returns a word of the lexicon as in the folded form.
pub(crate) fn folded_word(word: &str) -> String {
    let plain: String = word
        .chars()
        .flat_map(|c| {
            latin_base(c).map_or_else(|| std::iter::once(c).nfkc().collect(), |b| vec![b])
        })
        .collect();
    plain.chars().map(|c| fold(c, None, None)).collect()
}

fn is_letter(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphabetic)
}

fn is_inner_punctuation(c: char) -> bool {
    matches!(
        c,
        '-' | '_' | '.' | '*' | '~' | '\'' | '\u{2019}' | '|' | '+' | '·' | '‐' | '\u{2010}'
            ..='\u{2013}'
    )
}

fn begins_with_lone_letter(rest: &str) -> bool {
    let mut characters = rest.chars();
    is_letter(characters.next()) && !is_letter(characters.next())
}

/// Folds a character: lower case, and letters in place of the digits and symbols that look like
/// them.
/// `l` becomes `i`, since `1` and `|` look like both.
fn fold(c: char, before: Option<char>, after: Option<char>) -> char {
    let is_next_to_letter = is_letter(before) || is_letter(after);
    match c {
        'l' | 'L' | 'I' => 'i',
        'A'..='Z' => c.to_ascii_lowercase(),
        '1' | '!' if is_letter(after) => 'i',
        '0' if is_next_to_letter => 'o',
        '3' if is_next_to_letter => 'e',
        '4' | '@' if is_next_to_letter => 'a',
        '5' | '$' if is_next_to_letter => 's',
        '7' if is_next_to_letter => 't',
        'ё' | 'Ё' => 'е',
        _ if c.is_ascii() => c,
        _ => c.to_lowercase().next().unwrap_or(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        Folded::of(&Plain::of(text).text).text
    }

    #[test]
    fn disguised_words_fold_to_their_letters() {
        for disguised in [
            "ignore rules",
            "IGNORE  rules",
            "ig\u{200b}no\u{2060}re ru\u{ad}les",
            "іgnоrе rules",
            "\u{ff49}\u{ff47}\u{ff4e}\u{ff4f}\u{ff52}\u{ff45} rules",
            "𝐢𝐠𝐧𝐨𝐫𝐞 rules",
            "1gn0r3 ru1es",
            "ígnòrẽ rules",
            "i g n o r e  rules",
            "i.g.n.o.r.e rules",
            "ig-no-re rules",
            "\u{e0069}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065} rules",
        ] {
            assert_eq!(folded(disguised), "ignore ruies", "{disguised:?}");
        }
    }

    #[test]
    fn look_alikes_match_the_unicode_table() {
        let pairs = "аa ɑa сc ϲc еe ҽe іi ιi оo οo рp ρp ѕs ѵv νv хx уy үy ɡg јj ԁd һh";
        for pair in pairs.split(' ') {
            let (twin, latin) = pair.split_at(pair.len() - 1);
            let c = twin.chars().next().expect("a letter");
            assert_eq!(latin_twin(c), latin.chars().next(), "{pair}");
        }
    }

    #[test]
    fn words_of_other_scripts_stay_unchanged() {
        assert_eq!(Plain::of("сор, ключ, δέλτα, 規則").text, "сор, ключ, δέλτα, 規則");
        assert_eq!(folded("Всё ещё"), "все еще");
    }

    #[test]
    fn span_maps_back_to_its_original_bytes() {
        let text = "é\u{200b} — 𝐢gn\u{200b}ore it";
        let plain = Plain::of(text);
        let folded = Folded::of(&plain.text);
        let at = folded.text.find("ignore").expect("the word is there");
        let span = plain.origin(&folded.origin(&(at..at + 6), &plain.text), text);
        assert_eq!(&text[span], "𝐢gn\u{200b}ore");
    }
}
