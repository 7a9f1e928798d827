//! A night of a project: decide on the canary, or search a better prompt and start one.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::executor::block_on;
use mc_chat::{ChatModels, ModelRole};
use mc_domain::{AuditAction, ProjectId, PromptAction, PromptState};
use mc_optimizer::canary::{DialogReport, decide};
use mc_optimizer::evaluate::Heuristic;
use mc_optimizer::prompt::{Quality, QualityLabel};
use mc_optimizer::random::stable_hash;
use mc_optimizer::report::{Finalist, KeepReason};
use mc_optimizer::{
    Arm, Arms, CanaryDecision, CanaryReport, CanarySettings, Case, Decision, Item, NightReport,
    Prompt, Propose, Section, Settings, optimize,
};
use mc_store::audit::{self, Chain, NewEvent};
use mc_store::hygiene::HygieneTarget;
use mc_store::prompts::sources::{self, ReportedOutcome};
use mc_store::prompts::{self, NewPromptVersion, PromptVersion, VersionFilter};
use mc_store::{Store, Tx, from_json};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::cases::{self, Sources};
use super::model::Model;
use super::{Rollout, Versions, move_to, promote_in, prompt_of, without_retired};
use crate::Error;
use crate::chat::ProjectChat;
use crate::content_filter::run_blocking;

/// Days after the end of a canary in which no new prompt is searched: the cases of the same nights
/// would only propose the same again.
const PAUSE_DAYS: i64 = 7;
/// Days in which a person has to use the memory to count as a developer.
const ACTIVE_DAYS: i32 = 30;
/// Fewest developers of a canary: the test compares developers of both arms.
const DEVELOPERS_MIN: usize = 3;
/// Tokens of one evaluation by models, about: an answer and its score.
const TOKENS_PER_EVALUATION: usize = 5_000;

/// What scores prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Evaluator {
    /// Rules, which read the prompt only.
    #[default]
    Rules,
    /// The chat models with the roles `writer` and `judge`: they do the cases under the prompt.
    Model,
}

/// Settings of nights.
#[derive(Debug, Clone, PartialEq)]
pub struct NightSettings {
    /// Those of the search. Its seed is combined with project and day.
    pub search: Settings,
    /// Those of new canaries.
    pub canary: CanarySettings,
    /// What scores prompts.
    pub evaluator: Evaluator,
    /// Evaluations of a night with [`Evaluator::Model`].
    pub model_budget: usize,
    /// Time of a night with [`Evaluator::Model`].
    pub model_time: Duration,
}

impl Default for NightSettings {
    fn default() -> Self {
        Self {
            search: Settings::default(),
            canary: CanarySettings::default(),
            evaluator: Evaluator::default(),
            model_budget: 400,
            model_time: Duration::from_mins(25),
        }
    }
}

/// What a night did, or would do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Night {
    /// The version in the canary at its start, with its figures and the decision.
    pub canary: Option<(i32, CanaryReport)>,
    /// The search.
    pub search: Option<NightReport>,
    /// Number of frequent errors, and of worked examples.
    pub material: (usize, usize),
    /// The version with which a canary started.
    pub started: Option<i32>,
    /// Why nothing was searched, or no canary started.
    pub reason: Option<String>,
}

