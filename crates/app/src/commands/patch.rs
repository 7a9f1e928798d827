//! `memory-copilot patch`: patches of models, without a service.

use anyhow::{Context as _, Result, bail};
use mc_coding::{CheckedPatch, Limits, Problem, Risk, check, write};
use mc_files::{FileError, Root};
use mc_patch::{Conflict, Failure, FilePatch, PlannedFile, Reason, Refusal};
use serde_json::{Value, json};

use crate::cli::{PatchCheckArgs, PatchCommand};
use crate::input;
use crate::output::{Format, list, number, one_line, text};

pub fn run(command: &PatchCommand, format: Format) -> Result<()> {
    let PatchCommand::Check(args) = command;
    check_patch(args, format)
}

fn check_patch(args: &PatchCheckArgs, format: Format) -> Result<()> {
    let patch = input::bytes(&args.file)?;
    let root = Root::open(&args.workspace).context("--workspace")?;
    let checked = check(&root, &patch, Limits::default());
    let checked = checked.inspect_err(|error| print_error(format, error))?;
    let applies = checked.applies();
    if args.apply && applies {
        write(&root, &checked).inspect_err(|error| print_error(format, error))?;
    }
    format.print(&report(&checked, args.apply && applies), details);
    if !applies {
        bail!("the patch does not apply");
    }
    Ok(())
}

/// Prints an error as JSON, if a program reads the output. The caller prints it for people.
fn print_error(format: Format, error: &impl std::error::Error) {
    if format == Format::Json {
        let report = json!({"applies": false, "applied": false, "error": error.to_string()});
        format.print(&report, |_| String::new());
    }
}

/// Returns the result as JSON.
fn report(checked: &CheckedPatch, is_applied: bool) -> Value {
    let (mut conflicts, mut refusals) = (Vec::new(), Vec::new());
    for (file, problem) in checked.problems() {
        match problem {
            Problem::Refused(refusal) => refusals.push(json!({
                "path": file.path, "reason": refusal_name(refusal), "message": refusal.message(),
            })),
            Problem::Conflict(failure) => conflicts.push(conflict(file, failure)),
        }
    }
    let risk = |risk: &Risk| {
        let kind = risk.kind;
        json!({"path": risk.path, "kind": kind.as_str(), "message": kind.message()})
    };
    json!({
        "applies": checked.applies(),
        "applied": is_applied,
        "grade": checked.grade().as_str(),
        "files": checked.files.iter().map(file).collect::<Vec<_>>(),
        "conflicts": conflicts,
        "refusals": refusals,
        "risks": checked.risks.iter().map(risk).collect::<Vec<_>>(),
        "diff": String::from_utf8_lossy(&checked.diff()),
    })
}

fn file(file: &PlannedFile<FileError>) -> Value {
    let patch = &file.patch;
    let (added, removed) = patch.line_counts();
    let mut shown = json!({
        "path": patch.path,
        "operation": patch.operation.as_str(),
        "addedLines": added,
        "removedLines": removed,
        "changedLines": added + removed,
    });
    if let Some(source) = &patch.source {
        shown["oldPath"] = json!(source);
    }
    if let Ok(applied) = &file.outcome {
        shown["grade"] = json!(applied.grade().as_str());
        let hunks = applied.hunks.iter().zip(1..).map(|(placed, number)| {
            let grade = placed.grade.as_str();
            json!({"hunk": number, "line": placed.line, "grade": grade, "offset": placed.offset})
        });
        shown["hunks"] = hunks.collect();
    }
    shown
}

fn conflict(file: &FilePatch, failure: &Failure<FileError>) -> Value {
    let Conflict { hunk, reason } = match failure {
        Failure::Conflict(conflict) => conflict,
        Failure::Unreadable(error) => {
            return json!({"path": file.path, "reason": "unreadable", "message": error.to_string()});
        }
    };
    let mut shown = json!({
        "path": file.path,
        "reason": reason_name(reason),
        "message": failure.to_string(),
    });
    if let Some(hunk) = hunk {
        shown["hunk"] = json!(hunk);
    }
    match reason {
        Reason::NotFound(Some(divergence)) => {
            let line = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
            shown["line"] = json!(divergence.line);
            shown["expected"] = json!(line(&divergence.expected));
            shown["found"] = json!(divergence.found.as_deref().map(line));
        }
        Reason::Ambiguous(lines) => shown["lines"] = json!(lines),
        _ => {}
    }
    shown
}

/// Formats the result for people.
fn details(report: &Value) -> String {
    let mut lines = Vec::new();
    for file in list(report, "files") {
        let counts = format!("+{} -{}", number(file, "addedLines"), number(file, "removedLines"));
        let name = one_line(file, "path");
        let source = one_line(file, "oldPath");
        let name = if source.is_empty() { name } else { format!("{source} -> {name}") };
        let grade = text(file, "grade");
        let grade = if grade.is_empty() { "not applied" } else { grade };
        lines.push(format!("{name}  {}  {counts}  {grade}", text(file, "operation")));
        let hunks = list(file, "hunks").iter().filter(|hunk| text(hunk, "grade") != "exact");
        lines.extend(hunks.map(|hunk| {
            let (hunk, line, grade) =
                (number(hunk, "hunk"), number(hunk, "line"), text(hunk, "grade"));
            format!("  hunk {hunk} at line {line}: {grade}")
        }));
    }
    for problem in list(report, "refusals").iter().chain(list(report, "conflicts")) {
        lines.push(format!("{}: {}", one_line(problem, "path"), one_line(problem, "message")));
    }
    for risk in list(report, "risks") {
        lines.push(format!("risk: {} {}", one_line(risk, "path"), one_line(risk, "message")));
    }
    lines.push(
        match (report["applied"] == true, report["applies"] == true) {
            (true, _) => "The patch was applied.",
            (false, true) => "The patch applies. Write it with --apply.",
            (false, false) => "The patch does not apply. No file was changed.",
        }
        .to_owned(),
    );
    lines.join("\n")
}

fn refusal_name(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Binary => "binary",
        Refusal::Mode => "mode",
        Refusal::Link => "symlink",
        Refusal::Submodule => "submodule",
        Refusal::Path => "path",
    }
}

fn reason_name(reason: &Reason) -> &'static str {
    match reason {
        Reason::Refused(refusal) => refusal_name(*refusal),
        Reason::Missing => "missing",
        Reason::Exists => "exists",
        Reason::Repeated => "repeated",
        Reason::NotEmpty => "not_empty",
        Reason::NoContext => "no_context",
        Reason::NotFound(_) => "not_found",
        Reason::Ambiguous(_) => "ambiguous",
        Reason::Overlap => "overlap",
        Reason::AlreadyApplied => "already_applied",
        Reason::Indentation => "indentation",
    }
}
