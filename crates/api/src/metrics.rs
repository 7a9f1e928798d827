//! `GET /metrics`: the metrics of the process in Prometheus' text form, for the scraper that the
//! operator has configured; and the metrics of requests, connections and searches.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, header};
use mc_auth::secret::SecretHash;
use mc_contract::operations::rag::RagSearchResponse;
use mc_metrics::{Counter, Family, Gauges, Histogram, Labels, MEDIA_TYPE, Metrics, set_all};
use mc_search::SearchContext;
use mc_store::{Store, change_feed, vectors};

use crate::ApiState;
use crate::authenticate::bearer;
use crate::ingress::{ClientInfo, ClientNetwork};
use crate::problem::Problem;

/// The route.
pub const METRICS: &str = "/metrics";

/// Upper bounds of the buckets of durations, in seconds: a recall takes some milliseconds, and a
/// request ends after half a minute.
const BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Maximum number of entries of the change feed that are counted: more is a rebuild.
const LAG_MAX: i64 = 100_000;

/// Who may read the metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsAccess {
    /// Programs of this machine that connect directly, without a proxy.
    Loopback,
    /// A client with the bearer token of this hash. It is no token of a user.
    Token(SecretHash),
}

/// Returns the metrics, if the request may read them.
pub async fn scrape(
    State((access, metrics)): State<(MetricsAccess, Metrics)>,
    request: Request,
) -> Result<Response, Problem> {
    check(&access, &request)?;
    let text = metrics.encode().await.map_err(|error| {
        tracing::error!(error = &error as &dyn std::error::Error, "encoding metrics failed");
        Problem::internal()
    })?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], text).into_response())
}

fn check(access: &MetricsAccess, request: &Request) -> Result<(), Problem> {
    match access {
        MetricsAccess::Token(expected) => {
            let token = bearer(request.headers()).ok_or_else(|| {
                Problem::unauthenticated().hint("use the token of `metrics` in the configuration")
            })?;
            // Hashes are compared in constant time.
            if SecretHash::of(token.as_bytes()) == *expected {
                return Ok(());
            }
            Err(Problem::invalid_token().hint("use the token of `metrics` in the configuration"))
        }
        MetricsAccess::Loopback => {
            let client = request.extensions().get::<ClientInfo>();
            let is_local = client.is_some_and(|client| {
                client.network == ClientNetwork::of(std::net::Ipv4Addr::LOCALHOST.into())
            });
            if is_local && !is_forwarded(request.headers()) {
                return Ok(());
            }
            Err(Problem::forbidden("only programs of the service's machine may read metrics")
                .hint("the operator can set metrics.access to token"))
        }
    }
}

/// Whether a proxy sent the request: a proxy on this machine forwards requests of others, whether
/// or not it is trusted.
fn is_forwarded(headers: &HeaderMap) -> bool {
    let names = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"];
    names.iter().any(|name| headers.contains_key(*name))
}

/// Histograms of durations, in seconds.
type Durations = Family<Labels, Histogram, fn() -> Histogram>;

/// Registers histograms of durations.
fn durations(metrics: &Metrics, name: &str, help: &str) -> Durations {
    let new_histogram: fn() -> Histogram = || Histogram::new(BUCKETS);
    metrics.register(name, help, Family::new_with_constructor(new_histogram))
}

/// Metrics of requests.
#[derive(Clone)]
pub struct RequestMetrics {
    requests: Family<Labels, Counter>,
    durations: Durations,
}

impl RequestMetrics {
    /// Registers the metrics.
    pub fn new(metrics: &Metrics) -> Self {
        let help = "Requests by method, route and status";
        Self {
            requests: metrics.register("http_requests", help, Family::default()),
            durations: durations(
                metrics,
                "http_request_duration_seconds",
                "Duration of requests by method and route",
            ),
        }
    }
}

/// Metrics of repository searches.
#[derive(Clone)]
pub struct QuestionMetrics {
    applied: Family<Labels, Counter>,
    durations: Durations,
}

impl QuestionMetrics {
    /// Registers the metrics.
    pub fn new(metrics: &Metrics) -> Self {
        let help = "Repository searches on which a module had an effect";
        Self {
            applied: metrics.register("rag_modules", help, Family::default()),
            durations: durations(
                metrics,
                "rag_module_duration_seconds",
                "Duration of the modules of a question, and of the searches together",
            ),
        }
    }

    /// Counts the modules of a response.
    pub fn count(&self, response: &RagSearchResponse) {
        let label = |module: &str| vec![("module", module.to_owned())];
        // A profile is no module, and an operator may configure many.
        let modules = response.applied_modules.iter().filter(|name| !name.starts_with("profile:"));
        for module in modules {
            self.applied.get_or_create(&label(module)).inc();
        }
        for timing in &response.timings {
            let durations = self.durations.get_or_create(&label(&timing.module));
            durations.observe(timing.duration_ms / 1_000.0);
        }
    }
}

