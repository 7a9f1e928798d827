//! After the search: ranking, neighbors and the limit of tokens.

use mc_contract::operations::rag::{NeighborStrategy, RagModule};
use tokio::time::{Instant, timeout_at};

use super::Run;
use crate::budget::{Packed, favor_best_file, pack};
use crate::compress::compress;
use crate::neighbors::{Expansion, arranged, expand};
use crate::snippet::Snippet;
use crate::union::sort;
use crate::{cross_encoder, model_rerank, rerank};

impl Run<'_> {
    /// Returns the snippets of the response, in its order.
    pub(super) async fn refine(&mut self, query: &str, found: Vec<Snippet>) -> Packed {
        let mut snippets = found;
        let is_ranked_by_model = self.rank(query, &mut snippets).await;
        snippets.truncate(self.plan.top_k);
        // A model has read the passages, so that its order stays.
        let has_moved = !is_ranked_by_model
            && self.plan.has(RagModule::ContextBudget)
            && favor_best_file(&mut snippets);
        self.add_neighbors(&mut snippets).await;
        let mut packed = self.fit(snippets, has_moved);
        self.compress(query, &mut packed.context).await;
        Packed { context: arranged(packed.context), ..packed }
    }

    /// Ranks the snippets, best first. Returns whether a model has changed the order.
    async fn rank(&mut self, query: &str, snippets: &mut [Snippet]) -> bool {
        let module = RagModule::HeuristicRerank;
        if self.plan.has(module) {
            let started = Instant::now();
            if rerank::rerank(snippets, query) {
                self.journal.applied(module);
            }
            self.journal.took(module.as_str(), started.elapsed());
        }
        let mut is_ranked_by_model = self.rank_by_cross_encoder(query, snippets).await;
        let module = RagModule::ModelRerank;
        if self.plan.has(module) && snippets.len() > 1 {
            let ranked = model_rerank::rerank(&self.models, query, snippets);
            let started = Instant::now();
            let ranked = self.journal.timed(module.as_str(), ranked).await;
            // The calls of models have a time limit of their own.
            self.deadline += started.elapsed();
            is_ranked_by_model |= self.note(module, ranked);
        }
        is_ranked_by_model
    }

    async fn rank_by_cross_encoder(&mut self, query: &str, snippets: &mut [Snippet]) -> bool {
        let module = RagModule::CrossEncoder;
        if !self.plan.has(module) {
            return false;
        }
        let Some(encoder) = &self.cross_encoder else {
            self.journal.warn(format!("{module} was left out: a project's policy forbids it"));
            return false;
        };
        let started = Instant::now();
        let ranked = cross_encoder::rerank(encoder, query, snippets).await;
        self.journal.took(module.as_str(), started.elapsed());
        // As for the calls of chat models.
        self.deadline += started.elapsed();
        self.note(module, ranked)
    }

    /// Adds the code around the best matches. A failure leaves them as they are.
    async fn add_neighbors(&mut self, snippets: &mut Vec<Snippet>) {
        let module = RagModule::NeighborExpand;
        let strategy = self.plan.neighbor_strategy;
        if !self.plan.has(module) || strategy == NeighborStrategy::Off || snippets.is_empty() {
            return;
        }
        let expansion = Expansion { strategy, radius: self.plan.neighbor_radius };
        let expanded = timeout_at(self.deadline, expand(&self.scopes, snippets, expansion));
        match self.journal.timed(module.as_str(), expanded).await {
            Ok(Ok(added)) if added.is_empty() => {}
            Ok(Ok(added)) => {
                self.journal.applied(module);
                if strategy == NeighborStrategy::Linear {
                    self.journal.warn(format!(
                        "{module}: LINEAR added {} chunks beside the matches",
                        added.len()
                    ));
                }
                snippets.extend(added);
                sort(snippets);
            }
            Ok(Err(error)) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "neighbors of matches left out"
                );
                self.journal.warn(format!("{module} was left out: the database failed"));
            }
            Err(_elapsed) => self.journal.warn(format!("{module} was left out: it took too long")),
        }
    }

    /// Leaves out repeated lines, and the texts that exceed the limit of tokens if that module is
    /// on.
    fn fit(&mut self, snippets: Vec<Snippet>, has_moved: bool) -> Packed {
        let module = RagModule::ContextBudget;
        let is_on = self.plan.has(module);
        let max_tokens = if is_on { self.plan.max_context_tokens } else { usize::MAX };
        let started = Instant::now();
        let packed = pack(snippets, max_tokens, &self.renderer);
        if packed.is_cut || has_moved {
            self.journal.applied(module);
        }
        if is_on {
            self.journal.took(module.as_str(), started.elapsed());
        }
        packed
    }

    async fn compress(&mut self, query: &str, snippets: &mut [Snippet]) {
        let module = RagModule::SnippetCompression;
        if self.plan.has(module) && !snippets.is_empty() {
            let compressed = compress(&self.models, query, snippets);
            let compressed = self.journal.timed(module.as_str(), compressed).await;
            if compressed == Ok(true) {
                for snippet in snippets.iter_mut() {
                    snippet.tokens = self.renderer.tokens(snippet);
                }
            }
            self.note(module, compressed);
        }
    }

    /// Records the effect of a module, and returns whether it had one.
    fn note(
        &mut self,
        module: RagModule,
        effect: Result<bool, crate::models::ModelFailure>,
    ) -> bool {
        match effect {
            Ok(true) => self.journal.applied(module),
            Ok(false) => {}
            Err(ref failure) => self.journal.model_failed(module, failure),
        }
        effect.is_ok_and(|has_effect| has_effect)
    }
}
