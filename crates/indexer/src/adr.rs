//! Records of architecture decisions, told from other documents by how people name and begin them.

use crate::markdown::{Document, Section};

/// What becomes of a decision.
const STATES: [&str; 6] = ["accepted", "deprecated", "draft", "proposed", "rejected", "superseded"];
/// Folders that such records lie in.
const FOLDERS: [&str; 5] =
    ["adr", "adrs", "decisions", "decision-records", "architecture-decisions"];
/// Lines from the top among which one says the state.
const HEAD: usize = 30;

/// The tags of such a record: `adr`, and its state where it says one; none for any other document.
pub fn tags(title: &str, doc_id: &str, document: &Document) -> Vec<String> {
    let state = state(document);
    let is_numbered = number_ends(title) && state.is_some();
    if !(is_named(title) || lies_among_others(doc_id) || is_numbered) {
        return Vec::new();
    }
    std::iter::once("adr").chain(state).map(str::to_owned).collect()
}

/// `ADR-12: Units`, `ADR 0012 Units`, `ADR Units`.
fn is_named(title: &str) -> bool {
    let first = title.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let rest =
        first.get(..3).filter(|start| start.eq_ignore_ascii_case("adr")).map(|_| &first[3..]);
    rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
}

/// `docs/adr/0012-units.md`.
fn lies_among_others(doc_id: &str) -> bool {
    let mut parts = doc_id.rsplit('/');
    let is_numbered =
        parts.next().is_some_and(|name| name.starts_with(|c: char| c.is_ascii_digit()));
    is_numbered && parts.any(|folder| FOLDERS.contains(&folder.to_lowercase().as_str()))
}

/// Whether it begins with a number and goes on: `12. Units`.
fn number_ends(title: &str) -> bool {
    let rest = title.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < title.len() && rest.starts_with(['.', ')', ':', '-', ' '])
}

/// What the front matter, a line near the top or the section `Status` says.
fn state(document: &Document) -> Option<&'static str> {
    let front = document.status.as_deref().and_then(known);
    front.or_else(|| document.sections.iter().find_map(stated_in))
}

fn stated_in(section: &Section) -> Option<&'static str> {
    let says_it = section.heading_path.last().is_some_and(|heading| is_status(heading));
    let mut lines = section.text.lines();
    if says_it {
        // Headings without a text of their own may stand above it.
        return lines.find(|line| is_text(line)).and_then(known);
    }
    let near_the_top = HEAD.saturating_sub(section.line_start);
    lines.by_ref().take(near_the_top).find_map(|line| {
        let (name, value) = line.split_once(':')?;
        if is_status(name) { known(value) } else { None }
    })
}

fn is_text(line: &str) -> bool {
    !line.starts_with('#') && line.contains(char::is_alphabetic) && !is_status(line)
}

fn is_status(text: &str) -> bool {
    text.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case("status")
}

/// The state that a text begins with: `**Superseded** by ADR-13`.
fn known(text: &str) -> Option<&'static str> {
    let first = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())?;
    STATES.into_iter().find(|state| state.eq_ignore_ascii_case(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunker::Limits;
    use crate::markdown::parse;

    fn of(title: &str, doc_id: &str, text: &str) -> String {
        let document = parse(text, Limits::default());
        let title = if title.is_empty() { &document.title } else { title };
        tags(title, doc_id, &document).join(" ")
    }

    #[test]
    fn an_adr_is_recognized_by_name_directory_or_number_and_status() {
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
            assert_eq!(of(title, doc_id, text), expected, "{title} {doc_id}");
        }
    }

    #[test]
    fn other_documents_are_none() {
        for (title, doc_id, text) in [
            ("Adriatic ports", "1", "Status: accepted"),
            ("", "docs/adr/README.md", "# Decisions\n"),
            ("", "docs/adr.md", "# How we decide\n"),
            ("2026 in numbers", "1", "Nothing is decided."),
            ("12. Release", "1", "## Status\n\nGreen\n"),
            ("Order states", "1", "Status: accepted"),
        ] {
            assert_eq!(of(title, doc_id, text), "", "{title} {doc_id}");
        }
    }
}
