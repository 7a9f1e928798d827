//! TLS by rustls, with a certificate that can be renewed while the service runs.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Where a certificate is, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, and behind it those that lead to one that clients trust.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why no connection can be encrypted.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there, or not for this process.
    #[error("{} can't be read ({why}); see server.tls in the configuration", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// Who can read the key can pose as this service.
    #[error("the private key {} can be read by others; chmod 600 it", path.display())]
    Exposed {
        /// The key's file.
        path: PathBuf,
    },
    /// A file holds something else.
    #[error("{} holds no {wanted} in PEM ({why})", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What was looked for.
        wanted: &'static str,
        /// What the parser said.
        why: pem::Error,
    },
    /// The two don't fit, or this TLS can't use them.
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
    /// Reads the files.
    pub fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let stamp = stamp(&files)?;
        let certified = Arc::new(read(&files, &provider)?);
        let current = Arc::new(Current(RwLock::new(Held { certified, stamp })));
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(current.clone());
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { files, current, config: Arc::new(config) })
    }

    /// Encrypts connections.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.config.clone())
    }

    /// Looks every `interval` whether the files were renewed, until `stop`.
    pub(super) async fn keep_fresh(&self, interval: Duration, stop: &CancellationToken) {
        let mut complained = false;
        while stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
            let tls = self.clone();
            let looked = tokio::task::spawn_blocking(move || tls.refresh()).await;
            // The two files are written one after the other: the next look may find both.
            if let Ok(Err(error)) = &looked
                && !complained
            {
                tracing::error!(%error, "a certificate can't be used; the one before stays");
            }
            if matches!(looked, Ok(Ok(true))) {
                tracing::info!("the renewed certificate is in use");
            }
            complained = matches!(looked, Ok(Err(_)));
        }
    }

    /// Takes the files up if they are others than those in use, and says whether they were. New
    /// connections are made with the new certificate; open ones go on.
    pub fn refresh(&self) -> Result<bool, TlsError> {
        let stamp = stamp(&self.files)?;
        if stamp == self.current.held(|held| held.stamp) {
            return Ok(false);
        }
        let certified = Arc::new(read(&self.files, self.config.crypto_provider())?);
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = Held { certified, stamp };
        Ok(true)
    }
}

/// What handshakes are made with.
#[derive(Debug)]
struct Current(RwLock<Held>);

#[derive(Debug)]
struct Held {
    certified: Arc<CertifiedKey>,
    stamp: Stamp,
}

impl Current {
    fn held<T>(&self, look: impl FnOnce(&Held) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.held(|held| held.certified.clone()))
    }
}

/// By which versions of the two files are told apart.
type Stamp = [(u64, u64, Option<SystemTime>); 2];

fn stamp(files: &TlsFiles) -> Result<Stamp, TlsError> {
    let stamp =
        |path| metadata(path).map(|found| (found.ino(), found.len(), found.modified().ok()));
    Ok([stamp(&files.certificate)?, stamp(&files.key)?])
}

fn metadata(path: &Path) -> Result<Metadata, TlsError> {
    fs::metadata(path).map_err(|why| TlsError::Unreadable { path: path.to_path_buf(), why })
}

fn read(files: &TlsFiles, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let key = &files.key;
    if is_exposed(&metadata(key)?) {
        return Err(TlsError::Exposed { path: key.clone() });
    }
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .and_then(|chain| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) })
        .map_err(|why| unread(&files.certificate, "certificate", why))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|why| unread(key, "private key", why))?;
    // Says whether the key is the certificate's.
    Ok(CertifiedKey::from_der(chain, key, provider)?)
}

/// Others never read a key. A group may, where root gave it to one, as certificate tools do.
fn is_exposed(key: &Metadata) -> bool {
    let forbidden = if key.uid() == 0 { 0o037 } else { 0o077 };
    key.mode() & forbidden != 0
}

fn unread(path: &Path, wanted: &'static str, why: pem::Error) -> TlsError {
    let path = path.to_path_buf();
    match why {
        pem::Error::Io(why) => TlsError::Unreadable { path, why },
        why => TlsError::Malformed { path, wanted, why },
    }
}
