//! `memory-copilot eval help`: measures whether a model answers better with the bundle of a recall.

mod figures;
mod outcome;
mod questions;
mod report;
mod scorer;
mod writer;

use std::num::NonZeroUsize;

use anyhow::{Result, bail, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use mc_chat::{ChatModel, ChatModels, ModelRole};
use mc_domain::policy::AllowedModels;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::{EvalHelpArgs, ProjectArg};
use crate::config::Config;
use crate::output::{Format, list};
use outcome::{Bundle, Failed, Outcome, Step};
use questions::Question;
use scorer::Scorer;

/// Questions that are answered at a time. The models have limits of their own.
const CONCURRENCY: usize = 4;
/// Time budget of a recall: long, because the figures must not depend on skipped steps.
const TIME_BUDGET_MS: u32 = 10_000;

/// The service and the models of an evaluation.
struct Evaluation<'a> {
    remote: &'a ApiClient,
    args: &'a EvalHelpArgs,
    writer: &'a ChatModel,
    scorer: Scorer<'a>,
}

/// Has each question answered without and with the bundle of its recall, and prints how many of
/// the expected facts the answers state.
pub async fn run(
    args: &EvalHelpArgs,
    remote: &ApiClient,
    config: &Config,
    format: Format,
) -> Result<()> {
    let models = ChatModels::open(&config.chat)?;
    let writer = models.with_role(ModelRole::Writer)?;
    let judge = models.with_role(ModelRole::Judge).ok().filter(|_| !args.phrases);
    let questions = selected(args, judge.is_none())?;
    remote.require_project(&args.project.key()?).await?;
    let allowed = allowed_models(&args.project, remote).await?;
    for model in [Some(writer), judge].into_iter().flatten() {
        require_allowed(model, allowed)?;
    }
    let scorer = judge.map_or(Scorer::Phrases, |judge| Scorer::Model(judge));
    let evaluation = Evaluation { remote, args, writer, scorer };
    let answering = stream::iter(&questions).map(|question| evaluation.outcome(question));
    let outcomes: Vec<_> = answering.buffered(CONCURRENCY).try_collect().await?;
    let failures: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.failure.as_ref()).collect();
    if let Some(first) = failures.first().filter(|_| failures.len() == outcomes.len()) {
        bail!("no question was answered; the first request failed: {}", first.error);
    }
    format.print(&report::json(&evaluation, &outcomes)?, report::text);
    Ok(())
}

fn selected(args: &EvalHelpArgs, needs_phrases: bool) -> Result<Vec<Question>> {
    let mut questions = questions::read(&args.set, needs_phrases)?;
    if let Some(split) = &args.split {
        questions.retain(|question| {
            question.split.as_ref().is_some_and(|found| found.as_str() == split)
        });
        ensure!(
            !questions.is_empty(),
            "{} has no questions of the split {split}; see `split` of \
            its questions",
            args.set.display()
        );
    }
    questions.truncate(args.limit.map_or(usize::MAX, NonZeroUsize::get));
    Ok(questions)
}

/// Returns the models to which the project's policy allows its texts to be sent.
async fn allowed_models(project: &ProjectArg, remote: &ApiClient) -> Result<AllowedModels> {
    let policy = remote.get(&project.path("policy")?, &[]).await?;
    Ok(AllowedModels::deserialize(&policy["policy"]["models"]["chat"])?)
}

fn require_allowed(model: &ChatModel, allowed: AllowedModels) -> Result<()> {
    ensure!(
        allowed.allow(!model.is_local()),
        "the project's policy allows chat models {:?} (`models.chat`), and {} is not among them; \
         change the policy, or configure another model",
        allowed.as_str(),
        model.name()
    );
    Ok(())
}

impl Evaluation<'_> {
    /// Returns the outcome of a question. Its error is one that all questions would have.
    async fn outcome<'a>(&self, question: &'a Question) -> Result<Outcome<'a>> {
        let mut outcome = Outcome::new(question);
        let answered = match self.recall(question).await? {
            Ok(response) => self.answer(&response, &mut outcome).await,
            Err(error) => Err(Failed { step: Step::Recall, error: error.to_string() }),
        };
        if let Err(failure) = answered {
            outcome.fail(failure);
        }
        Ok(outcome)
    }

    async fn recall(&self, question: &Question) -> Result<Result<Value>> {
        let request = json!({
            "project_key": self.args.project.project,
            "query": question.text,
            "repo_path": question.path,
            "symbols": question.symbols,
            "limit_tokens": self.args.limit_tokens,
            "time_budget_ms": TIME_BUDGET_MS,
            // An evaluation is no use of the memory, and changes none of its figures.
            "is_control": true,
        });
        self.remote.post_within_limits("/recall", request).await
    }

    async fn answer(&self, recalled: &Value, outcome: &mut Outcome<'_>) -> Result<(), Failed> {
        let question = outcome.question;
        let text = mc_mcp::bundle_text(recalled);
        outcome.bundle = Some(Bundle {
            is_empty: !recalled["reason"].is_null(),
            is_degraded: !list(recalled, "degraded").is_empty(),
            facts: question.expected.iter().map(|fact| fact.has_phrase_in(&text)).collect(),
        });
        let usage = &mut outcome.usage;
        let without = writer::answer(self.writer, question, None, &mut usage.without).await;
        let without =
            outcome.answers.without.insert(without.map_err(Step::AnswerWithout.failed())?);
        let with = writer::answer(self.writer, question, Some(&text), &mut usage.with).await;
        let with = outcome.answers.with.insert(with.map_err(Step::AnswerWith.failed())?);
        let scoring = &mut outcome.scoring_usage;
        let stated = self.scorer.stated(question, without, scoring).await;
        let stated_without = stated.map_err(Step::ScoreWithout.failed())?;
        let stated = self.scorer.stated(question, with, scoring).await;
        outcome.stated.with = stated.map_err(Step::ScoreWith.failed())?;
        outcome.stated.without = stated_without;
        Ok(())
    }
}
