//! Reviews a patch: by rules, and by the chat model of the service if there is one.

use std::sync::{Arc, LazyLock};

use chrono::Utc;
use mc_chat::{ChatRequest, JsonAnswer, ModelRole, Usage};
use mc_contract::operations::patch::{Finding, PatchReview, PatchUsage, ReviewPatch};
use mc_domain::{FindingKind, ReviewFocus, ReviewStatus, Severity, code_path};
use mc_memory::chat;
use mc_patch::{FilePatch, PlannedFile};
use mc_prompt_guard::neutralize;
use mc_store::patches::{self, Patch as StoredPatch};
use mc_workspaces::edit::MaskedTree;
use mc_workspaces::open::OpenWorkspace;
use serde::Deserialize;
use serde_json::json;

use crate::lint::{NewSyntaxErrors, new_syntax_errors};
use crate::masking::{masked, sanitized};
use crate::preview::placed;
use crate::propose::problems;
use crate::run::Run;
use crate::service::CodingContext;
use crate::shown::FileProblem;
use crate::{Error, Limits, Risk, RiskKind, registry};

const INSTRUCTIONS: &str = include_str!("../../../system_prompts/patch_review.txt");
/// Changed lines from which a patch is hard to review.
const MANY_LINES: usize = 400;
/// Most findings of a model.
const FINDINGS_MAX: usize = 20;
/// Longest text of a model, in characters.
const TEXT_CHARS: usize = 500;
/// Start of the changes of a file in a stored diff.
const FILE_HEADER: &str = "diff --git ";
/// Most recommendations, and most steps.
const LINES_MAX: usize = 5;
/// Files at the top of a tree, and the command that tests the project.
const TEST_COMMANDS: [(&str, &str); 9] = [
    ("Cargo.toml", "cargo test"),
    ("package.json", "npm test"),
    ("gradlew", "./gradlew test"),
    ("pyproject.toml", "pytest"),
    ("setup.py", "pytest"),
    ("go.mod", "go test ./..."),
    (".rspec", "bundle exec rspec"),
    ("Rakefile", "bundle exec rake test"),
    ("pom.xml", "mvn test"),
];

static ANSWER: LazyLock<Arc<JsonAnswer>> = LazyLock::new(|| {
    let text = json!({"type": "string", "maxLength": 2_000});
    let texts = json!({"type": "array", "maxItems": 20, "items": text});
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "required": ["findings", "testingRecommendations", "nextSteps"],
        "properties": {
            "findings": {"type": "array", "maxItems": 50, "items": {
                "type": "object", "additionalProperties": false,
                "required": ["type", "severity", "message", "file"],
                "properties": {
                    "type": {"enum": ["risk", "tests", "migration", "defect"]},
                    "severity": {"enum": ["low", "medium", "high", "critical"]},
                    "message": text, "file": text,
                },
            }},
            "testingRecommendations": texts, "nextSteps": texts,
        },
    });
    Arc::new(JsonAnswer::new("patch_review", schema).expect("a test compiles the schema"))
});

/// What a model answers.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    findings: Vec<Finding>,
    testing_recommendations: Vec<String>,
    next_steps: Vec<String>,
}

/// What a model says about a patch, if one was asked.
#[derive(Debug, Default)]
struct ModelReview {
    answer: Answer,
    /// Its name; empty if none answered.
    model: String,
    usage: Usage,
    /// What it has not seen, and why.
    warnings: Vec<String>,
}

/// What the rules find.
struct StaticReview {
    findings: Vec<Finding>,
    test_command: Option<&'static str>,
}

/// Reviews a patch, and stores the review with it.
pub(crate) async fn review(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    patch: &StoredPatch,
    request: &ReviewPatch,
    run: &Run,
) -> Result<PatchReview, Error> {
    let review = run.until_cancelled(Box::pin(write(ctx, open, patch, request, run))).await?;
    run.set_stage("storing the review");
    let json = serde_json::to_value(&review).expect("a review is JSON");
    let mut tx = ctx.project.store.begin().await?;
    if !patches::set_review(&mut tx, patch.id, &json, review.approval_required).await? {
        drop(tx);
        return Err(registry::ended(&ctx.project, patch.id).await?);
    }
    tx.commit().await?;
    Ok(review)
}

