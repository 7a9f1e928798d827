//! System prompts of projects: the version that a caller gets, and changes of it by people. The
//! nightly optimization is in [`night`]. docs/prompts.md describes the rules.
//!
//! Each change is one transaction that locks the versions of the project, so an arm is never half
//! promoted, whatever crashes and however many nodes decide.

mod cases;
mod model;
pub mod night;

use std::sync::Arc;
use std::time::Duration;

use mc_domain::{AuditAction, Policy, ProjectId, PromptState, UserId};
use mc_optimizer::material::{CandidateInstruction, catalog};
use mc_optimizer::prompt::{Quality, QualityLabel};
use mc_optimizer::{Arm, Arms, Item, Limits, Prompt, Section};
use mc_store::audit::{self, NewEvent};
use mc_store::prompts::{self, NewPromptVersion, PromptVersion, VersionFilter, sources};
use mc_store::{Store, Tx, from_json};
use moka::future::Cache;
use serde_json::{Value, json};

use crate::content_filter::{ContentFilter, FilterDecision, ReviewStatus, run_blocking};
use crate::{Error, MemoryContext};

/// The instructions of the catalog that make the built-in prompt.
const BUILT_IN: [&str; 4] = ["recall-first", "follow-decisions", "doubt-stale", "save-lessons"];
/// How long a node uses the versions that it read for bundles.
const CACHED_FOR: Duration = Duration::from_secs(10);
/// Projects whose versions a node remembers.
const CACHED_PROJECTS: u64 = 10_000;

/// The prompt that a caller gets.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedPrompt {
    /// Its version; 0 is the built-in prompt.
    pub version: i32,
    /// The caller's arm; `None` without a canary.
    pub arm: Option<Arm>,
    /// The prompt.
    pub prompt: Prompt,
    /// What is known about its effect.
    pub quality: Quality,
}

/// Returns the prompt that a caller gets: the canary for its developers, else the version in use.
pub async fn served(
    store: &Store,
    project: ProjectId,
    user: Option<UserId>,
) -> Result<ServedPrompt, Error> {
    let rollout = Rollout::read(store, project).await?;
    let arm = rollout.arm(user);
    let Some(found) = rollout.version_for(user) else {
        return Ok(ServedPrompt { version: 0, arm, prompt: built_in(), quality: UNMEASURED });
    };
    let prompt = without_retired(store, project, prompt_of(found)?).await?;
    let quality = from_json("prompt_versions.quality", &found.quality)?;
    Ok(ServedPrompt { version: found.version, arm, prompt, quality })
}

/// Returns the prompt without the examples whose records the team no longer has.
pub(crate) async fn without_retired(
    store: &Store,
    project: ProjectId,
    prompt: Prompt,
) -> Result<Prompt, Error> {
    let examples = prompt.items(Section::Examples);
    let records: Vec<_> = examples.iter().filter_map(cases::record_of).collect();
    if records.is_empty() {
        return Ok(prompt);
    }
    let live = sources::live_records(store, project, &records).await?;
    let is_live = |item: &&Item| cases::record_of(item).is_none_or(|id| live.contains(&id));
    let examples = examples.iter().filter(is_live).cloned().collect();
    Ok(Prompt::new(prompt.items(Section::Instructions).to_vec(), examples)?)
}

/// Returns the built-in prompt.
pub fn built_in() -> Prompt {
    let item = |id: &&str| {
        let found = catalog().iter().find(|candidate| candidate.id == **id);
        found.map(CandidateInstruction::item)
    };
    let items: Vec<Item> = BUILT_IN.iter().filter_map(item).collect();
    Prompt::new(items, vec![]).expect("a test checks the catalog")
}

const UNMEASURED: Quality = Quality { label: QualityLabel::Unmeasured, gain: None, interval: None };

/// Sets the prompt of the project by hand. A canary ends. Returns the new version.
pub async fn set(
    ctx: &MemoryContext,
    project: ProjectId,
    instructions: Vec<Item>,
    examples: Vec<Item>,
) -> Result<PromptVersion, Error> {
    // Before it is masked, which takes longer.
    let given = Prompt::new(instructions, examples)?;
    Limits::default().check(&given)?;
    let policy = Arc::clone(&ctx.policy);
    let (prompt, decision) = run_blocking(move || masked(&policy, &given)).await;
    if let FilterDecision::Reject(reasons) = decision {
        return Err(Error::ForbiddenPrompt(reasons.join(", ")));
    }
    let prompt = prompt?;
    Limits::default().check(&prompt)?;
    let mut tx = ctx.store.begin().await?;
    let versions = Versions::lock(&mut tx, project).await?;
    let (current, parent) = versions.current(&mut tx, project).await?;
    if parent == prompt {
        return Err(Error::SamePrompt(current));
    }
    if let Some(canary) = versions.canary() {
        move_to(&mut tx, project, canary.version, PromptState::Canary, PromptState::RolledBack)
            .await?;
        audit_by_hand(&mut tx, AuditAction::PromptRolledBack, canary.version);
    }
    let version = versions.next();
    move_to(&mut tx, project, current, PromptState::Current, PromptState::Superseded).await?;
    let new = NewPromptVersion {
        version,
        prompt: json!(prompt),
        parent_version: Some(current),
        state: PromptState::Current,
        quality: json!(UNMEASURED),
        diff: parent.diff(&prompt),
        arms: None,
        settings: None,
    };
    prompts::insert(&mut tx, project, &new).await?;
    audit::record(&mut tx, NewEvent::new(AuditAction::PromptSet, version));
    tx.commit().await?;
    ctx.prompt_versions.forget(project).await;
    find(&ctx.store, project, version).await
}

