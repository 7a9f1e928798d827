//! Tries a patch: applies it to a copy of its workspace, and runs commands there.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::Utc;
use mc_contract::operations::patch::{
    PatchPreview, PreviewMetrics, PreviewPatch, PreviewedCommand, WorkspacePreview,
};
use mc_contract::text::CommandLine;
use mc_memory::content_filter::run_blocking;
use mc_sandbox::{Command, EndedBy, Limits as CommandLimits, Outcome, Sandbox};
use mc_store::patches::{self, Patch as StoredPatch};
use mc_workspaces::command_result::{ending, text};
use mc_workspaces::copy::TreeCopy;
use mc_workspaces::edit::MaskedTree;
use mc_workspaces::open::OpenWorkspace;
use mc_workspaces::path::display;

use crate::commands::DryRunCommand;
use crate::lint::Warnings;
use crate::masking::{STRICT, masked, sanitized};
use crate::propose::problems;
use crate::run::Run;
use crate::service::CodingContext;
use crate::{Error, Limits, PathRules, ShownPatch, check_shown, registry, write};

/// Kept bytes of standard output, and of standard error, of a command.
const LOG_BYTES: usize = 32 * 1024;
/// Shortest time that a command gets.
const MIN_TIME: Duration = Duration::from_secs(1);
/// Most signs for the changed lines of a file.
const MAX_SIGNS: usize = 40;
/// Environment of commands, which have no network: it keeps tools from waiting for one.
const ENVIRONMENT: [(&str, &str); 5] = [
    ("CI", "true"),
    ("CARGO_NET_OFFLINE", "true"),
    ("GOPROXY", "off"),
    ("npm_config_offline", "true"),
    ("npm_config_update_notifier", "false"),
];

/// What a preview does after the patch was applied.
pub(crate) struct Checks {
    /// The commands.
    pub commands: Vec<DryRunCommand>,
    /// What runs them, with the limits of each; `None` without commands.
    pub sandbox: Option<(Arc<Sandbox>, CommandLimits)>,
    /// Time of all commands together.
    pub time: Duration,
}

impl Checks {
    /// Returns what a request asks for, if the policy of the project allows it and commands can be
    /// run here.
    pub async fn of(ctx: &CodingContext, request: &PreviewPatch) -> Result<Self, Error> {
        let allowed = &ctx.project.project.policy.allowed_commands;
        let parsed = |line: &CommandLine| {
            DryRunCommand::parse(line.as_str(), allowed)
                .map_err(|problem| Error::Command { command: line.as_str().to_owned(), problem })
        };
        let commands: Vec<_> =
            request.commands.items().iter().map(parsed).collect::<Result<_, _>>()?;
        let sandbox = if commands.is_empty() { None } else { Some(ctx.workbench.sandbox().await?) };
        Ok(Self { commands, sandbox, time: request.timeout.unwrap_or_default().get() })
    }
}

/// What a patch does to a copy.
struct Trial {
    is_applied: bool,
    preview: WorkspacePreview,
    warnings: Warnings,
}

/// Tries a patch, and stores whether that succeeded. The workspace stays as it is.
pub(crate) async fn preview(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    patch: &StoredPatch,
    checks: Checks,
    run: &Run,
) -> Result<PatchPreview, Error> {
    ctx.workbench.check_space(&ctx.project, &ctx.principal, open).await?;
    run.set_stage("copying the workspace");
    let started = Instant::now();
    let copy = copy(ctx, open, &checks, run).await?;
    let copy_ms = milliseconds(started.elapsed());
    let tried = try_patch(ctx, open, patch, &copy, checks, run).await;
    // Deleting takes as long as copying.
    run_blocking(move || drop(copy)).await;
    let preview = tried?;
    let metrics = PreviewMetrics { copy_ms, ..preview.metrics };
    let preview = PatchPreview { metrics, completed_at: Utc::now(), ..preview };
    run.set_stage("storing the result");
    store(ctx, patch, &preview).await?;
    Ok(preview)
}

/// Copies the tree while nobody changes it.
async fn copy(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    checks: &Checks,
    run: &Run,
) -> Result<Arc<TreeCopy>, Error> {
    let permit = ctx.workbench.enter(open).await?;
    let settings = Arc::clone(&ctx.workbench.settings);
    let limits = checks.sandbox.as_ref().map(|(_, limits)| limits.disk_bytes);
    let bytes = limits.unwrap_or(CommandLimits::default().disk_bytes);
    let (open, cancel, slot) = (Arc::clone(open), run.cancel.clone(), Arc::clone(&run.slot));
    let copied = run_blocking(move || {
        let _held = (permit, slot);
        TreeCopy::create(&settings, &open, bytes, || cancel.is_cancelled())
    });
    let copied = copied.await;
    if run.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    Ok(Arc::new(copied?))
}

