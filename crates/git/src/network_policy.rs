//! Restriction of the hosts from which git may fetch.
//!
//! The service can reach its private network, which its callers cannot. So locations that were not
//! requested by an administrator with the scope `ingest:local` are restricted to public addresses.
//! The host is resolved before git runs, and git connects to exactly these addresses (pinning),
//! whatever the DNS says later.

use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use mc_domain::is_public;
use url::{Host, Url};

use crate::Error;
use crate::Location;

/// Timeout to resolve a name.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Setting that pins the addresses of a host.
const PIN: &str = "http.curloptResolve=";
/// Messages of the C libraries for a name without an address, not for failed resolvers.
const NO_ADDRESS_MESSAGES: &[&str] = &[
    "address family for hostname not supported",
    "name does not resolve",
    "name has no usable address",
    "name or service not known",
    "no address associated with hostname",
    "nodename nor servname provided",
];

/// Hosts from which a repository may be fetched.
#[derive(Debug, Clone, Copy)]
pub enum NetworkAccess<'a> {
    /// All hosts, and directories of the service's machine, because an administrator of the service
    /// requested the repository with the scope `ingest:local`.
    Anywhere,
    /// Public addresses and these hosts, by https.
    Public(&'a [AllowedPrivateHost]),
}

/// Host and port that git may reach although the address is private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPrivateHost {
    /// Host as in a URL.
    host: String,
    port: u16,
}

/// Error of parsing an [`AllowedPrivateHost`].
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is not a host; write it as git.corp.example or git.corp.example:8443")]
pub struct InvalidHost(String);

impl FromStr for AllowedPrivateHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let invalid = || InvalidHost(text.to_owned());
        let url = Url::parse(&format!("https://{text}/")).map_err(|_| invalid())?;
        let host = url.host_str().filter(|host| !host.contains('*')).ok_or_else(invalid)?;
        let is_bare = url.path() == "/"
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_bare {
            return Err(invalid());
        }
        let port = url.port_or_known_default().ok_or_else(invalid)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl AllowedPrivateHost {
    fn matches(&self, url: &Url) -> bool {
        url.host_str() == Some(self.host.as_str()) && url.port_or_known_default() == Some(self.port)
    }
}

/// Checks that callers without access to private locations may request the location. The check is
/// repeated when git runs, because the addresses of the host may change.
pub async fn check_public(
    location: &Location,
    allowed: &[AllowedPrivateHost],
) -> Result<(), Error> {
    match location {
        Location::Url(url) => {
            ignore_unreachable(settings(url, NetworkAccess::Public(allowed)).await)
        }
        Location::Directory(_) => Err(https_required()),
    }
}

/// Rejects a directory of the service's machine, also as a URL, unless the access includes it.
pub(crate) fn check_directory(location: &Location, access: NetworkAccess<'_>) -> Result<(), Error> {
    let is_https = matches!(location, Location::Url(url) if url.scheme() == "https");
    let is_public = matches!(access, NetworkAccess::Public(_));
    if is_public && !is_https { Err(https_required()) } else { Ok(()) }
}

