//! From glob to regular expression, one construct at a time.

use std::iter::Peekable;
use std::str::Chars;

use super::InvalidGlob;

/// Alternatives may hold alternatives, to this depth.
const MAX_DEPTH: usize = 4;

/// Characters that mean something in either dialect, outside of classes.
const SPECIAL: &str = r".+*?()|[]{}^$\";
/// The same within classes.
const SPECIAL_IN_CLASS: &str = r"[]^-\&~";

pub(super) fn translate(glob: &str) -> Result<String, InvalidGlob> {
    let mut regex = String::with_capacity(glob.len() * 2);
    let mut rest = glob.chars().peekable();
    // For each open `{`: whether one of its alternatives is empty.
    let mut open: Vec<Alternatives> = Vec::new();
    let mut before: Option<char> = None;
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.peek() == Some(&'*') => {
                before = Some(double_star(&mut regex, &mut rest, before));
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
                open.push(Alternatives { start: regex.len(), optional: false });
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
        before = Some(c);
    }
    if open.is_empty() { Ok(regex) } else { Err(error("a \"{\" has no \"}\"")) }
}

/// `**` between slashes (or at an end) stands for any folders; elsewhere for `*`. Answers the last
/// character taken.
fn double_star(regex: &mut String, rest: &mut Peekable<Chars<'_>>, before: Option<char>) -> char {
    while rest.peek() == Some(&'*') {
        rest.next();
    }
    let opens = matches!(before, None | Some('/'));
    match rest.peek() {
        Some('/') if opens => {
            rest.next();
            regex.push_str("(?:.*/)?");
            return '/';
        }
        None if opens => regex.push_str(".*"),
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

struct Alternatives {
    /// Where the present alternative begins in the regular expression.
    start: usize,
    /// Whether an alternative was empty. Not every dialect takes an empty branch.
    optional: bool,
}

fn next_alternative(regex: &mut String, open: &mut [Alternatives]) {
    let Some(group) = open.last_mut() else { return };
    if regex.len() == group.start {
        group.optional = true;
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
    regex.push_str(if empty || group.optional { ")?" } else { ")" });
}

/// `[abc]`, `[a-z]`, `[!a]`; a `]` right at the start is a member.
fn class(regex: &mut String, rest: &mut Peekable<Chars<'_>>) -> Result<(), InvalidGlob> {
    regex.push('[');
    if matches!(rest.peek(), Some('!' | '^')) {
        rest.next();
        regex.push_str("^/");
    }
    let mut first = true;
    loop {
        let from = rest.next().ok_or_else(unclosed)?;
        if from == ']' && !first {
            break;
        }
        first = false;
        if rest.peek() == Some(&'-') && !matches!(ahead(rest), None | Some(']')) {
            rest.next();
            let to = rest.next().ok_or_else(unclosed)?;
            if to < from {
                return Err(error(&format!("the range \"{from}-{to}\" is upside down")));
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

/// The character after the next one.
fn ahead(rest: &Peekable<Chars<'_>>) -> Option<char> {
    rest.clone().nth(1)
}

fn member(regex: &mut String, c: char) -> Result<(), InvalidGlob> {
    if c == '/' {
        return Err(error("a class can't hold \"/\""));
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
