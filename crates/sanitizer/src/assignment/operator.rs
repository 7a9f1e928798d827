//! The operator between a name and its value.

use super::cursor::{Cursor, is_quote};
use super::name::Strength;
use super::value::Candidate;
use super::{Requirements, value};
use crate::byte_set::ByteSet;

/// An operator, with the start of the value.
#[derive(Debug)]
pub(super) struct Operator {
    pub value_start: usize,
    pub kind: Kind,
    /// Words are between the name and the operator: `token for staging: `.
    pub is_distant: bool,
    /// The value is the argument of a call, which may look it up: `env("PASSWORD_1")`.
    pub is_wrapped: bool,
    /// A value in ASCII follows words in another script, which do not name it by accident.
    pub is_foreign: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `=`, `:`, `=>` and similar ones.
    Assigned,
    /// The next item of a list or a table's row, an argument, a dash.
    Adjacent,
    /// The content of an XML element.
    Element,
    /// `is` and `was`.
    Verb,
    /// A space only.
    Space,
    /// The end of the line: the next one has only the value.
    Line,
}

impl Operator {
    pub(super) fn requirements(&self, strength: Strength, candidate: &Candidate) -> Requirements {
        let quoted = candidate.is_quoted;
        let (evidence, length) = match (self.kind, quoted) {
            (Kind::Adjacent | Kind::Space, false) if strength == Strength::HumanChosen => (8.0, 8),
            (Kind::Assigned, true) => (Requirements::MIN_EVIDENCE, Requirements::MIN_LENGTH),
            (Kind::Assigned | Kind::Element, _) => (Requirements::MIN_EVIDENCE, 10),
            (Kind::Verb, _) | (_, true) => (8.0, 10),
            (Kind::Adjacent | Kind::Space | Kind::Line, false) => (12.0, 16),
        };
        let extra = if self.is_distant || candidate.is_part { 3.0 } else { 0.0 };
        let (evidence, length) = match strength {
            Strength::HumanChosen | Strength::Random => (evidence + extra, length),
            Strength::Weak => (evidence + extra + 5.0, length.max(16)),
        };
        let is_near = !self.is_distant && matches!(self.kind, Kind::Assigned | Kind::Element);
        let may_be_human_chosen = strength == Strength::HumanChosen
            && (is_near || self.is_foreign)
            && !self.is_wrapped
            && !candidate.is_part
            && (quoted || candidate.ends_line);
        let human_chosen_length = may_be_human_chosen.then_some(if quoted {
            Requirements::MIN_HUMAN_CHOSEN_LENGTH
        } else {
            8
        });
        debug_assert!(evidence >= Requirements::MIN_EVIDENCE && length >= Requirements::MIN_LENGTH);
        Requirements { evidence, length, human_chosen_length }
    }
}

/// Maximum number of words between a name and its operator.
const MAX_WORDS_BETWEEN: usize = 5;

/// Maximum length of a value on the line after its name, in bytes. Lines of data are longer.
const MAX_LINE: usize = 63;

/// Maximum length of such a word, in bytes.
const MAX_WORD_BYTES: usize = 24;

/// Returns the operator after a name that ends at `end`.
pub(super) fn after(text: &str, end: usize) -> Option<Operator> {
    let mut cursor = Cursor::new(text, end);
    cursor.skip(6, |byte| is_quote(byte) || matches!(byte, b'\\' | b']' | b'*'));
    let has_closing_mark = cursor.at > end;
    if let Some(after) = after_value_word(cursor) {
        return Some(to_value(text, after, Kind::Assigned, false));
    }
    let spaced = cursor.spaces() > 0;
    if let Some(kind) = eat_operator(&mut cursor, spaced) {
        return Some(to_value(text, cursor, kind, false));
    }
    if let Some(operator) = end_of_line(text, cursor) {
        return Some(operator);
    }
    if !spaced {
        return None;
    }
    let space_only = (!has_closing_mark).then(|| to_value(text, cursor, Kind::Space, false));
    let is_foreign = !text.as_bytes()[end - 1].is_ascii();
    let foreign = || is_foreign.then(|| beyond_foreign_words(text, cursor)).flatten();
    let beyond = beyond_words(text, cursor, !has_closing_mark).map(|operator| Operator {
        is_foreign: is_foreign && begins_ascii(text, operator.value_start),
        ..operator
    });
    beyond.or_else(foreign).or(space_only)
}

