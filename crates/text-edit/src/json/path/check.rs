//! Limits of `JSONPath` expressions, whose cost is not bounded by their length: `$[0,0][0,0]` has
//! twice as many results with each segment, and a filter may query the whole file for each value.

use crate::error::EditError;
use crate::limits::MAX_PATH_BYTES;

/// Maximum depth of brackets and parentheses.
const MAX_DEPTH: usize = 8;
/// Maximum number of selectors, multiplied over the segments.
const MAX_SELECTORS: usize = 16;
/// Maximum number of filters.
const MAX_FILTERS: usize = 2;
/// Maximum number of logical operators.
const MAX_OPERATORS: usize = 8;

/// Counts of an expression outside of its strings.
#[derive(Default)]
struct Scan {
    depth: usize,
    /// Depth of the bracket of the current filter.
    filter: Option<usize>,
    filters: usize,
    descents: usize,
    operators: usize,
    /// Selectors of the current segment, and the product of those before.
    selectors: usize,
    product: usize,
}

/// Checks that the expression is within the limits.
pub(super) fn check(path: &str) -> Result<(), EditError> {
    let invalid = |reason: &str| Err(EditError::InvalidPath { reason: reason.to_owned() });
    if path.len() > MAX_PATH_BYTES {
        return invalid(&format!("it is longer than {MAX_PATH_BYTES} bytes"));
    }
    if !path.starts_with('$') {
        return invalid("it does not begin with $");
    }
    let mut scan = Scan { product: 1, ..Scan::default() };
    let mut quote = None;
    let mut before = ' ';
    let mut chars = path.chars().skip(1);
    while let Some(c) = chars.next() {
        match quote {
            Some(_) if c == '\\' => drop(chars.next()),
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None => {
                if let Some(reason) = scan.problem(before, c) {
                    return invalid(reason);
                }
            }
        }
        before = c;
    }
    Ok(())
}

impl Scan {
    /// Counts a character, and returns what is wrong with it.
    fn problem(&mut self, before: char, c: char) -> Option<&'static str> {
        match c {
            '$' => return Some("$ may only be at its start"),
            '(' if before.is_alphanumeric() => return Some("functions are not supported"),
            '[' | '(' => self.open(c),
            ']' | ')' => self.close(c),
            '?' => {
                self.filters += 1;
                if self.filter.replace(self.depth).is_some() {
                    return Some("a filter may not have a filter");
                }
            }
            '.' if before == '.' => self.descents += 1,
            ',' => self.selectors += 1,
            '&' | '|' | '!' => self.operators += 1,
            _ => {}
        }
        let in_filter = self.filter.is_some();
        if in_filter && (matches!(c, '*' | ',' | ':') || (c == '.' && before == '.')) {
            return Some("a filter may only have names and indexes, such as @.name");
        }
        let is_limited = self.depth <= MAX_DEPTH
            && self.descents <= 1
            && self.filters <= MAX_FILTERS
            && self.operators <= 2 * MAX_OPERATORS
            && self.product.saturating_mul(self.selectors.max(1)) <= MAX_SELECTORS;
        (!is_limited).then_some("it has too many segments with `..`, filters or selectors")
    }

    fn open(&mut self, c: char) {
        self.depth += 1;
        if c == '[' && self.filter.is_none() {
            self.selectors = 1;
        }
    }

    fn close(&mut self, c: char) {
        if c == ']' && self.filter.is_none_or(|depth| depth == self.depth) {
            self.filter = None;
            self.product = self.product.saturating_mul(self.selectors.max(1));
            self.selectors = 1;
        }
        self.depth = self.depth.saturating_sub(1);
    }
}
