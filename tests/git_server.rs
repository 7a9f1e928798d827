//! A git server on this machine: git's own server program over TLS (smart HTTP).

#[path = "git_backend.rs"]
mod git_backend;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::Response;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::server::TlsStream;

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

async fn respond(State(directory): State<Arc<PathBuf>>, request: Request) -> Response {
    git_backend::respond(&directory, request, None).await
}
