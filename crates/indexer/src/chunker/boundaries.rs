//! Costs of a cut between two lines.

use crate::text::Lines;

/// Minimum cost of a cut inside a definition; cuts between definitions cost less.
pub(crate) const WITHIN_DEFINITION: u32 = 100;
/// Additional cost of a cut between a comment and the definition that it describes.
pub(super) const ATTACHED: u32 = 50;
/// Maximum cost of nested containers: with a comment, it stays below [`WITHIN_DEFINITION`].
const MAX_CONTAINERS: u32 = 49;

/// Syntax nodes that span each boundary between lines.
#[derive(Debug)]
pub(super) struct Boundaries {
    /// Differences by row: their running sum counts the containers around the boundary.
    containers: Vec<i32>,
    /// Differences for all other nodes that span rows: functions, blocks, expressions.
    units: Vec<i32>,
    /// Rows that the previous row describes.
    attached: Vec<bool>,
}

impl Boundaries {
    pub fn new(lines: usize) -> Self {
        Self {
            containers: vec![0; lines + 2],
            units: vec![0; lines + 2],
            attached: vec![false; lines + 2],
        }
    }

    /// Marks the rows `start` to `end` as one container.
    pub fn inside_container(&mut self, start: usize, end: usize) {
        span(&mut self.containers, start, end);
    }

    /// Marks the rows `start` to `end` as a unit that should not be cut.
    pub fn inside_unit(&mut self, start: usize, end: usize) {
        span(&mut self.units, start, end);
    }

    /// Marks the row as a description of the next one.
    pub fn attach_to_next(&mut self, row: usize) {
        if let Some(attached) = self.attached.get_mut(row + 1) {
            *attached = true;
        }
    }

    /// Returns the cost of a cut before each line.
    pub fn costs(&self, lines: &Lines<'_>) -> Vec<u32> {
        let (mut containers, mut units) = (0_i32, 0_i32);
        (0..lines.count())
            .map(|line| {
                containers += self.containers[line];
                units += self.units[line];
                // A comment before a blank line does not describe the next definition.
                let attached =
                    if self.attached[line] && !lines.is_blank(line) { ATTACHED } else { 0 };
                let inside = containers.unsigned_abs().min(MAX_CONTAINERS);
                units
                    .unsigned_abs()
                    .saturating_mul(WITHIN_DEFINITION)
                    .saturating_add(inside + attached)
            })
            .collect()
    }
}

/// Counts a node on the boundaries between its first and last row.
fn span(differences: &mut [i32], start: usize, end: usize) {
    if start < end && end + 1 < differences.len() {
        differences[start + 1] += 1;
        differences[end + 1] -= 1;
    }
}

/// Returns the costs for a text without a grammar: lowest after a blank line and without indent.
pub(crate) fn by_lines(lines: &Lines<'_>) -> Vec<u32> {
    const MAX_INDENT: usize = 100;
    (0..lines.count())
        .map(|line| {
            let follows_blank = line > 0 && lines.is_blank(line - 1);
            let indent = u32::try_from(lines.indent(line).min(MAX_INDENT)).unwrap_or(0);
            match (follows_blank, indent) {
                (true, 0) => 0,
                (false, 0) => 1,
                (true, indent) => WITHIN_DEFINITION + 2 * indent,
                (false, indent) => WITHIN_DEFINITION + 2 * indent + 1,
            }
        })
        .collect()
}
