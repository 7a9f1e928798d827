//! Scanner that finds runs of letters in a text, and joins those that form one name.

use super::MAX_TERM_BYTES;

/// Names joined without blanks, as byte spans of runs of letters, digits and underscores.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Compound {
    pub atoms: Vec<(usize, usize)>,
}

/// Separators that join two names.
const CONNECTORS: &[&str] = &["::", "->", "#", ".", "/", "-", "\\", ":", "@", "$", "+", "&."];

/// Returns the compounds of `text` in order. A separate name is a compound of one atom. A chain
/// that exceeds the maximum length of a term is split, so that the time stays linear.
pub(super) fn compounds(text: &str) -> impl Iterator<Item = Compound> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let mut atom = next_atom(text, rest)?;
        let mut atoms = vec![atom];
        while let Some(joined) = joined_atom(text, atom.1)
            && joined.1 - atoms[0].0 <= MAX_TERM_BYTES
        {
            atom = joined;
            atoms.push(atom);
        }
        rest = atom.1;
        Some(Compound { atoms })
    })
}

fn next_atom(text: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + text[from..].find(is_name)?;
    Some((start, atom_end(text, start)))
}

/// Returns the atom after a connector that starts at `from`.
fn joined_atom(text: &str, from: usize) -> Option<(usize, usize)> {
    let rest = &text[from..];
    let connector = CONNECTORS.iter().find(|connector| rest.starts_with(**connector))?;
    let start = from + connector.len();
    text[start..].starts_with(is_name).then(|| (start, atom_end(text, start)))
}

/// Returns the end of an atom. An apostrophe between letters belongs to it: `don't`, `user's`.
fn atom_end(text: &str, start: usize) -> usize {
    let mut end = start + run(&text[start..]);
    while let Some(after) = text[end..].strip_prefix(['\'', '’'])
        && after.starts_with(char::is_alphabetic)
        && text[start..end].ends_with(char::is_alphabetic)
    {
        let next = text.len() - after.len();
        end = next + run(after);
    }
    end
}

fn run(text: &str) -> usize {
    text.find(|c| !is_name(c)).unwrap_or(text.len())
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
