//! HTTP/2 frames (RFC 9113), written by hand: no client library sends requests without an end.

use std::time::Duration;

use tokio::net::TcpStream;

/// The preface of a client, with empty settings.
pub const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The error code of a reset stream.
const CANCEL: [u8; 4] = [0, 0, 0, 8];
/// `:scheme: http`, in HPACK's static table (RFC 7541).
const SCHEME_HTTP: u8 = 0x86;
/// `:path` and `:authority` with a literal value, which is not added to the dynamic table.
const PATH: u8 = 0x04;
const AUTHORITY: u8 = 0x01;
const HOST: &[u8] = b"localhost";
/// `content-type` of a form, in the same form of literal.
const FORM: &[u8] = b"\x0f\x10\x21application/x-www-form-urlencoded";

/// A method, by its index in HPACK's static table.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub enum Method {
    /// `GET`.
    Get = 0x82,
    /// `POST`.
    Post = 0x83,
}

/// Returns the ids of `count` streams after the first `used` ones of a connection.
pub fn stream_ids(used: u32, count: u32) -> impl Iterator<Item = u32> {
    (used..used + count).map(|number| 2 * number + 1)
}

/// Returns the header of a request, which has a body if it is not the end. The body of a `POST` is
/// a form.
pub fn request(stream: u32, method: Method, path: &str, is_end: bool) -> Vec<u8> {
    let value = |text: &[u8]| [&[short_length(text)][..], text].concat();
    let form: &[u8] = match method {
        Method::Get => &[],
        Method::Post => FORM,
    };
    let fields = [
        &[method as u8, SCHEME_HTTP, PATH][..],
        &value(path.as_bytes()),
        &[AUTHORITY],
        &value(HOST),
        form,
    ]
    .concat();
    frame(HEADERS, END_HEADERS | if is_end { END_STREAM } else { 0 }, stream, &fields)
}

/// Returns the beginning of a `POST` whose body does not end.
pub fn unfinished_post(stream: u32, path: &str, body: &[u8]) -> Vec<u8> {
    [request(stream, Method::Post, path, false), frame(DATA, 0, stream, body)].concat()
}

/// Returns the reset of a stream.
pub fn reset(stream: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &CANCEL)
}

/// Reads and ignores what the service sends, until it closes the connection or `time` is over.
pub async fn drain(stream: &mut TcpStream, time: Duration) {
    let mut ignored = tokio::io::sink();
    drop(tokio::time::timeout(time, tokio::io::copy(stream, &mut ignored)).await);
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = [0, 0, short_length(payload)];
    [&length[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns a length that fits the seven bits of a short HPACK string.
fn short_length(text: &[u8]) -> u8 {
    let length = u8::try_from(text.len()).ok().filter(|length| *length < 0x7f);
    length.expect("frames by hand are short")
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::HeaderMap;
    use axum::routing::{get, post};
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn requests_by_hand_reach_their_routes() {
        let (seen, mut received) = mpsc::channel(2);
        let see = move |text: String| {
            let seen = seen.clone();
            async move { seen.send(text).await.expect("a receiver") }
        };
        let got = see.clone();
        let form = move |headers: HeaderMap, text: String| {
            let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok());
            see(format!("{}: {text}", kind.unwrap_or_default()))
        };
        let app = Router::new()
            .route("/auth/token", post(form))
            .route("/openapi.json", get(move || got("got".to_owned())));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move { axum::serve(listener, app).await });

        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let [first, second] = [1, 3].map(|id| unfinished_post(id, "/auth/token", b"unfinished"));
        let end = frame(DATA, END_STREAM, 3, b" no more");
        let sent = [HELLO, &first, &second, &end].concat();
        stream.write_all(&sent).await.expect("sent");
        assert_eq!(
            received.recv().await.as_deref(),
            Some("application/x-www-form-urlencoded: unfinished no more")
        );
        let get = request(5, Method::Get, "/openapi.json", true);
        stream.write_all(&get).await.expect("sent");
        assert_eq!(received.recv().await.as_deref(), Some("got"));
        stream.write_all(&reset(1)).await.expect("still open");
    }

    #[test]
    fn streams_of_a_client_are_odd_and_follow_one_another() {
        assert_eq!(stream_ids(0, 3).chain(stream_ids(3, 2)).collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
    }
}
