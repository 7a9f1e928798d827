//! Attacks by connections and HTTP/2 streams, without a credential.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use super::attacker::Attacker;
use super::wire::{self, Method};

/// How long an attacker keeps what it has opened.
const HOLD: Duration = Duration::from_secs(5);
/// How long it keeps deliveries: for as long as the service reads those to an unknown webhook.
const HOLD_DELIVERIES: Duration = Duration::from_secs(1);
/// Streams of a connection: as many as the service allows at once.
const STREAMS: u32 = 100;
/// Idle connections of one worker, each from another address. Four workers have more than the
/// service accepts.
const CONNECTIONS: usize = 250;
/// Distance between the first addresses of two workers.
const STRIDE: usize = 62;
/// The last byte of the lowest address; before it are those of the service and of the caller that
/// recalls.
const FIRST_HOST: usize = 3;
/// Bursts of reset streams on one connection.
const BURSTS: u32 = 1_000;
/// The costly route for reset streams: its response is the largest without a credential.
const LARGE_RESPONSE: &str = "/openapi.json";

/// Opens many requests with bodies that do not end.
pub async fn unfinished_bodies(attacker: &Attacker) -> Result<()> {
    unfinished(attacker, ["/auth/token"; 2], b"grant_type=", HOLD).await
}

/// Opens many deliveries with bodies that do not end.
pub async fn unfinished_deliveries(attacker: &Attacker) -> Result<()> {
    let target = &attacker.target;
    unfinished(attacker, [&target.webhook, &target.unknown_webhook], b"{", HOLD_DELIVERIES).await
}

/// Opens a stream to each path in turn, as many as the service allows.
async fn unfinished(
    attacker: &Attacker,
    paths: [&str; 2],
    body: &[u8],
    hold: Duration,
) -> Result<()> {
    let mut stream = connect_http2(attacker).await?;
    let open = |(id, path): (u32, &&str)| wire::unfinished_post(id, path, body);
    let streams = wire::stream_ids(0, STREAMS).zip(paths.iter().cycle());
    let frames: Vec<u8> = streams.flat_map(open).collect();
    stream.write_all(&frames).await?;
    attacker.count(STREAMS.into());
    attacker.rest().await;
    wire::drain(&mut stream, hold).await;
    Ok(())
}

/// Opens connections and sends nothing.
pub async fn idle(attacker: &Attacker, worker: usize) -> Result<()> {
    let mut open = Vec::new();
    for number in 0..CONNECTIONS {
        let host = u8::try_from(FIRST_HOST + (worker * STRIDE + number) % CONNECTIONS)?;
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0)))?;
        open.push(socket.connect(attacker.target.address).await?);
        attacker.count(1);
        attacker.rest().await;
    }
    tokio::time::sleep(HOLD).await;
    Ok(())
}

/// Opens streams and resets each at once, until the service closes the connection.
pub async fn reset_streams(attacker: &Attacker) -> Result<()> {
    let mut stream = connect_http2(attacker).await?;
    let reset = |id| [wire::request(id, Method::Get, LARGE_RESPONSE, true), wire::reset(id)];
    let mut ignored = vec![0; 64 * 1024];
    for burst in 0..BURSTS {
        let frames: Vec<u8> =
            wire::stream_ids(burst * STREAMS, STREAMS).flat_map(reset).flatten().collect();
        stream.write_all(&frames).await?;
        attacker.count(STREAMS.into());
        attacker.rest().await;
        // What the service sends is read, since it would otherwise wait for that.
        while let Ok(read) = stream.try_read(&mut ignored) {
            ensure!(read > 0, "closed by the service");
        }
    }
    Ok(())
}

async fn connect_http2(attacker: &Attacker) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(attacker.target.address).await?;
    stream.write_all(wire::HELLO).await?;
    Ok(stream)
}
