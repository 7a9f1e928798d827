//! Proposes a patch: by the chat model of the service, or as the client sent it.

use std::sync::Arc;

use mc_chat::{ChatRequest, Content, Message, ModelRole, Role, Usage};
use mc_contract::operations::patch::{GeneratePatch, PatchAnnotations, PatchedFile};
use mc_contract::text::{DiffText, ShortText, WorkspacePath};
use mc_domain::{BundleId, PatchId, PatchState};
use mc_patch::FilePatch;
use mc_sanitizer::{Sanitized, mask};
use mc_store::patches::{self, NewPatch, PatchFilter};
use mc_workspaces::open::OpenWorkspace;
use tokio_util::sync::CancellationToken;

use crate::answer::{Notes, has_patch};
use crate::context::{self, masked, with_tree};
use crate::prompt::{self, Prompt};
use crate::service::{CodingContext, Stage};
use crate::{CheckError, CodingSettings, Error, PathRules, ShownPatch, check_shown};

/// Most patches that are compared with a new one.
const COMPARED: i64 = 100;
/// Share of a prompt that is for the messages of a repair.
const REPAIR_SHARE: usize = 5;
/// Most bytes of the state of the workspace.
const STATUS_BYTES: usize = 64 * 1024;

/// A patch that applies, with what is said about it.
struct Proposal {
    checked: Checked,
    notes: Notes,
    usage: Usage,
    model: String,
    bundle: Option<BundleId>,
    warnings: Vec<String>,
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
    stage: &Stage,
) -> Result<(PatchId, Usage), Error> {
    let settings = &*ctx.settings;
    let targets = request.target_paths.items().iter().map(WorkspacePath::as_str);
    let forbidden = request.forbidden_paths.items().iter().map(WorkspacePath::as_str);
    let forbidden = forbidden.chain(settings.forbidden_paths.iter().map(String::as_str));
    let paths = PathRules::new(targets, forbidden)?;
    let proposal = match &request.diff {
        Some(diff) => of_client(settings, open, &paths, diff, stage).await?,
        None => of_model(ctx, open, request, &paths, stage).await?,
    };
    stage.set("storing the patch");
    store(ctx, open, request, &paths, proposal).await
}

/// Checks the patch of a client.
async fn of_client(
    settings: &CodingSettings,
    open: &Arc<OpenWorkspace>,
    paths: &PathRules,
    diff: &DiffText,
    stage: &Stage,
) -> Result<Proposal, Error> {
    stage.set("checking the patch");
    // As the files are shown. The client may have copied lines from elsewhere.
    let text = masked(diff.as_str());
    let checked = check(settings, open, paths, text).await?;
    Ok(Proposal {
        checked: checked.map_err(Error::DoesNotApply)?,
        notes: Notes::default(),
        usage: Usage::default(),
        model: String::new(),
        bundle: None,
        warnings: Vec::new(),
    })
}

/// Asks the chat model for a patch, and once more if it does not apply.
async fn of_model(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    request: &GeneratePatch,
    paths: &PathRules,
    stage: &Stage,
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
    let context = context::gather(ctx, open, request, paths, start, stage).await?;
    let question = mask(&context.prompt).text;
    let mut question = ChatRequest::new(mask(prompt::INSTRUCTIONS).text, question).greedy();
    let mut usage = Usage::default();
    let mut is_repair = false;
    loop {
        stage.set(if is_repair { "asking the model to correct it" } else { "asking the model" });
        let completion = chat.complete(ModelRole::Coder, &question).await?;
        usage = usage + completion.usage;
        let Content::Text(answer) = completion.content else {
            return Err(Error::NoPatch(Vec::new()));
        };
        let notes = Notes::of(answer.as_str());
        let problems = match check(settings, open, paths, answer.as_str().to_owned()).await {
            Ok(Ok(checked)) => {
                let (bundle, warnings) = (context.bundle, context.warnings);
                return Ok(Proposal { checked, notes, usage, model, bundle, warnings });
            }
            Ok(Err(problems)) => problems,
            Err(Error::Check(CheckError::Parse(error))) => {
                if !has_patch(answer.as_str()) {
                    return Err(Error::NoPatch(notes.summary));
                }
                vec![error.to_string()]
            }
            Err(error) => return Err(error),
        };
        if is_repair {
            return Err(Error::DoesNotApply(problems));
        }
        is_repair = true;
        let repair = prompt::repair(&problems);
        // Without room for its answer, the model writes the whole patch again.
        if question.bytes() + answer.as_str().len() + repair.len() <= max_bytes {
            question.messages.push(Message { role: Role::Assistant, text: answer });
        }
        question.messages.push(Message { role: Role::User, text: mask(&repair).text });
    }
}

