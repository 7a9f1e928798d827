//! HTTP: the client, waits between attempts, and messages of errors.

use std::time::Duration;

use mc_domain::is_loopback;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, redirect};
use url::Url;

/// Longest wait between two attempts. A server that requests a longer one counts as unavailable.
pub const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Maximum characters of a server's error message in ours.
const MAX_REASON: usize = 300;

/// Returns `{base_url}/{path}`; `None` if `base_url` is invalid.
pub fn endpoint(base_url: &Url, path: &str) -> Option<Url> {
    let usable = matches!(base_url.scheme(), "http" | "https") && base_url.password().is_none();
    let mut url = usable.then(|| base_url.clone())?;
    url.path_segments_mut().ok()?.pop_if_empty().push(path);
    Some(url)
}

/// Returns a client for the server at a URL. `timeout` is that of one request with its response.
pub fn http_client(url: &Url, timeout: Duration) -> Result<Client, reqwest::Error> {
    // A redirect would send the key and the texts to another server.
    // A compressed response may be far larger than its bytes.
    let client = Client::builder().timeout(timeout).redirect(redirect::Policy::none()).no_gzip();
    let client = if is_loopback(url) { client.no_proxy() } else { client };
    client.build()
}

/// Returns `Retry-After` in seconds; `None` for the rare form with a date.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Returns the wait before the next attempt, the longer of the server's and ours; `None` to give
/// up.
pub fn next_wait(theirs: Option<Duration>, ours: Option<Duration>) -> Option<Duration> {
    let ours = ours?;
    let wait = theirs.map_or(ours, |theirs| theirs.max(ours));
    (wait <= LONGEST_WAIT.max(ours)).then_some(wait)
}

/// Returns `error.message` of the body of an error, or its text, on one line, masked.
pub fn reason(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let error = &json["error"];
    let message = error["message"].as_str().or(error.as_str()).unwrap_or(&text);
    let masked = mc_sanitizer::mask(message).text.into_string();
    masked.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint_of(base_url: &str) -> Option<String> {
        endpoint(&base_url.parse().expect("a URL"), "embeddings").map(|url| url.to_string())
    }

    #[test]
    fn endpoint_is_below_the_base_url() {
        let expected = Some("http://localhost:11434/v1/embeddings".to_owned());
        assert_eq!(endpoint_of("http://localhost:11434/v1"), expected);
        assert_eq!(endpoint_of("http://localhost:11434/v1/"), expected);
        assert_eq!(endpoint_of("ftp://localhost/v1"), None);
        assert_eq!(endpoint_of("http://user:pass@localhost/v1"), None);
    }

    #[test]
    fn next_attempt_waits_for_the_longer_of_backoff_and_retry_after() {
        let second = Some(Duration::from_secs(1));
        let wait = |theirs: Option<u64>, ours| next_wait(theirs.map(Duration::from_secs), ours);
        assert_eq!(wait(None, second), second);
        assert_eq!(wait(Some(7), second), Some(Duration::from_secs(7)));
        assert_eq!(wait(Some(0), second), second);
        assert_eq!(wait(Some(3600), second), None);
        assert_eq!(wait(Some(1), None), None);
    }

    #[test]
    fn server_error_message_is_truncated_and_masked() {
        let key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let body = format!(r#"{{"error": {{"message": "Incorrect key\n {key}"}}}}"#);
        assert_eq!(reason(body.as_bytes()), "Incorrect key [secret:github-token]");
        assert_eq!(reason(br#"{"error": "model not found"}"#), "model not found");
        assert_eq!(reason(&[b'x'; 1000]).len(), MAX_REASON);
    }
}
