//! `memory-copilot aelp`: the system prompt of a project and its optimization.

use anyhow::{Context as _, Result};
use mc_contract::operations::hygiene::RunHygiene;
use mc_contract::operations::prompt::SetPrompt;
use mc_domain::HygieneTask;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::{AelpCommand, ProjectArg};
use crate::input;
use crate::output::{Format, list, number, text, time};
use crate::terminal;

pub async fn run(command: AelpCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        AelpCommand::Status { project } => {
            let status = status(&project, remote).await?;
            format.print(&status, status_text);
        }
        AelpCommand::Show { project } => {
            let prompt = remote.get(&path(&project, "")?, &[]).await?;
            format.print(&prompt, |prompt| terminal::lines(text(prompt, "text")).into_owned());
        }
        AelpCommand::Diff { version, project } => {
            let found = match version {
                Some(version) => {
                    remote.get(&path(&project, &format!("/versions/{version}"))?, &[]).await?
                }
                None => served(&project, remote).await?,
            };
            format.print(&found, diff_text);
        }
        AelpCommand::Run { project, dry_run } => {
            let request = RunHygiene { task: HygieneTask::Prompt, dry_run, expiry_decision: None };
            let run = remote.post(&project.path("hygiene-runs")?, json!(request)).await?;
            format.print(&run, |run| {
                let id = text(run, "id");
                format!("The night is queued. See its run with `memory-copilot hygiene show {id}`.")
            });
        }
        AelpCommand::Promote { project } => {
            let promoted = remote.post(&path(&project, "/promote")?, json!({})).await?;
            format.print(&promoted, |promoted| {
                format!("All developers get version {}.", number(promoted, "version"))
            });
        }
        AelpCommand::Rollback { project } => {
            let former = remote.post(&path(&project, "/rollback")?, json!({})).await?;
            format.print(&former, |former| {
                format!("Version {} is taken back.", number(former, "version"))
            });
        }
        AelpCommand::Set { file, project } => {
            let prompt =
                prompt_in(&input::text(&file)?).with_context(|| file.display().to_string())?;
            let set = remote.put(&path(&project, "")?, json!(prompt)).await?;
            format.print(&set, |set| {
                format!("All developers get version {}.", number(set, "version"))
            });
        }
    }
    Ok(())
}

fn path(project: &ProjectArg, rest: &str) -> Result<String> {
    Ok(format!("/prompts/{}{rest}", project.key()?))
}

/// Reads a prompt: the fields of [`SetPrompt`], or a committed file, which has them in
/// `prompt`.
fn prompt_in(yaml: &str) -> Result<SetPrompt> {
    let document: serde_norway::Value = serde_norway::from_str(yaml)?;
    let prompt = document.get("prompt").cloned().unwrap_or(document);
    Ok(serde_norway::from_value(prompt)?)
}

/// Returns the version in a state, if there is one.
fn in_state(versions: &Value, state: &str) -> Option<Value> {
    list(versions, "items").iter().find(|version| text(version, "state") == state).cloned()
}

async fn versions(project: &ProjectArg, remote: &ApiClient) -> Result<Value> {
    remote.get(&path(project, "/versions")?, &[("limit", "200")]).await
}

/// Returns the versions that are served, and the last night.
async fn status(project: &ProjectArg, remote: &ApiClient) -> Result<Value> {
    let versions = versions(project, remote).await?;
    let query = [("task", HygieneTask::Prompt.as_str()), ("limit", "1")];
    // Only maintainers may see nights.
    let nights = remote.get_if_allowed(&project.path("hygiene-runs")?, &query).await?;
    Ok(json!({
        "project_key": project.key()?.to_string(),
        "current": in_state(&versions, "current"),
        "canary": in_state(&versions, "canary"),
        "last_night": nights.as_ref().and_then(|nights| list(nights, "items").first()),
    }))
}

/// Returns the version that is tried, else the one in use.
async fn served(project: &ProjectArg, remote: &ApiClient) -> Result<Value> {
    let versions = versions(project, remote).await?;
    let found = in_state(&versions, "canary").or_else(|| in_state(&versions, "current"));
    found.context("the project has only the built-in prompt; `memory-copilot aelp show` prints it")
}

