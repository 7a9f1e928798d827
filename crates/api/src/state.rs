//! What the handlers work with.

use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_memory::MemoryContext;
use mc_search::SearchContext;
use mc_store::Store;

use crate::auth::Token;
use crate::limits::REQUEST_TIME;

/// Everything that handlers use; cheap to clone.
#[derive(Clone)]
pub struct ApiState {
    /// The database.
    pub store: Store,
    /// Hybrid search over it.
    pub search: SearchContext,
    /// The use-cases of the memory.
    pub memory: MemoryContext,
    /// What callers must show.
    pub token: Token,
    /// When the service started.
    pub started_at: DateTime<Utc>,
    /// What operators may change.
    pub settings: ApiSettings,
}

impl ApiState {
    /// The state of a service that starts now.
    pub fn new(memory: MemoryContext, token: Token) -> Self {
        Self {
            store: memory.store.clone(),
            search: memory.search.clone(),
            memory,
            token,
            started_at: Utc::now(),
            settings: ApiSettings::default(),
        }
    }
}

/// What operators may change.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// How long one request may take before it is given up.
    pub request_timeout: Duration,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self { request_timeout: REQUEST_TIME }
    }
}
