//! How much a cut between two lines would hurt.

use crate::text::Lines;

/// A cut that costs less than this goes through no definition.
pub(crate) const UNCLEAN: u32 = 100;
/// What a cut between a comment and what it describes costs on top.
pub(super) const CLINGING: u32 = 50;
/// Nested containers count up to this, so that they and a comment together stay below `UNCLEAN`.
const MAX_CONTAINERS: u32 = 49;

/// What lies across each boundary between lines, gathered from the syntax tree.
#[derive(Debug)]
pub(super) struct Boundaries {
    /// Differences, by row: summed up they give the containers open across the boundary before it.
    containers: Vec<i32>,
    /// The same for everything else that spans rows: functions, blocks, expressions.
    units: Vec<i32>,
    clinging: Vec<bool>,
}

impl Boundaries {
    pub fn new(lines: usize) -> Self {
        Self {
            containers: vec![0; lines + 2],
            units: vec![0; lines + 2],
            clinging: vec![false; lines + 2],
        }
    }

    /// Rows `start` to `end` belong to one container.
    pub fn inside_container(&mut self, start: usize, end: usize) {
        span(&mut self.containers, start, end);
    }

    /// Rows `start` to `end` belong to one thing that is better kept whole.
    pub fn inside_unit(&mut self, start: usize, end: usize) {
        span(&mut self.units, start, end);
    }

    /// The row describes the one below it.
    pub fn clings_to_next(&mut self, row: usize) {
        if let Some(clinging) = self.clinging.get_mut(row + 1) {
            *clinging = true;
        }
    }

    /// The cost of a cut before each line.
    pub fn costs(&self, lines: &Lines<'_>) -> Vec<u32> {
        let (mut containers, mut units) = (0_i32, 0_i32);
        (0..lines.count())
            .map(|line| {
                containers += self.containers[line];
                units += self.units[line];
                // A comment that stands apart by a blank line describes nothing below.
                let clinging =
                    if self.clinging[line] && !lines.is_blank(line) { CLINGING } else { 0 };
                let inside = containers.unsigned_abs().min(MAX_CONTAINERS);
                units.unsigned_abs().saturating_mul(UNCLEAN).saturating_add(inside + clinging)
            })
            .collect()
    }
}

/// Marks the boundaries that lie between the first and the last row.
fn span(differences: &mut [i32], start: usize, end: usize) {
    if start < end && end + 1 < differences.len() {
        differences[start + 1] += 1;
        differences[end + 1] -= 1;
    }
}

/// Costs for a text without a grammar: best after a blank line and at the margin.
pub(super) fn by_lines(lines: &Lines<'_>) -> Vec<u32> {
    const MAX_INDENT: usize = 100;
    (0..lines.count())
        .map(|line| {
            let follows_blank = line > 0 && lines.is_blank(line - 1);
            let indent = u32::try_from(lines.indent(line).min(MAX_INDENT)).unwrap_or(0);
            match (follows_blank, indent) {
                (true, 0) => 0,
                (false, 0) => 1,
                (true, indent) => UNCLEAN + 2 * indent,
                (false, indent) => UNCLEAN + 2 * indent + 1,
            }
        })
        .collect()
}
