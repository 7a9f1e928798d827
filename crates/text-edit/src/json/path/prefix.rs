//! The part of a path that exists, for errors.

use mc_prompt_guard::neutralize;

use crate::error::EditError;
use crate::json::document::{Content, Document, Node};
use crate::json::path::{Step, Steps};
use crate::limits::shortened;

/// Maximum number of keys in an error.
const MAX_KEYS: usize = 20;
/// Maximum length of a key in an error, in bytes.
const MAX_KEY_BYTES: usize = 60;

/// Returns the error of a path without matches: the longest prefix of names and indexes that
/// exists, and the keys there.
pub(crate) fn no_match(document: &Document, path: &str) -> EditError {
    let mut node = &document.root;
    let mut steps = Steps::default();
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    while let Some((step, after)) = step(rest) {
        let Some(child) = child(node, &step) else { break };
        node = child;
        steps.0.push(step);
        rest = after;
    }
    EditError::NoMatch { prefix: steps.to_string(), contents: contents(node) }
}

fn contents(node: &Node) -> String {
    match &node.content {
        Content::Scalar(kind) => format!("{kind}, without keys"),
        Content::Array(elements) => format!("{} elements", elements.len()),
        Content::Object(members) if members.is_empty() => "no keys".to_owned(),
        Content::Object(members) => {
            let names = members.iter().take(MAX_KEYS).map(|member| {
                let name = shortened(&member.name, MAX_KEY_BYTES);
                shortened(&neutralize(&name), MAX_KEY_BYTES).into_owned()
            });
            let names: Vec<String> = names.collect();
            let left = members.len() - names.len();
            let more = if left > 0 { format!(" and {left} more") } else { String::new() };
            format!("the keys {}{more}", names.join(", "))
        }
    }
}

fn child<'d>(node: &'d Node, step: &Step<'_>) -> Option<&'d Node> {
    match (&node.content, step) {
        (Content::Array(elements), Step::Index(index)) => elements.get(*index),
        (Content::Object(members), Step::Name(name)) => {
            members.iter().find(|member| member.name == *name).map(|member| &member.value)
        }
        _ => None,
    }
}

/// Returns the step at the start of a path, and the rest; `None` if it is not a single name without
/// escapes or an index.
fn step(path: &str) -> Option<(Step<'_>, &str)> {
    let path = path.trim_start();
    if let Some(rest) = path.strip_prefix('.') {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let name = Step::Name(&rest[..end]);
        return (end > 0).then_some((name, &rest[end..]));
    }
    let inner = path.strip_prefix('[')?.trim_start();
    let quote = inner.chars().next()?;
    if !matches!(quote, '\'' | '"') {
        let (index, rest) = inner.split_once(']')?;
        return Some((Step::Index(index.trim().parse().ok()?), rest));
    }
    let (name, rest) = inner[1..].split_once(quote)?;
    let rest = rest.trim_start().strip_prefix(']')?;
    (!name.contains('\\')).then_some((Step::Name(name), rest))
}
