//! State and settings of the handlers.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use mc_accounts::SignIn;
use mc_coding::{Coding, CodingSettings};
use mc_connectors::ConnectorRegistry;
use mc_files::ProtectedDirectories;
use mc_git::AllowedPrivateHost;
use mc_memory::MemoryContext;
use mc_metrics::Metrics;
use mc_rag::{CrossEncoder, RagSettings};
use mc_redis::SharedRateLimits;
use mc_store::Store;
use mc_workspaces::Workbench;

use crate::authenticate::Authenticator;
use crate::client_sessions::ClientSessions;
use crate::ingress::{Ingress, IngressConfig};
use crate::limits::REQUEST_TIMEOUT;
use crate::metrics::{MetricsAccess, QuestionMetrics, RequestMetrics};
use crate::middleware::Admission;

/// State of the handlers; cheap to clone.
#[derive(Clone)]
pub struct ApiState {
    /// The database with the service's role, which sees no project until a caller is authorized in
    /// it ([`Self::authorize`]).
    pub store: Store,
    /// The database with the worker's role, for figures of the whole service.
    pub background: Store,
    /// The database with the worker's role, over connections for webhook deliveries alone: most
    /// providers send a delivery once.
    pub receiving: Store,
    /// The use-cases of the memory.
    pub memory: MemoryContext,
    /// Sign-in and tokens.
    pub sign_in: SignIn,
    /// The connectors that the operator configured.
    pub connectors: Arc<ConnectorRegistry>,
    /// When the service started.
    pub started_at: DateTime<Utc>,
    /// The workspaces of this node.
    pub workbench: Arc<Workbench>,
    /// The work on patches of this node.
    pub coding: Arc<Coding>,
    /// Settings of the operator.
    pub settings: ApiSettings,
    /// Metrics of this process.
    pub metrics: Metrics,
    pub(crate) request_metrics: RequestMetrics,
    pub(crate) question_metrics: QuestionMetrics,
    /// Rate limits that nodes share, if they share Redis.
    pub(crate) rates: Option<SharedRateLimits>,
    /// Counters of the limits.
    pub(crate) admission: Admission,
    /// Sessions of clients that name none.
    pub(crate) client_sessions: ClientSessions,
}

impl ApiState {
    /// Creates the state of a service that starts now.
    pub fn new(memory: MemoryContext, background: Store, sign_in: SignIn) -> Self {
        let metrics = Metrics::new();
        Self {
            store: memory.store.clone(),
            receiving: background.clone(),
            background,
            memory,
            sign_in,
            connectors: Arc::default(),
            started_at: Utc::now(),
            request_metrics: RequestMetrics::new(&metrics),
            question_metrics: QuestionMetrics::new(&metrics),
            coding: Arc::new(Coding::new(&metrics)),
            metrics,
            rates: None,
            admission: Admission::new(&ApiSettings::default(), None),
            client_sessions: ClientSessions::default(),
            workbench: Arc::default(),
            settings: ApiSettings::default(),
        }
    }

    /// Returns the authenticator of callers.
    pub fn authenticator(&self) -> Authenticator {
        Arc::new(self.sign_in.clone())
    }

    /// Sets the connections for webhook deliveries.
    pub fn with_receiving(self, receiving: Store) -> Self {
        Self { receiving, ..self }
    }

    /// Sets the connectors.
    pub fn with_connectors(self, connectors: Arc<ConnectorRegistry>) -> Self {
        Self { connectors, ..self }
    }

    /// Sets the workspaces of this node.
    pub fn with_workbench(self, workbench: Arc<Workbench>) -> Self {
        Self { workbench, ..self }
    }

    /// Sets the operator's settings.
    pub fn with_settings(self, settings: ApiSettings) -> Self {
        Self { admission: Admission::new(&settings, self.rates.as_ref()), settings, ..self }
    }

    /// Sets the rate limits that nodes share.
    pub fn with_rates(self, rates: Option<SharedRateLimits>) -> Self {
        let admission = Admission::new(&self.settings, rates.as_ref());
        Self { rates, admission, ..self }
    }

    /// Returns an ingress that shares the rate limits of this state.
    pub fn ingress(&self, settings: IngressConfig) -> Ingress {
        Ingress::sharing(settings, self.rates.as_ref())
    }
}

/// Settings of the operator.
#[derive(Debug, Clone)]
pub struct ApiSettings {
    /// Time after which a request is aborted.
    pub request_timeout: Duration,
    /// Units per minute of a caller (a personal access token or a session); a user has four times
    /// as many. Most requests take one unit. 0 is no limit.
    pub units_per_minute_per_caller: u32,
    /// Processor time per minute that a caller may use on each node for requests that write texts,
    /// and as much for all others; a user may use four times as much. Zero is no limit.
    pub processor_time_per_minute_per_caller: Duration,
    /// Maximum of concurrent requests; 0 is no limit.
    pub max_concurrent_requests: usize,
    /// Whether notifications may be sent to private networks.
    pub allow_private_networks: bool,
    /// Hosts in private networks from which every user may index repositories.
    pub allowed_private_hosts: Vec<AllowedPrivateHost>,
    /// Directories that no user may index.
    pub protected: ProtectedDirectories,
    /// Maximum of open requests to `/mcp`, including their streams; 0 is no limit.
    pub max_mcp_streams: usize,
    /// Search of repositories by questions.
    pub rag: Arc<RagSettings>,
    /// The cross-encoder of `rag`.
    pub cross_encoder: Option<CrossEncoder>,
    /// Patches.
    pub coding: Arc<CodingSettings>,
    /// Who may read `GET /metrics`; `None` for nobody, as if there were no such path.
    pub metrics: Option<MetricsAccess>,
}

impl Default for ApiSettings {
    fn default() -> Self {
        Self {
            request_timeout: REQUEST_TIMEOUT,
            units_per_minute_per_caller: 240_000,
            processor_time_per_minute_per_caller: Duration::from_mins(1),
            max_concurrent_requests: 256,
            max_mcp_streams: 512,
            rag: Arc::default(),
            cross_encoder: None,
            coding: Arc::default(),
            metrics: None,
            allow_private_networks: false,
            allowed_private_hosts: Vec::new(),
            protected: ProtectedDirectories::default(),
        }
    }
}
