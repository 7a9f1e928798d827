//! The formats of files, and their detection.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::mem0;

/// A format of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Rules for an assistant, in Markdown.
    Rules,
    /// A decision record.
    Adr,
    /// Memories of mem0, as JSON.
    Mem0,
    /// Entities and relations of the MCP server "memory", as lines of JSON.
    ServerMemory,
}

/// A word that names no format.
#[derive(Debug, thiserror::Error)]
#[error("unknown format \"{0}\"; use rules, adr, mem0 or server-memory")]
pub struct UnknownFormat(String);

/// Names of directories with decision records.
const ADR_DIRECTORIES: [&str; 5] = ["adr", "adrs", "decisions", "decision-records", "rfcs"];

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Rules, Self::Adr, Self::Mem0, Self::ServerMemory];

    /// Returns the name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rules => "rules",
            Self::Adr => "adr",
            Self::Mem0 => "mem0",
            Self::ServerMemory => "server-memory",
        }
    }

    /// Detects the format by the path, relative to the repository's root, and the content.
    pub fn detect(path: &str, text: &str) -> Option<Self> {
        let lower = path.to_lowercase();
        let (directory, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        let is_markdown = matches!(extension, "md" | "markdown" | "mdc");
        if name == ".cursorrules" || extension == "mdc" {
            return Some(Self::Rules);
        }
        if is_markdown && directory.split('/').any(|part| ADR_DIRECTORIES.contains(&part)) {
            return Some(Self::Adr);
        }
        if is_markdown {
            return Some(Self::Rules);
        }
        if matches!(extension, "json" | "jsonl" | "") { Self::detect_json(text) } else { None }
    }

    fn detect_json(text: &str) -> Option<Self> {
        let is_graph_line = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap_or_default();
            matches!(value["type"].as_str(), Some("entity" | "relation"))
        };
        if text.lines().find(|line| !line.trim().is_empty()).is_some_and(is_graph_line) {
            return Some(Self::ServerMemory);
        }
        let value: Value = serde_json::from_str(text).ok()?;
        if value["entities"].is_array() && value["relations"].is_array() {
            return Some(Self::ServerMemory);
        }
        mem0::memories(&value)?.first()?["memory"].is_string().then_some(Self::Mem0)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.into_iter().find(|format| format.as_str() == word);
        known.ok_or_else(|| UnknownFormat(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_detected_by_path_and_content() {
        let entity = r#"{"type":"entity","name":"a","entityType":"b","observations":[]}"#;
        for (path, text, format) in [
            ("CLAUDE.md", "", Some(Format::Rules)),
            ("apps/web/AGENTS.md", "", Some(Format::Rules)),
            (".cursor/rules/db.mdc", "", Some(Format::Rules)),
            (".cursorrules", "", Some(Format::Rules)),
            ("docs/adr/0001-use-rust.md", "", Some(Format::Adr)),
            ("doc/architecture/decisions/2.md", "", Some(Format::Adr)),
            ("memory.jsonl", entity, Some(Format::ServerMemory)),
            ("graph.json", r#"{"entities":[],"relations":[]}"#, Some(Format::ServerMemory)),
            ("x.json", r#"{"results":[{"id":"1","memory":"m"}]}"#, Some(Format::Mem0)),
            ("x.json", r#"[{"id":"1","memory":"m"}]"#, Some(Format::Mem0)),
            ("x.json", r#"[{"kind":"fact","content":"c"}]"#, None),
            ("x.yaml", "- kind: fact", None),
        ] {
            assert_eq!(Format::detect(path, text), format, "{path}");
        }
    }
}