async fn write(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    patch: &StoredPatch,
    request: &ReviewPatch,
    run: &Run,
) -> Result<PatchReview, Error> {
    run.set_stage("checking the patch");
    let (stored, limits) = (patch.clone(), ctx.settings.limits());
    let found = run.with_tree(open, move |tree| find(tree, &stored, limits)).await?;
    let StaticReview { mut findings, test_command } = found;
    run.set_stage("asking the model");
    let ModelReview { answer, model, usage, warnings } =
        ask(ctx, patch, request, &findings, run).await;
    findings.extend(answer.findings.into_iter().take(FINDINGS_MAX).map(shortened));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let worst = findings.first().map(|finding| finding.severity);
    let commands = test_command.map(str::to_owned).into_iter();
    let recommended = answer.testing_recommendations.iter().map(|text| short(text));
    let mut next_steps = next_steps(worst);
    next_steps.extend(answer.next_steps.iter().map(|text| short(text)));
    next_steps.truncate(LINES_MAX);
    // The focus restricts what is listed. The verdict is that on the whole patch.
    let status = status(&findings, !warnings.is_empty());
    findings.retain(|finding| is_in_focus(finding.kind, &request.focus));
    Ok(PatchReview {
        patch_id: patch.id,
        status,
        approval_required: worst >= Some(Severity::High),
        testing_recommendations: commands.chain(recommended).take(LINES_MAX).collect(),
        next_steps,
        findings,
        model,
        usage: PatchUsage {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
        },
        warnings,
        reviewed_at: Utc::now(),
    })
}

fn short(text: &str) -> String {
    text.chars().take(TEXT_CHARS).collect()
}

fn shortened(finding: Finding) -> Finding {
    let file = finding.file.filter(|file| !file.is_empty()).map(|file| short(&file));
    Finding { message: short(&finding.message), file, ..finding }
}

fn is_in_focus(kind: FindingKind, focus: &[ReviewFocus]) -> bool {
    let wanted = match kind {
        FindingKind::Tests => ReviewFocus::Tests,
        FindingKind::Migration => ReviewFocus::Migration,
        FindingKind::Risk | FindingKind::Size | FindingKind::Defect => ReviewFocus::Risks,
        // Without it, the patch is of no use.
        FindingKind::Syntax | FindingKind::Conflict => return true,
    };
    focus.is_empty() || focus.contains(&wanted)
}

/// Returns the verdict. `is_partial` tells that a model has not seen all of the patch.
fn status(findings: &[Finding], is_partial: bool) -> ReviewStatus {
    let blocks = |finding: &Finding| {
        finding.severity == Severity::Critical
            || finding.kind == FindingKind::Conflict
            || (finding.kind == FindingKind::Syntax && finding.severity >= Severity::High)
    };
    if findings.iter().any(blocks) {
        return ReviewStatus::Blocked;
    }
    let matters = findings.iter().any(|finding| finding.severity >= Severity::Medium);
    if matters || is_partial { ReviewStatus::Warnings } else { ReviewStatus::Ok }
}

fn next_steps(worst: Option<Severity>) -> Vec<String> {
    let steps: &[&str] = match worst {
        Some(Severity::Critical) => &["Correct the critical findings, and propose it again."],
        Some(Severity::High) => &["Have a person look at the findings of severity high."],
        Some(_) => &["Look at the findings."],
        None => &[],
    };
    steps.iter().map(|step| (*step).to_owned()).collect()
}

