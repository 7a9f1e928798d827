//! What a model is shown: files, what the team knows, and passages that a search found.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use mc_contract::operations::patch::GeneratePatch;
use mc_contract::operations::rag::{RagMatch, RagSearchRequest};
use mc_domain::{BundleId, IngestStatus, Trust};
use mc_files::{Entry, FileKind};
use mc_memory::RecallRequest;
use mc_memory::bundle::Bundle;
use mc_store::ingest_runs;
use mc_workspaces::edit::MaskedTree;
use mc_workspaces::open::OpenWorkspace;
use mc_workspaces::path::resolve;
use serde_json::json;

use crate::masking::masked;
use crate::prompt::Prompt;
use crate::run::Run;
use crate::service::CodingContext;
use crate::{Error, PathRules};

/// Time of the recall.
const RECALL_TIME: Duration = Duration::from_secs(2);
/// Share of the data that is for what the team knows.
const MEMORY_SHARE: usize = 4;
/// Share of the data that a search may take, if there are files as well.
const SEARCH_SHARE: usize = 4;
/// How often the state of an index run is read, and for how long.
const INDEX_POLL: Duration = Duration::from_millis(500);
const INDEX_WAIT: Duration = Duration::from_mins(10);
/// Most files of directories among the target paths that are shown.
const TARGET_FILES: usize = 20;
/// Lines around a passage that was found.
const MARGIN: usize = 10;

/// The data of a prompt.
#[derive(Debug)]
pub(crate) struct Context {
    /// The prompt with the data.
    pub prompt: Prompt,
    /// The bundle that it shows.
    pub bundle: Option<BundleId>,
    /// What it does not show, and why.
    pub warnings: Vec<String>,
}

/// Adds to the prompt what helps with the request.
pub(crate) async fn gather(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    request: &GeneratePatch,
    paths: &PathRules,
    mut prompt: Prompt,
    run: &Run,
) -> Result<Context, Error> {
    let mut warnings = Vec::new();
    if request.wait_for_index {
        run.set_stage("waiting for the index");
        wait_for_index(ctx, open, &mut warnings).await?;
    }
    run.set_stage("reading the context");
    let mut bundle = None;
    if request.use_memory.unwrap_or(true) {
        match recall(ctx, request, paths).await {
            Ok(found) if !found.is_empty() => {
                let share = prompt.left() / MEMORY_SHARE;
                let title = |lines| format!("what the team knows, {lines} lines");
                if prompt.add_lines(title, &statements(&found), share).is_some() {
                    bundle = Some(found.id);
                }
            }
            Ok(_) => {}
            Err(error) => warnings.push(masked(&format!("nothing was recalled: {error}"))),
        }
    }
    let matches = if request.use_search.unwrap_or(true) {
        search(ctx, open, request).await.unwrap_or_else(|error| {
            warnings.push(masked(&format!("nothing was searched: {error}")));
            Vec::new()
        })
    } else {
        Vec::new()
    };
    let files = files(request, paths)?;
    let read = run.with_tree(open, move |tree| {
        let mut prompt = prompt;
        let mut notes = Vec::new();
        let reserved = if matches.is_empty() { 0 } else { prompt.left() / SEARCH_SHARE };
        let shown = add_files(tree, &files, reserved, &mut prompt, &mut notes)?;
        add_matches(tree, &matches, &shown, &mut prompt);
        Ok((prompt, notes))
    });
    let (prompt, notes) = read.await?;
    warnings.extend(notes);
    Ok(Context { prompt, bundle, warnings })
}

/// Waits for the end of the index run that the workspace has requested.
async fn wait_for_index(
    ctx: &CodingContext,
    open: &OpenWorkspace,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let Some(run) = open.workspace.ingest_run else { return Ok(()) };
    let waited = tokio::time::timeout(INDEX_WAIT, async {
        loop {
            match ingest_runs::find(&ctx.project.store, run).await?.map(|run| run.status) {
                Some(IngestStatus::Queued | IngestStatus::Running) => {}
                ended => return Ok::<_, Error>(ended),
            }
            tokio::time::sleep(INDEX_POLL).await;
        }
    });
    match waited.await {
        Ok(ended) => {
            if ended? == Some(IngestStatus::Failed) {
                warnings.push("the index run failed; see repo_rag_index_status".to_owned());
            }
        }
        Err(_) => warnings.push("the index run has not ended after ten minutes".to_owned()),
    }
    Ok(())
}

async fn recall(
    ctx: &CodingContext,
    request: &GeneratePatch,
    paths: &PathRules,
) -> Result<Bundle, mc_memory::Error> {
    let recall = RecallRequest {
        project: ctx.project.project.id,
        principal: ctx.principal.name().to_owned(),
        is_control: false,
        query: Some(request.instructions.as_str().to_owned()),
        task_external_id: request.task_external_id.clone().map(Into::into),
        repo_path: paths.targets().first().filter(|path| !path.is_empty()).cloned(),
        symbols: Vec::new(),
        signals: Vec::new(),
        limit: mc_memory::TokenBudget::default(),
        time_budget: RECALL_TIME,
    };
    mc_memory::recall(&ctx.project.memory, &recall).await
}