fn status_text(status: &Value) -> String {
    let mut lines = vec![match &status["current"] {
        Value::Null => "in use    the built-in prompt".to_owned(),
        current => format!("in use    {}", version_text(current)),
    }];
    lines.push(match &status["canary"] {
        Value::Null => "tried     none".to_owned(),
        canary => format!("tried     {}", version_text(canary)),
    });
    let report = &status["canary"]["report"];
    if report.is_object() {
        lines.push(format!("          {} with it", arm_text(&report["canary"])));
        lines.push(format!("          {} with the version in use", arm_text(&report["parent"])));
        lines.push(format!("          {}", decision_text(&report["decision"])));
    }
    lines.push(match &status["last_night"] {
        Value::Null => "last night: none, or you may not see it".to_owned(),
        night => {
            let dry = if night["dry_run"] == true { ", a dry run" } else { "" };
            let reason = list(night, "findings").iter().find_map(|found| found["reason"].as_str());
            let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
            let end = night["last_error"].as_str().map(|error| format!(": {error}"));
            format!("night     {}{dry}{}", time(night, "requested_at", 19), end.unwrap_or(reason))
        }
    });
    lines.iter().map(terminal::line).collect::<Vec<_>>().join("\n")
}

fn version_text(version: &Value) -> String {
    let quality = &version["quality"];
    let gain = quality["gain"].as_f64();
    let gain = gain.map(|gain| format!(", gain {:+.1} points", gain * 100.0)).unwrap_or_default();
    let by = version["created_by"].as_str().unwrap_or("the optimizer");
    format!(
        "version {} by {by}, {}: {}{gain}",
        number(version, "version"),
        time(version, "created_at", 10),
        text(quality, "label").replace('_', " ")
    )
}

fn arm_text(arm: &Value) -> String {
    format!(
        "{} of {} dialogs of {} developers succeeded",
        number(arm, "succeeded"),
        number(arm, "dialogs"),
        number(arm, "developers")
    )
}

fn decision_text(decision: &Value) -> String {
    if decision["kind"] != "continue" {
        return text(decision, "kind").replace('_', " ");
    }
    format!(
        "it goes on: {}; the next look is on night {}, the last one on night {}",
        text(decision, "reason").replace('_', " "),
        number(&decision["needed"], "next_look_night"),
        number(&decision["needed"], "last_night")
    )
}

fn diff_text(version: &Value) -> String {
    let head = format!(
        "version {} from {}",
        number(version, "version"),
        version["parent_version"].as_i64().map_or("-".to_owned(), |parent| parent.to_string())
    );
    let diff = text(version, "diff");
    let diff = if diff.is_empty() { "There is no difference." } else { diff };
    format!("{head}\n{}", terminal::lines(diff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_says_what_is_tried_and_why_it_goes_on() {
        let arm = |dialogs, succeeded| {
            let developers = 2;
            json!({"developers": developers, "dialogs": dialogs, "succeeded": succeeded})
        };
        let status = json!({
            "current": {
                "version": 7, "created_by": "vera", "created_at": "2026-11-20T10:00:00Z",
                "quality": {"label": "unmeasured"},
            },
            "canary": {
                "version": 8, "created_at": "2026-11-21T06:00:00Z",
                "quality": {"label": "better_offline", "gain": 0.123},
                "report": {"canary": arm(4, 3), "parent": arm(40, 20), "decision": {
                    "kind": "continue", "reason": "too_few_dialogs",
                    "needed": {"next_look_night": 7, "last_night": 28},
                }},
            },
            "last_night": {
                "requested_at": "2026-11-22T06:00:00.1Z",
                "findings": [{"reason": "version 8 is a canary\n"}],
            },
        });
        let expected = [
            "in use    version 7 by vera, 2026-11-20: unmeasured",
            "tried     version 8 by the optimizer, 2026-11-21: better offline, gain +12.3 points",
            "          3 of 4 dialogs of 2 developers succeeded with it",
            "          20 of 40 dialogs of 2 developers succeeded with the version in use",
            "          it goes on: too few dialogs; the next look is on night 7, the last one on \
             night 28",
            r"night     2026-11-22T06:00:00: version 8 is a canary\n",
        ];
        assert_eq!(status_text(&status).lines().collect::<Vec<_>>(), expected);
        let none = status_text(&json!({}));
        assert!(none.starts_with("in use    the built-in prompt\ntried     none\n"), "{none}");
    }

    #[test]
    fn prompt_is_read_from_its_fields_or_from_a_committed_file() {
        let fields = "instructions:\n- {id: own, text: Run the tests.}\n";
        let file = "project: shop\nversion: 8\nprompt:\n  instructions:\n  - {id: own, text: \
                    Run the tests.}\n  examples: []\n";
        for yaml in [fields, file] {
            let prompt = prompt_in(yaml).expect("a prompt");
            assert_eq!(prompt.instructions[0].text.as_str(), "Run the tests.");
        }
        let error = prompt_in("instruction: []\n").expect_err("no field").to_string();
        assert!(error.contains("instruction"), "{error}");
    }

    #[test]
    fn diff_of_a_version_is_escaped() {
        let version = json!({"version": 8, "parent_version": 7, "diff": "+[a] \u{1b}[2J\n"});
        let shown = diff_text(&version);
        assert!(shown.starts_with("version 8 from 7\n+[a] ") && !shown.contains('\u{1b}'));
    }
}