/// Checks a patch against the workspace. The inner error has why files can't be changed.
async fn check(
    settings: &CodingSettings,
    open: &Arc<OpenWorkspace>,
    paths: &PathRules,
    text: String,
) -> Result<Result<Checked, Vec<String>>, Error> {
    let (limits, paths) = (settings.limits(), paths.clone());
    let max = settings.max_diff_bytes;
    with_tree(open, move |tree| {
        let patch = check_shown(tree, &text, &paths, limits)?;
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
    })
    .await
}

/// Returns why files of a patch can't be changed, each in one line.
pub(crate) fn problems(patch: &ShownPatch) -> Vec<String> {
    let problems = patch.checked.problems();
    problems.map(|(file, problem)| masked(&format!("{} {problem}", file.path))).collect()
}

fn checked(patch: &ShownPatch) -> Result<Checked, Error> {
    let diff = mask(&patch.diff).text;
    if diff.as_str() != patch.diff {
        return Err(Error::Unmasked);
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

async fn store(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    request: &GeneratePatch,
    paths: &PathRules,
    proposal: Proposal,
) -> Result<(PatchId, Usage), Error> {
    let Proposal { checked, notes, usage, model, bundle, warnings } = proposal;
    let conflicts = conflicts(ctx, open, &checked.files).await?;
    // What the rules find has to be looked at; the remarks of a model need not be.
    let requires_manual_review = !checked.risks.is_empty();
    let risks = checked.risks.into_iter().chain(notes.risks).collect();
    let summary = if notes.summary.is_empty() { summary(&checked.files) } else { notes.summary };
    let annotations = PatchAnnotations { files: checked.files, risks, conflicts, warnings };
    let annotations = serde_json::to_value(&annotations).expect("annotations are JSON");
    let cancel = CancellationToken::new();
    let commit = open.work_tree.head(&cancel).await?;
    let new = NewPatch {
        project: ctx.project.project.id,
        workspace: open.workspace.id,
        author: ctx.principal.user,
        requires_manual_review,
        instructions: &mask(request.instructions.as_str()).text,
        target_paths: paths.targets(),
        forbidden_paths: paths.forbidden(),
        task_external_id: request.task_external_id.as_ref().map_or("", |id| id.as_str()),
        bundle,
        base_commit: commit.as_deref().unwrap_or_default(),
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
    Ok((id, usage))
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
) -> Result<Vec<String>, Error> {
    let paths: Vec<&str> = files
        .iter()
        .flat_map(|file| [Some(file.path.as_str()), file.old_path.as_deref()])
        .flatten()
        .collect();
    let cancel = CancellationToken::new();
    let status = open.work_tree.status(&paths, STATUS_BYTES, &cancel).await?.bytes;
    let status = String::from_utf8_lossy(&status);
    let is_change = |line: &&str| !line.starts_with("##") && line.len() > 3;
    let changed = status.lines().filter(is_change);
    let mut conflicts: Vec<String> = changed
        .map(|line| masked(&format!("{} has changes that are not committed", &line[3..])))
        .collect();
    let filter = PatchFilter {
        author: Some(ctx.principal.user),
        workspace: Some(open.workspace.id),
        state: Some(PatchState::Generated),
        cursor: None,
    };
    let others =
        patches::list(&ctx.project.store, ctx.project.project.id, filter, COMPARED).await?;
    for other in others {
        let annotations: PatchAnnotations =
            serde_json::from_value(other.annotations).unwrap_or_default();
        let shared = annotations.files.iter().find(|file| paths.contains(&file.path.as_str()));
        conflicts.extend(
            shared.map(|file| format!("patch {} changes {}, too; apply one", other.id, file.path)),
        );
    }
    Ok(conflicts)
}
