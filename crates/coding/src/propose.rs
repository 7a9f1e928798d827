//! Proposes a patch: by the chat model of the service, or as the client sent it.

use std::sync::Arc;

use mc_chat::{ChatRequest, Content, Message, ModelRole, Role, Usage};
use mc_contract::operations::patch::{GeneratePatch, PatchAnnotations, PatchedFile};
use mc_contract::text::{DiffText, ShortText, WorkspacePath};
use mc_domain::{BundleId, PatchId, shorten};
use mc_patch::FilePatch;
use mc_sanitizer::Sanitized;
use mc_store::patches::{self, NewPatch, OpenPatch};
use mc_workspaces::open::OpenWorkspace;
use tokio_util::sync::CancellationToken;

use crate::answer::{Notes, has_patch};
use crate::context::{self, Context};
use crate::masking::{masked, sanitized};
use crate::prompt::{self, Prompt};
use crate::run::Run;
use crate::service::CodingContext;
use crate::{CheckError, CodingSettings, Error, PathRules, ShownPatch, check_shown};

/// Most patches that are compared with a new one.
const COMPARED: i64 = 100;
/// Share of a prompt that is for the messages of a repair.
const REPAIR_SHARE: usize = 5;
/// Most bytes of the state of the workspace.
const STATUS_BYTES: usize = 64 * 1024;
/// Longest line that an error quotes, in characters.
const LINE_CHARS: usize = 160;

/// A patch that applies, with what is said about it.
struct Proposal {
    checked: Checked,
    notes: Notes,
    usage: Usage,
    model: String,
    bundle: Option<BundleId>,
    warnings: Vec<String>,
    /// Other changes of the same files.
    conflicts: Vec<String>,
}

/// What is kept of a checked patch.
struct Checked {
    diff: Sanitized,
    grade: &'static str,
    files: Vec<PatchedFile>,
    risks: Vec<String>,
}

/// Proposes a patch, and stores it.
pub(crate) async fn propose(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    request: &GeneratePatch,
    run: &Run,
) -> Result<PatchId, Error> {
    let settings = &*ctx.settings;
    let targets = request.target_paths.items().iter().map(WorkspacePath::as_str);
    let forbidden = request.forbidden_paths.items().iter().map(WorkspacePath::as_str);
    let forbidden = forbidden.chain(settings.forbidden_paths.iter().map(String::as_str));
    let paths = PathRules::new(targets, forbidden)?;
    paths.check_masking()?;
    let of_commit = Box::pin(of_one_commit(ctx, open, request, &paths, run));
    let (proposal, base_commit) = run.until_cancelled(of_commit).await?;
    run.set_stage("storing the patch");
    store(ctx, open, request, &paths, proposal, &base_commit).await
}

/// Returns a patch with the commit that was checked out while it was made; empty without one.
async fn of_one_commit(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    request: &GeneratePatch,
    paths: &PathRules,
    run: &Run,
) -> Result<(Proposal, String), Error> {
    let head = async || open.work_tree.head(&run.cancel).await.map(Option::unwrap_or_default);
    let base_commit = head().await?;
    let mut proposal = match &request.diff {
        Some(diff) => of_client(&ctx.settings, open, paths, diff, run).await?,
        None => of_model(ctx, open, request, paths, run).await?,
    };
    proposal.conflicts = conflicts(ctx, open, &proposal.checked.files, &run.cancel).await?;
    if head().await? != base_commit {
        return Err(Error::OtherCommit);
    }
    Ok((proposal, base_commit))
}

/// Checks the patch of a client.
async fn of_client(
    settings: &CodingSettings,
    open: &Arc<OpenWorkspace>,
    paths: &PathRules,
    diff: &DiffText,
    run: &Run,
) -> Result<Proposal, Error> {
    run.set_stage("checking the patch");
    let checked = check(settings, open, paths, diff.as_str().to_owned(), run).await?;
    Ok(Proposal {
        checked: checked.map_err(Error::DoesNotApply)?,
        notes: Notes::default(),
        usage: Usage::default(),
        model: String::new(),
        bundle: None,
        warnings: Vec::new(),
        conflicts: Vec::new(),
    })
}