/// Finds what needs no model.
fn find(tree: &MaskedTree<'_>, patch: &StoredPatch, limits: Limits) -> Result<StaticReview, Error> {
    let mut findings = Vec::new();
    let mut add = |kind, severity, file: Option<&str>, message: String| {
        let (message, file) = (masked(&message), file.map(masked));
        findings.push(Finding { kind, severity, message, file });
    };
    let shown = placed(tree, patch, limits)?;
    for problem in problems(&shown) {
        let message = format!("it does not fit the workspace any more: {problem}");
        add(FindingKind::Conflict, Severity::High, None, message);
    }
    for Risk { path, kind } in &shown.checked.risks {
        add(of_risk(*kind), kind.severity(), Some(path), kind.message().to_owned());
    }
    for file in &shown.checked.files {
        if let Some((severity, message)) = syntax_finding(file) {
            add(FindingKind::Syntax, severity, Some(&file.patch.path), message);
        }
    }
    let files = || shown.checked.files.iter().map(|file| &file.patch);
    let changed: usize =
        files().map(FilePatch::line_counts).map(|(added, removed)| added + removed).sum();
    if changed > MANY_LINES {
        let message = format!("{changed} changed lines are hard to review; split it");
        add(FindingKind::Size, Severity::Medium, None, message);
    }
    let is_code = |path: &str| mc_indexer::language::is_code(path);
    let code = files().find(|file| is_code(&file.path) && !code_path::is_test(&file.path));
    let has_test = files().any(|file| code_path::is_test(&file.path));
    if let Some(file) = code.filter(|_| !has_test) {
        let message = "changes code, but no test".to_owned();
        add(FindingKind::Tests, Severity::Medium, Some(&file.path), message);
    }
    let has_file = |name: &str| tree.root.metadata(name).is_ok();
    let known = TEST_COMMANDS.iter().find(|(file, _)| has_file(file));
    Ok(StaticReview { findings, test_command: known.map(|(_, command)| *command) })
}

fn of_risk(kind: RiskKind) -> FindingKind {
    match kind {
        RiskKind::Migration => FindingKind::Migration,
        RiskKind::DeletedTest => FindingKind::Tests,
        _ => FindingKind::Risk,
    }
}

/// Returns what is found about new syntax errors of a file.
fn syntax_finding(file: &PlannedFile<FileProblem>) -> Option<(Severity, String)> {
    let NewSyntaxErrors { were_none, line } = new_syntax_errors(file)?;
    Some(if were_none {
        (Severity::High, format!("can't be parsed after the patch: syntax error at line {line}"))
    } else {
        (Severity::Medium, format!("has more syntax errors than before, first at line {line}"))
    })
}

/// Asks the chat model, and tells why it has not seen all of the patch.
async fn ask(
    ctx: &CodingContext,
    patch: &StoredPatch,
    request: &ReviewPatch,
    found: &[Finding],
    run: &Run,
) -> ModelReview {
    let chat = ctx.project.memory.chat(ctx.project.project.id);
    let failed = |error: &chat::Error| ModelReview {
        warnings: vec![masked(&format!("no model reviewed it: {error}"))],
        ..ModelReview::default()
    };
    let model = match chat.model(ModelRole::Coder) {
        Ok(model) => model,
        Err(error) => return failed(&error),
    };
    let Question { data, left_out } = question(patch, request, found, model.max_prompt_bytes());
    let question = ChatRequest::new(sanitized(INSTRUCTIONS), sanitized(&data));
    let question = question.greedy().with_json(Arc::clone(&ANSWER));
    let read = |answer: &serde_json::Value| Answer::deserialize(answer);
    match chat.complete_json_counted(ModelRole::Coder, &question, read).await {
        Ok((answer, usage)) => {
            run.count(usage);
            let warnings = left_out.map(|files| {
                masked(&format!(
                    "the model did not see the changes of {files}; propose smaller patches, or \
                     raise max_prompt_bytes of the model"
                ))
            });
            let model = model.name().to_owned();
            ModelReview { answer, model, usage, warnings: warnings.into_iter().collect() }
        }
        Err(error) => failed(&error),
    }
}

