//! Patch runs: work on patches in the background of a node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mc_accounts::Principal;
use mc_contract::number::WaitSeconds;
use mc_contract::operations::patch::{
    GeneratePatch, Patch, PatchPreview, PatchReview, PatchRun, PreviewPatch, ReviewPatch,
};
use mc_domain::{
    Classified as _, PatchId, PatchRunId, PatchRunKind, PatchRunState, UserId, WorkspaceId,
};
use mc_memory::ProjectContext;
use mc_metrics::Metrics;
use mc_rag::{RagContext, RagSettings};
use mc_workspaces::Workbench;
use mc_workspaces::background::{Background, BackgroundLimits, Full};
use mc_workspaces::open::{self, OpenWorkspace};

use crate::metrics::PatchMetrics;
use crate::preview::{self, Checks};
use crate::run::{Run, Stage};
use crate::{CodingSettings, Error, propose, registry, review};

/// How many patch runs are active at once.
const LIMITS: BackgroundLimits = BackgroundLimits { of_node: 8, of_user: 4 };
/// Label of patches that a client sent.
const CLIENT: &str = "client";
/// Label of patches of the chat model.
const MODEL: &str = "model";

/// What the work on a patch needs of a project, in the context of the caller.
pub struct CodingContext {
    /// The project.
    pub project: ProjectContext,
    /// The caller.
    pub principal: Principal,
    /// Search of the project's repositories.
    pub rag: RagContext,
    /// Settings of the search.
    pub rag_settings: Arc<RagSettings>,
    /// The workspaces of this node.
    pub workbench: Arc<Workbench>,
    /// Settings of patches.
    pub settings: Arc<CodingSettings>,
}

impl CodingContext {
    /// Opens a workspace of the caller.
    async fn open(&self, workspace: WorkspaceId) -> Result<Arc<OpenWorkspace>, Error> {
        let opened =
            open::open(&self.project, &self.principal, &self.workbench.settings, workspace);
        Ok(Arc::new(opened.await?))
    }
}

/// What a run belongs to.
#[derive(Debug, Clone)]
struct Subject {
    user: UserId,
    workspace: WorkspaceId,
    kind: PatchRunKind,
    stage: Stage,
}

impl Subject {
    /// Returns whether a run is that of a user in a workspace.
    fn is_of(user: UserId, workspace: WorkspaceId) -> impl Fn(&Self) -> bool {
        move |run| run.user == user && run.workspace == workspace
    }
}

/// The result of a run.
#[derive(Debug, Clone)]
enum Outcome {
    Patch(Box<Patch>),
    Review(Box<PatchReview>),
    Preview(Box<PatchPreview>),
}

/// The work on patches of a node.
#[derive(Debug)]
pub struct Coding {
    metrics: PatchMetrics,
    runs: Background<Subject, Outcome>,
}

impl Coding {
    /// Creates the work on patches of a node, and registers its metrics.
    pub fn new(metrics: &Metrics) -> Self {
        Self { metrics: PatchMetrics::new(metrics), runs: Background::new(LIMITS) }
    }

    /// Starts to propose a patch for a workspace of the caller, and waits some seconds for it.
    pub async fn generate(
        &self,
        ctx: CodingContext,
        workspace: WorkspaceId,
        request: GeneratePatch,
        wait: WaitSeconds,
    ) -> Result<PatchRun, Error> {
        // Refused before anything runs.
        let opened = ctx.open(workspace).await?;
        let source = if request.diff.is_some() { CLIENT } else { MODEL };
        let metrics = self.metrics.clone();
        let user = ctx.principal.user;
        let start = |run: Run| async move {
            metrics.count_attempt(source);
            let patch = propose::propose(&ctx, &opened, &request, &run).await?;
            metrics.count_success(source);
            Ok(Outcome::Patch(Box::new(registry::get(&ctx.project, patch).await?)))
        };
        let id = self.start(user, workspace, PatchRunKind::Generate, start)?;
        self.run(user, workspace, id, wait).await
    }

    /// Starts to review a patch for a workspace of the caller, and waits some seconds for it.
    pub async fn review(
        &self,
        ctx: CodingContext,
        workspace: WorkspaceId,
        patch: PatchId,
        request: ReviewPatch,
        wait: WaitSeconds,
    ) -> Result<PatchRun, Error> {
        let opened = ctx.open(workspace).await?;
        let patch = registry::of_workspace(&ctx.project, workspace, patch).await?;
        let user = ctx.principal.user;
        let start = |run: Run| async move {
            let review = review::review(&ctx, &opened, &patch, &request, &run).await?;
            Ok(Outcome::Review(Box::new(review)))
        };
        let id = self.start(user, workspace, PatchRunKind::Review, start)?;
        self.run(user, workspace, id, wait).await
    }

