//! Git's own server program, `git http-backend`, behind a server of this machine (smart HTTP).

use std::path::Path;
use std::process::Stdio;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// Longest request of git, in bytes.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// Returns the response of git's own server program, for the repositories below `directory`. Only a
/// named user may push.
pub async fn respond(directory: &Path, request: Request, user: Option<&str>) -> Response {
    let failed = |status: StatusCode| {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        response
    };
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, REQUEST_BYTES).await else {
        return failed(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let mut command = Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_PROJECT_ROOT", directory)
        .env("GIT_PROTOCOL", text(&head.headers, "git-protocol"))
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", text(&head.headers, header::CONTENT_TYPE.as_str()))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text(&head.headers, "content-encoding"));
    if let Some(user) = user {
        command.env("REMOTE_USER", user);
    }
    match output(command, body).await {
        Ok(output) => cgi_response(&output).unwrap_or_else(|| failed(StatusCode::BAD_GATEWAY)),
        Err(_) => failed(StatusCode::INTERNAL_SERVER_ERROR),
    }
}

fn text(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

async fn output(mut command: Command, body: Bytes) -> std::io::Result<Vec<u8>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut program = command.spawn()?;
    let stdin = program.stdin.take();
    let write = async {
        if let Some(mut stdin) = stdin {
            // The program may not read all of it.
            let _ = stdin.write_all(&body).await;
        }
    };
    let ((), output) = tokio::join!(write, program.wait_with_output());
    Ok(output?.stdout)
}

/// Converts the output of a CGI program.
fn cgi_response(output: &[u8]) -> Option<Response> {
    let end = output.windows(4).position(|part| part == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&output[..end]).ok()?;
    let mut builder = Response::builder();
    for line in head.split("\r\n") {
        let (name, value) = line.split_once(": ")?;
        builder = match name {
            "Status" => builder.status(value.split(' ').next()?),
            _ => builder.header(name, value),
        };
    }
    builder.body(Body::from(output[end + 4..].to_vec())).ok()
}
