//! What the handlers work with.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_accounts::SignIn;
use mc_connectors::ConnectorRegistry;
use mc_indexer::source::AllowedPrivateHost;
use mc_memory::MemoryContext;
use mc_redis::SharedRateLimits;
use mc_store::Store;

use crate::authenticate::Authenticator;
use crate::ingress::{Ingress, IngressConfig};
use crate::limits::REQUEST_TIME;
use crate::middleware::Admission;

/// Everything that handlers use; cheap to clone.
#[derive(Clone)]
pub struct ApiState {
    /// The database, which shows nothing of a project until someone enters it ([`Self::enter`]).
    pub store: Store,
    /// The database as the background sees it: for figures of the whole service.
    pub background: Store,
    /// The same for what webhooks deliver, over connections that nothing else keeps busy: most senders send
    /// nothing twice.
    pub receiving: Store,
    /// The use-cases of the memory.
    pub memory: MemoryContext,
    /// How people sign in, and what tokens are worth.
    pub sign_in: SignIn,
    /// The other systems that the operator has named.
    pub systems: Arc<ConnectorRegistry>,
    /// When the service started.
    pub started_at: DateTime<Utc>,
    /// What operators may change.
    pub settings: ApiSettings,
    /// What nodes count together, where they share something.
    pub(crate) rates: Option<SharedRateLimits>,
    /// What of it is used up.
    pub(crate) admission: Admission,
}

impl ApiState {
    /// The state of a service that starts now.
    pub fn new(memory: MemoryContext, background: Store, sign_in: SignIn) -> Self {
        Self {
            store: memory.store.clone(),
            receiving: background.clone(),
            background,
            memory,
            sign_in,
            systems: Arc::default(),
            started_at: Utc::now(),
            rates: None,
            admission: Admission::new(&ApiSettings::default(), None),
            settings: ApiSettings::default(),
        }
    }

    /// How callers are told apart.
    pub fn authenticator(&self) -> Authenticator {
        Arc::new(self.sign_in.clone())
    }

    /// The same with connections of the background's role that take in webhooks alone.
    pub fn with_receiving(self, receiving: Store) -> Self {
        Self { receiving, ..self }
    }

    /// The same with other systems that projects may be connected to.
    pub fn with_systems(self, systems: Arc<ConnectorRegistry>) -> Self {
        Self { systems, ..self }
    }

    /// The same with the operator's settings.
    pub fn with_settings(self, settings: ApiSettings) -> Self {
        Self { admission: Admission::new(&settings, self.rates.as_ref()), settings, ..self }
    }

    /// The same with limits that count what all nodes let through.
    pub fn with_rates(self, rates: Option<SharedRateLimits>) -> Self {
        let admission = Admission::new(&self.settings, rates.as_ref());
        Self { rates, admission, ..self }
    }

    /// A door that counts as this state does.
    pub fn door(&self, settings: IngressConfig) -> Ingress {
        Ingress::sharing(settings, self.rates.as_ref())
    }
}

/// What operators may change.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// How long one request may take before it is given up.
    pub request_timeout: Duration,
    /// What one caller (a personal access token, or a session) may ask for in a minute, and all of one user
    /// four times over; most requests are one unit. 0 for anything.
    pub units_per_caller: u32,
    /// Requests that run at once; 0 for any number.
    pub requests_at_once: usize,
    /// Whether notices may go to addresses inside the service's own network.
    pub local_notices: bool,
    /// Hosts inside that network from which everybody may have repositories indexed.
    pub inside_hosts: Vec<AllowedPrivateHost>,
    /// Requests to `/mcp` that are open at once, their streams included; 0 for any number.
    pub streams_at_once: usize,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            request_timeout: REQUEST_TIME,
            units_per_caller: 240_000,
            requests_at_once: 256,
            streams_at_once: 512,
            local_notices: false,
            inside_hosts: Vec::new(),
        }
    }
}
