//! Answers of a chat model with a patch.

/// Most bullets of a part.
const BULLETS_MAX: usize = 20;
/// Longest bullet, in characters.
const BULLET_CHARS: usize = 400;
/// Words for a heading that models use.
const SUMMARY: [&str; 3] = ["summary", "changes", "summary of changes"];
const RISKS: [&str; 2] = ["risks", "risk"];
/// Starts of lines with which a patch begins.
const PATCH_STARTS: [&str; 3] = ["<<<<<", "diff --git ", "--- "];

/// What a model says about its patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// What the patch changes.
    pub summary: Vec<String>,
    /// What a reviewer should know.
    pub risks: Vec<String>,
}

impl Notes {
    /// Reads the bullets before the patch. Bullets without a heading are those of the summary.
    pub fn of(answer: &str) -> Self {
        let mut notes = Self::default();
        let mut is_risk = false;
        let is_patch = |line: &&str| PATCH_STARTS.iter().any(|start| line.starts_with(start));
        for line in answer.lines().map(str::trim_end).take_while(|line| !is_patch(line)) {
            let heading = line.trim_matches(|c: char| "#*_: ".contains(c)).to_lowercase();
            if RISKS.contains(&heading.as_str()) {
                is_risk = true;
            } else if SUMMARY.contains(&heading.as_str()) {
                is_risk = false;
            } else if let Some(text) = bullet(line) {
                let part = if is_risk { &mut notes.risks } else { &mut notes.summary };
                if part.len() < BULLETS_MAX {
                    part.push(text.chars().take(BULLET_CHARS).collect());
                }
            }
        }
        notes
    }
}

/// Returns whether an answer has the start of a patch, perhaps an indented or incomplete one.
pub(crate) fn has_patch(answer: &str) -> bool {
    let starts = || PATCH_STARTS.iter().chain(&["@@ "]);
    answer.lines().any(|line| starts().any(|start| line.trim_start().starts_with(start)))
}

/// Returns the text of a line that is an item of a list.
fn bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix(['-', '*', '\u{2022}']).or_else(|| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.strip_prefix(['.', ')']).filter(|_| rest.len() < line.len())
    })?;
    let text = text.strip_prefix(' ')?.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(summary: &[&str], risks: &[&str]) -> Notes {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Notes { summary: texts(summary), risks: texts(risks) }
    }

    #[test]
    fn bullets_are_read_in_the_forms_that_models_write() {
        let answer = "SUMMARY:\n- Waits longer.\n* Tells why.\n\nRISKS:\n- Slower.\n\n\
                      src/a.rs\n<<<<<<< SEARCH\n- no bullet\n=======\n>>>>>>> REPLACE\n";
        assert_eq!(Notes::of(answer), notes(&["Waits longer.", "Tells why."], &["Slower."]));
        let answer = "Sure!\n\n## Summary\n1. Waits longer.\n**Risks**\n2) Slower.\n\
                      ```diff\n--- a/x\n+++ b/x\n- old\n";
        assert_eq!(Notes::of(answer), notes(&["Waits longer."], &["Slower."]));
        assert_eq!(Notes::of("- Only this.\n-5 degrees\n---\n"), notes(&["Only this."], &[]));
        assert_eq!(Notes::of("No change is needed."), Notes::default());
    }

    #[test]
    fn bullets_are_limited() {
        let answer = format!("- {}\n", "x".repeat(2_000)).repeat(50);
        let notes = Notes::of(&answer);
        assert_eq!((notes.summary.len(), notes.summary[0].len()), (BULLETS_MAX, BULLET_CHARS));
    }
}
