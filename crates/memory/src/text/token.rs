//! Tokens of a note: words by their stem, and marks that distinguish notes.

use frostem::{Algorithm, Stemmer};

use super::fold::{fold, lower};
use super::vocabulary;

/// A token, by its role when notes are compared. All texts are lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// A word of prose, by its stem.
    Word {
        /// The stem by which it is compared.
        stem: String,
        /// Spelling.
        written: String,
    },
    /// A word without meaning of its own.
    Stop(String),
    /// A number, without its unit and without thousands separators.
    Number(String),
    /// A name of one thing: a symbol, path, version, URL, flag or issue key.
    Identifier(String),
    /// A denial.
    Negation,
    /// A word that relates to what follows it.
    Relation(&'static str),
    /// A standalone operator: `==`, `->`, `>`.
    Symbol(String),
}

/// Splits `text` into tokens, in order.
pub fn tokenize(text: &str) -> Vec<Token> {
    let folded = fold(text);
    let mut tokens = Vec::new();
    for raw in folded.split_whitespace() {
        read(raw, &mut tokens);
    }
    tokens
}

fn read(raw: &str, tokens: &mut Vec<Token>) {
    let mut rest = raw;
    // Splits one list item after the other: `a,b,c` may have thousands.
    while url(rest).is_none()
        && let Some((item, after)) = split_list(trim(rest))
    {
        read_one(item, tokens);
        rest = after;
    }
    read_one(rest, tokens);
}

fn read_one(raw: &str, tokens: &mut Vec<Token>) {
    if let Some(url) = url(raw) {
        tokens.push(Token::Identifier(lower(url)));
        return;
    }
    let core = trim(raw);
    if core.is_empty() {
        if let Some(symbol) = operator(raw) {
            tokens.push(Token::Symbol(symbol.to_owned()));
        }
        return;
    }
    match sign(raw, core) {
        Some("!") => tokens.push(Token::Negation),
        Some(sign) => tokens.push(Token::Symbol(sign.to_owned())),
        None => {}
    }
    classify(core, tokens);
}

fn classify(core: &str, tokens: &mut Vec<Token>) {
    if let Some((number, unit)) = number(core) {
        tokens.push(Token::Number(number));
        if !unit.is_empty() {
            let unit = lower(unit);
            let stem = vocabulary::canonical(&unit).unwrap_or(&unit).to_owned();
            tokens.push(Token::Word { stem, written: unit });
        }
    } else if is_identifier(core) {
        tokens.push(Token::Identifier(lower(core)));
    } else {
        for part in core.split(['-', '.']).filter(|part| !part.is_empty()) {
            tokens.push(word(part));
        }
    }
}

fn word(part: &str) -> Token {
    let written = lower(part);
    let plain = written.replace('\'', "");
    if vocabulary::is_negation(&plain) || written.ends_with("n't") {
        return Token::Negation;
    }
    if let Some(relation) = vocabulary::relation(&written) {
        return Token::Relation(relation);
    }
    if vocabulary::is_stop(&written) {
        return Token::Stop(written);
    }
    match vocabulary::canonical(&written) {
        Some(number) if starts_with_digit(number) => Token::Number(number.to_owned()),
        Some(stem) => Token::Word { stem: stem_of(stem), written },
        None => Token::Word { stem: stem_of(&plain), written },
    }
}

/// Returns the stem of a lower-case word: Russian by its letters, English otherwise.
pub fn stem_of(word: &str) -> String {
    let possessive = word.strip_suffix("'s").unwrap_or(word);
    let is_cyrillic = possessive.chars().any(|c| matches!(c, 'а'..='я'));
    let language = if is_cyrillic { Algorithm::Russian } else { Algorithm::English };
    Stemmer::new(language).stem(possessive).into_owned()
}

/// Whether a character is punctuation that opens a token in prose and is no part of it.
fn is_wrapping(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '(' | '[' | '{' | '*' | '~' | '|' | '•' | '·')
}

/// Returns the sign before `core` that changes its meaning: `--force` and `force`, `!ready` and
/// `ready`, `-5` and `5`, `<=5` and `>=5` differ.
pub(crate) fn sign<'a>(raw: &'a str, core: &str) -> Option<&'a str> {
    let lead = raw.trim_start_matches(is_wrapping);
    // Emphasized text keeps its sign: `_!ready_`.
    let sign = lead[..lead.find(core)?].trim_start_matches('_');
    let before_number = starts_with_digit(core)
        && matches!(sign, "<" | ">" | "<=" | ">=" | "=" | "!=" | "-" | "+" | "~" | "±" | "≤" | "≥");
    (sign == "--" || sign == "!" || before_number).then_some(sign)
}

