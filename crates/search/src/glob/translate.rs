//! Translation of a glob to a regular expression, one construct at a time.

use std::iter::Peekable;
use std::str::Chars;

use super::InvalidGlob;

/// Maximum nesting of alternatives.
const MAX_DEPTH: usize = 4;

/// Characters outside of classes that are special in either regex dialect.
const SPECIAL: &str = r".+*?()|[]{}^$\";
/// Characters inside classes that are special in either regex dialect.
const SPECIAL_IN_CLASS: &str = r"[]^-\&~";

pub(super) fn translate(glob: &str) -> Result<String, InvalidGlob> {
    let mut regex = String::with_capacity(glob.len() * 2);
    let mut rest = glob.chars().peekable();
    let mut open: Vec<Alternatives> = Vec::new();
    let mut previous: Option<char> = None;
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.peek() == Some(&'*') => {
                previous = Some(double_star(&mut regex, &mut rest, previous));
                continue;
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '[' => class(&mut regex, &mut rest)?,
            '{' => {
                if open.len() == MAX_DEPTH {
                    return Err(error("\"{\" is nested too deeply"));
                }
                regex.push_str("(?:");
                open.push(Alternatives { start: regex.len(), is_optional: false });
            }
            ',' if !open.is_empty() => next_alternative(&mut regex, &mut open),
            '}' if !open.is_empty() => close(&mut regex, &mut open),
            '}' => return Err(error("a \"}\" has no \"{\"; write \"\\}\" for the character")),
            '\\' => {
                let escaped =
                    rest.next().ok_or_else(|| error("nothing follows the last \"\\\""))?;
                literal(&mut regex, escaped);
            }
            _ => literal(&mut regex, c),
        }
        previous = Some(c);
    }
    if open.is_empty() { Ok(regex) } else { Err(error("a \"{\" has no \"}\"")) }
}

/// Translates `**`: any directories if it is between slashes or at an end, else the same as `*`.
/// Returns the last character that was read.
fn double_star(regex: &mut String, rest: &mut Peekable<Chars<'_>>, previous: Option<char>) -> char {
    while rest.peek() == Some(&'*') {
        rest.next();
    }
    let starts_component = matches!(previous, None | Some('/'));
    match rest.peek() {
        Some('/') if starts_component => {
            rest.next();
            regex.push_str("(?:.*/)?");
            return '/';
        }
        None if starts_component => regex.push_str(".*"),
        _ => regex.push_str("[^/]*"),
    }
    '*'
}

fn literal(regex: &mut String, c: char) {
    if SPECIAL.contains(c) {
        regex.push('\\');
    }
    regex.push(c);
}

/// Alternatives of an open `{`.
struct Alternatives {
    /// Start of the current alternative in the regular expression.
    start: usize,
    /// Whether an alternative was empty. Not every dialect supports an empty branch.
    is_optional: bool,
}

fn next_alternative(regex: &mut String, open: &mut [Alternatives]) {
    let Some(group) = open.last_mut() else { return };
    if regex.len() == group.start {
        group.is_optional = true;
    } else {
        regex.push('|');
        group.start = regex.len();
    }
}

fn close(regex: &mut String, open: &mut Vec<Alternatives>) {
    let Some(group) = open.pop() else { return };
    let empty = regex.len() == group.start;
    if empty && regex.ends_with('|') {
        regex.pop();
    }
    if regex.ends_with("(?:") {
        regex.truncate(regex.len() - "(?:".len());
        return;
    }
    regex.push_str(if empty || group.is_optional { ")?" } else { ")" });
}

/// Translates a class: `[abc]`, `[a-z]` or `[!a]`. A `]` at the start is a member.
fn class(regex: &mut String, rest: &mut Peekable<Chars<'_>>) -> Result<(), InvalidGlob> {
    regex.push('[');
    if matches!(rest.peek(), Some('!' | '^')) {
        rest.next();
        regex.push_str("^/");
    }
    let mut is_first = true;
    loop {
        let from = rest.next().ok_or_else(unclosed)?;
        if from == ']' && !is_first {
            break;
        }
        is_first = false;
        if rest.peek() == Some(&'-') && !matches!(second_next(rest), None | Some(']')) {
            rest.next();
            let to = rest.next().ok_or_else(unclosed)?;
            if to < from {
                return Err(error(&format!("the range \"{from}-{to}\" is reversed")));
            }
            member(regex, from)?;
            regex.push('-');
            member(regex, to)?;
        } else {
            member(regex, from)?;
        }
    }
    regex.push(']');
    Ok(())
}

/// Returns the character after the next one.
fn second_next(rest: &Peekable<Chars<'_>>) -> Option<char> {
    rest.clone().nth(1)
}

fn member(regex: &mut String, c: char) -> Result<(), InvalidGlob> {
    if c == '/' {
        return Err(error("a class cannot contain \"/\""));
    }
    if SPECIAL_IN_CLASS.contains(c) {
        regex.push('\\');
    }
    regex.push(c);
    Ok(())
}

fn unclosed() -> InvalidGlob {
    error("a \"[\" has no \"]\"; write \"\\[\" for the character")
}

fn error(reason: &str) -> InvalidGlob {
    InvalidGlob(reason.to_owned())
}
