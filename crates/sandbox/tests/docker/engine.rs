//! A stand-in of the Docker engine: its API on a Unix socket, with one container.

use std::convert::Infallible;
use std::os::unix::net::UnixListener as StdListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use tokio::sync::watch;

/// Image of the tests.
pub const IMAGE: &str =
    "tools@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
/// Id of the container.
const CONTAINER: &str = "c0ffee";

/// What the container and the engine do.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Output: 1 for standard output, 2 for standard error, and the text.
    pub output: Vec<(u8, String)>,
    pub exit_code: i64,
    pub is_out_of_memory: bool,
    /// Whether the container runs until it gets a signal.
    pub hangs: bool,
    pub ignores_sigterm: bool,
    /// Requests with this part of the path, or this method, fail with the status.
    pub error: Option<(&'static str, u16)>,
    /// Containers that the engine lists.
    pub containers: Value,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            output: Vec::new(),
            exit_code: 0,
            is_out_of_memory: false,
            hangs: false,
            ignores_sigterm: false,
            error: None,
            containers: json!([]),
        }
    }
}

/// Method, path with query, and body of a request.
type Recorded = (String, String, Value);

/// The running stand-in. It ends with the runtime of the test.
pub struct Engine {
    directory: TempDir,
    state: Arc<State>,
}

struct State {
    scenario: Scenario,
    requests: Mutex<Vec<Recorded>>,
    is_started: watch::Sender<bool>,
    is_ended: watch::Sender<bool>,
}

impl Engine {
    pub fn start(scenario: Scenario) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = StdListener::bind(directory.path().join("docker.sock")).unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = UnixListener::from_std(listener).unwrap();
        let state = Arc::new(State {
            is_started: watch::channel(false).0,
            is_ended: watch::channel(!scenario.hangs).0,
            scenario,
            requests: Mutex::default(),
        });
        let serving = state.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let state = serving.clone();
                let service = service_fn(move |request| respond(state.clone(), request));
                let connection =
                    http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                // The client may close a connection at any time.
                tokio::spawn(async move { drop(connection.with_upgrades().await) });
            }
        });
        Self { directory, state }
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("docker.sock")
    }

    pub fn requests(&self) -> Vec<Recorded> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn count(&self, method: &str, path: &str) -> usize {
        let requests = self.requests();
        requests.iter().filter(|(of, at, _)| of == method && at.contains(path)).count()
    }

    /// Returns the body of the request that created the container.
    pub fn created(&self) -> Value {
        let requests = self.requests();
        requests.into_iter().find(|(_, path, _)| path.contains("/create")).unwrap().2
    }

    /// Returns the signals that the container got.
    pub fn signals(&self) -> Vec<String> {
        let requests = self.requests();
        let signal = |path: &str| path.split_once("/kill?signal=").map(|(_, name)| name.to_owned());
        requests.iter().filter_map(|(_, path, _)| signal(path)).collect()
    }

    /// Checks that the container was removed once, by force.
    pub fn assert_removed(&self) {
        let requests = self.requests();
        let removals: Vec<&Recorded> =
            requests.iter().filter(|(method, _, _)| method == "DELETE").collect();
        let [(_, path, _)] = removals.as_slice() else { panic!("{removals:?}") };
        assert!(path.contains(CONTAINER) && path.contains("force=true"), "{path}");
    }
}

async fn respond(
    state: Arc<State>,
    mut request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let method = request.method().to_string();
    let path = request.uri().path_and_query().unwrap().to_string();
    let body = request.body_mut().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    state.requests.lock().unwrap().push((method.clone(), path.clone(), body));
    let fails = |part: &str| path.contains(part) || method == part;
    if let Some((_, status)) = state.scenario.error.filter(|(part, _)| fails(part)) {
        return Ok(answer(status, &json!({"message": "a played error"})));
    }
    let scenario = &state.scenario;
    Ok(match path.split('?').next().unwrap_or_default() {
        path if path.ends_with("/version") => answer(200, &json!({"ApiVersion": "1.47"})),
        path if path.contains("/images/") => answer(200, &json!({"Id": "sha256:0"})),
        path if path.ends_with("/containers/json") => answer(200, &scenario.containers),
        path if path.ends_with("/create") => answer(201, &json!({"Id": CONTAINER, "Warnings": []})),
        path if path.ends_with("/attach") => {
            tokio::spawn(play(state.clone(), request));
            let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
            let response = response.header("connection", "Upgrade").header("upgrade", "tcp");
            response.body(Full::default()).unwrap()
        }
        path if path.ends_with("/start") => {
            state.is_started.send_replace(true);
            answer(204, &Value::Null)
        }
        path if path.ends_with("/kill") => {
            let is_ignored =
                scenario.ignores_sigterm && request.uri().query() == Some("signal=SIGTERM");
            state.is_ended.send_modify(|is_ended| *is_ended |= !is_ignored);
            answer(204, &Value::Null)
        }
        path if path.ends_with("/wait") => {
            state.is_ended.subscribe().wait_for(|is_ended| *is_ended).await.unwrap();
            answer(200, &json!({"StatusCode": scenario.exit_code}))
        }
        path if path.ends_with(&format!("{CONTAINER}/json")) => {
            answer(200, &json!({"State": {"OOMKilled": scenario.is_out_of_memory}}))
        }
        _ if method == "DELETE" => answer(204, &Value::Null),
        path => answer(404, &json!({"message": format!("unexpected request of {path}")})),
    })
}

fn answer(status: u16, body: &Value) -> Response<Full<Bytes>> {
    let content = if body.is_null() { String::new() } else { body.to_string() };
    let response = Response::builder().status(status).header("content-type", "application/json");
    response.body(Full::new(content.into())).unwrap()
}

/// Sends the output of the container, from its start to its end.
async fn play(state: Arc<State>, request: Request<Incoming>) {
    let mut stream = TokioIo::new(hyper::upgrade::on(request).await.unwrap());
    state.is_started.subscribe().wait_for(|is_started| *is_started).await.unwrap();
    for (kind, text) in &state.scenario.output {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        stream.write_all(&[&[*kind, 0, 0, 0], length.as_slice()].concat()).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
    }
    state.is_ended.subscribe().wait_for(|is_ended| *is_ended).await.unwrap();
    let _ = stream.shutdown().await;
}