/// Removes the punctuation around `raw`; empty if there is nothing else.
pub(crate) fn trim(raw: &str) -> &str {
    let core = raw.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '%');
    // `_emphasis_` is trimmed; `__init__` and `_private` are names.
    match core.strip_prefix('_').and_then(|rest| rest.strip_suffix('_')) {
        Some(inner) if !inner.contains('_') && operator(inner).is_none() => trim(inner),
        Some(inner) if operator(inner).is_some() => inner,
        _ if core.chars().all(|c| c == '_' || c == '%') => "",
        _ => core,
    }
}

/// Returns `raw` if it is a standalone operator.
pub(crate) fn operator(raw: &str) -> Option<&'static str> {
    const OPERATORS: &[&str] = &[
        "==", "!=", "<=", ">=", "=>", "->", "<-", "<", ">", "=", "+", "&&", "||", "≠", "≤", "≥",
        "→",
    ];
    OPERATORS.iter().find(|operator| **operator == raw).copied()
}

fn url(raw: &str) -> Option<&str> {
    const END_MARKS: &[char] =
        &['.', ',', ';', ':', '!', '?', ')', '>', ']', '"', '\'', '`', '*', '/'];
    let text = raw.trim_start_matches(is_wrapping);
    let is_scheme = |scheme: &str| {
        text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme))
    };
    let is_url = ["http://", "https://", "ssh://", "git@", "ftp://"].into_iter().any(is_scheme);
    is_url.then(|| text.trim_end_matches(END_MARKS))
}

/// Splits `a,b` at the comma, unless that groups digits.
fn split_list(core: &str) -> Option<(&str, &str)> {
    let at = core.char_indices().find(|&(at, c)| {
        matches!(c, ',' | ';')
            && !(core[..at].ends_with(|c: char| c.is_ascii_digit())
                && starts_with_digit(&core[at + 1..]))
    })?;
    Some((&core[..at.0], &core[at.0 + 1..]))
}

fn starts_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

/// Splits a number from its unit: `1,000` is `1000`, `30s` is `30` and `s`.
fn number(core: &str) -> Option<(String, &str)> {
    if !starts_with_digit(core) {
        return None;
    }
    let digits = core
        .find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | '_'))
        .unwrap_or(core.len());
    let (value, unit) = core.split_at(digits);
    let is_unit = unit.is_empty() || vocabulary::UNITS.contains(&lower(unit).as_str());
    is_unit.then(|| (value.trim_end_matches(['.', ',']).replace([',', '_'], ""), unit))
}

fn is_identifier(core: &str) -> bool {
    let has_digit = core.chars().any(|c| c.is_ascii_digit());
    let has_sign = core.contains(['_', '/', '\\', '#', '@', '$', '=', '&', '+'])
        || core.contains("::")
        || core.contains("->");
    has_digit || has_sign || has_inner_dot(core) || is_camel_case(core)
}

/// Whether a dot is inside a name: in `config.yml` and `user.name`, but not in `e.g` and `т.е`.
fn has_inner_dot(core: &str) -> bool {
    core.contains('.') && core.split('.').all(|part| part.chars().count() > 1)
}

fn is_camel_case(core: &str) -> bool {
    let pairs = core.chars().zip(core.chars().skip(1));
    core.is_ascii() && pairs.into_iter().any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str) -> String {
        let show_one = |token: &Token| match token {
            Token::Word { stem, .. } => stem.clone(),
            Token::Stop(word) => format!("({word})"),
            Token::Number(number) => format!("#{number}"),
            Token::Identifier(name) => format!("<{name}>"),
            Token::Negation => "NOT".into(),
            Token::Relation(relation) => format!("{relation}>"),
            Token::Symbol(symbol) => symbol.clone(),
        };
        tokenize(text).iter().map(show_one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tokens_are_classified() {
        let cases = [
            ("The worker doesn't retry.", "(the) worker NOT retri"),
            ("Retries: 3 times, 30s", "retri #3 x #30 s"),
            ("three attempts of 1,000", "#3 attempt (of) #1000"),
            ("see `CartSessions::Setting#delay`!", "see <cartsessions::setting#delay>"),
            ("app/models/x.rb, v1.2.3 (E0123)", "<app/models/x.rb> <v1.2.3> <e0123>"),
            ("userId and user_id", "<userid> (and) <user_id>"),
            ("https://Example.com/a?b=1.", "<https://example.com/a?b=1>"),
            ("pass --force, not force", "pass -- forc NOT forc"),
            ("<=5 or -5 (>3)", "<= #5 (or) - #5 > #3"),
            ("x == y", "x == y"),
            ("before deploy", "before> deploy"),
            ("Не используй ёлку — нельзя", "NOT использ елк NOT"),
            ("a,b;c", "(a) b c"),
            ("**bold** _it_ __init__", "bold (it) <__init__>"),
            ("- item", "item"),
            ("e.g. this", "e g (this)"),
        ];
        for (text, expected) in cases {
            assert_eq!(show(text), expected, "{text}");
        }
    }
}