    /// Starts to try a patch for a workspace of the caller, and waits some seconds for the result.
    pub async fn preview(
        &self,
        ctx: CodingContext,
        workspace: WorkspaceId,
        patch: PatchId,
        request: PreviewPatch,
        wait: WaitSeconds,
    ) -> Result<PatchRun, Error> {
        // Refused before anything runs.
        if request.dry_run == Some(false) {
            return Err(Error::OnlyDryRuns);
        }
        let opened = ctx.open(workspace).await?;
        let patch = registry::of_workspace(&ctx.project, workspace, patch).await?;
        let checks = Checks::of(&ctx, &request).await?;
        let user = ctx.principal.user;
        let start = |run: Run| async move {
            let preview = preview::preview(&ctx, &opened, &patch, checks, &run).await?;
            Ok(Outcome::Preview(Box::new(preview)))
        };
        let id = self.start(user, workspace, PatchRunKind::Preview, start)?;
        self.run(user, workspace, id, wait).await
    }

    /// Starts a run of a user.
    fn start<W: Future<Output = Result<Outcome, Error>> + Send + 'static>(
        &self,
        user: UserId,
        workspace: WorkspaceId,
        kind: PatchRunKind,
        work: impl FnOnce(Run) -> W,
    ) -> Result<PatchRunId, Error> {
        let stage = Stage::new();
        let subject = Subject { user, workspace, kind, stage: stage.clone() };
        let id = PatchRunId(uuid::Uuid::new_v4());
        let metrics = self.metrics.clone();
        let started = self.runs.start(id.0, user, subject, |cancel, slot| {
            let (slot, kind) = (Arc::new(slot), kind.as_str());
            let work = work(Run { stage, cancel, slot, metrics: metrics.clone(), kind });
            let work = Box::pin(work);
            async move {
                let started = Instant::now();
                let result = work.await;
                metrics.observe(kind, started.elapsed());
                result.map_err(|error| (error.kind(), error.to_string()))
            }
        });
        started.map_err(|full| match full {
            Full::Node(max) => Error::TooManyRuns(max),
            Full::User(max) => Error::TooManyRunsOfUser(max),
        })?;
        Ok(id)
    }

    /// Waits some seconds for the end of a run of the user, and returns how far it is.
    pub async fn run(
        &self,
        user: UserId,
        workspace: WorkspaceId,
        id: PatchRunId,
        wait: WaitSeconds,
    ) -> Result<PatchRun, Error> {
        let found = self
            .runs
            .wait(id.0, Subject::is_of(user, workspace), Duration::from_secs(wait.get()))
            .await;
        let now = found.ok_or(Error::UnknownRun(id))?;
        let (state, outcome) = match now.finished {
            None => (PatchRunState::Running, None),
            Some(Ok(outcome)) => (PatchRunState::Completed, Some(outcome)),
            Some(Err(_)) if now.is_cancelled => (PatchRunState::Cancelled, None),
            Some(Err((kind, reason))) => return Err(Error::RunFailed { kind, reason }),
        };
        let Subject { kind, stage: current, .. } = now.subject;
        let mut run = PatchRun {
            run_id: id,
            kind,
            state,
            stage: current.get().to_owned(),
            started_at: now.started_at,
            patch: None,
            review: None,
            preview: None,
        };
        match outcome {
            None => {}
            Some(Outcome::Patch(patch)) => run.patch = Some(*patch),
            Some(Outcome::Review(review)) => run.review = Some(*review),
            Some(Outcome::Preview(preview)) => run.preview = Some(*preview),
        }
        Ok(run)
    }

    /// Cancels all runs in a workspace.
    pub fn cancel_of_workspace(&self, workspace: WorkspaceId) {
        self.runs.cancel_where(|run| run.workspace == workspace);
    }

    /// Cancels a run of the user. One that has ended stays as it is.
    pub async fn cancel(
        &self,
        user: UserId,
        workspace: WorkspaceId,
        id: PatchRunId,
    ) -> Result<PatchRun, Error> {
        if !self.runs.cancel(id.0, Subject::is_of(user, workspace)) {
            return Err(Error::UnknownRun(id));
        }
        self.run(user, workspace, id, WaitSeconds::default()).await
    }
}
