//! A decision record, in the form of Nygard or MADR.

use mc_domain::RecordKind;

use crate::front_matter;
use crate::markdown::{self, Block, Content, fenced};
use crate::note::{Import, Note, Origin, Reason};
use crate::screen::Candidate;
use crate::text::fits;

/// Longest part of a decision record in its note, in characters: context, decision, consequences.
const PART_MAX_CHARS: usize = 1_200;
/// Words at the beginning of the status of a decision that is not in force.
const NOT_IN_FORCE: [&str; 17] = [
    "proposed",
    "draft",
    "pending",
    "deferred",
    "on hold",
    "in review",
    "in discussion",
    "wip",
    "not ",
    "rejected",
    "deprecated",
    "superseded",
    // As adr-tools writes it.
    "superceded",
    "replaced",
    "withdrawn",
    "amended by",
    "obsolete",
];
/// Words at the beginning of the status of a decision that was accepted.
const ACCEPTED: [&str; 5] = ["accepted", "approved", "adopted", "decided", "implemented"];
const CONTEXT: &[&str] = &["context", "context and problem statement", "problem"];
const DECISION: &[&str] = &["decision", "decision outcome", "outcome", "solution"];
const CONSEQUENCES: &[&str] = &["consequences", "positive consequences", "negative consequences"];

/// Parses a decision record. One that is in force becomes one note.
pub fn parse(text: &str, source: &str) -> Import {
    let (matter, body, lines) = front_matter::split(text);
    let blocks = markdown::parse(body, lines + 1);
    let record = Record::read(&blocks, matter.status);
    let mut import = Import::default();
    let heading = record.title.clone();
    let origin = Origin { source: source.to_owned(), line: Some(record.line), heading };
    if is_template(&record.title, source) {
        import.refuse(origin, &record.title, Reason::Template);
    } else if record.decision.is_empty() {
        import.refuse(origin, &record.title, Reason::NoDecision);
    } else if !is_in_force(&record.status) {
        import.refuse(origin, &record.title, Reason::NotInForce(record.status));
    } else {
        let content = record.content();
        let title = Some(record.title).filter(|title| !title.is_empty());
        import.add(Candidate {
            note: Note {
                kind: RecordKind::AdrLink,
                content: content.clone(),
                title,
                tags: Vec::new(),
                globs: Vec::new(),
                cites: Some(source.to_owned()),
                origin,
            },
            statement: content,
        });
    }
    import
}

fn is_template(title: &str, source: &str) -> bool {
    let name = source.rsplit('/').next().unwrap_or_default();
    name.to_lowercase().contains("template") || title.contains("NNN") || title.contains('{')
}

/// Whether decisions with this status count. Many teams write none.
fn is_in_force(status: &str) -> bool {
    let status = status.to_lowercase();
    !NOT_IN_FORCE.iter().any(|word| status.starts_with(word))
}

#[derive(Debug, Default)]
struct Record {
    line: u32,
    title: String,
    status: String,
    context: String,
    decision: String,
    consequences: String,
}

impl Record {
    fn read(blocks: &[Block], status: String) -> Self {
        let mut record = Self { line: 1, status, ..Self::default() };
        let mut section = String::new();
        let mut level_of_section = 0;
        for block in blocks {
            match &block.content {
                Content::Heading { level, text } => {
                    if record.title.is_empty() {
                        title(text).clone_into(&mut record.title);
                        record.line = block.line;
                    } else if *level <= level_of_section.max(2) || is_known(text) {
                        section = text.trim_end_matches(':').to_lowercase();
                        level_of_section = *level;
                    } else {
                        record.add(&section, &format!("{text}:"));
                    }
                }
                other => {
                    let text = block_text(other);
                    record.find_status(&text);
                    record.add(&section, &text);
                }
            }
        }
        record
    }

    fn add(&mut self, section: &str, text: &str) {
        let is = |names: &[&str]| names.contains(&section);
        let part = if section == "status" {
            self.add_status(text);
            return;
        } else if is(CONTEXT) {
            &mut self.context
        } else if is(DECISION) {
            &mut self.decision
        } else if is(CONSEQUENCES) {
            &mut self.consequences
        } else {
            return;
        };
        if !part.is_empty() {
            part.push('\n');
        }
        part.push_str(text);
    }

    /// Takes the first line of the section, or a later one by which the decision is not in force:
    /// tools add `Superseded by ...` below `Accepted`.
    fn add_status(&mut self, text: &str) {
        for line in text.lines().map(|line| line.trim_start_matches(['-', '*', ' ']).trim()) {
            if self.status.is_empty() || is_in_force(&self.status) && !is_in_force(line) {
                line.clone_into(&mut self.status);
            }
        }
    }

    /// Finds a line such as `Status: accepted`, also in a list.
    fn find_status(&mut self, text: &str) {
        let value = |line: &str| {
            let (name, value) = line.trim_start_matches(['-', '*', ' ']).split_once(':')?;
            name.trim().eq_ignore_ascii_case("status").then(|| value.trim().to_owned())
        };
        if self.status.is_empty()
            && let Some(status) = text.lines().find_map(value)
        {
            self.status = status;
        }
    }

