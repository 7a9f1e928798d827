//! Definitions of a file and the costs of cuts, from one walk over its syntax tree.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::ControlFlow;

use mc_processor_time::thread_time;
use serde::{Deserialize, Serialize};
use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::boundaries::Boundaries;
use super::pace::{EXTRA_BYTES, parse_limit};
use crate::grammar::{Grammar, Role, Rule};
use crate::text::Lines;

/// Bytes that the parser reads at a time, at most.
const READ_BYTES: usize = 1024;
/// How often the parser may read a text, on average over its parts. Some grammars look for the end
/// of a string or comment from each character on. Ordinary code is read up to 28 times.
const MAX_READS: usize = 64;
/// Maximum length of a qualified name. Longer names come from broken code that the parser
/// misreads, and would not fit a database index.
const MAX_NAME_BYTES: usize = 400;
/// Maximum length of a kind of symbol.
const MAX_KIND_BYTES: usize = 32;
/// Maximum length of the names of a file together. Nested scopes with long names repeat them in
/// each definition.
const MAX_NAMES_BYTES: usize = 4 << 20;
/// Maximum nesting of symbols; deeper ones are not listed. The hash of a symbol covers all that is
/// inside of it, so without a limit, nested ones would take quadratic time.
pub(super) const MAX_NESTING: usize = 64;

/// Definition, with 0-based rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Defined {
    pub name: String,
    pub kind: Cow<'static, str>,
    pub start: usize,
    /// Last row.
    pub end: usize,
}

impl Defined {
    /// Returns whether name and kind are as short as those that the parser returns.
    pub fn has_valid_texts(&self) -> bool {
        self.name.len() <= MAX_NAME_BYTES && self.kind.len() <= MAX_KIND_BYTES
    }
}

/// Definitions and boundaries of a file.
#[derive(Debug)]
pub(super) struct Outline {
    /// By position; an enclosing definition comes before those inside it.
    pub defined: Vec<Defined>,
    pub boundaries: Boundaries,
}

/// Parses the text; `None` if parsing failed, took too long or read too much.
pub(super) fn outline(grammar: &Grammar, text: &str, lines: &Lines<'_>) -> Option<Outline> {
    Some(outline_of(&parse(grammar, text)?, grammar, text, lines))
}

/// Reads the outline of a syntax tree.
pub(super) fn outline_of(tree: &Tree, grammar: &Grammar, text: &str, lines: &Lines<'_>) -> Outline {
    let mut walk = Walk {
        grammar,
        text,
        outline: Outline { defined: Vec::new(), boundaries: Boundaries::new(lines.count()) },
        scopes: vec![Scope { depth: 0, symbols: 0, name: String::new(), separator_inside: None }],
        names_bytes: 0,
        containers: vec![false],
    };
    walk.run(tree);
    walk.outline.defined.dedup_by(|b, a| a.name == b.name && a.start == b.start);
    walk.outline
}

/// Parses the text; `None` if parsing failed, took too long or read too much.
pub(crate) fn parse(grammar: &Grammar, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.language).ok()?;
    let bytes = text.as_bytes();
    // Before the start: the first call of a process parses a sample.
    let limit = parse_limit(bytes.len());
    let end = thread_time() + limit;
    let reads_left = Cell::new((bytes.len() + EXTRA_BYTES) / READ_BYTES * MAX_READS);
    // Without reads left, the parser sees the end of the text, and the next check stops it.
    let mut read = |offset: usize, _| {
        let Some(left) = reads_left.get().checked_sub(1) else { return &[][..] };
        reads_left.set(left);
        // The rest of a split character would be read at once, and the parser does not expect the
        // end of the text there.
        let end = text.floor_char_boundary(offset.saturating_add(READ_BYTES));
        bytes.get(offset..end).unwrap_or_default()
    };
    let mut check_limits = |_: &tree_sitter::ParseState| {
        let is_within = reads_left.get() > 0 && thread_time() <= end;
        if is_within { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut check_limits);
    let tree = parser.parse_with_options(&mut read, None, Some(options));
    // Without a check after the last read, the tree is that of a shorter text.
    tree.filter(|_| reads_left.get() > 0)
}