/// Returns the statements and examples of a bundle, one a line. Untrusted ones are left out.
fn statements(bundle: &Bundle) -> String {
    let mut text = String::new();
    let mut add = |kind: &str, trust: Trust, statement: &str, warning: Option<&str>| {
        if trust > Trust::Untrusted {
            let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
            let warning = warning.map(|warning| format!(" ({warning})")).unwrap_or_default();
            let _ = writeln!(text, "- {kind}: {}{warning}", mc_prompt_guard::neutralize(&line));
        }
    };
    for item in bundle.gotchas.iter().chain(&bundle.facts) {
        add(item.kind.as_str(), item.trust, &item.text, item.warning.as_deref());
    }
    for example in &bundle.few_shots {
        let steps = example.steps.join("; ");
        let told = [example.title.as_str(), example.text.as_deref().unwrap_or_default(), &steps];
        let told: Vec<_> = told.into_iter().filter(|part| !part.is_empty()).collect();
        add("example", example.trust, &told.join(": "), example.warning.as_deref());
    }
    text
}

async fn search(
    ctx: &CodingContext,
    open: &OpenWorkspace,
    request: &GeneratePatch,
) -> Result<Vec<RagMatch>, mc_rag::Error> {
    let search: RagSearchRequest = serde_json::from_value(json!({
        "project_key": ctx.project.project.key.as_str(),
        "repoOwner": open.workspace.repo_owner,
        "repoName": open.workspace.repo_name,
        "rawQuery": request.instructions.as_str(),
        "profile": "fast",
    }))
    .expect("the names of a repository and the instructions keep the rules of a search");
    Ok(mc_rag::search(&ctx.rag, &ctx.rag_settings, &search).await?.matches)
}

/// A file to show.
#[derive(Debug)]
struct ShownFile {
    path: String,
    max_bytes: usize,
    /// Whether the request names the file.
    is_named: bool,
}

/// Returns the files that the request names, else its target paths.
fn files(request: &GeneratePatch, paths: &PathRules) -> Result<Vec<ShownFile>, Error> {
    let default = mc_contract::number::ContextBytes::default().get();
    if request.context_files.is_empty() {
        let target =
            |path: &String| ShownFile { path: path.clone(), max_bytes: default, is_named: false };
        return Ok(paths.targets().iter().map(target).collect());
    }
    let named = request.context_files.iter().map(|file| {
        let path = resolve("", file.path.as_str())?;
        let max_bytes = file.max_bytes.unwrap_or_default().get();
        Ok(ShownFile { path, max_bytes, is_named: true })
    });
    named.collect()
}

/// Adds files, and keeps `reserved` bytes for other data. Returns the paths of those that are shown
/// whole.
fn add_files(
    tree: &MaskedTree<'_>,
    files: &[ShownFile],
    reserved: usize,
    prompt: &mut Prompt,
    warnings: &mut Vec<String>,
) -> Result<HashSet<String>, Error> {
    let mut whole = HashSet::new();
    for file in files {
        for path in below(tree, file)? {
            let opened = match tree.file(&path) {
                Ok(opened) => opened,
                Err(error) if file.is_named => return Err(error.into()),
                // A target may be a file to create.
                Err(_) => continue,
            };
            let view = opened.view();
            let shown = view.shown();
            let total = shown.lines().count();
            let max = file.max_bytes.min(prompt.left().saturating_sub(reserved));
            let title = |lines| format!("file {path}, lines 1 to {lines} of {total}");
            match prompt.add_lines(title, shown, max) {
                Some(lines) if lines == total => {
                    whole.insert(path);
                }
                Some(lines) => warnings.push(masked(&format!(
                    "the model was shown {lines} of {total} lines of {path}; raise maxBytes, or \
                     max_prompt_bytes of the model"
                ))),
                None => warnings.push(masked(&format!(
                    "the model was not shown {path}; name fewer files, or raise max_prompt_bytes \
                     of the model"
                ))),
            }
        }
    }
    Ok(whole)
}

/// Returns the files at a path: itself, or the first ones directly in the directory.
fn below(tree: &MaskedTree<'_>, file: &ShownFile) -> Result<Vec<String>, Error> {
    let is_directory =
        tree.root.metadata(&file.path).is_ok_and(|found| found.kind == FileKind::Directory);
    if !is_directory || file.is_named {
        return Ok(vec![file.path.clone()]);
    }
    let at = |error| mc_workspaces::Error::File { path: file.path.clone(), error };
    let entries = tree.root.list(&file.path).map_err(at)?.entries.into_iter();
    let is_file =
        |entry: &Entry| entry.metadata.as_ref().is_some_and(|found| found.kind == FileKind::File);
    let names = entries.filter(is_file).filter_map(|entry| entry.name.into_string().ok());
    let prefix = if file.path.is_empty() { String::new() } else { format!("{}/", file.path) };
    let mut paths: Vec<String> = names.map(|name| format!("{prefix}{name}")).collect();
    paths.sort();
    paths.truncate(TARGET_FILES);
    Ok(paths)
}

/// Adds the lines of the workspace around passages of the index, which may be older.
fn add_matches(
    tree: &MaskedTree<'_>,
    matches: &[RagMatch],
    whole: &HashSet<String>,
    prompt: &mut Prompt,
) {
    for found in matches.iter().filter(|found| !whole.contains(&found.path)) {
        let Ok(opened) = tree.file(&found.path) else { continue };
        let view = opened.view();
        let lines: Vec<&str> = view.shown().split_inclusive('\n').collect();
        let line = |number: i32| usize::try_from(number).unwrap_or(0);
        let start = line(found.metadata.line_start).saturating_sub(1 + MARGIN).min(lines.len());
        let end = line(found.metadata.line_end).saturating_add(MARGIN).min(lines.len()).max(start);
        let (path, total) = (&found.path, lines.len());
        let title =
            |shown| format!("file {path}, lines {} to {} of {total}", start + 1, start + shown);
        if prompt.add_lines(title, &lines[start..end].concat(), usize::MAX).is_none() {
            return;
        }
    }
}
