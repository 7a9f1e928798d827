//! A git server on this machine: git's own server program over TLS (smart HTTP).

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

/// Longest request of git, in bytes.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// A server of the repositories below a directory.
pub struct GitServer {
    /// `localhost` with the port.
    pub host: String,
    /// Certificate that a client has to trust, in PEM.
    pub certificate: String,
}

impl GitServer {
    /// Serves the repositories below `directory`, until the runtime ends.
    pub async fn start(directory: &Path) -> std::io::Result<Self> {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])
            .map_err(std::io::Error::other)?;
        let certificate = issued.cert.pem();
        let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der())
            .map_err(std::io::Error::other)?;
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                let chain = vec![issued.cert.der().clone()];
                builder.with_no_client_auth().with_single_cert(chain, key)
            })
            .map_err(std::io::Error::other)?;
        let tcp = TcpListener::bind("127.0.0.1:0").await?;
        let host = format!("localhost:{}", tcp.local_addr()?.port());
        let listener = Listener { tcp, acceptor: TlsAcceptor::from(Arc::new(config)) };
        let router = Router::new().fallback(respond).with_state(Arc::new(directory.to_owned()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { host, certificate })
    }

    /// Returns the URL of the repository in this subdirectory.
    pub fn url(&self, path: &str) -> String {
        format!("https://{}/{path}", self.host)
    }
}

/// Accepts connections with TLS.
struct Listener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for Listener {
    type Io = TlsStream<TcpStream>;
    type Addr = std::net::SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, address)) = self.tcp.accept().await else { continue };
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.tcp.local_addr()
    }
}

/// Returns the response of git's own server program.
async fn respond(State(directory): State<Arc<PathBuf>>, request: Request) -> Response {
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
        .env("GIT_PROJECT_ROOT", directory.as_path())
        .env("GIT_PROTOCOL", text(&head.headers, "git-protocol"))
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", text(&head.headers, header::CONTENT_TYPE.as_str()))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text(&head.headers, "content-encoding"));
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
