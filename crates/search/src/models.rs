//! Embedding models that searches use.

use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

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

/// Previous model that has vectors, and whose provider can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableModel {
    /// Name of the model.
    pub name: String,
    /// Cause and remedy, for administrators.
    pub reason: String,
    /// Whether texts would be sent to another machine.
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
    previous: Option<Previous>,
}

/// The previous model, while it has vectors that the current one lacks.
#[derive(Clone)]
struct Previous {
    opened: Result<ActiveModel, UnavailableModel>,
    /// Why its provider failed last; searches leave it out meanwhile.
    failure: Option<String>,
}

impl ActiveModels {
    /// Creates the pair. `previous` is used for passages without a vector of `current`.
    pub fn new(current: ActiveModel, previous: Option<ActiveModel>) -> Self {
        let state = Arc::new(RwLock::new(State { current, previous: previous.map(Previous::of) }));
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
        let models = std::iter::once(current).chain(previous.and_then(Previous::usable));
        models.filter(|model| self.providers.allow(model.is_remote)).collect()
    }

    /// Returns the previous model if its vectors are needed, its provider can't be used, and the
    /// policy allows it.
    pub fn unavailable_previous(&self) -> Option<UnavailableModel> {
        let unavailable = self.state().previous?.unavailable()?;
        self.providers.allow(unavailable.is_remote).then_some(unavailable)
    }

    /// Returns whether a previous model has vectors that the current one lacks.
    pub fn has_previous(&self) -> bool {
        self.state().previous.is_some()
    }

    /// Returns the previous model if its provider was opened, even if it failed since.
    pub fn opened_previous(&self) -> Option<ActiveModel> {
        self.state().previous?.opened.ok()
    }

    /// Sets the previous model, whose provider was opened or can't be.
    pub fn set_previous(&self, opened: Result<ActiveModel, UnavailableModel>) {
        self.write().previous = Some(Previous { opened, failure: None });
    }

    /// Makes searches leave out the previous model with this reason, or use it again if it is
    /// `None`. Returns whether that is a change.
    pub fn set_previous_failure(&self, failure: Option<String>) -> bool {
        let mut state = self.write();
        let Some(previous) = &mut state.previous else { return false };
        let is_change = previous.failure.is_some() != failure.is_some();
        previous.failure = failure;
        is_change
    }

    /// Removes the previous model, after the current one has all vectors.
    pub fn retire_previous(&self) {
        self.write().previous = None;
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> State {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Previous {
    fn of(model: ActiveModel) -> Self {
        Self { opened: Ok(model), failure: None }
    }

    fn usable(self) -> Option<ActiveModel> {
        self.opened.ok().filter(|_| self.failure.is_none())
    }

    fn unavailable(self) -> Option<UnavailableModel> {
        match (self.opened, self.failure) {
            (Err(unavailable), _) => Some(unavailable),
            (Ok(ActiveModel { model, is_remote, .. }), Some(reason)) => {
                Some(UnavailableModel { name: model.name, reason, is_remote })
            }
            (Ok(_), None) => None,
        }
    }
}
