//! One walk over the syntax tree: what is defined where, and where a cut hurts least.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree};

use super::boundaries::Boundaries;
use crate::grammar::{Grammar, Role, Rule};
use crate::text::Lines;

/// How long one file may be parsed; a megabyte of real code takes a fraction of it.
const PARSE_LIMIT: Duration = Duration::from_secs(2);
/// Longest qualified name that is kept; longer ones are the parser's guesses at broken code, and
/// would not fit a database index.
const MAX_NAME_BYTES: usize = 400;

/// A definition, by 0-based rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Defined {
    pub name: String,
    pub kind: &'static str,
    pub start: usize,
    /// The last row.
    pub end: usize,
}

/// What the tree says of a file.
#[derive(Debug)]
pub(super) struct Outline {
    /// By position; an enclosing definition comes before those inside.
    pub defined: Vec<Defined>,
    pub boundaries: Boundaries,
}

/// Parses the text; `None` where the parser gave up or took too long.
pub(super) fn outline(grammar: &Grammar, text: &str, lines: &Lines<'_>) -> Option<Outline> {
    let tree = parse(grammar, text)?;
    let mut walk = Walk {
        grammar,
        text,
        outline: Outline { defined: Vec::new(), boundaries: Boundaries::new(lines.count()) },
        scopes: vec![Scope { depth: 0, name: String::new(), joint_inside: None }],
        holders: vec![false],
    };
    walk.run(&tree);
    walk.outline.defined.dedup_by(|b, a| a.name == b.name && a.start == b.start);
    Some(walk.outline)
}

fn parse(grammar: &Grammar, text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&grammar.language).ok()?;
    let started = Instant::now();
    let mut give_up = |_: &tree_sitter::ParseState| {
        if started.elapsed() > PARSE_LIMIT {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let bytes = text.as_bytes();
    parser.parse_with_options(
        &mut |at, _| bytes.get(at..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut give_up)),
    )
}

/// A name that qualifies the definitions below `depth`.
struct Scope {
    depth: usize,
    name: String,
    joint_inside: Option<&'static str>,
}

struct Walk<'a> {
    grammar: &'a Grammar,
    text: &'a str,
    outline: Outline,
    scopes: Vec<Scope>,
    /// For each open depth, whether a child there only holds definitions.
    holders: Vec<bool>,
}

impl Walk<'_> {
    /// Visits every node without recursion: code may nest as deep as the file is long.
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
        // A node whose name can't be read defines nothing: `x = 1` is no function.
        let rule = rule.filter(|rule| name.is_some() || rule.role == Role::Transparent);
        let rows = rows(node);
        let holds = rule.is_some_and(|rule| rule.role != Role::Definition);
        let clings = self.grammar.clings(node);
        // The body of a container holds definitions as the container does.
        let is_body = rule.is_none() && !clings && self.holders.last() == Some(&true);
        if holds || is_body {
            self.outline.boundaries.inside_container(rows.0, rows.1);
        } else {
            self.outline.boundaries.inside_unit(rows.0, rows.1);
        }
        if clings && opens_its_row(node, self.text) {
            self.outline.boundaries.clings_to_next(rows.1);
        }
        self.holders.push(holds);
        if let Some(rule) = rule {
            self.define(rule, name.as_deref().unwrap_or_default(), node, rows);
        }
    }

    fn leave(&mut self) {
        let depth = self.holders.len();
        self.scopes.pop_if(|scope| scope.depth == depth);
        self.holders.pop();
    }

    fn define(&mut self, rule: &Rule, own: &str, node: Node<'_>, (start, end): (usize, usize)) {
        let Some(scope) = self.scopes.last_mut() else { return };
        let name = qualify(scope, rule, own);
        if name.len() > MAX_NAME_BYTES {
            return;
        }
        if !rule.kind.is_empty() {
            self.outline.defined.push(Defined { name: name.clone(), kind: rule.kind, start, end });
        }
        if rule.role == Role::Package && node.child_by_field_name("body").is_none() {
            own.clone_into(&mut scope.name);
            return;
        }
        self.scopes.push(Scope {
            depth: self.holders.len(),
            name,
            joint_inside: rule.joint_inside,
        });
    }
}

fn qualify(scope: &Scope, rule: &Rule, own: &str) -> String {
    let joint = match scope.joint_inside {
        Some(joint) if rule.kind == "method" => joint,
        _ => rule.joint,
    };
    if own.is_empty() {
        scope.name.clone()
    } else if scope.name.is_empty() || joint.is_empty() {
        own.to_owned()
    } else {
        format!("{}{joint}{own}", scope.name)
    }
}

/// First and last row; a node that takes in its line's end does not reach into the next.
fn rows(node: Node<'_>) -> (usize, usize) {
    let (start, end) = (node.start_position(), node.end_position());
    let last = if end.column == 0 && end.row > start.row { end.row - 1 } else { end.row };
    (start.row, last)
}

fn opens_its_row(node: Node<'_>, text: &str) -> bool {
    let start = node.start_byte();
    let row_start = start - node.start_position().column;
    text.get(row_start..start).is_some_and(|before| before.trim().is_empty())
}