/// Masks the texts of a prompt by the policy.
fn masked(policy: &Policy, given: &Prompt) -> (Result<Prompt, Error>, FilterDecision) {
    let mut filter = ContentFilter::new(policy, ReviewStatus::Reviewed);
    let mut mask = |section| -> Vec<Item> {
        let items = given.items(section).iter();
        items.map(|item| Item::new(&item.id, filter.filter_text(&item.text))).collect()
    };
    let (instructions, examples) = (mask(Section::Instructions), mask(Section::Examples));
    (Prompt::new(instructions, examples).map_err(Error::from), filter.decision())
}

fn audit_by_hand(tx: &mut Tx, action: AuditAction, version: i32) {
    audit::record(tx, NewEvent::new(action, version).with(json!({ "by": "hand" })));
}

/// Promotes the canary by hand: all developers get it.
pub async fn promote(ctx: &MemoryContext, project: ProjectId) -> Result<PromptVersion, Error> {
    let mut tx = ctx.store.begin().await?;
    let versions = Versions::lock(&mut tx, project).await?;
    let canary = versions.canary().ok_or(Error::NoCanary)?.version;
    promote_in(&mut tx, project, &versions, canary).await?;
    audit_by_hand(&mut tx, AuditAction::PromptPromoted, canary);
    tx.commit().await?;
    ctx.prompt_versions.forget(project).await;
    find(&ctx.store, project, canary).await
}

/// Takes the canary back by hand; without one, the version in use, whose parent is used again.
/// Returns the version that was taken back.
pub async fn roll_back(ctx: &MemoryContext, project: ProjectId) -> Result<PromptVersion, Error> {
    let mut tx = ctx.store.begin().await?;
    let versions = Versions::lock(&mut tx, project).await?;
    let version = if let Some(canary) = versions.canary() {
        move_to(&mut tx, project, canary.version, PromptState::Canary, PromptState::RolledBack)
            .await?;
        canary.version
    } else {
        let current = versions.stored_current().ok_or(Error::NoFormerPrompt)?;
        let parent = current.parent_version.ok_or(Error::NoFormerPrompt)?;
        let states = (PromptState::Current, PromptState::RolledBack);
        move_to(&mut tx, project, current.version, states.0, states.1).await?;
        let former = versions.find(parent).ok_or(Error::NoFormerPrompt)?;
        move_to(&mut tx, project, parent, former.state, PromptState::Current).await?;
        current.version
    };
    audit_by_hand(&mut tx, AuditAction::PromptRolledBack, version);
    tx.commit().await?;
    ctx.prompt_versions.forget(project).await;
    find(&ctx.store, project, version).await
}

/// Returns a version of the project.
pub async fn find(store: &Store, project: ProjectId, version: i32) -> Result<PromptVersion, Error> {
    let filter = VersionFilter { version: Some(version), ..VersionFilter::default() };
    let found = prompts::list(store, project, filter).await?.pop();
    found.ok_or(Error::UnknownPromptVersion(version))
}

/// Returns the prompt of a version.
pub fn prompt_of(version: &PromptVersion) -> Result<Prompt, Error> {
    Ok(from_json("prompt_versions.prompt", &version.prompt)?)
}

/// Returns the number and the prompt of a version, or of the built-in one.
fn numbered(version: Option<&PromptVersion>) -> Result<(i32, Prompt), Error> {
    version.map_or_else(|| Ok((0, built_in())), |found| Ok((found.version, prompt_of(found)?)))
}

/// The versions that are served.
#[derive(Debug, Clone, Default)]
pub struct Rollout {
    /// The version in use; `None` is the built-in prompt.
    pub current: Option<PromptVersion>,
    /// The canary, and who gets it.
    pub canary: Option<(PromptVersion, Arms)>,
}

impl Rollout {
    /// Reads them.
    pub async fn read(store: &Store, project: ProjectId) -> Result<Self, Error> {
        let mut rollout = Self::default();
        for version in prompts::list(store, project, VersionFilter::SERVED).await? {
            if version.state == PromptState::Current {
                rollout.current = Some(version);
            } else {
                let arms =
                    from_json("prompt_versions.arms", version.arms.as_ref().unwrap_or_default())?;
                rollout.canary = Some((version, arms));
            }
        }
        Ok(rollout)
    }

