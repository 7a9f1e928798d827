//! Origins of web pages.

use std::str::FromStr;

use url::Url;

use super::Authority;

/// Scheme, host and port of a page, normalized as browsers send it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(String);

/// A text that is not an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not an origin; write scheme, host and port: https://app.example.com, \
     http://localhost:5173"
)]
pub struct InvalidOrigin(String);

impl Origin {
    /// Returns the origin of the pages that this service serves at `authority`.
    pub fn own(authority: &Authority, is_https: bool) -> Option<Self> {
        let scheme = if is_https { "https" } else { "http" };
        format!("{scheme}://{authority}").parse().ok()
    }
}

impl FromStr for Origin {
    type Err = InvalidOrigin;

    fn from_str(text: &str) -> Result<Self, InvalidOrigin> {
        parse(text).map(Self).ok_or_else(|| InvalidOrigin(text.chars().take(100).collect()))
    }
}

/// Parses an origin. `null`, which sandboxed and local pages send, is none.
fn parse(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    // The URL of a page is not an origin; in a list of origins it is a mistake.
    let is_bare = url.username().is_empty()
        && url.password().is_none()
        && matches!(url.path(), "" | "/")
        && url.query().is_none()
        && url.fragment().is_none();
    if !is_bare || !url.has_host() {
        return None;
    }
    if matches!(url.scheme(), "http" | "https") {
        // A host with a trailing dot is the same host.
        let host = url.host_str()?.strip_suffix('.').map(str::to_owned);
        let mut url = url;
        if let Some(host) = host {
            url.set_host(Some(&host)).ok()?;
        }
        return Some(url.origin().ascii_serialization());
    }
    // The URL standard does not define origins of the schemes of extensions and editors.
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{}{port}", url.scheme(), url.host_str()?.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_normalized() {
        for (text, expected) in [
            ("https://App.Example.com", "https://app.example.com"),
            ("https://app.example.com:443/", "https://app.example.com"),
            ("https://app.example.com.", "https://app.example.com"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://[::1]:80", "http://[::1]"),
            ("vscode-webview://1AB2", "vscode-webview://1ab2"),
        ] {
            assert_eq!(text.parse::<Origin>().map(|origin| origin.0).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn invalid_origins_are_rejected() {
        for text in [
            "",
            "null",
            "*",
            "app.example.com",
            "https://",
            "https://app.example.com/page",
            "https://app.example.com?x",
            "https://localhost@evil.example",
            "http://localhost:*",
            "data:text/html,x",
            "file:///etc/passwd",
        ] {
            assert!(text.parse::<Origin>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_own_origin_has_scheme_host_and_port() {
        let own = |authority: &str, is_https| {
            Origin::own(&authority.parse().expect(authority), is_https).map(|origin| origin.0)
        };
        assert_eq!(own("localhost:7391", false).as_deref(), Some("http://localhost:7391"));
        assert_eq!(own("memory.example:443", true).as_deref(), Some("https://memory.example"));
        assert_eq!(own("[::1]:7391", false).as_deref(), Some("http://[::1]:7391"));
    }
}
