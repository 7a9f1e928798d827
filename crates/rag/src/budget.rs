//! The limit of tokens of the context: whole snippets in their order, without repeated lines, and
//! the beginning of the first one that does not fit. Matches beyond it keep their places.

use std::collections::HashMap;
use std::iter;

use mc_domain::RepositoryId;

use crate::prompt::Renderer;
use crate::snippet::Snippet;
use crate::union::sort;

/// Tokens from which a part of a snippet is worth showing.
const PART_TOKENS_MIN: usize = 64;
/// Tokens below which no snippet fits with its head.
const SNIPPET_TOKENS_MIN: usize = 16;

/// How far the further matches of the best file come up to its best one.
const BEST_FILE_SHARE: f32 = 0.8;

/// Raises the further matches of the best file, and sorts: a limited context shows much of one file
/// rather than a little of many. Returns whether the order changed.
pub(crate) fn favor_best_file(snippets: &mut [Snippet]) -> bool {
    let Some((best, others)) = snippets.split_first_mut() else { return false };
    let of_best_file = others
        .iter_mut()
        .filter(|other| other.repository.id == best.repository.id && other.path == best.path);
    for other in of_best_file {
        other.score += BEST_FILE_SHARE * (best.score - other.score);
    }
    sort(snippets)
}

/// Snippets, divided by the limit.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    /// Those that fit, in their order.
    pub context: Vec<Snippet>,
    /// Matches that do not fit, in their order and without their texts. Neighbors that do not fit
    /// are left out: they are no matches.
    pub places: Vec<Snippet>,
    /// Whether a snippet was left out or cut.
    pub is_cut: bool,
}

/// Divides the snippets into those that fit into `max_tokens` as they are rendered, whose tokens it
/// sets, and the places of the others.
pub(crate) fn pack(snippets: Vec<Snippet>, max_tokens: usize, renderer: &Renderer) -> Packed {
    let mut shown_lines = ShownLines::default();
    let mut packed = Packed::default();
    let mut tokens_left = max_tokens.saturating_sub(renderer.tokens_of_marks());
    for snippet in snippets {
        let Some(mut snippet) = shown_lines.without_repeated(snippet) else { continue };
        if tokens_left < SNIPPET_TOKENS_MIN {
            packed.leave_out(snippet);
            continue;
        }
        if let Some(tokens) = renderer.tokens_up_to(&snippet, tokens_left) {
            snippet.tokens = tokens;
        } else {
            // The part may end within lines that are shown already.
            let part = beginning(&snippet, tokens_left, renderer);
            let Some(part) = part.and_then(|part| shown_lines.without_repeated(part)) else {
                packed.leave_out(snippet);
                continue;
            };
            packed.is_cut = true;
            snippet = Snippet { tokens: renderer.tokens(&part), ..part };
        }
        tokens_left = tokens_left.saturating_sub(snippet.tokens);
        shown_lines.add(&snippet);
        packed.context.push(snippet);
    }
    packed
}

impl Packed {
    /// Keeps the place of a match.
    fn leave_out(&mut self, snippet: Snippet) {
        self.is_cut = true;
        if snippet.neighbor_of.is_none() {
            self.places.push(snippet.without_text());
        }
    }
}

/// Returns the first lines of a snippet that fit into `max_tokens`; `None` if they are too few to
/// be useful.
fn beginning(snippet: &Snippet, max_tokens: usize, renderer: &Renderer) -> Option<Snippet> {
    if max_tokens < PART_TOKENS_MIN || !has_its_lines(snippet) {
        return None;
    }
    let part = |lines: usize| {
        let text: Vec<&str> = snippet.text.split('\n').take(lines).collect();
        let last = snippet.line_start + i32::try_from(lines).unwrap_or(1) - 1;
        Snippet { text: text.join("\n"), line_end: last, is_shortened: true, ..snippet.clone() }
    };
    let last = snippet.text.split('\n').count() - 1;
    let estimate = renderer.fitting_lines(snippet, max_tokens).min(last);
    // A token may reach over the end of a line, and neutralizing may add lines: few are left out at
    // first, then twice as many each time.
    let left_out = iter::successors(Some(0), |left_out| Some((left_out * 2).max(1)));
    let counts = left_out.map_while(|left_out| estimate.checked_sub(left_out));
    let fitting = counts.take_while(|lines| *lines > 0).map(part).find_map(|part| {
        let tokens = renderer.tokens_up_to(&part, max_tokens)?;
        Some((part, tokens))
    });
    fitting.filter(|(_, tokens)| *tokens >= PART_TOKENS_MIN / 2).map(|(part, _)| part)
}

/// Whether each line of the text is one of the file, so that lines can be left out.
fn has_its_lines(snippet: &Snippet) -> bool {
    i32::try_from(snippet.text.split('\n').count()).is_ok_and(|n| n == snippet.line_count())
}

/// Lines of files that are shown already.
#[derive(Default)]
struct ShownLines(HashMap<(RepositoryId, String), Vec<(i32, i32)>>);

impl ShownLines {
    fn add(&mut self, snippet: &Snippet) {
        let file = (snippet.repository.id, snippet.path.clone());
        self.0.entry(file).or_default().push((snippet.line_start, snippet.line_end));
    }

    /// Returns a snippet without the lines at its ends that are shown already; `None` if that is
    /// all of it.
    fn without_repeated(&self, mut snippet: Snippet) -> Option<Snippet> {
        let file = (snippet.repository.id, snippet.path.clone());
        let Some(spans) = self.0.get(&file).filter(|_| has_its_lines(&snippet)) else {
            return Some(snippet);
        };
        let is_shown = |line: i32| spans.iter().any(|(start, end)| (*start..=*end).contains(&line));
        let is_new = |line: &i32| !is_shown(*line);
        let first = (snippet.line_start..=snippet.line_end).find(is_new)?;
        let last = (first..=snippet.line_end).rev().find(is_new)?;
        if (first, last) == (snippet.line_start, snippet.line_end) {
            return Some(snippet);
        }
        let skipped = usize::try_from(first - snippet.line_start).unwrap_or_default();
        let count = usize::try_from(last - first + 1).unwrap_or_default();
        let text: Vec<&str> = snippet.text.split('\n').skip(skipped).take(count).collect();
        // Only blank lines are left.
        if text.iter().all(|line| line.trim().is_empty()) {
            return None;
        }
        snippet.text = text.join("\n");
        (snippet.line_start, snippet.line_end) = (first, last);
        Some(snippet)
    }
}

#[cfg(test)]
mod tests;
