//! Queries by `JSONPath`.

mod check;
mod prefix;

use std::collections::HashSet;
use std::fmt;

use mc_prompt_guard::neutralize;
use serde_json::Value;
use serde_json_path::JsonPath;

use crate::error::EditError;
use crate::json::document::{Content, Document, Node};
use crate::limits::{MAX_PATH_BYTES, MAX_QUOTED_BYTES, shortened};

pub(super) use prefix::no_match;

/// A step from a value to one in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step<'n> {
    /// A name of an object.
    Name(&'n str),
    /// A 0-based index of an array.
    Index(usize),
}

/// A normalized path (RFC 9535, 2.7).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Steps<'n>(pub Vec<Step<'n>>);

/// Writes the path as a model may see it. Names come from the file and can be of any length, so
/// they are cut, and so is a path that is longer than a request may be.
impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut path = "$".to_owned();
        for step in &self.0 {
            match step {
                Step::Index(index) => path.push_str(&format!("[{index}]")),
                Step::Name(name) => {
                    path.push_str(&format!("['{}']", escaped(&shortened(name, MAX_QUOTED_BYTES))));
                }
            }
        }
        f.write_str(&shortened(&neutralize(&path), MAX_PATH_BYTES))
    }
}

/// A value that a path matches.
#[derive(Debug, Clone)]
pub(super) struct MatchedValue<'d> {
    /// The value.
    pub node: &'d Node,
    /// Its path.
    pub path: Steps<'d>,
    /// The array or object that it is in, and its position there; `None` for the root.
    pub parent: Option<(&'d Node, usize)>,
    /// The path of a key on the way that its object has more than once.
    pub duplicate: Option<Steps<'d>>,
}

/// Returns the values at a path in the order of the document, at most `max`, and their number.
pub(super) fn query<'d>(
    document: &'d Document,
    path: &str,
    max: usize,
) -> Result<(Vec<MatchedValue<'d>>, usize), EditError> {
    check::check(path)?;
    let parsed = JsonPath::parse(path).map_err(|error| EditError::InvalidPath {
        reason: format!("{} at position {}", neutralize(error.message()), error.position()),
    })?;
    let matched: HashSet<*const Value> =
        parsed.query(&document.value).into_iter().map(std::ptr::from_ref).collect();
    let count = matched.len();
    let mut walk = Walk { matched, max, values: Vec::new(), steps: Steps::default() };
    walk.visit(&document.root, &document.value, None, None);
    Ok((walk.values, count))
}

/// Finds the positions of matched values.
struct Walk<'d> {
    matched: HashSet<*const Value>,
    max: usize,
    values: Vec<MatchedValue<'d>>,
    steps: Steps<'d>,
}

impl<'d> Walk<'d> {
    fn visit(
        &mut self,
        node: &'d Node,
        value: &Value,
        parent: Option<(&'d Node, usize)>,
        duplicate: Option<&Steps<'d>>,
    ) {
        if self.values.len() == self.max {
            return;
        }
        if self.matched.contains(&std::ptr::from_ref(value)) {
            let (path, duplicate) = (self.steps.clone(), duplicate.cloned());
            self.values.push(MatchedValue { node, path, parent, duplicate });
        }
        match (&node.content, value) {
            (Content::Array(nodes), Value::Array(values)) => {
                for (at, (child, value)) in nodes.iter().zip(values).enumerate() {
                    self.steps.0.push(Step::Index(at));
                    self.visit(child, value, Some((node, at)), duplicate);
                    self.steps.0.pop();
                }
            }
            (Content::Object(members), Value::Object(values)) => {
                let mut seen = HashSet::new();
                for (at, member) in members.iter().enumerate() {
                    let Some(value) = values.get(&member.name) else { continue };
                    // The path sees the first of several.
                    if member.is_duplicate && !seen.insert(member.name.as_str()) {
                        continue;
                    }
                    self.steps.0.push(Step::Name(&member.name));
                    let own = member.is_duplicate.then(|| self.steps.clone());
                    self.visit(&member.value, value, Some((node, at)), duplicate.or(own.as_ref()));
                    self.steps.0.pop();
                }
            }
            _ => {}
        }
    }
}

fn escaped(name: &str) -> String {
    let escape = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    };
    name.chars().map(escape).collect()
}