/// Asks the chat model for a patch, and once more if it does not apply.
async fn of_model(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    request: &GeneratePatch,
    paths: &PathRules,
    run: &Run,
) -> Result<Proposal, Error> {
    let settings = &*ctx.settings;
    let chat = ctx.project.memory.chat(ctx.project.project.id);
    let model = chat.model(ModelRole::Coder)?;
    let max_bytes = model.max_prompt_bytes();
    let model = model.name().to_owned();
    let language = request.language.as_ref().map_or(settings.language.as_str(), ShortText::as_str);
    let instructions = request.instructions.as_str();
    let start = prompt::request(instructions, paths.targets(), paths.forbidden(), language);
    // The rest is for the messages of a repair.
    let of_context =
        (max_bytes - max_bytes / REPAIR_SHARE).saturating_sub(prompt::INSTRUCTIONS.len());
    let start = Prompt::new(&start, of_context);
    let Context { prompt, bundle, warnings } =
        context::gather(ctx, open, request, paths, start, run).await?;
    let question = sanitized(prompt.text());
    let mut question = ChatRequest::new(sanitized(prompt::INSTRUCTIONS), question).greedy();
    let mut usage = Usage::default();
    let mut is_repair = false;
    loop {
        run.set_stage(if is_repair {
            "asking the model to correct it"
        } else {
            "asking the model"
        });
        let completion = chat.complete(ModelRole::Coder, &question).await?;
        run.count(completion.usage);
        usage = usage + completion.usage;
        let Content::Text(answer) = completion.content else {
            return Err(Error::NoPatch(Vec::new()));
        };
        let notes = Notes::of(answer.as_str());
        let problems = match check(settings, open, paths, answer.as_str().to_owned(), run).await {
            Ok(Ok(checked)) => {
                let conflicts = Vec::new();
                return Ok(Proposal { checked, notes, usage, model, bundle, warnings, conflicts });
            }
            Ok(Err(problems)) => problems,
            Err(Error::Check(CheckError::Parse(error))) => {
                if !has_patch(answer.as_str()) {
                    return Err(Error::NoPatch(notes.summary));
                }
                vec![masked(&error.to_string())]
            }
            Err(error) => return Err(error),
        };
        let repair = sanitized(&prompt.repair(&problems));
        is_repair = !is_repair && add_repair(&mut question, answer, &repair, max_bytes);
        if !is_repair {
            return Err(Error::DoesNotApply(problems));
        }
    }
}

/// Adds why the answer of a model was not applied to the question, within a limit in bytes. Without
/// room for the answer, the model writes the whole patch again. Returns whether there is room.
fn add_repair(
    question: &mut ChatRequest,
    answer: Sanitized,
    repair: &Sanitized,
    max_bytes: usize,
) -> bool {
    let left = max_bytes.saturating_sub(question.bytes());
    if answer.as_str().len() + repair.as_str().len() <= left {
        let message = |role, text| Message { role, text };
        question.messages.push(message(Role::Assistant, answer));
        question.messages.push(message(Role::User, repair.clone()));
        return true;
    }
    let fits = repair.as_str().len() < left;
    if let Some(last) = question.messages.last_mut().filter(|_| fits) {
        last.text = sanitized(&format!("{}\n{}", last.text.as_str(), repair.as_str()));
    }
    fits
}

/// Checks a patch against the workspace. The inner error has why files can't be changed.
async fn check(
    settings: &CodingSettings,
    open: &Arc<OpenWorkspace>,
    paths: &PathRules,
    text: String,
    run: &Run,
) -> Result<Result<Checked, Vec<String>>, Error> {
    let (limits, paths) = (settings.limits(), paths.clone());
    let max = settings.max_diff_bytes;
    let checked = run.with_tree(open, move |tree| {
        // As the files are shown. A client may have copied lines from elsewhere.
        let patch = check_shown(tree, &tree.mask(&text), &paths, limits)?;
        if !patch.checked.applies() {
            return Ok(Err(problems(&patch)));
        }
        if patch.diff.is_empty() {
            return Err(Error::Empty);
        }
        // A tolerant placement may have added lines of context.
        if patch.diff.len() > max {
            return Err(CheckError::TooLarge { bytes: patch.diff.len(), max }.into());
        }
        Ok(Ok(checked(&patch)?))
    });
    checked.await
}

/// Returns why files of a patch can't be changed, each in one line.
pub(crate) fn problems(patch: &ShownPatch) -> Vec<String> {
    let problems = patch.checked.problems();
    problems.map(|(file, problem)| masked(&format!("{} {problem}", file.path))).collect()
}

