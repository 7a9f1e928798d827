//! Embedding models that searches use.

use std::sync::{Arc, PoisonError, RwLock};

use mc_domain::policy::AllowedModels;
use mc_embed::Embedder;
use mc_store::vectors::Model;

/// Embedding model with the provider that computes its vectors.
#[derive(Clone)]
pub struct ActiveModel {
    /// Model under which the vectors are stored.
    pub model: Model,
    /// Provider that computes the vectors of queries.
    pub embedder: Arc<dyn Embedder>,
    /// Whether texts are sent to another machine.
    pub is_remote: bool,
}

/// Current model and, while its vectors are incomplete, the previous one. Clones share their state,
/// so that a change applies to every search.
#[derive(Clone)]
pub struct ActiveModels {
    state: Arc<RwLock<State>>,
    /// Models that the policy allows.
    providers: AllowedModels,
}

#[derive(Clone)]
struct State {
    current: ActiveModel,
    previous: Option<ActiveModel>,
}

impl ActiveModels {
    /// Creates the pair. `previous` is used for passages without a vector of `current`.
    pub fn new(current: ActiveModel, previous: Option<ActiveModel>) -> Self {
        let state = Arc::new(RwLock::new(State { current, previous }));
        Self { state, providers: AllowedModels::Any }
    }

    /// Returns the models restricted to those that the policy of a project allows.
    pub fn restricted_to(&self, providers: AllowedModels) -> Self {
        Self { providers, ..self.clone() }
    }

    /// Returns the current model, if the policy allows it.
    pub fn usable(&self) -> Option<ActiveModel> {
        Some(self.current()).filter(|model| self.providers.allow(model.is_remote))
    }

    /// Returns the model that searches use now.
    pub fn current(&self) -> ActiveModel {
        self.state().current
    }

    /// Returns the allowed models, the current one first.
    pub fn allowed(&self) -> Vec<ActiveModel> {
        let State { current, previous } = self.state();
        let models = std::iter::once(current).chain(previous);
        models.filter(|model| self.providers.allow(model.is_remote)).collect()
    }

    /// Removes the previous model, after the current one has all vectors.
    pub fn retire_previous(&self) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).previous = None;
    }

    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