/// Name that qualifies the definitions below `depth`.
struct Scope {
    depth: usize,
    /// Number of symbols around the definitions, its own included.
    symbols: usize,
    name: String,
    separator_inside: Option<&'static str>,
}

struct Walk<'a> {
    grammar: &'a Grammar,
    text: &'a str,
    outline: Outline,
    scopes: Vec<Scope>,
    /// Length of the names of `outline`.
    names_bytes: usize,
    /// For each open node, whether it only contains definitions.
    containers: Vec<bool>,
}

impl Walk<'_> {
    /// Visits every node without recursion, because code may nest as deep as the file is long.
    fn run(&mut self, tree: &Tree) {
        let mut cursor = tree.walk();
        if !cursor.goto_first_child() {
            return;
        }
        loop {
            self.enter(cursor.node());
            if cursor.goto_first_child() {
                continue;
            }
            self.leave();
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
                self.leave();
            }
        }
    }

    fn enter(&mut self, node: Node<'_>) {
        let rule = self.grammar.rule(node);
        let name = rule.and_then(|rule| (rule.name)(node, self.text));
        // A node without a readable name defines nothing: `x = 1` is not a function.
        let rule = rule.filter(|rule| name.is_some() || rule.role == Role::Transparent);
        let rows = rows(node);
        let is_container = rule.is_some_and(|rule| rule.role != Role::Definition);
        let is_attached = self.grammar.is_attached(node);
        // The body of a container contains definitions as the container does.
        let is_body = rule.is_none() && !is_attached && self.containers.last() == Some(&true);
        if is_container || is_body {
            self.outline.boundaries.inside_container(rows.0, rows.1);
        } else {
            self.outline.boundaries.inside_unit(rows.0, rows.1);
        }
        if is_attached && is_first_in_row(node, self.text) {
            self.outline.boundaries.attach_to_next(rows.1);
        }
        self.containers.push(is_container);
        if let Some(rule) = rule {
            self.define(rule, name.as_deref().unwrap_or_default(), node, rows);
        }
    }

    fn leave(&mut self) {
        let depth = self.containers.len();
        self.scopes.pop_if(|scope| scope.depth == depth);
        self.containers.pop();
    }

    fn define(&mut self, rule: &Rule, own: &str, node: Node<'_>, (start, end): (usize, usize)) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let name = qualify(scope, rule, own);
        let symbols = scope.symbols + usize::from(!rule.kind.is_empty());
        if name.len() > MAX_NAME_BYTES || symbols > MAX_NESTING {
            return;
        }
        self.names_bytes += name.len();
        if !rule.kind.is_empty() && self.names_bytes <= MAX_NAMES_BYTES {
            self.outline.defined.push(Defined {
                name: name.clone(),
                kind: rule.kind.into(),
                start,
                end,
            });
        }
        if rule.role == Role::Package && node.child_by_field_name("body").is_none() {
            own.clone_into(&mut scope.name);
            return;
        }
        self.scopes.push(Scope {
            depth: self.containers.len(),
            symbols,
            name,
            separator_inside: rule.separator_inside,
        });
    }
}

fn qualify(scope: &Scope, rule: &Rule, own: &str) -> String {
    let separator = match scope.separator_inside {
        Some(separator) if rule.kind == "method" => separator,
        _ => rule.separator,
    };
    if own.is_empty() {
        scope.name.clone()
    } else if scope.name.is_empty() || separator.is_empty() {
        own.to_owned()
    } else {
        format!("{}{separator}{own}", scope.name)
    }
}

/// Returns the first and last row. A node that ends at a line end has no part of the next row.
fn rows(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    (start.row, last)
}

fn is_first_in_row(node: Node<'_>, text: &str) -> bool {
    let start = node.start_byte();
    let row_start = start - node.start_position().column;
    // Read from the end, up to the node before: a row may have thousands of nodes.
    text.get(row_start..start).is_some_and(|before| before.trim_end().is_empty())
}
