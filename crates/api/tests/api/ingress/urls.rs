//! Secrets in URLs, and the log of requests.

use std::io;
use std::sync::{Arc, Mutex};

use mc_api::IngressConfig;

use super::wire::Service;

#[tokio::test]
async fn a_secret_in_a_url_is_rejected_on_every_route() {
    let service = Service::behind(IngressConfig::default()).await;
    for path in ["/", "/healthz", "/nowhere"] {
        let answer = service.get(&format!("{path}?limit=1&Access_Token=hunter2")).await;
        assert_eq!(answer.status, 400, "{path}");
        let problem = answer.problem();
        assert_eq!(problem["field"], "Access_Token");
        assert!(problem["hint"].as_str().unwrap().contains("Authorization"), "{problem}");
        assert!(!problem.to_string().contains("hunter2"), "{problem}");
    }
    assert_eq!(service.get("/?limit_tokens=500").await.status, 200);
}

#[tokio::test]
async fn a_long_url_is_rejected() {
    let service = Service::behind(IngressConfig::default()).await;
    let long = service.get(&format!("/?q={}", "x".repeat(8 * 1024))).await;
    assert_eq!(long.status, 414);
    assert_eq!(long.problem()["type"], "urn:memory-copilot:problem:uri-too-long");
}

/// The captured log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs on one thread, so that the subscriber sees the server's events.
#[tokio::test]
async fn the_request_log_has_no_secrets() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let service = Service::behind(IngressConfig::default()).await;
    let secrets = "Host: localhost\r\nAuthorization: Bearer hunter2\r\nCookie: hunter2\r\n\
                   X-Api-Key: hunter2";
    for target in ["/?token=hunter2", "/?q=hunter2", "/closed?q=hunter2", "/nowhere/hunter2"] {
        service.ask(&format!("GET {target} HTTP/1.1\r\n{secrets}")).await;
    }
    let written = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(written.matches("request completed").count(), 4, "{written}");
    assert!(!written.contains("hunter2"), "{written}");
}
