//! Detection of architecture decision records (ADRs) by their title, path and status.

use crate::markdown::{Document, Section};

/// States of a decision.
const STATES: [&str; 6] = ["accepted", "deprecated", "draft", "proposed", "rejected", "superseded"];
/// Names of directories with decision records.
const DIRECTORIES: [&str; 5] =
    ["adr", "adrs", "decisions", "decision-records", "architecture-decisions"];
/// Number of lines at the top that are searched for the state.
const STATE_LINES: usize = 30;

/// Returns the tags of a decision record, `adr` and its state; none for other documents.
pub fn tags(title: &str, doc_id: &str, document: &Document) -> Vec<String> {
    let state = state(document);
    let is_numbered = starts_with_number(title) && state.is_some();
    if !(has_adr_title(title) || has_adr_path(doc_id) || is_numbered) {
        return Vec::new();
    }
    std::iter::once("adr").chain(state).map(str::to_owned).collect()
}

/// Returns whether the title is like `ADR-12: Units`, `ADR 0012 Units` or `ADR Units`.
fn has_adr_title(title: &str) -> bool {
    let first = title.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let rest =
        first.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map(|_| &first[3..]);
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

/// Returns whether the path is like `docs/adr/0012-units.md`.
fn has_adr_path(doc_id: &str) -> bool {
    let mut parts = doc_id.rsplit('/');
    let is_numbered =
        parts.next().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    is_numbered && parts.any(|directory| DIRECTORIES.contains(&directory.to_lowercase().as_str()))
}

/// Returns whether the title starts with a separate number, like `12. Units`.
fn starts_with_number(title: &str) -> bool {
    let rest = title.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < title.len() && rest.starts_with(['.', ')', ':', '-', ' '])
}

/// Returns the state in the front matter, in a line near the top or in the section `Status`.
fn state(document: &Document) -> Option<&'static str> {
    let front = document.status.as_deref().and_then(parse_state);
    front.or_else(|| document.sections.iter().find_map(state_in_section))
}

fn state_in_section(section: &Section) -> Option<&'static str> {
    let is_status_section = section.heading_path.last().is_some_and(|heading| is_status(heading));
    let mut lines = section.text.lines();
    if is_status_section {
        // The section may start with headings that have no text of their own.
        return lines.find(|line| is_text(line)).and_then(parse_state);
    }
    let near_the_top = STATE_LINES.saturating_sub(section.line_start);
    lines.by_ref().take(near_the_top).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if is_status(name) { parse_state(value) } else { None }
    })
}

fn is_text(line: &str) -> bool {
    !line.starts_with('#') && line.contains(char::is_alphabetic) && !is_status(line)
}

fn is_status(text: &str) -> bool {
    text.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case("status")
}

/// Returns the state at the start of a text, such as `**Superseded** by ADR-13`.
fn parse_state(text: &str) -> Option<&'static str> {
    let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())?;
    STATES.into_iter().find(|state| state.eq_ignore_ascii_case(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunker::Limits;
    use crate::markdown::parse;

    fn tags_of(title: &str, doc_id: &str, text: &str) -> String {
        let document = parse(text, Limits::default());
        let title = if title.is_empty() { &document.title } else { title };
        tags(title, doc_id, &document).join(" ")
    }

    #[test]
    fn adr_is_detected_by_title_directory_or_number_with_status() {
        for (title, doc_id, text, expected) in [
            ("ADR-12: Units", "1", "Delays have units.", "adr"),
            ("ADR Timing Rules", "1", "Status: Accepted\n\nDelays have units.", "adr accepted"),
            ("adr0007 Units", "1", "* **Status:** proposed\n", "adr proposed"),
            (
                "",
                "docs/adr/0012-units.md",
                "# Units\n\n## Status\n\nSuperseded by [13](0013.md)\n",
                "adr superseded",
            ),
            ("", "docs/notes/12.md", "# 12. Units\n\n## Status\n\nAccepted\n", "adr accepted"),
            (
                "",
                "x.md",
                "---\ntitle: ADR 3\nstatus: \"deprecated\"\n---\ntext\n",
                "adr deprecated",
            ),
        ] {
            assert_eq!(tags_of(title, doc_id, text), expected, "{title} {doc_id}");
        }
    }

    #[test]
    fn other_documents_have_no_tags() {
        for (title, doc_id, text) in [
            ("Adriatic ports", "1", "Status: accepted"),
            ("", "docs/adr/README.md", "# Decisions\n"),
            ("", "docs/adr.md", "# How we decide\n"),
            ("2026 in numbers", "1", "Nothing is decided."),
            ("12. Release", "1", "## Status\n\nGreen\n"),
            ("Order states", "1", "Status: accepted"),
        ] {
            assert_eq!(tags_of(title, doc_id, text), "", "{title} {doc_id}");
        }
    }
}
