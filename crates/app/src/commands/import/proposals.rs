//! Notes of other programs: shown, or proposed to the team with their source.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use mc_domain::ProjectKey;
use mc_import::{Import, Note, Origin, Refused};
use mc_memory::distill::scope_of_path;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::output::{self, Format, list, one_line, text};

/// Most scopes that are derived from globs.
const MAX_SCOPES: usize = 6;
/// Indentation of the text below its place, in columns.
const INDENT: usize = 4;

/// Prints the notes and the refused parts.
pub fn show(import: &Import, format: Format) {
    let notes: Vec<Value> = import.notes.iter().map(|note| note_json(note, "dry_run")).collect();
    let report = report(&notes, &import.refused, true);
    format.print(&report, |report| {
        let notes = list(report, "notes").iter().map(|note| {
            let (place, kind) = (one_line(note, "imported_from"), text(note, "kind"));
            let content = output::indented(note, "content", INDENT);
            format!("{place}  {kind}\n{:INDENT$}{content}\n", "")
        });
        format!("{}\n{}", notes.collect::<String>(), readable(report))
    });
}

/// Proposes the notes. A note that the service does not accept does not stop the others.
pub async fn send(
    import: Import,
    project: &ProjectKey,
    remote: &ApiClient,
    format: Format,
) -> Result<()> {
    let (mut notes, mut failures) = (Vec::new(), 0_usize);
    for note in &import.notes {
        let request = save_request(note, project);
        let sent = match remote.post_within_limits("/save", request).await? {
            Ok(response) => {
                let mut sent = note_json(note, outcome(&response));
                sent["id"] = response["id"].clone();
                sent["reason"] = response["reason"].clone();
                sent
            }
            Err(error) => {
                failures += 1;
                let mut sent = note_json(note, "failed");
                sent["reason"] = error.to_string().into();
                sent
            }
        };
        notes.push(sent);
    }
    let report = report(&notes, &import.refused, false);
    format.print(&report, |report| {
        let hint = format!("\nReview them: memory-copilot proposals list --project {project}");
        format!("{}{hint}", readable(report))
    });
    match failures {
        0 => Ok(()),
        n => bail!("{n} notes could not be proposed; import again (the others are known then)"),
    }
}

/// Returns the outcome of a proposal. One that the team has, or that waits already, is known.
fn outcome(response: &Value) -> &str {
    match text(response, "outcome") {
        "duplicate" => "known",
        "proposed" if text(response, "kept") == "existing" => "known",
        outcome => outcome,
    }
}

fn save_request(note: &Note, project: &ProjectKey) -> Value {
    let citations: Vec<_> = note.cites.iter().map(|file| json!({ "file": file })).collect();
    json!({
        "project_key": project.as_str(),
        "kind": note.kind,
        "content": note.content,
        "title": note.title,
        "scope": scopes(&note.globs),
        "tags": note.tags,
        "citations": citations,
        "visibility": "proposed",
        "source": note.origin.source,
        "meta": { "imported_from": note.origin.to_string() },
    })
}

/// Returns the parts of the system that globs select: names in their directories without wildcards,
/// or these directories, or the glob itself if it has none.
fn scopes(globs: &[String]) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::new();
    for glob in globs {
        let directories = glob.rsplit_once('/').map_or("", |(directories, _)| directories);
        let literal = directories.split('/').filter(|part| !part.contains(['*', '?', '[', '{']));
        let directory = literal.collect::<Vec<_>>().join("/");
        let named = match (scope_of_path(&directory), directory.is_empty()) {
            (named, _) if !named.is_empty() => named,
            (_, true) => vec![glob.clone()],
            (_, false) => vec![directory],
        };
        for scope in named {
            if scopes.len() < MAX_SCOPES && !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
    }
    scopes
}

fn note_json(note: &Note, outcome: &str) -> Value {
    let mut json = origin_json(&note.origin);
    json["kind"] = note.kind.as_str().into();
    json["content"] = note.content.clone().into();
    json["scope"] = scopes(&note.globs).into();
    json["outcome"] = outcome.into();
    json
}

