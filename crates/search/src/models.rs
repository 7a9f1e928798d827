//! The embedding models that answer now.

use std::sync::{Arc, PoisonError, RwLock};

use mc_domain::policy::AllowedModels;
use mc_embed::Embedder;
use mc_store::vectors::Model;

/// A model as the database knows it, and the provider that computes it.
#[derive(Clone)]
pub struct ActiveModel {
    /// Under which its vectors are kept.
    pub model: Model,
    /// Makes vectors of queries.
    pub embedder: Arc<dyn Embedder>,
    /// Whether texts leave this machine for it.
    pub is_remote: bool,
}

/// The model in use and, while its vectors are not complete, the one before it. Clones share one
/// state, so that a switch reaches every search.
#[derive(Clone)]
pub struct ActiveModels {
    state: Arc<RwLock<State>>,
    /// Those of them that may be asked.
    providers: AllowedModels,
}

#[derive(Clone)]
struct State {
    current: ActiveModel,
    previous: Option<ActiveModel>,
}

impl ActiveModels {
    /// Answers with `current`, and with `previous` for passages that have no vector of it yet.
    pub fn new(current: ActiveModel, previous: Option<ActiveModel>) -> Self {
        let state = Arc::new(RwLock::new(State { current, previous }));
        Self { state, providers: AllowedModels::Any }
    }

    /// The same for texts that only these providers may see.
    pub fn restricted_to(&self, providers: AllowedModels) -> Self {
        Self { providers, ..self.clone() }
    }

    /// The model in use, if it may see the texts at hand.
    pub fn usable(&self) -> Option<ActiveModel> {
        Some(self.current()).filter(|model| self.providers.allow(model.is_remote))
    }

    /// The model in use.
    pub fn current(&self) -> ActiveModel {
        self.state().current
    }

    /// Those to ask, the one in use first.
    pub fn all(&self) -> Vec<ActiveModel> {
        let State { current, previous } = self.state();
        let all = std::iter::once(current).chain(previous);
        all.filter(|model| self.providers.allow(model.is_remote)).collect()
    }

    /// Lets go of the model before: the one in use has every vector now.
    pub fn retire_previous(&self) {
        self.state.write().unwrap_or_else(PoisonError::into_inner).previous = None;
    }

    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