/// Runs the night of a project. A night that is repeated after a failure finds what the first
/// attempt has committed, and goes on from there.
pub async fn run(
    store: &Store,
    models: &Arc<ChatModels>,
    settings: &NightSettings,
    target: &HygieneTarget,
) -> Result<Night, Error> {
    let project = target.project;
    let rollout = Rollout::read(store, project).await?;
    let action = target.policy.hygiene.prompt;
    if let Some((canary, arms)) = &rollout.canary {
        let report = report(store, project, canary, arms, &rollout).await?;
        if !target.is_dry_run {
            apply(store, project, canary.version, &report, action).await?;
        }
        let reason = format!("version {} is a canary; a search waits for its end", canary.version);
        let canary = Some((canary.version, report));
        return Ok(Night { canary, reason: Some(reason), ..Night::default() });
    }
    let versions = prompts::list(store, project, VersionFilter::default()).await?;
    if let Some(reason) = pause(&versions) {
        return Ok(Night { reason: Some(reason), ..Night::default() });
    }
    let (version, parent) = rollout.current()?;
    let parent = without_retired(store, project, parent).await?;
    let sources = cases::read(store, project, &target.policy).await?;
    let mut night = Night {
        material: (sources.material.errors.len(), sources.material.examples.len()),
        ..Night::default()
    };
    let (search, problem) = match settings.evaluator {
        Evaluator::Rules => (by_rules(settings, project, parent, sources).await?, None),
        Evaluator::Model => by_models(store, models, settings, target, &parent, sources).await?,
    };
    night.reason = problem;
    if let Some(finalist) = search.proposed()
        && !target.is_dry_run
        && action == PromptAction::Canary
    {
        match start(store, settings, project, version, finalist).await? {
            Ok(version) => night.started = Some(version),
            Err(reason) => night.reason = Some(reason),
        }
    }
    night.search = Some(search);
    Ok(night)
}

/// Returns the figures of a canary and the decision.
async fn report(
    store: &Store,
    project: ProjectId,
    canary: &PromptVersion,
    arms: &Arms,
    rollout: &Rollout,
) -> Result<CanaryReport, Error> {
    let parent = rollout.current.as_ref().map_or(0, |current| current.version);
    let since = canary.created_at;
    let versions = [canary.version, parent];
    let outcomes = sources::outcomes(store, project, &versions, since).await?;
    let settings = canary.settings.as_ref().unwrap_or_default();
    let settings: CanarySettings = from_json("prompt_versions.settings", settings)?;
    let reports: Vec<_> =
        outcomes.iter().map(|outcome| dialog_report(outcome, canary.version, since)).collect();
    // Whole days, of which a repeated night sees the same dialogs.
    let nights = (Utc::now() - since).num_days();
    Ok(decide(arms, &reports, u32::try_from(nights).unwrap_or(0), &settings))
}

fn dialog_report(outcome: &ReportedOutcome, canary: i32, since: DateTime<Utc>) -> DialogReport {
    let nights = (outcome.reported_at - since).num_days() + 1;
    DialogReport {
        dialog: outcome.dialog.to_string(),
        developer: outcome.user.to_string(),
        arm: if outcome.prompt_version == canary { Arm::Canary } else { Arm::Parent },
        outcome: outcome.outcome,
        night: u32::try_from(nights).unwrap_or(1),
    }
}

/// Stores the figures of a canary and carries out the decision, unless another node or a person
/// has decided meanwhile. Only the policy `canary` lets the rule promote.
async fn apply(
    store: &Store,
    project: ProjectId,
    version: i32,
    report: &CanaryReport,
    action: PromptAction,
) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    let versions = Versions::lock(&mut tx, project).await?;
    if versions.canary().map(|canary| canary.version) != Some(version) {
        return Ok(());
    }
    prompts::set_report(&mut tx, project, version, &json!(report)).await?;
    match &report.decision {
        CanaryDecision::Continue { .. } => {}
        CanaryDecision::Promote { .. } if action != PromptAction::Canary => {}
        CanaryDecision::Promote { gain, interval, .. } => {
            let quality = Quality {
                label: QualityLabel::BetterInCanary,
                gain: Some(*gain),
                interval: Some(*interval),
            };
            prompts::set_quality(&mut tx, project, version, &json!(quality)).await?;
            promote_in(&mut tx, project, &versions, version).await?;
            record(&mut tx, project, AuditAction::PromptPromoted, version, json!(report.decision));
        }
        CanaryDecision::RollBack { .. } => {
            let (from, to) = (PromptState::Canary, PromptState::RolledBack);
            move_to(&mut tx, project, version, from, to).await?;
            let details = json!(report.decision);
            record(&mut tx, project, AuditAction::PromptRolledBack, version, details);
        }
    }
    Ok(tx.commit().await?)
}

