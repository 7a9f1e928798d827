//! Connections of slow, greedy and disconnected clients.

use std::time::Duration;

use axum::Router;
use axum::routing::get;
use mc_api::{IngressConfig, Serving};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::wire::{Answer, Service, routes_behind};

const SHORT_DELAY: Duration = Duration::from_millis(50);
/// The HTTP/2 preface with empty settings.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const GOAWAY: u8 = 7;
const ENHANCE_YOUR_CALM: u8 = 11;

fn routes() -> Router {
    routes_behind(IngressConfig::default())
}

#[tokio::test]
async fn a_header_that_does_not_end_times_out() {
    let serving = Serving { header_timeout: SHORT_DELAY, ..Serving::default() };
    let service = Service::of(routes(), serving).await;
    let mut stream = service.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: local").await.unwrap();
    let answer = Answer::read(&mut stream).await;
    assert!(answer.status == 0 || answer.status == 408, "{answer:?}");
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let serving = Serving { idle_timeout: SHORT_DELAY, ..Serving::default() };
    let service = Service::of(routes(), serving).await;
    let mut silent = service.connect().await;
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);

    let mut kept_alive = service.connect().await;
    kept_alive.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    assert_eq!(Answer::read(&mut kept_alive).await.status, 200);

    let mut newer = service.connect().await;
    newer.write_all(HELLO).await.unwrap();
    let mut settings = Vec::new();
    newer.read_to_end(&mut settings).await.unwrap();
    assert!(!settings.is_empty(), "the service spoke HTTP/2");
}

#[tokio::test]
async fn too_many_or_too_large_headers_are_rejected() {
    let service = Service::of(routes(), Serving::default()).await;
    let with = |headers: String| format!("GET / HTTP/1.1\r\nHost: localhost{headers}");
    let few = with("\r\nX-A: b".repeat(60));
    assert_eq!(service.ask(&few).await.status, 200);
    let many = with("\r\nX-A: b".repeat(70));
    assert_eq!(service.ask(&many).await.status, 431);
    let large = with(format!("\r\nX-A: {}", "b".repeat(70_000)));
    assert_eq!(service.ask(&large).await.status, 431);
}

#[tokio::test]
async fn a_connection_above_the_limit_waits_for_one_to_close() {
    let serving = Serving { max_connections: 1, ..Serving::default() };
    let service = Service::of(routes(), serving).await;
    let mut first = service.connect().await;
    first.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut status = [0; 12];
    first.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");

    let mut second = service.connect().await;
    second
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let early = tokio::time::timeout(SHORT_DELAY, second.read_u8()).await;
    assert!(early.is_err(), "the second was answered beside the first");
    drop(first);
    assert_eq!(Answer::read(&mut second).await.status, 200);
}

#[tokio::test]
async fn one_address_cannot_take_all_connections() {
    let serving = Serving { max_connections_per_address: 1, ..Serving::default() };
    let service = Service::of(routes(), serving).await;
    let from = async |address: &str| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        socket.connect(service.address).await.unwrap()
    };
    let mut first = from("127.0.0.1").await;
    let mut second = from("127.0.0.1").await;
    assert!(matches!(second.read(&mut [0]).await, Ok(0) | Err(_)), "closed at once");
    let mut third = from("127.0.0.2").await;
    assert!(matches!(third.read(&mut [0]).await, Ok(0) | Err(_)), "the loopback is one address");
    first.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut status = [0; 12];
    first.read_exact(&mut status).await.unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
}

#[tokio::test]
async fn open_requests_end_when_the_service_stops() {
    let (started, mut start) = tokio::sync::mpsc::channel(1);
    let (release, released) = tokio::sync::watch::channel(false);
    let slow = get(async move || {
        let _ = started.send(()).await;
        let mut released = released.clone();
        let _ = released.wait_for(|released| *released).await;
        "done"
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = tokio_util::sync::CancellationToken::new();
    let router = Router::new().route("/", slow);
    let serving = tokio::spawn(mc_api::run(listener, router, Serving::default(), stop.clone()));
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    start.recv().await.unwrap();
    stop.cancel();
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    release.send(true).unwrap();
    assert_eq!(Answer::read(&mut stream).await.status, 200);
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_flood_of_reset_streams_ends_the_connection() {
    let service = Service::of(routes(), Serving::default()).await;
    let mut stream = service.connect().await;
    stream.write_all(HELLO).await.unwrap();
    let mut flood = Vec::new();
    for stream in (1..20_001_u32).step_by(2) {
        flood.extend(opened_and_reset(stream));
    }
    // The service may close the connection during a write.
    let _ = stream.write_all(&flood).await;
    let mut frames = Vec::new();
    let _ = stream.read_to_end(&mut frames).await;
    assert_eq!(reason_to_go_away(&frames), Some(ENHANCE_YOUR_CALM));
    assert_eq!(service.get("/").await.status, 200, "others go on");
}

/// The HEADERS frame of `GET http://localhost/` with indexed fields, and its reset.
fn opened_and_reset(stream: u32) -> Vec<u8> {
    let fields = [&b"\x82\x86\x84\x41\x09"[..], b"localhost"].concat();
    let length = u8::try_from(fields.len()).unwrap();
    let id = stream.to_be_bytes();
    let headers = [&[0, 0, length, 1, 5], &id[..], &fields].concat();
    let reset = [&[0, 0, 4, 3, 0], &id[..], &[0, 0, 0, 8]].concat();
    [headers, reset].concat()
}

/// Returns the error code of the GOAWAY frame in `frames`.
fn reason_to_go_away(mut frames: &[u8]) -> Option<u8> {
    while frames.len() >= 9 {
        let length = usize::from(frames[1]) << 8 | usize::from(frames[2]);
        let (frame, rest) = frames.split_at_checked(9 + length)?;
        if frame[3] == GOAWAY {
            return frame.get(16).copied();
        }
        frames = rest;
    }
    None
}