/// What a model is asked.
struct Question {
    data: String,
    /// Files whose changes do not fit.
    left_out: Option<String>,
}

/// Returns the question about a patch, with the changes of as many files as fit a prompt.
fn question(
    patch: &StoredPatch,
    request: &ReviewPatch,
    found: &[Finding],
    max_bytes: usize,
) -> Question {
    let focus = if request.focus.is_empty() { ReviewFocus::ALL } else { &request.focus };
    let data = |diff: &str| {
        json!({
            "instructions": neutralize(&patch.instructions), "focus": focus, "found": found,
            "diff": diff,
        })
        .to_string()
    };
    let mut left = max_bytes.saturating_sub(INSTRUCTIONS.len() + data("").len());
    let mut diff = String::new();
    let mut left_out = Vec::new();
    for file in files_of(&patch.diff) {
        let shown = neutralize(file);
        // In JSON, some characters are longer.
        let bytes = json!(shown).to_string().len();
        if bytes <= left {
            left -= bytes;
            diff.push_str(&shown);
        } else {
            left_out.push(name_of(file));
        }
    }
    let left_out = (!left_out.is_empty()).then(|| left_out.join(", "));
    Question { data: data(&diff), left_out }
}

/// Splits a diff before the header of each file. Lines of contents begin with another character.
fn files_of(diff: &str) -> Vec<&str> {
    let mut starts: Vec<usize> =
        diff.match_indices(&format!("\n{FILE_HEADER}")).map(|(start, _)| start + 1).collect();
    starts.insert(0, 0);
    starts.push(diff.len());
    starts.windows(2).map(|pair| &diff[pair[0]..pair[1]]).collect()
}

/// Returns the name of a file by the header of its diff.
fn name_of(diff: &str) -> &str {
    let header = diff.lines().next().unwrap_or_default();
    header.rsplit_once(" b/").map_or(header, |(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: FindingKind, severity: Severity) -> Finding {
        Finding { kind, severity, message: String::new(), file: None }
    }

    #[test]
    fn verdict_follows_the_findings() {
        let of = |findings: &[Finding]| status(findings, false);
        assert_eq!(of(&[]), ReviewStatus::Ok);
        assert_eq!(of(&[finding(FindingKind::Risk, Severity::Low)]), ReviewStatus::Ok);
        assert_eq!(of(&[finding(FindingKind::Tests, Severity::Medium)]), ReviewStatus::Warnings);
        assert_eq!(of(&[finding(FindingKind::Risk, Severity::High)]), ReviewStatus::Warnings);
        for blocking in [
            finding(FindingKind::Risk, Severity::Critical),
            finding(FindingKind::Conflict, Severity::High),
            finding(FindingKind::Syntax, Severity::High),
        ] {
            assert_eq!(of(&[blocking]), ReviewStatus::Blocked);
        }
        assert_eq!(status(&[], true), ReviewStatus::Warnings, "not all of it was looked at");
    }

    #[test]
    fn diff_is_split_into_its_files() {
        let first = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-diff --git a/x b/x\n+y\n";
        let second = "diff --git a/my file b/my file\n--- a/my file\n";
        let both = format!("{first}{second}");
        assert_eq!(files_of(&both), [first, second]);
        assert_eq!(files_of(first), [first]);
        assert_eq!([name_of(first), name_of(second)], ["a", "my file"]);
    }

    #[test]
    fn focus_leaves_out_other_findings() {
        let tests = [ReviewFocus::Tests];
        assert!(is_in_focus(FindingKind::Tests, &tests) && !is_in_focus(FindingKind::Risk, &tests));
        assert!(is_in_focus(FindingKind::Conflict, &tests) && is_in_focus(FindingKind::Risk, &[]));
    }

    #[test]
    fn schema_of_the_answer_is_valid() {
        assert_eq!(ANSWER.name(), "patch_review");
    }
}
