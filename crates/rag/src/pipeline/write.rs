//! The response: the prompt, and what a model writes about the matches.

use mc_contract::operations::rag::{RagModule, RagSearchResponse};
use tokio::time::Instant;

use super::{Labels, Run};
use crate::budget::Packed;
use crate::models::ModelFailure;
use crate::multi_query::SubQuery;
use crate::prompt::ContextState;
use crate::response::rag_match;
use crate::snippet::Snippet;
use crate::summary::{answer, summary};
use crate::{Error, scope};

impl Run<'_> {
    /// Returns the response.
    pub(super) async fn write(
        mut self,
        query: &str,
        queries: &[SubQuery],
        found: Packed,
        weakness: Option<String>,
        labels: Labels,
    ) -> Result<RagSearchResponse, Error> {
        let Packed { context, places, .. } = found;
        let (summary, raw_answer) = self.write_texts(query, &context).await;
        let state = match (context.is_empty(), &weakness) {
            (true, _) if !places.is_empty() => ContextState::TooSmall,
            (true, _) if self.plan.allow_empty_context => ContextState::EmptyAllowed,
            (true, _) => ContextState::Empty,
            (false, Some(_)) => ContextState::Weak,
            (false, None) => ContextState::Strong,
        };
        let augmented_prompt = match state {
            ContextState::Empty | ContextState::TooSmall => String::new(),
            _ => self.renderer.prompt(query, &context),
        };
        let context_tokens = self.renderer.total_tokens(&context);
        let mixed = scope::is_mixed(&self.scopes).await?;
        let journal = self.journal.finish();
        Ok(RagSearchResponse {
            repo_owner: labels.owner,
            repo_name: labels.name,
            augmented_prompt,
            instructions: state.instructions().to_owned(),
            context_missing: context.is_empty(),
            no_results: weakness.is_some(),
            mixed,
            no_results_reason: weakness,
            applied_modules: journal.applied,
            warnings: journal.warnings,
            summary,
            raw_answer,
            context_tokens,
            timings: journal.timings,
            matches: context
                .into_iter()
                .chain(places)
                .map(|snippet| rag_match(snippet, queries))
                .collect(),
        })
    }

    /// Asks a model for the texts that are on, at once.
    async fn write_texts(
        &mut self,
        query: &str,
        snippets: &[Snippet],
    ) -> (Option<String>, Option<String>) {
        let (models, plan) = (&self.models, &self.plan);
        let has_context = snippets.iter().any(Snippet::is_trusted);
        let is_on = |module| has_context && plan.has(module);
        let started = Instant::now();
        let (summary, answer) = tokio::join!(
            optional(is_on(RagModule::Summary), summary(models, query, snippets)),
            optional(is_on(RagModule::RawAnswer), answer(models, query, snippets)),
        );
        let took = started.elapsed();
        let mut text = |module: RagModule, written: Option<Result<String, ModelFailure>>| {
            let written = written?;
            self.journal.took(module.as_str(), took);
            match written {
                Ok(text) => {
                    self.journal.applied(module);
                    Some(text)
                }
                Err(failure) => {
                    self.journal.model_failed(module, &failure);
                    None
                }
            }
        };
        let texts = (text(RagModule::Summary, summary), text(RagModule::RawAnswer, answer));
        let masked = |text: Option<String>| text.map(|text| self.masked(&text));
        (masked(texts.0), masked(texts.1))
    }
}

async fn optional<T>(is_on: bool, work: impl Future<Output = T>) -> Option<T> {
    if is_on { Some(work.await) } else { None }
}