async fn try_patch(
    ctx: &CodingContext,
    open: &Arc<OpenWorkspace>,
    patch: &StoredPatch,
    copy: &Arc<TreeCopy>,
    checks: Checks,
    run: &Run,
) -> Result<PatchPreview, Error> {
    run.set_stage("applying the patch");
    let started = Instant::now();
    let applied = {
        let (open, copy, slot) = (Arc::clone(open), Arc::clone(copy), Arc::clone(&run.slot));
        let (patch, limits) = (patch.clone(), ctx.settings.limits());
        run_blocking(move || {
            let _slot = slot;
            apply(&open, &copy, &patch, limits)
        })
    };
    let Trial { is_applied, mut preview, mut warnings } = applied.await?;
    let patch_apply_ms = milliseconds(started.elapsed());
    let started = Instant::now();
    let commands = run_all(open, copy, checks, is_applied, &mut warnings, run).await?;
    preview.lint_warnings = warnings.into_list();
    let docker_run_ms = if commands.is_empty() { 0 } else { milliseconds(started.elapsed()) };
    Ok(PatchPreview {
        patch_id: patch.id,
        workspace_id: open.workspace.id,
        applied: is_applied,
        preview,
        commands,
        metrics: PreviewMetrics { copy_ms: 0, patch_apply_ms, docker_run_ms },
        completed_at: Utc::now(),
    })
}

/// Applies a patch to a copy, if all of it fits.
fn apply(
    open: &OpenWorkspace,
    copy: &TreeCopy,
    patch: &StoredPatch,
    limits: Limits,
) -> Result<Trial, Error> {
    let tree = MaskedTree { root: copy.root(), sanitizer: &open.sanitizer, policy: &STRICT };
    let shown = placed(&tree, patch, limits)?;
    let mut warnings = Warnings::default();
    shown.checked.files.iter().for_each(|file| warnings.add_changes(file));
    let detected_conflicts = problems(&shown);
    let is_applied = detected_conflicts.is_empty();
    if is_applied {
        write(copy.root(), &shown.checked)?;
    }
    let workspace_diff = statistics(&shown);
    let preview =
        WorkspacePreview { workspace_diff, detected_conflicts, ..WorkspacePreview::default() };
    Ok(Trial { is_applied, preview, warnings })
}

/// Places a stored patch in a tree, under its own rules for paths.
pub(crate) fn placed(
    tree: &MaskedTree<'_>,
    patch: &StoredPatch,
    limits: Limits,
) -> Result<ShownPatch, Error> {
    let paths = PathRules::new(
        patch.target_paths.iter().map(String::as_str),
        patch.forbidden_paths.iter().map(String::as_str),
    )?;
    Ok(check_shown(tree, &patch.diff, &paths, limits)?)
}

/// Runs the commands one after the other, until one fails or their time is over.
async fn run_all(
    open: &OpenWorkspace,
    copy: &TreeCopy,
    checks: Checks,
    is_applied: bool,
    warnings: &mut Warnings,
    run: &Run,
) -> Result<Vec<PreviewedCommand>, Error> {
    let Checks { commands, sandbox, time } = checks;
    run.set_stage("running the commands");
    let started = Instant::now();
    let mut is_next_run = is_applied;
    let mut previewed = Vec::new();
    for command in commands {
        let wall_time = time.saturating_sub(started.elapsed());
        let sandbox = sandbox.as_ref().filter(|_| is_next_run && wall_time >= MIN_TIME);
        let Some((sandbox, limits)) = sandbox else {
            is_next_run = false;
            previewed.push(skipped(&command));
            continue;
        };
        let limits = CommandLimits { wall_time, output_bytes: LOG_BYTES, ..limits.clone() };
        let in_sandbox = in_sandbox(copy, &command)?.limits(limits.clone());
        let outcome = sandbox.run(in_sandbox, |_, _| {}, &run.cancel).await;
        let outcome = outcome.map_err(mc_workspaces::Error::from)?;
        if outcome.ended_by == EndedBy::Cancelled {
            return Err(Error::Cancelled);
        }
        is_next_run = outcome.is_success();
        if !is_next_run {
            run.metrics.count_failed_command(&command.program);
        }
        let ended = ended(open, &command, &outcome, &limits);
        warnings.add_output(copy.root(), &ended.logs);
        previewed.push(ended);
    }
    Ok(previewed)
}

