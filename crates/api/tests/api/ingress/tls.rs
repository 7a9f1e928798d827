//! TLS connections, and renewal of certificates.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mc_api::{IngressConfig, Serving, Tls, TlsError, TlsFiles};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use tempfile::TempDir;

use super::wire::{Service, routes_behind};

/// A directory with a certificate for `localhost` and `memory.example`.
struct Issued {
    folder: TempDir,
}

impl Issued {
    fn new() -> Self {
        let issued = Self { folder: TempDir::new().unwrap() };
        issued.renew();
        issued
    }

    /// Writes another certificate and returns it.
    fn renew(&self) -> reqwest::Certificate {
        let CertifiedKey { cert, signing_key } = issue();
        let files = self.files();
        fs::write(&files.certificate, cert.pem()).unwrap();
        write_key(&files.key, &signing_key);
        reqwest::Certificate::from_der(cert.der()).unwrap()
    }

    fn files(&self) -> TlsFiles {
        let path = |name| self.folder.path().join(name);
        TlsFiles { certificate: path("certificate.pem"), key: path("key.pem") }
    }
}

fn issue() -> CertifiedKey<KeyPair> {
    generate_simple_self_signed(["localhost".to_owned(), "memory.example".to_owned()]).unwrap()
}

fn write_key(path: &Path, key: &KeyPair) {
    fs::write(path, key.serialize_pem()).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

fn client(service: &Service, trusted: reqwest::Certificate) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([trusted])
        .resolve("localhost", service.address)
        .resolve("memory.example", service.address)
}

async fn serve(tls: &Tls) -> Service {
    let ingress = IngressConfig {
        allowed_hosts: vec!["memory.example".parse().unwrap()],
        ..IngressConfig::default()
    };
    let serving = Serving { tls: Some(tls.clone()), ..Serving::default() };
    Service::of(routes_behind(ingress), serving).await
}

#[tokio::test]
async fn both_http_versions_use_tls_and_hsts() {
    let issued = Issued::new();
    let trusted = issued.renew();
    let service = serve(&Tls::open(issued.files()).unwrap()).await;
    let url = |host| format!("https://{host}:{}/", service.address.port());
    for (builder, version) in [
        (client(&service, trusted.clone()), http::Version::HTTP_2),
        (client(&service, trusted.clone()).http1_only(), http::Version::HTTP_11),
    ] {
        let client = builder.build().unwrap();
        let answer = client.get(url("memory.example")).send().await.unwrap();
        assert_eq!((answer.status().as_u16(), answer.version()), (200, version));
        assert_eq!(answer.headers()["strict-transport-security"], "max-age=31536000");
        // HSTS for localhost would apply to every other service on the machine.
        let local = client.get(url("localhost")).send().await.unwrap();
        assert_eq!(local.headers().get("strict-transport-security"), None);
        let own = client.get(url("localhost"));
        let own = own.header("origin", url("localhost").trim_end_matches('/')).send().await;
        assert_eq!(own.unwrap().status(), 200, "a page of the service itself");
    }
    let plain = reqwest::Client::builder().no_proxy().build().unwrap();
    let unencrypted = plain.get(format!("http://{}/", service.address)).send().await;
    assert!(unencrypted.is_err(), "{unencrypted:?}");
}

#[tokio::test]
async fn hsts_is_sent_over_tls_only() {
    let service = Service::behind(IngressConfig::default()).await;
    assert_eq!(service.get("/").await.header("strict-transport-security"), None);
}

#[tokio::test]
async fn a_renewed_certificate_is_loaded_and_a_broken_one_is_not() {
    let issued = Issued::new();
    let first = issued.renew();
    let tls = Tls::open(issued.files()).unwrap();
    let service = serve(&tls).await;
    let url = format!("https://localhost:{}/", service.address.port());
    let ask = async |trusted: &reqwest::Certificate| {
        // A new client for each request, so that no connection is reused.
        let client = client(&service, trusted.clone()).build().unwrap();
        client.get(&url).send().await.is_ok()
    };
    assert!(ask(&first).await);
    assert!(!tls.refresh().unwrap(), "nothing is new");

    let second = issued.renew();
    assert!(!ask(&second).await, "not looked at yet");
    assert!(tls.refresh().unwrap());
    assert!(ask(&second).await);
    assert!(!ask(&first).await);

    write_key(&issued.files().key, &issue().signing_key);
    assert!(matches!(tls.refresh(), Err(TlsError::Unusable(_))));
    assert!(ask(&second).await, "the one before stays");
}

#[test]
fn an_unusable_certificate_error_names_the_file() {
    let refusal = |change: &dyn Fn(&TlsFiles)| {
        let issued = Issued::new();
        change(&issued.files());
        Tls::open(issued.files()).unwrap_err()
    };
    let open = |mode| {
        move |files: &TlsFiles| {
            fs::set_permissions(&files.key, Permissions::from_mode(mode)).unwrap();
        }
    };
    for mode in [0o604, 0o620, 0o644] {
        let exposed = refusal(&open(mode));
        assert!(matches!(exposed, TlsError::Exposed { .. }), "{mode:o}: {exposed}");
        assert!(exposed.to_string().contains("chmod 600"), "{exposed}");
    }
    let missing = refusal(&|files| fs::remove_file(&files.certificate).unwrap());
    assert!(missing.to_string().contains("certificate.pem can't be read"), "{missing}");
    let empty = refusal(&|files| fs::write(&files.certificate, "").unwrap());
    assert!(matches!(empty, TlsError::Malformed { .. }), "{empty}");
    let no_key = refusal(&|files| fs::write(&files.key, "nonsense").unwrap());
    assert!(matches!(no_key, TlsError::Malformed { .. }), "{no_key}");
    let foreign = refusal(&|files| write_key(&files.key, &issue().signing_key));
    assert!(matches!(foreign, TlsError::Unusable(_)), "{foreign}");
}
