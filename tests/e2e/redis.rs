//! Services and Redis: two services on one, and one behind TLS.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mc_testkit::{Redis, TestDatabase};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::harness::{Service, direct_client};

const TIMEOUT: Duration = Duration::from_mins(2);

/// Starts a service that is one of several nodes, with the encryption key of `first`, if given.
async fn node(database: &TestDatabase, redis: &Redis, first: Option<&Service>) -> Service {
    let mut service = Service::prepared();
    service.set("MEMORY_COPILOT__DATABASE__URL", database.url().into());
    service.set("MEMORY_COPILOT__REDIS__URL", redis.url().into());
    // Test machines are busy.
    service.set("MEMORY_COPILOT__REDIS__TIMEOUT_MS", "5000".into());
    service.set("MEMORY_COPILOT__SERVER__LIMITS__UNITS_PER_MINUTE_PER_CALLER", "4".into());
    if let Some(first) = first {
        let key = first.data_dir.join("encryption.key");
        service.set("MEMORY_COPILOT__ENCRYPTION__KEY_FILE", key);
    }
    service.launch().await;
    until_said(&service, "redis is available").await;
    service
}

async fn until_said(service: &Service, words: &str) {
    let began = Instant::now();
    while !service.log().contains(words) {
        assert!(began.elapsed() < TIMEOUT, "it never said {words:?}:\n{}", service.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn status(service: &Service, token: &str) -> u16 {
    let asked = direct_client().get(format!("{}/whoami", service.url)).bearer_auth(token);
    asked.send().await.expect("an answer").status().as_u16()
}

fn said(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limit_is_shared_by_nodes_and_optional_without_redis() {
    let (database, mut redis) = (TestDatabase::create().await, Redis::start().await);
    let one = node(&database, &redis, None).await;
    let other = node(&database, &redis, Some(&one)).await;
    let token = one.token();
    for service in [&one, &other, &one, &other] {
        assert_eq!(status(service, &token).await, 200);
    }
    for service in [&one, &other] {
        assert_eq!(status(service, &token).await, 429, "four are all that both let through");
    }
    // With the other's own token.
    let doctor = said(&mut other.command(&["doctor"]));
    assert!(doctor.contains("ok    redis"), "{doctor}");

    redis.kill();
    for service in [&one, &other] {
        until_said(service, "redis is unavailable").await;
        assert_eq!(status(service, &token).await, 200, "two of its own four are left");
    }
    let doctor = said(&mut other.command(&["doctor"]));
    assert!(doctor.contains("FAIL  redis"), "{doctor}");
    let shown = said(&mut one.command(&["config", "show"]));
    let url = redis.url();
    let password = url.trim_start_matches("redis://:").split('@').next().expect("a password");
    for text in [&doctor, &shown, &one.log(), &other.log()] {
        assert!(!text.contains(password), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_over_tls_needs_a_trusted_certificate() {
    let (redis, directory) = (Redis::start().await, tempfile::tempdir().expect("a folder"));
    let (url, certificate) = encrypted(&redis, directory.path()).await;
    let service = Service::prepared();
    let doctor = || {
        let mut doctor = service.command(&["doctor"]);
        doctor.env("MEMORY_COPILOT__REDIS__URL", &url);
        doctor
    };
    let trusting = said(doctor().env("SSL_CERT_FILE", &certificate));
    assert!(trusting.contains("ok    redis"), "{trusting}");
    let wary = said(&mut doctor());
    assert!(wary.contains("FAIL  redis"), "{wary}");
}

/// Puts `redis` behind TLS, and returns its URL and certificate.
async fn encrypted(redis: &Redis, directory: &Path) -> (String, PathBuf) {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let issued = rcgen::generate_simple_self_signed(names).expect("a certificate");
    let certificate = directory.join("certificate.pem");
    std::fs::write(&certificate, issued.cert.pem()).expect("a file");
    let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key.into())
        .expect("they belong together");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let url = redis.url();
    let (credentials, inside) = url.split_once('@').expect("a password");
    let encrypted = format!("{}@127.0.0.1:{port}", credentials.replace("redis:", "rediss:"));
    tokio::spawn(decrypt(listener, TlsAcceptor::from(Arc::new(config)), inside.to_owned()));
    (encrypted, certificate)
}

/// Accepts encrypted connections, one after the other, and forwards each to `inside`.
async fn decrypt(listener: TcpListener, acceptor: TlsAcceptor, inside: String) {
    while let Ok((stream, _)) = listener.accept().await {
        let Ok(mut outer) = acceptor.accept(stream).await else { continue };
        let Ok(mut inner) = TcpStream::connect(&inside).await else { return };
        // Either side may close; errors do not matter here.
        let _ = copy_bidirectional(&mut outer, &mut inner).await;
    }
}