/// Returns why no prompt is searched yet after the end of a canary.
fn pause(versions: &[PromptVersion]) -> Option<String> {
    let ended = versions.iter().filter(|version| version.arms.is_some());
    let last = ended.filter_map(|version| version.decided_at).max()?;
    let end = last + TimeDelta::days(PAUSE_DAYS);
    (Utc::now() < end).then(|| {
        format!(
            "a canary ended on {}; the next search is from {}",
            last.date_naive(),
            end.date_naive()
        )
    })
}

/// Returns the settings of tonight's search of a project.
fn search_settings(settings: &NightSettings, project: ProjectId) -> Settings {
    let day = Utc::now().date_naive().to_string();
    let seed = settings.search.seed.to_string();
    // 53 bits, which all readers of JSON keep.
    let seed = stable_hash(&["night", &seed, &project.to_string(), &day]) >> 11;
    Settings { seed, ..settings.search.clone() }
}

/// Searches with the rules as evaluator, on a blocking thread: they only compute.
async fn by_rules(
    settings: &NightSettings,
    project: ProjectId,
    parent: Prompt,
    sources: Sources,
) -> Result<NightReport, Error> {
    let search = search_settings(settings, project);
    let work = move || {
        let Sources { cases, material, .. } = &sources;
        let rules = Heuristic::new(material, search.limits);
        block_on(optimize(&parent, cases, material, &rules, None, &search))
    };
    Ok(run_blocking(work).await?)
}

/// Searches with chat models as evaluators. Returns the report, and what kept the models from more.
async fn by_models(
    store: &Store,
    models: &Arc<ChatModels>,
    settings: &NightSettings,
    target: &HygieneTarget,
    parent: &Prompt,
    sources: Sources,
) -> Result<(NightReport, Option<String>), Error> {
    let (project, policy) = (target.project, &target.policy);
    let chat = ProjectChat::new(Arc::clone(models), store.clone(), project, policy);
    // Before the search, so that a night without models says so.
    chat.model(ModelRole::Writer)?;
    chat.model(ModelRole::Judge)?;
    let has_rewriter = chat.model(ModelRole::Rewrite).is_ok();
    let search = search_settings(settings, project);
    // Half of the day's tokens: saves are judged after the night, too.
    let tokens = policy.tokens.chat_per_day;
    let paid = usize::try_from(tokens / 2).unwrap_or(usize::MAX) / TOKENS_PER_EVALUATION;
    let budget = search.budget.min(settings.model_budget).min(paid);
    let search = Settings { budget, ..search };
    let Sources { cases, texts, material } = &sources;
    let solved = cases.iter().filter(|case| texts.contains_key(&case.id)).cloned();
    let solved = affordable(solved, &search);
    let deadline = Instant::now() + settings.model_time;
    let model = Model { chat, texts, policy, deadline, last_error: Mutex::default() };
    let proposer = has_rewriter.then_some(&model as &dyn Propose);
    let report = optimize(parent, &solved, material, &model, proposer, &search).await?;
    let error = model.last_error.into_inner().unwrap_or_else(PoisonError::into_inner);
    let problem = match report.decision {
        Decision::Keep { reason: KeepReason::EvaluatorUnavailable { .. } } => error,
        Decision::Keep { reason: KeepReason::BudgetTooSmall { needed, .. } } if budget == paid => {
            let wanted = 2 * needed * TOKENS_PER_EVALUATION;
            Some(format!(
                "half of the {tokens} chat tokens of a day pays for {paid} evaluations of about \
                 {TOKENS_PER_EVALUATION} tokens; raise `tokens.chat_per_day` of the policy to \
                 {wanted} or more"
            ))
        }
        _ => None,
    };
    Ok((report, problem))
}

/// Returns the cases that a search can afford: the test on the held-out ones takes half of its
/// budget, or more if fewer of them than required would be left. A search takes few of the others,
/// however many there are.
fn affordable(cases: impl Iterator<Item = Case>, search: &Settings) -> Vec<Case> {
    let mut held_out = (search.budget / 2 / (search.finalists + 1)).max(search.min_held_out);
    let mut is_affordable = |case: &Case| {
        if !case.is_held_out(search.held_out_percent) {
            return true;
        }
        let is_left = held_out > 0;
        held_out = held_out.saturating_sub(1);
        is_left
    };
    cases.filter(|case| is_affordable(case)).collect()
}