fn origin_json(origin: &Origin) -> Value {
    json!({
        "source": origin.source,
        "line": origin.line,
        "heading": origin.heading,
        "imported_from": origin.to_string(),
    })
}

/// Returns the report. Refused texts are masked, since a secret may be the reason.
fn report(notes: &[Value], refused: &[Refused], dry_run: bool) -> Value {
    let refused: Vec<_> = refused
        .iter()
        .map(|one| {
            let mut json = origin_json(&one.origin);
            json["text"] = mc_sanitizer::mask(&one.text).text.as_str().into();
            json["reason"] = one.reason.to_string().into();
            json
        })
        .collect();
    json!({ "dry_run": dry_run, "notes": notes, "refused": refused })
}

/// Counts the outcomes by source, and lists what was not proposed with the reasons.
fn readable(report: &Value) -> String {
    let (notes, refused) = (list(report, "notes"), list(report, "refused"));
    let mut counts: BTreeMap<String, BTreeMap<&str, usize>> = BTreeMap::new();
    for note in notes {
        let outcome = match text(note, "outcome") {
            "dry_run" => "would be proposed",
            outcome => outcome,
        };
        *counts.entry(program_or_file(note)).or_default().entry(outcome).or_default() += 1;
    }
    for one in refused {
        *counts.entry(program_or_file(one)).or_default().entry("refused").or_default() += 1;
    }
    let lines = counts.iter().map(|(source, outcomes)| {
        let outcomes: Vec<_> =
            outcomes.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
        format!("{source}: {}\n", outcomes.join(", "))
    });
    let mut out: String = lines.collect();
    for one in refused {
        let (place, reason) = (one_line(one, "imported_from"), one_line(one, "reason"));
        out.push_str(&format!(
            "refused {place}: {reason}\n{:INDENT$}{}\n",
            "",
            one_line(one, "text")
        ));
    }
    for note in notes.iter().filter(|note| is_unusual(text(note, "outcome"))) {
        let (place, reason) = (one_line(note, "imported_from"), one_line(note, "reason"));
        out.push_str(&format!("{} {place}: {reason}\n", text(note, "outcome")));
    }
    out
}

fn is_unusual(outcome: &str) -> bool {
    !matches!(outcome, "dry_run" | "proposed" | "known")
}

/// Returns the file, or the program whose ids are the sources.
fn program_or_file(item: &Value) -> String {
    let source = one_line(item, "source");
    let program = ["mem0", "server-memory"].into_iter().find(|program| {
        source.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    });
    program.map_or(source, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes_of(globs: &[&str]) -> Vec<String> {
        scopes(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn scopes_are_directories_of_globs() {
        assert_eq!(scopes_of(&["apps/webapp/**/*.ts", "apps/webapp/**/*.tsx"]), ["webapp"]);
        assert_eq!(scopes_of(&["**/trigger/**/*.ts", "**/trigger/**/*.js"]), ["trigger"]);
        assert_eq!(scopes_of(&["packages/shared/**"]), ["packages/shared"]);
        assert_eq!(scopes_of(&["**/*.ts"]), ["**/*.ts"]);
        assert_eq!(scopes_of(&[]), [""; 0]);
    }

    #[test]
    fn proposals_that_wait_already_are_known() {
        let waits = json!({"outcome": "proposed", "kept": "existing"});
        let new = json!({"outcome": "proposed", "kept": "whole"});
        let same = json!({"outcome": "duplicate", "kept": "existing"});
        assert_eq!([&waits, &new, &same].map(outcome), ["known", "proposed", "known"]);
    }

    #[test]
    fn secret_of_a_refused_part_is_masked() {
        let token = format!("ghp_{}", "1234567890abcdefghijABCDEFGHIJ123456");
        let import = mc_import::parse(
            mc_import::Format::Rules,
            &format!("The bot deploys with the token {token}."),
            "CLAUDE.md",
        );
        let import = import.expect("rules");
        let shown = readable(&report(&[], &import.refused, true));
        assert!(
            shown.contains("refused CLAUDE.md:1: contains a secret") && !shown.contains(&token)
        );
    }
}
