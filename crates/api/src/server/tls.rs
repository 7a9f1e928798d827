//! TLS by rustls, with a certificate that may be renewed while the service runs.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use mc_privileges::raise_privileges;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// The PEM files of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by its chain.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// An unusable certificate.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file does not exist, or this process may not read it.
    #[error("{} can't be read ({source}); see server.tls in the configuration", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Other users can read the private key, and so pose as this service.
    #[error("the private key {} can be read by others; chmod 600 it", path.display())]
    Exposed {
        /// The key's file.
        path: PathBuf,
    },
    /// A file has another content.
    #[error("{} has no {wanted} in PEM ({source})", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The expected content.
        wanted: &'static str,
        /// The parser's error.
        source: pem::Error,
    },
    /// The certificate and the key do not match, or rustls can't use them.
    #[error("the certificate and the key in server.tls can't be used together: {0}")]
    Unusable(#[from] rustls::Error),
}

/// A certificate in use; cheap to clone.
#[derive(Debug, Clone)]
pub struct Tls {
    files: TlsFiles,
    current: Arc<Current>,
    config: Arc<ServerConfig>,
}

impl Tls {
    /// Reads the certificate and its key.
    pub fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let stamp = stamp(&files)?;
        let certified = Arc::new(read(&files, &provider)?);
        let current = Arc::new(Current(RwLock::new(Loaded { certified, stamp })));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { files, current, config: Arc::new(config) })
    }

    /// Returns the acceptor of TLS connections.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }

    /// Reloads renewed files until `stop`; checks every `interval`.
    pub(super) async fn reload_renewed(&self, interval: Duration, stop: &CancellationToken) {
        let mut has_failed = false;
        while stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
            let tls = self.clone();
            let reloaded = tokio::task::spawn_blocking(move || tls.refresh()).await;
            // The files are written one after the other, so one error may be followed by success.
            if let Ok(Err(error)) = &reloaded
                && !has_failed
            {
                tracing::error!(%error, "renewed certificate can't be used");
            }
            if matches!(reloaded, Ok(Ok(true))) {
                tracing::info!("certificate renewed");
            }
            has_failed = matches!(reloaded, Ok(Err(_)));
        }
    }

    /// Reloads the files if they have changed, and returns whether they have. New connections get
    /// the new certificate; open ones keep theirs.
    pub fn refresh(&self) -> Result<bool, TlsError> {
        let stamp = stamp(&self.files)?;
        if stamp == self.current.read(|loaded| loaded.stamp) {
            return Ok(false);
        }
        let certified = Arc::new(read(&self.files, self.config.crypto_provider())?);
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) =
            Loaded { certified, stamp };
        Ok(true)
    }
}

/// The certificate of new connections.
#[derive(Debug)]
struct Current(RwLock<Loaded>);

#[derive(Debug)]
struct Loaded {
    certified: Arc<CertifiedKey>,
    stamp: Stamp,
}

impl Current {
    fn read<T>(&self, look: impl FnOnce(&Loaded) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.read(|loaded| loaded.certified.clone()))
    }
}

/// Inode, length and time of change of the two files.
type Stamp = [(u64, u64, Option<SystemTime>); 2];

fn stamp(files: &TlsFiles) -> Result<Stamp, TlsError> {
    let stamp =
        |path| metadata(path).map(|found| (found.ino(), found.len(), found.modified().ok()));
    Ok([stamp(&files.certificate)?, stamp(&files.key)?])
}

fn metadata(path: &Path) -> Result<Metadata, TlsError> {
    use_file(path, |path| fs::metadata(path))
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, TlsError> {
    use_file(path, |path| fs::read(path))
}

/// Uses a file, which may be another user's.
fn use_file<T>(path: &Path, call: impl FnOnce(&Path) -> io::Result<T>) -> Result<T, TlsError> {
    let _raised = raise_privileges();
    call(path).map_err(|source| TlsError::Unreadable { path: path.to_path_buf(), source })
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let key = &files.key;
    if is_exposed(&metadata(key)?) {
        return Err(TlsError::Exposed { path: key.clone() });
    }
    let chain = CertificateDer::pem_slice_iter(&bytes_of(&files.certificate)?)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|chain| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) })
        .map_err(|source| malformed(&files.certificate, "certificate", source))?;
    let key = PrivateKeyDer::from_pem_slice(&bytes_of(key)?)
        .map_err(|source| malformed(key, "private key", source))?;
    // Fails if the key is not that of the certificate.
    Ok(CertifiedKey::from_der(chain, key, provider)?)
}

/// Whether other users can read a key. If root owns it, its group may, as certificate tools set it.
fn is_exposed(key: &Metadata) -> bool {
    let forbidden = if key.uid() == 0 { 0o037 } else { 0o077 };
    key.mode() & forbidden != 0
}

fn malformed(path: &Path, wanted: &'static str, source: pem::Error) -> TlsError {
    TlsError::Malformed { path: path.to_path_buf(), wanted, source }
}