/// Returns the end of the line as the operator if the next line has only a value, as below a
/// heading: `# API key`.
fn end_of_line(text: &str, mut cursor: Cursor<'_>) -> Option<Operator> {
    static VALUE: ByteSet = ByteSet::alphanumeric_and(b"+/_.~=-");
    cursor.eat("\r");
    cursor.eat("\n").then_some(())?;
    cursor.spaces();
    let mut line = cursor;
    let length = line.skip(MAX_LINE + 1, |byte| VALUE.contains(byte));
    let is_whole = line.peek().is_none_or(|byte| matches!(byte, b'\r' | b'\n'));
    (is_whole && (1..=MAX_LINE).contains(&length))
        .then(|| to_value(text, cursor, Kind::Line, false))
}

/// Returns a space as the operator before the first word in ASCII: `пароль для прода hunter2!`.
fn beyond_foreign_words(text: &str, mut cursor: Cursor<'_>) -> Option<Operator> {
    for index in 0..MAX_WORDS_BETWEEN {
        if begins_ascii(text, cursor.at) {
            let operator = to_value(text, cursor, Kind::Space, index > 0);
            return Some(Operator { is_foreign: true, ..operator });
        }
        let length = cursor.skip(2 * MAX_WORD_BYTES + 1, |byte| !byte.is_ascii());
        if length == 0 || length > 2 * MAX_WORD_BYTES || cursor.spaces() == 0 {
            return None;
        }
    }
    None
}

fn begins_ascii(text: &str, at: usize) -> bool {
    text.as_bytes().get(at).is_some_and(u8::is_ascii_graphic)
}

/// Returns the operator after some words: `token for staging: `. The only one may be the type of a
/// variable if the name `may_have_type`.
fn beyond_words(text: &str, mut cursor: Cursor<'_>, may_have_type: bool) -> Option<Operator> {
    for index in 0..MAX_WORDS_BETWEEN {
        let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        let length = cursor.skip(MAX_WORD_BYTES + 1, is_inner);
        let is_verb = matches!(&text.as_bytes()[cursor.at - length..cursor.at], b"is" | b"was");
        let spaced = cursor.spaces() > 0;
        if length == 0 || length > MAX_WORD_BYTES {
            return None;
        }
        if is_verb {
            return Some(to_value(text, cursor, Kind::Verb, false));
        }
        // `var token string = "..."`
        let is_type = may_have_type && index == 0 && cursor.peek() == Some(b'=');
        if let Some(kind @ (Kind::Assigned | Kind::Adjacent)) = eat_operator(&mut cursor, spaced) {
            return Some(to_value(text, cursor, kind, !is_type));
        }
        if !spaced {
            return None;
        }
    }
    None
}

/// Returns the operator that ends at the cursor. The value begins after blanks, brackets, and a
/// call around it.
fn to_value(text: &str, mut cursor: Cursor<'_>, kind: Kind, is_distant: bool) -> Operator {
    if !matches!(kind, Kind::Space | Kind::Line) {
        cursor.blanks();
        cursor.skip(1, |byte| matches!(byte, b'[' | b'(' | b'{'));
        cursor.blanks();
    }
    let mut inside = cursor;
    let name = inside.skip(32, |byte| byte.is_ascii_alphanumeric() || b"_.: &!".contains(&byte));
    let calls = name > 0 && inside.skip(2, |byte| matches!(byte, b'(' | b'[')) > 0;
    let is_wrapped = calls && value::opens_quote(text, inside.at);
    let value_start = if is_wrapped { inside.at } else { cursor.at };
    Operator { value_start, kind, is_distant, is_wrapped, is_foreign: false }
}