fn checked(patch: &ShownPatch) -> Result<Checked, Error> {
    let diff = sanitized(&patch.diff);
    if diff.as_str() != patch.diff {
        return Err(Error::Unmasked(first_difference(&patch.diff, diff.as_str())));
    }
    let file = |file: &FilePatch| {
        let (added, removed) = file.line_counts();
        PatchedFile {
            path: masked(&file.path),
            old_path: file.source.as_deref().map(masked),
            operation: file.operation.as_str().to_owned(),
            changed_lines: added + removed,
        }
    };
    let risk = |risk: &crate::Risk| masked(&format!("{} {}", risk.path, risk.kind.message()));
    Ok(Checked {
        diff,
        grade: patch.checked.grade().as_str(),
        files: patch.checked.files.iter().map(|planned| file(&planned.patch)).collect(),
        risks: patch.checked.risks.iter().map(risk).collect(),
    })
}

/// Returns the first line of a diff that was masked, as masked. Masking keeps the lines.
fn first_difference(diff: &str, masked: &str) -> String {
    let pairs = diff.lines().zip(masked.lines());
    let line = pairs.into_iter().find(|(line, masked)| line != masked);
    line.map(|(_, masked)| shorten(masked, LINE_CHARS)).unwrap_or_default().to_owned()
}

async fn store(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    request: &GeneratePatch,
    paths: &PathRules,
    proposal: Proposal,
    base_commit: &str,
) -> Result<PatchId, Error> {
    let Proposal { checked, notes, usage, model, bundle, warnings, conflicts } = proposal;
    // What the rules find has to be looked at; the remarks of a model need not be.
    let requires_manual_review = !checked.risks.is_empty();
    let risks = checked.risks.into_iter().chain(notes.risks).collect();
    let summary = if notes.summary.is_empty() { summary(&checked.files) } else { notes.summary };
    let annotations = PatchAnnotations { files: checked.files, risks, conflicts, warnings };
    let annotations = serde_json::to_value(&annotations).expect("annotations are JSON");
    let new = NewPatch {
        project: ctx.project.project.id,
        workspace: open.workspace.id,
        author: ctx.principal.user,
        requires_manual_review,
        instructions: &sanitized(request.instructions.as_str()),
        target_paths: paths.targets(),
        forbidden_paths: paths.forbidden(),
        task_external_id: request.task_external_id.as_ref().map_or("", |id| id.as_str()),
        bundle,
        base_commit,
        model: &model,
        diff: &checked.diff,
        grade: checked.grade,
        summary: &summary,
        annotations: &annotations,
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
        ttl: ctx.settings.ttl(),
    };
    let mut tx = ctx.project.store.begin().await?;
    let id = patches::create(&mut tx, &new).await?;
    tx.commit().await?;
    Ok(id)
}

/// Returns what a patch does to each file, for a patch about which nothing was said.
fn summary(files: &[PatchedFile]) -> Vec<String> {
    let line = |file: &PatchedFile| {
        let PatchedFile { path, old_path, operation, changed_lines } = file;
        let from = old_path.as_ref().map(|old| format!("{old} to ")).unwrap_or_default();
        format!("{operation} {from}{path} ({changed_lines} changed lines)")
    };
    files.iter().map(line).collect()
}

/// Returns other changes of the same files: those of the workspace that are not committed, and
/// those of other patches.
async fn conflicts(
    ctx: &CodingContext,
    open: &OpenWorkspace,
    files: &[PatchedFile],
    cancel: &CancellationToken,
) -> Result<Vec<String>, Error> {
    let paths: Vec<&str> = files.iter().flat_map(paths_of).collect();
    let status = open.work_tree.status(&paths, STATUS_BYTES, cancel).await?.bytes;
    let status = String::from_utf8_lossy(&status);
    let is_change = |line: &&str| !line.starts_with("##") && line.len() > 3;
    let changed = status.lines().filter(is_change);
    let mut conflicts: Vec<String> = changed
        .map(|line| masked(&format!("{} has changes that are not committed", &line[3..])))
        .collect();
    let (store, project) = (&ctx.project.store, ctx.project.project.id);
    let others =
        patches::files_of_open(store, project, ctx.principal.user, open.workspace.id, COMPARED);
    for OpenPatch { id, files } in others.await? {
        let files: Vec<PatchedFile> = serde_json::from_value(files).unwrap_or_default();
        let shared = files.iter().flat_map(paths_of).find(|path| paths.contains(path));
        conflicts.extend(shared.map(|path| format!("patch {id} changes {path}, too; apply one")));
    }
    Ok(conflicts)
}

/// Returns the paths that the change of a file touches.
fn paths_of(file: &PatchedFile) -> impl Iterator<Item = &str> {
    [Some(file.path.as_str()), file.old_path.as_deref()].into_iter().flatten()
}