    fn content(&self) -> String {
        let status = self.status.to_lowercase();
        let is_accepted = ACCEPTED.iter().any(|word| status.starts_with(word));
        let status = if is_accepted { "accepted decision" } else { "decision" };
        let mut content = format!("{} ({status}).\n{}", self.title, cut(&self.decision));
        for (name, part) in [("Why", &self.context), ("Consequences", &self.consequences)] {
            if !part.is_empty() {
                content.push_str(&format!("\n{name}: {}", cut(part)));
            }
        }
        content
    }
}

fn is_known(heading: &str) -> bool {
    let heading = heading.trim_end_matches(':').to_lowercase();
    let known = [CONTEXT, DECISION, CONSEQUENCES].concat();
    heading == "status" || known.contains(&heading.as_str())
}

/// Removes the number before a title: `ADR-007: `, `7. `, `0007 - `. A number without a space
/// behind it, as in `2FA`, is a part of the title.
fn title(heading: &str) -> &str {
    let heading = heading.trim();
    let number = match heading.get(..3) {
        Some(word) if word.eq_ignore_ascii_case("adr") => {
            heading[3..].trim_start_matches(['-', '_', ' '])
        }
        _ => heading,
    };
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit());
    let title = rest.trim_start_matches(|c: char| " -–—.:#_".contains(c));
    let separator = &rest[..rest.len() - title.len()];
    let has_number = rest.len() < number.len() && separator.contains(' ');
    if has_number && !title.is_empty() { title } else { heading }
}

fn block_text(content: &Content) -> String {
    match content {
        Content::Heading { text, .. } | Content::Paragraph(text) => text.clone(),
        Content::Code { language, text } => fenced(language, text),
        Content::List { items, .. } => {
            let texts = items.iter().map(|item| {
                let parts: Vec<_> =
                    item.blocks.iter().map(|block| block_text(&block.content)).collect();
                format!("- {}", parts.join("\n"))
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Content::Table(rows) => {
            rows.iter().map(|row| row.join(" | ")).collect::<Vec<_>>().join("\n")
        }
    }
}

/// Cuts a part at the end of a line, so that it fits a record.
fn cut(part: &str) -> String {
    if fits(part, PART_MAX_CHARS) {
        return part.to_owned();
    }
    let mut short = String::new();
    let mut length = 0;
    for line in part.lines() {
        length += line.chars().count() + 1;
        if length > PART_MAX_CHARS && !short.is_empty() {
            break;
        }
        if !short.is_empty() {
            short.push('\n');
        }
        short.extend(line.chars().take(PART_MAX_CHARS));
    }
    short.push_str(" …");
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    const NYGARD: &str = "# 7. Use PostgreSQL for the queue\n\nDate: 2024-01-02\n\n## Status\n\n\
        Accepted\n\n## Context\n\nRedis lost jobs in a crash.\n\n## Decision\n\nWe store jobs in \
        PostgreSQL.\n\n## Consequences\n\n- One database less\n- Slower than Redis\n";

    #[test]
    fn decision_in_force_becomes_one_note() {
        let import = parse(NYGARD, "docs/adr/0007-queue.md");
        let note = &import.notes[0];
        assert_eq!(note.title.as_deref(), Some("Use PostgreSQL for the queue"));
        assert_eq!(
            note.content,
            "Use PostgreSQL for the queue (accepted decision).\nWe store jobs in PostgreSQL.\n\
             Why: Redis lost jobs in a crash.\nConsequences: - One database less\n- Slower than \
             Redis"
        );
        assert_eq!(note.cites.as_deref(), Some("docs/adr/0007-queue.md"));
    }

    #[test]
    fn number_of_a_record_is_no_part_of_its_title() {
        for (heading, expected) in [
            ("7. Use X", "Use X"),
            ("ADR-007: Use X", "Use X"),
            ("adr 7 Use X", "Use X"),
            ("0007 - Use X", "Use X"),
            ("2FA for admins", "2FA for admins"),
            ("12-factor config", "12-factor config"),
            (".NET 8 as platform", ".NET 8 as platform"),
            ("Adrenaline queue", "Adrenaline queue"),
        ] {
            assert_eq!(title(heading), expected);
        }
    }

    #[test]
    fn decision_that_is_not_in_force_is_refused() {
        let superseded = NYGARD.replace("Accepted", "Superseded by [9](0009-x.md)");
        let madr = "---\nstatus: \"rejected\"\n---\n# Use X\n\n## Context and Problem Statement\n\n\
                    A question.\n\n## Decision Outcome\n\nChosen option: \"X\", because it is \
                    best.\n";
        let listed = "# ADR-001: Rows\n\n## Metadata\n\n- **Status**: Proposed\n\n## Decision\n\n\
                      One point a row.\n";
        for (text, status) in [
            (superseded.as_str(), "Superseded by 9 (0009-x.md)"),
            (madr, "rejected"),
            (listed, "Proposed"),
        ] {
            let refused = &parse(text, "adr/1.md").refused[0];
            assert_eq!(refused.reason, Reason::NotInForce(status.to_owned()));
        }
        assert!(parse(&madr.replace("rejected", "accepted"), "adr/1.md").notes.len() == 1);
        let below = NYGARD.replace("Accepted", "Accepted\n\nSuperceded by [9](0009-x.md)");
        let refused = &parse(&below, "adr/1.md").refused[0];
        assert!(matches!(&refused.reason, Reason::NotInForce(status) if status.contains('9')));
        let index = parse("# Decisions\n\n- [Use X](1.md)\n", "adr/README.md");
        assert_eq!(index.refused[0].reason, Reason::NoDecision);
    }
}