/// Counts a request and its duration.
pub async fn count_request(
    State(metrics): State<RequestMetrics>,
    request: Request,
    next: Next,
) -> Response {
    // The pattern of the route, not the path: paths have titles and ids.
    let route = request.extensions().get::<MatchedPath>().map_or("unmatched", MatchedPath::as_str);
    let mut labels = vec![("method", method_label(request.method())), ("route", route.to_owned())];
    let started = Instant::now();
    let response = next.run(request).await;
    metrics.durations.get_or_create(&labels).observe(started.elapsed().as_secs_f64());
    labels.push(("status", response.status().as_u16().to_string()));
    metrics.requests.get_or_create(&labels).inc();
    response
}

/// Returns the name of a method of the API. A client may send any other, and each would be a
/// series.
fn method_label(method: &Method) -> String {
    let known = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let is_known = known.contains(method) || [Method::HEAD, Method::OPTIONS].contains(method);
    if is_known { method.as_str().to_owned() } else { "other".to_owned() }
}

/// Gauges of the node's connections and searches, and what they are read from.
#[derive(Clone)]
struct NodeGauges {
    pools: [(&'static str, Store); 2],
    search: SearchContext,
    connections: Gauges,
    connections_max: Gauges,
    index_lag: Gauges,
    embedding_queue: Gauges,
}

impl ApiState {
    /// Registers the metrics of the service, other than those of requests. Projects become labels
    /// only if `with_projects` is set. Call it once.
    pub fn register_metrics(&self, with_projects: bool) {
        register_node_metrics(self);
        mc_jobs::register_metrics(&self.metrics, self.background.clone());
        let store = self.background.clone();
        mc_memory::figures::register_metrics(&self.metrics, store, with_projects);
    }
}

/// Registers the metrics of connections, the keyword index and the embedding queue.
fn register_node_metrics(api: &ApiState) {
    let gauge = |name, help| api.metrics.register_gauges(name, help);
    let gauges = NodeGauges {
        pools: [("service", api.store.clone()), ("background", api.background.clone())],
        search: api.memory.search.clone(),
        connections: gauge("database_connections", "Database connections by pool and state"),
        connections_max: gauge("database_connections_max", "Most connections of each pool"),
        index_lag: gauge(
            "index_lag_passages",
            "Changed passages that the keyword index has not applied, at most 100,000",
        ),
        embedding_queue: gauge("embedding_queue_length", "Passages without a current vector"),
    };
    api.metrics.before_scrape(move || {
        let gauges = gauges.clone();
        async move { gauges.sample().await }
    });
}

impl NodeGauges {
    async fn sample(&self) {
        let [_, (_, background)] = &self.pools;
        let pool = |name: &str| ("pool", name.to_owned());
        set_all(
            &self.connections,
            self.pools.iter().flat_map(|(name, store)| {
                let (open, used) = store.connection_counts();
                [("used", used), ("idle", open - used)].map(|(state, count)| {
                    (vec![pool(name), ("state", state.to_owned())], count as f64)
                })
            }),
        );
        set_all(
            &self.connections_max,
            self.pools
                .iter()
                .map(|(name, store)| (vec![pool(name)], store.max_connections() as f64)),
        );
        let cursor = self.search.keyword.status().cursor;
        let lag = change_feed::count_after(background, cursor, LAG_MAX).await;
        set_or_clear(&self.index_lag, lag);
        let model = self.search.models.current();
        let queue = vectors::queue_length(background, None, &model.model, model.is_remote);
        set_or_clear(&self.embedding_queue, queue.await);
    }
}

/// Sets a gauge without labels. A value that is unknown is not shown.
fn set_or_clear(gauge: &Gauges, value: mc_store::Result<i64>) {
    let value = value.inspect_err(|error| {
        tracing::warn!(error = error as &dyn std::error::Error, "reading a metric failed");
    });
    set_all(gauge, value.ok().map(|value| (Labels::new(), value as f64)));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn modules_of_a_question_are_counted() {
        let metrics = Metrics::new();
        let questions = QuestionMetrics::new(&metrics);
        let response = json!({
            "repoOwner": "acme", "repoName": "shop", "matches": [], "augmentedPrompt": "",
            "instructions": "", "contextMissing": true, "noResults": true, "mixed": false,
            "appliedModules": ["profile:fast", "post.context-budget"], "warnings": [],
            "contextTokens": 0, "timings": [{"module": "retrieval", "durationMs": 7.5}],
        });
        questions.count(&serde_json::from_value(response).expect("a response"));
        let text = metrics.encode().await.expect("a text");
        for expected in [
            r#"memory_copilot_rag_modules_total{module="post.context-budget"} 1"#,
            r#"memory_copilot_rag_module_duration_seconds_count{module="retrieval"} 1"#,
        ] {
            assert!(text.contains(expected), "{text}");
        }
        assert!(!text.contains("profile"), "{text}");
    }
}
