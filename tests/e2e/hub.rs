//! A stand-in of the Hugging Face hub with one repository, for its clients' downloads.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::task::JoinHandle;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A running hub. It stops when the value is dropped.
pub struct Hub {
    address: SocketAddr,
    state: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    repository: &'static str,
    files: Vec<(&'static str, Vec<u8>)>,
    requested: Mutex<Vec<String>>,
}

impl Hub {
    /// Starts a hub with a repository (`organization/name`) of these files.
    pub async fn start(repository: &'static str, files: Vec<(&'static str, Vec<u8>)>) -> Self {
        let state = Arc::new(Shared { repository, files, requested: Mutex::default() });
        let path = "/{organization}/{name}/resolve/main/{*file}";
        let app = Router::new().route(path, get(resolve)).with_state(Arc::clone(&state));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { address, state, task }
    }

    /// Returns the value of `HF_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the paths of all requested files.
    pub fn requested(&self) -> Vec<String> {
        self.state.requested.lock().unwrap().clone()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn resolve(
    State(state): State<Arc<Shared>>,
    Path((organization, name, file)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Response {
    let repository = format!("{organization}/{name}");
    state.requested.lock().unwrap().push(format!("{repository}/{file}"));
    let number = state.files.iter().position(|(name, _)| *name == file);
    let Some(number) = number.filter(|_| repository == state.repository) else {
        return (StatusCode::NOT_FOUND, "Entry not found").into_response();
    };
    let content = &state.files[number].1;
    let (from, to) = range(&headers, content.len());
    let headers = [
        (header::ETAG, format!("\"{number:064x}\"")),
        (header::CONTENT_RANGE, format!("bytes {from}-{to}/{}", content.len())),
        (header::HeaderName::from_static("x-repo-commit"), COMMIT.to_owned()),
    ];
    (StatusCode::PARTIAL_CONTENT, headers, content[from..=to].to_vec()).into_response()
}

/// Returns the first and the last byte of the requested range.
fn range(headers: &HeaderMap, length: usize) -> (usize, usize) {
    let text = headers.get(header::RANGE).and_then(|value| value.to_str().ok());
    let text = text.and_then(|text| text.strip_prefix("bytes=")).unwrap_or("0-");
    let (from, to) = text.split_once('-').unwrap_or((text, ""));
    (from.parse().unwrap_or(0), to.parse().unwrap_or(length - 1).min(length - 1))
}