    /// Returns the arm of a caller; `None` without a canary. Background work has the parent's.
    fn arm(&self, user: Option<UserId>) -> Option<Arm> {
        let (_, arms) = self.canary.as_ref()?;
        Some(user.map_or(Arm::Parent, |user| arms.arm(&user.to_string())))
    }

    /// Returns the version that a caller gets; `None` if the project never had another one than the
    /// built-in.
    fn version_for(&self, user: Option<UserId>) -> Option<&PromptVersion> {
        match &self.canary {
            Some((canary, _)) if self.arm(user) == Some(Arm::Canary) => Some(canary),
            _ => self.current.as_ref(),
        }
    }

    /// Returns the number and the prompt of the version in use.
    fn current(&self) -> Result<(i32, Prompt), Error> {
        numbered(self.current.as_ref())
    }

    /// Drops all but numbers and arms, which the cache is for.
    fn drop_texts(&mut self) {
        let canary = self.canary.as_mut().map(|(canary, _)| canary);
        for version in self.current.iter_mut().chain(canary) {
            version.prompt = Value::Null;
            version.report = None;
            version.diff = String::new();
        }
    }
}

/// The versions that callers get, as read for bundles. They may be some seconds old.
#[derive(Clone)]
pub(crate) struct PromptVersionCache(Cache<ProjectId, Arc<Rollout>>);

impl PromptVersionCache {
    /// Creates an empty cache.
    pub(crate) fn new() -> Self {
        Self(Cache::builder().max_capacity(CACHED_PROJECTS).time_to_live(CACHED_FOR).build())
    }

    /// Returns the version that the caller gets. A failure is no reason for a recall to fail.
    pub(crate) async fn version(&self, store: &Store, project: ProjectId) -> Option<i32> {
        let rollout = self.0.try_get_with(project, async {
            let mut rollout = Rollout::read(store, project).await?;
            rollout.drop_texts();
            Ok::<_, Error>(Arc::new(rollout))
        });
        match rollout.await {
            Ok(rollout) => rollout.version_for(store.principal()).map(|found| found.version),
            Err(error) => {
                tracing::warn!(error = %error, "the version of the system prompt is unknown");
                None
            }
        }
    }

    async fn forget(&self, project: ProjectId) {
        self.0.invalidate(&project).await;
    }
}

/// All versions of a project, locked until the transaction ends.
struct Versions(Vec<PromptVersion>);

impl Versions {
    async fn lock(tx: &mut Tx, project: ProjectId) -> Result<Self, Error> {
        Ok(Self(prompts::lock(tx, project).await?))
    }

    fn find(&self, version: i32) -> Option<&PromptVersion> {
        self.0.iter().find(|found| found.version == version)
    }

    fn in_state(&self, state: PromptState) -> Option<&PromptVersion> {
        self.0.iter().find(|found| found.state == state)
    }

    fn canary(&self) -> Option<&PromptVersion> {
        self.in_state(PromptState::Canary)
    }

    fn stored_current(&self) -> Option<&PromptVersion> {
        self.in_state(PromptState::Current)
    }

    /// Returns the number and the prompt of the version in use. The built-in one is stored before
    /// another one refers to it.
    async fn current(&self, tx: &mut Tx, project: ProjectId) -> Result<(i32, Prompt), Error> {
        let stored = self.stored_current();
        let (version, prompt) = numbered(stored)?;
        if stored.is_some() {
            return Ok((version, prompt));
        }
        let new = NewPromptVersion {
            version,
            prompt: json!(prompt),
            parent_version: None,
            state: PromptState::Current,
            quality: json!(UNMEASURED),
            diff: String::new(),
            arms: None,
            settings: None,
        };
        prompts::insert(tx, project, &new).await?;
        Ok((version, prompt))
    }

    fn next(&self) -> i32 {
        self.0.iter().map(|found| found.version).max().unwrap_or(0) + 1
    }
}

/// Makes the canary the version in use.
async fn promote_in(
    tx: &mut Tx,
    project: ProjectId,
    versions: &Versions,
    canary: i32,
) -> Result<(), Error> {
    if let Some(current) = versions.stored_current() {
        move_to(tx, project, current.version, PromptState::Current, PromptState::Superseded)
            .await?;
    }
    move_to(tx, project, canary, PromptState::Canary, PromptState::Current).await
}

/// Moves a version to another state. The versions are locked, so it is in the first one.
async fn move_to(
    tx: &mut Tx,
    project: ProjectId,
    version: i32,
    from: PromptState,
    to: PromptState,
) -> Result<(), Error> {
    if prompts::set_state(tx, project, version, from, to).await? {
        return Ok(());
    }
    Err(Error::Store(mc_store::Error::DeletedConcurrently))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_prompt_has_all_its_instructions() {
        let prompt = built_in();
        assert_eq!(prompt.items(Section::Instructions).len(), BUILT_IN.len());
        assert!(Limits::default().check(&prompt).is_ok());
    }
}
