//! `memory-copilot hook`: commands that Claude Code runs at its events, so that recalls and saves
//! do not depend on the model.
//!
//! They never stop the user: every failure is a line on standard error and a success, and all work
//! has a time limit.

mod transcript;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use mc_domain::ProjectKey;
use mc_mcp::{MemoryServer, ServerSettings, TOOLS};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::api_client::ApiClient;
use crate::cli::HookCommand;
use crate::output;

/// How long a command may take. Claude Code ends it a few seconds later.
const TIME_LIMIT: Duration = Duration::from_secs(6);
/// Size of the largest event that is read, in bytes.
const MAX_EVENT_BYTES: u64 = 4 << 20;
/// Longest part of a prompt that is searched for, in characters.
const MAX_QUERY_CHARS: usize = 2_000;
/// Fewest words of a prompt that is searched for: "go on" asks for nothing.
const MIN_QUERY_WORDS: usize = 3;
/// Size of a bundle for each prompt, in tokens.
const LIMIT_TOKENS: u32 = 1_200;
/// Lists of a bundle.
const LISTS: [&str; 6] = ["gotchas", "facts", "few_shots", "links", "dialogs", "code"];

/// What the assistant is asked at the end of a turn that changed files without a save.
const ASK_TO_SAVE: &str = "This turn changed files, and nothing was saved to the team memory. If \
    it taught something that the next person can't see from the code (the reason of a bug, a trap, \
    a decision, an agreement), call the tool `save` of memory-copilot once for each, in two or \
    three sentences that stand alone, with citations. If not, end your turn without a comment.";

/// The event of Claude Code.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Event {
    prompt: String,
    transcript_path: PathBuf,
    /// Whether the turn goes on because of this command.
    stop_hook_active: bool,
}

/// Runs a command, and reports failures without failing.
pub async fn run(command: HookCommand, remote: ApiClient) -> Result<()> {
    let outcome = match timeout(TIME_LIMIT, response(command, remote)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(anyhow::anyhow!("no response within {} s", TIME_LIMIT.as_secs())),
    };
    match outcome {
        Ok(Some(response)) => output::line(&response.to_string()),
        Ok(None) => {}
        Err(error) => output::error_line(&format!("memory-copilot: skipped: {error:#}")),
    }
    Ok(())
}

/// Returns what Claude Code reads, if there is anything to say.
async fn response(command: HookCommand, remote: ApiClient) -> Result<Option<Value>> {
    let (sender, event) = oneshot::channel();
    // No thread of the runtime, which would wait at its end for a standard input that stays open.
    std::thread::spawn(move || sender.send(read_event()));
    let event = event.await??;
    match command {
        HookCommand::Prompt(project) => recall(&event, project.key()?, remote).await,
        HookCommand::Stop(project) => ask_to_save(&event, &project.key()?, &remote).await,
    }
}

fn read_event() -> Result<Event> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        bail!("Claude Code runs this command and sends an event on standard input");
    }
    let mut text = String::new();
    stdin.lock().take(MAX_EVENT_BYTES).read_to_string(&mut text)?;
    serde_json::from_str(&text).context("standard input is no event of Claude Code")
}

/// Recalls for a prompt. Commands such as `/clear` and short answers ask for nothing.
async fn recall(event: &Event, project: ProjectKey, remote: ApiClient) -> Result<Option<Value>> {
    let Some(query) = query(&event.prompt) else { return Ok(None) };
    let settings = ServerSettings { default_project: Some(project), ..ServerSettings::default() };
    let server = MemoryServer::new(remote.into_core(), settings);
    let tool = TOOLS.iter().find(|tool| tool.name() == "recall").context("no tool recall")?;
    let arguments = json!({ "query": query, "limit_tokens": LIMIT_TOKENS });
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    let result = server.call(tool, arguments).await.map_err(super::tool::for_people)?;
    let bundle = result.structured_content.unwrap_or_default();
    if LISTS.iter().all(|name| output::list(&bundle, name).is_empty()) {
        return Ok(None);
    }
    let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str()));
    Ok(Some(json!({
        "hookSpecificOutput": {
            "hookEventName": "UserPromptSubmit",
            "additionalContext": texts.collect::<Vec<_>>().join("\n"),
        }
    })))
}

fn query(prompt: &str) -> Option<String> {
    let prompt = prompt.trim();
    let is_command = prompt.starts_with(['/', '!', '#']);
    let is_short = prompt.split_whitespace().count() < MIN_QUERY_WORDS;
    (!is_command && !is_short).then(|| prompt.chars().take(MAX_QUERY_CHARS).collect())
}

/// Asks for a save once, after a turn that changed files and saved nothing. If the service is away,
/// the assistant could not save, so nothing is asked.
async fn ask_to_save(
    event: &Event,
    project: &ProjectKey,
    remote: &ApiClient,
) -> Result<Option<Value>> {
    if event.stop_hook_active {
        return Ok(None);
    }
    let path = event.transcript_path.clone();
    let tools =
        tokio::task::spawn_blocking(move || transcript::tools_of_last_turn(&path)).await??;
    if !tools.iter().any(|name| transcript::changes_files(name))
        || tools.iter().any(|name| transcript::saves(name))
    {
        return Ok(None);
    }
    remote.get(&format!("/projects/{project}"), &[]).await?;
    Ok(Some(json!({ "decision": "block", "reason": ASK_TO_SAVE })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prompts_that_ask_something_are_searched_for() {
        for prompt in ["", "go on", "/clear the whole context now", "# remember this for later"] {
            assert_eq!(query(prompt), None, "{prompt}");
        }
        assert_eq!(query(" why is the delay nil\n").as_deref(), Some("why is the delay nil"));
        assert_eq!(query(&"a b ".repeat(5_000)).expect("a query").len(), MAX_QUERY_CHARS);
    }
}