/// Returns the cursor after the sign in `name="token" value="..."` of XML, JSON and YAML, and in
/// `variable "token" { default = "..." }`.
fn after_value_word(mut cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    cursor.skip(1, |byte| byte == b',');
    cursor.blanks();
    if cursor.skip(1, |byte| byte == b'{') == 1 {
        skip_settings(&mut cursor);
    }
    cursor.blanks();
    cursor.skip(2, |byte| is_quote(byte) || byte == b'\\');
    let may_be_word = matches!(cursor.peek(), Some(b'v' | b'V' | b'd' | b'c'));
    let mut words = ["value", "Value", "default", "content"].iter();
    if !may_be_word || !words.any(|word| cursor.eat(word)) {
        return None;
    }
    cursor.skip(2, |byte| is_quote(byte) || byte == b'\\');
    cursor.spaces();
    let is_sign = cursor.skip(1, |byte| matches!(byte, b':' | b'=')) == 1;
    is_sign.then_some(cursor)
}

/// Skips the settings and comments of a variable of Terraform that may precede its default, one on
/// each line.
fn skip_settings(cursor: &mut Cursor<'_>) {
    const SETTINGS: [&str; 5] = ["type", "description", "sensitive", "nullable", "ephemeral"];
    /// Maximum number of lines.
    const MAX_LINES: usize = 8;
    /// Maximum length of a line, in bytes.
    const MAX_LINE_BYTES: usize = 512;
    for _ in 0..MAX_LINES {
        let mut line = *cursor;
        line.blanks();
        let is_comment = line.eat("#") || line.eat("//");
        let is_setting = SETTINGS.iter().any(|word| line.eat(word)) && {
            line.spaces();
            line.peek() == Some(b'=')
        };
        if !is_comment && !is_setting {
            return;
        }
        line.skip(MAX_LINE_BYTES, |byte| byte != b'\n');
        *cursor = line;
    }
}

/// Skips the operator at the cursor.
fn eat_operator(cursor: &mut Cursor<'_>, spaced: bool) -> Option<Kind> {
    const ASSIGNING: [&str; 17] = [
        ":=", "=>", "->", "===", "==", "!==", "!=", "??=", "?=", ".=", "+=", "||=", "&&=", "~=",
        "::=", "=", "：",
    ];
    static FIRST_OF_ASSIGNING: ByteSet = ByteSet::of(b":=-!?.+|&~\xef");
    let may_assign = cursor.peek().is_some_and(|byte| FIRST_OF_ASSIGNING.contains(byte));
    if may_assign && ASSIGNING.iter().any(|token| cursor.eat(token)) {
        return Some(Kind::Assigned);
    }
    let colon = *cursor;
    if cursor.eat(":") {
        // `token::new`, and `**Token:** value`.
        let is_path = cursor.peek() == Some(b':');
        cursor.skip(2, |byte| byte == b'*');
        skip_type(cursor);
        skip_block_mark(cursor);
        return (!is_path || colon.previous().is_some_and(is_quote)).then_some(Kind::Assigned);
    }
    if cursor.eat(">") {
        return Some(Kind::Element);
    }
    if cursor.eat(",") || cursor.eat("|") || cursor.eat("(") {
        return Some(Kind::Adjacent);
    }
    let dash = spaced && ["- ", "– ", "— "].iter().any(|token| cursor.eat(token));
    dash.then_some(Kind::Adjacent)
}

/// Skips a type after a colon: `&'static str =`, `string =`, `Option<String> =`.
fn skip_type(cursor: &mut Cursor<'_>) {
    let mut ahead = *cursor;
    ahead.spaces();
    let is_type = |byte: u8| byte.is_ascii_alphanumeric() || b"_&<>'?|[]. ".contains(&byte);
    ahead.skip(40, is_type);
    let spaced = ahead.previous().is_some_and(|byte| matches!(byte, b' ' | b'>' | b']'));
    if spaced && ahead.eat("=") && ahead.peek() == Some(b' ') {
        *cursor = ahead;
    }
}

/// Skips `>-` or `|` after a colon in YAML: the value is on the next lines.
fn skip_block_mark(cursor: &mut Cursor<'_>) {
    let mut ahead = *cursor;
    ahead.spaces();
    let marked = ahead.skip(1, |byte| matches!(byte, b'>' | b'|')) == 1;
    ahead.skip(1, |byte| matches!(byte, b'-' | b'+'));
    if marked && ahead.peek() == Some(b'\n') {
        *cursor = ahead;
    }
}