/// Accepts a host whose name cannot be resolved now: the run resolves it again and is retried.
fn ignore_unreachable(settings: Result<Vec<String>, Error>) -> Result<(), Error> {
    match settings {
        Ok(_) | Err(Error::Unreachable(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the git settings that restrict the connection to `url`.
pub(crate) async fn settings(url: &Url, access: NetworkAccess<'_>) -> Result<Vec<String>, Error> {
    let NetworkAccess::Public(allowed) = access else { return Ok(Vec::new()) };
    if url.scheme() != "https" {
        return Err(https_required());
    }
    // A redirect could lead to a private address.
    let mut settings = vec!["http.followRedirects=false".to_owned()];
    if allowed.iter().any(|host| host.matches(url)) {
        return Ok(settings);
    }
    // A proxy would resolve the name itself.
    settings.push("http.proxy=".to_owned());
    settings.extend(pin_public(url).await?);
    Ok(settings)
}

/// Returns whether the settings pin addresses. Old versions of git ignore that setting silently.
pub(crate) fn needs_pinning(settings: &[String]) -> bool {
    settings.iter().any(|setting| setting.starts_with(PIN))
}

/// Checks that the URL has a public address, and returns the setting that pins a host name to it.
async fn pin_public(url: &Url) -> Result<Option<String>, Error> {
    let port = url.port_or_known_default().unwrap_or(443);
    let (name, found) = match url.host() {
        Some(Host::Ipv4(address)) => (None, vec![IpAddr::V4(address)]),
        Some(Host::Ipv6(address)) => (None, vec![IpAddr::V6(address)]),
        Some(Host::Domain(name)) => (Some(pinnable(name)?), resolve(name, port).await?),
        None => (None, Vec::new()),
    };
    let public: Vec<IpAddr> = found.into_iter().filter(|address| is_public(*address)).collect();
    if public.is_empty() {
        return Err(Error::PrivateAddress(url.host_str().unwrap_or_default().to_owned()));
    }
    Ok(name.map(|name| pin(name, port, &public)))
}

/// Rejects names with characters that have a special meaning in the setting, such as `+` or `*`.
fn pinnable(name: &str) -> Result<&str, Error> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && !name.starts_with(['-', '.'])
        && !name.ends_with('.');
    if is_plain {
        return Ok(name);
    }
    Err(Error::InvalidLocation(format!(
        "the host name \"{name}\" cannot be restricted to its addresses; write it without a dot at \
        its end, and with letters, digits, \"-\" and \"_\" only"
    )))
}

/// Resolves a name. The result is empty for an unknown name, and is then reported like a private
/// address, so that callers cannot find out which names exist in the private network.
async fn resolve(name: &str, port: u16) -> Result<Vec<IpAddr>, Error> {
    let lookup = tokio::time::timeout(RESOLVE_TIMEOUT, tokio::net::lookup_host((name, port))).await;
    let lookup = lookup.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    classify(name, lookup.map(|found| found.map(|address| address.ip()).collect()))
}

/// Converts the result of the resolver: unknown names have no address, other failures pass.
fn classify(name: &str, lookup: io::Result<Vec<IpAddr>>) -> Result<Vec<IpAddr>, Error> {
    match lookup {
        Ok(found) => Ok(found),
        Err(error) if has_no_address(&error) => Ok(Vec::new()),
        Err(error) => Err(Error::Unreachable(format!(
            "the host name \"{name}\" could not be resolved ({error}); if this persists, check the \
            name resolution of the service's machine"
        ))),
    }
}

/// Returns whether the name has no address. The standard library reports it only in the message.
fn has_no_address(error: &io::Error) -> bool {
    let text = error.to_string().to_ascii_lowercase();
    NO_ADDRESS_MESSAGES.iter().any(|message| text.contains(message))
}

/// Formats the setting in curl's syntax: `host:port:address,address`.
pub(crate) fn pin(name: &str, port: u16, addresses: &[IpAddr]) -> String {
    let addresses = addresses.iter().map(|address| match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    });
    format!("{PIN}{name}:{port}:{}", addresses.collect::<Vec<_>>().join(","))
}

fn https_required() -> Error {
    Error::InvalidLocation(
        "only an administrator of the service may index from its disk or with its ssh key, with a \
        token that has the scope `ingest:local`; give the https URL of the repository, or ask an \
        administrator"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use mc_domain::{Classified, ErrorKind};

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    fn hosts(texts: &[&str]) -> Vec<AllowedPrivateHost> {
        texts.iter().map(|text| text.parse().expect("a host")).collect()
    }

    #[tokio::test]
    async fn private_address_is_rejected() {
        for address in [
            "https://127.0.0.1/a/b",
            "https://2130706433/a/b",
            "https://0x7f.1/a/b",
            "https://[::1]/a/b",
            "https://10.0.0.5:8443/a/b",
            "https://169.254.169.254/x/y",
            "https://[::ffff:10.0.0.5]/a/b",
            "https://[fd00::1]/a/b",
            "https://localhost/a/b",
            "https://LOCALHOST:8443/a/b",
        ] {
            let error =
                settings(&url(address), NetworkAccess::Public(&[])).await.expect_err(address);
            let host = url(address).host_str().expect("a host").to_owned();
            assert!(matches!(&error, Error::PrivateAddress(name) if *name == host), "{error}");
            assert!(error.to_string().contains("ingest.allowed_private_hosts"), "{error}");
            assert!(
                settings(&url(address), NetworkAccess::Anywhere).await.expect("allowed").is_empty()
            );
        }
        let public = settings(&url("https://93.184.215.14/a/b"), NetworkAccess::Public(&[])).await;
        assert_eq!(public.expect("allowed"), ["http.followRedirects=false", "http.proxy="]);
    }

    #[test]
    fn failed_lookup_is_retried_and_unknown_name_is_rejected() {
        let name = "git.example.org";
        for message in ["Name or service not known", "No address associated with hostname"] {
            let message = format!("failed to lookup address information: {message}");
            assert!(classify(name, Err(io::Error::other(message))).expect("a result").is_empty());
        }
        let outage = "failed to lookup address information: Temporary failure in name resolution";
        for failure in [io::Error::other(outage), io::ErrorKind::TimedOut.into()] {
            let error = classify(name, Err(failure)).expect_err("no result");
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.to_string().contains(name), "{error}");
            // The request is accepted; the run fails until the name can be resolved.
            assert!(ignore_unreachable(Err(error)).is_ok());
        }
        assert!(ignore_unreachable(Err(Error::PrivateAddress(name.to_owned()))).is_err());
    }

    #[tokio::test]
    async fn only_administrators_may_index_without_https() {
        for location in ["ssh://git@example.org/a/b", "file:///srv/git/a"] {
            let location = url(location);
            let result = settings(&location, NetworkAccess::Public(&[])).await;
            assert!(matches!(result, Err(Error::InvalidLocation(_))), "{location}");
            assert!(
                settings(&location, NetworkAccess::Anywhere).await.expect("allowed").is_empty()
            );
        }
        let directory = Location::Directory("/srv/a".into());
        assert!(check_public(&directory, &[]).await.is_err());
    }

    #[tokio::test]
    async fn allowed_private_hosts_are_reached_without_redirects() {
        let allowed_hosts = hosts(&["localhost:8443", "10.0.0.5", "[::1]"]);
        let access = NetworkAccess::Public(&allowed_hosts);
        for allowed in ["https://localhost:8443/a/b", "https://10.0.0.5/a", "https://[::1]:443/a"] {
            let settings = settings(&url(allowed), access).await.expect(allowed);
            assert_eq!(settings, ["http.followRedirects=false"], "{allowed}");
        }
        for other in ["https://localhost/a", "https://10.0.0.5:22/a", "https://[::1]:8443/a"] {
            assert!(settings(&url(other), access).await.is_err(), "{other}");
        }
    }

    #[test]
    fn allowed_host_has_no_scheme_path_or_wildcard() {
        assert_eq!(hosts(&["Git.Corp.Example"]), hosts(&["git.corp.example:443"]));
        for invalid in ["", "*", "*.example.org", "https://example.org", "host/a", "me@host", "a b"]
        {
            assert!(invalid.parse::<AllowedPrivateHost>().is_err(), "{invalid}");
        }
    }

    #[test]
    fn name_is_pinned_to_its_addresses() {
        let addresses = ["93.184.215.14", "2606:4700::1111"];
        let addresses = addresses.map(|text| text.parse::<IpAddr>().expect("an address"));
        let pinned = pin("git.example.org", 8443, &addresses);
        assert_eq!(
            pinned,
            "http.curloptResolve=git.example.org:8443:93.184.215.14,[2606:4700::1111]"
        );
        assert!(needs_pinning(&[pinned]) && !needs_pinning(&["http.proxy=".to_owned()]));
        for odd in ["+example.org", "*", "-example.org", "example.org.", "a,b.example"] {
            assert!(pinnable(odd).is_err(), "{odd}");
        }
        assert!(pinnable("xn--80ak6aa92e.example_1.org").is_ok());
    }
}