/// Starts a canary with the proposed prompt. Returns its version, or why it does not start.
async fn start(
    store: &Store,
    settings: &NightSettings,
    project: ProjectId,
    parent: i32,
    finalist: &Finalist,
) -> Result<Result<i32, String>, Error> {
    let developers = prompts::active_developers(store, project, ACTIVE_DAYS).await?;
    let developers: Vec<String> = developers.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = developers.iter().map(String::as_str).collect();
    if names.len() < DEVELOPERS_MIN {
        let found = names.len();
        return Ok(Err(format!(
            "a better prompt was found, and a canary needs {DEVELOPERS_MIN} developers: {found} \
             used the memory in the last {ACTIVE_DAYS} days; `memory-copilot aelp set` uses it \
             without a trial"
        )));
    }
    let mut tx = store.begin().await?;
    let versions = Versions::lock(&mut tx, project).await?;
    if versions.canary().is_some() {
        return Ok(Err("another node has started a canary".to_owned()));
    }
    let (current, _) = versions.current(&mut tx, project).await?;
    if current != parent {
        return Ok(Err("the prompt was changed during the search".to_owned()));
    }
    if let Some(tried) = versions.rolled_back(&finalist.prompt)? {
        return Ok(Err(format!("the proposed prompt is version {tried}, which was rolled back")));
    }
    let version = versions.next();
    let number = u32::try_from(version).unwrap_or_default();
    let percent = settings.canary.percent;
    let Some(arms) = Arms::draw(&project.to_string(), number, &names, percent) else {
        return Ok(Err("nobody was drawn for a canary".to_owned()));
    };
    let comparison = &finalist.held_out;
    let quality = Quality {
        label: QualityLabel::BetterOffline,
        gain: Some(comparison.gain),
        interval: comparison.interval,
    };
    let new = NewPromptVersion {
        version,
        prompt: json!(finalist.prompt),
        parent_version: Some(current),
        state: PromptState::Canary,
        quality: json!(quality),
        diff: finalist.diff.clone(),
        arms: Some(json!(arms)),
        settings: Some(json!(settings.canary)),
    };
    prompts::insert(&mut tx, project, &new).await?;
    let details = json!({ "gain": comparison.gain, "p": comparison.adjusted_p });
    record(&mut tx, project, AuditAction::PromptCanaryStarted, version, details);
    tx.commit().await?;
    Ok(Ok(version))
}

impl Versions {
    /// Returns the version with the items of this prompt, in any order, that was rolled back, if
    /// there is one.
    fn rolled_back(&self, prompt: &Prompt) -> Result<Option<i32>, Error> {
        let items = |prompt: &Prompt| -> BTreeSet<(Section, Item)> {
            prompt.all_items().map(|(section, item)| (section, item.clone())).collect()
        };
        for found in self.0.iter().filter(|found| found.state == PromptState::RolledBack) {
            if items(&prompt_of(found)?) == items(prompt) {
                return Ok(Some(found.version));
            }
        }
        Ok(None)
    }
}

fn record(tx: &mut Tx, project: ProjectId, action: AuditAction, version: i32, details: Value) {
    let event = NewEvent::new(action, version).with(details);
    audit::add(tx, Chain::Project(project), None, &[event]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_evaluations_leave_enough_cases_for_the_test() {
        let cases = (0..1_000).map(|n| Case { id: format!("case {n}"), errors: Vec::new() });
        for (budget, expected) in [(50, 20), (400, 50)] {
            let search = Settings { budget, finalists: 3, ..Settings::default() };
            let chosen = affordable(cases.clone(), &search);
            let is_held_out = |case: &Case| case.is_held_out(search.held_out_percent);
            assert_eq!(chosen.iter().filter(|case| is_held_out(case)).count(), expected);
            let others = chosen.iter().filter(|case| !is_held_out(case)).count();
            assert_eq!(others, cases.clone().filter(|case| !is_held_out(case)).count());
        }
    }
}