/// Returns a command with the copy as the only directory that it may change.
fn in_sandbox(copy: &TreeCopy, command: &DryRunCommand) -> Result<Command, Error> {
    let DryRunCommand { program, arguments } = command;
    // A program of the workspace, such as ./gradlew.
    let program = program.strip_prefix("./").map_or_else(|| program.clone(), display);
    let mut command = Command::new(program).args(arguments).user(copy.user());
    for (name, value) in ENVIRONMENT {
        command = command.env(name, value);
    }
    Ok(command.directory(copy.directory()?).working_directory(display("")))
}

fn ended(
    open: &OpenWorkspace,
    command: &DryRunCommand,
    outcome: &Outcome,
    limits: &CommandLimits,
) -> PreviewedCommand {
    let mask = |output: &str| open.sanitizer.mask(output, &STRICT).text.into_string();
    let mut logs = text(&outcome.stdout, mask);
    let (exit_code, reason) = ending(outcome, limits, "timeout");
    for more in [Some(text(&outcome.stderr, mask)), reason].into_iter().flatten() {
        let is_in_line = !logs.is_empty() && !logs.ends_with('\n') && !more.is_empty();
        logs.push_str(if is_in_line { "\n" } else { "" });
        logs.push_str(&more);
    }
    PreviewedCommand {
        command: masked(&command.to_string()),
        executed: true,
        exit_code: Some(exit_code),
        logs,
        duration_ms: milliseconds(outcome.duration),
    }
}

fn skipped(command: &DryRunCommand) -> PreviewedCommand {
    PreviewedCommand {
        command: masked(&command.to_string()),
        executed: false,
        exit_code: None,
        logs: String::new(),
        duration_ms: 0,
    }
}

/// Returns whether a patch fits, and all commands succeeded.
fn has_succeeded(preview: &PatchPreview) -> bool {
    preview.applied && preview.commands.iter().all(|command| command.exit_code == Some(0))
}

async fn store(
    ctx: &CodingContext,
    patch: &StoredPatch,
    preview: &PatchPreview,
) -> Result<(), Error> {
    let commands: Vec<&str> =
        preview.commands.iter().map(|command| command.command.as_str()).collect();
    let mut tx = ctx.project.store.begin().await?;
    let is_stored =
        patches::set_dry_run(&mut tx, patch.id, has_succeeded(preview), &commands).await?;
    if !is_stored {
        drop(tx);
        return Err(registry::ended(&ctx.project, patch.id).await?);
    }
    tx.commit().await?;
    Ok(())
}

/// Returns the changed lines of each file that can be changed, as `git diff --stat` shows them.
fn statistics(shown: &ShownPatch) -> String {
    let files = shown.checked.files.iter().filter(|file| file.outcome.is_ok());
    let files: Vec<(String, (usize, usize))> = files
        .map(|file| {
            let path = file.patch.path.as_str();
            let source = file.patch.source.as_deref().filter(|source| *source != path);
            let name = source.map_or_else(|| path.to_owned(), |old| format!("{old} => {path}"));
            (masked(&name), file.patch.line_counts())
        })
        .collect();
    let width = files.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let most = files.iter().map(|(_, (added, removed))| added + removed).max().unwrap_or(0);
    let signs = |lines: usize| (lines * MAX_SIGNS.min(most)).div_ceil(most.max(1));
    let mut text = String::new();
    for (name, (added, removed)) in &files {
        let (plus, minus) = ("+".repeat(signs(*added)), "-".repeat(signs(*removed)));
        let lines = added + removed;
        let _ = writeln!(text, " {name:width$} | {lines} {plus}{minus}");
    }
    let sum = |of: fn(&(usize, usize)) -> usize| -> usize {
        files.iter().map(|(_, counts)| of(counts)).sum()
    };
    let (added, removed) = (sum(|counts| counts.0), sum(|counts| counts.1));
    let _ = write!(text, " {}", counted(files.len(), "file", " changed"));
    for (lines, what, sign) in [(added, "insertion", "(+)"), (removed, "deletion", "(-)")] {
        if lines > 0 {
            let _ = write!(text, ", {}", counted(lines, what, sign));
        }
    }
    text.push('\n');
    sanitized(&text).into_string()
}

fn counted(count: usize, what: &str, end: &str) -> String {
    format!("{count} {what}{}{end}", if count == 1 { "" } else { "s" })
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
