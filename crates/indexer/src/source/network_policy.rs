//! From where git may fetch. The service reaches what its callers can't: the network that it stands
//! in. Where nobody vouches for a location it is held to the addresses outside of that network,
//! which are looked up right before git runs, and which git is then told: what the name is made to
//! lead to in between does not count.

use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use mc_domain::is_public;
use url::{Host, Url};

use super::Location;
use crate::Error;

/// How long the look-up of a name may take.
const LOOK_UP_LIMIT: Duration = Duration::from_secs(10);
/// The setting that holds git to addresses.
const PIN: &str = "http.curloptResolve=";
/// How the C libraries say that a name has no address, in small letters. A resolver that does not
/// answer is not among them.
const NOWHERE: &[&str] = &[
    "address family for hostname not supported",
    "name does not resolve",
    "name has no usable address",
    "name or service not known",
    "no address associated with hostname",
    "nodename nor servname provided",
];

/// From where a repository may be fetched.
#[derive(Debug, Clone, Copy)]
pub enum NetworkAccess<'a> {
    /// From wherever it is: an administrator of the service asked for it there.
    Anywhere,
    /// By https, from addresses outside of the service's network and from these hosts.
    Outside(&'a [AllowedPrivateHost]),
}

/// A host that may be fetched from although its address is inside the service's network, at one
/// port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPrivateHost {
    /// As it stands in a URL.
    host: String,
    port: u16,
}

/// The text names no host.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is no host; write it as git.corp.example, or git.corp.example:8443")]
pub struct InvalidHost(String);

impl FromStr for AllowedPrivateHost {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        let wrong = || InvalidHost(text.to_owned());
        let url = Url::parse(&format!("https://{text}/")).map_err(|_| wrong())?;
        let host = url.host_str().filter(|host| !host.contains('*')).ok_or_else(wrong)?;
        let is_bare = url.path() == "/"
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_bare {
            return Err(wrong());
        }
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl AllowedPrivateHost {
    fn is_of(&self, url: &Url) -> bool {
        url.host_str() == Some(self.host.as_str()) && url.port_or_known_default() == Some(self.port)
    }
}

/// Whether git would go to the location on behalf of somebody who does not administer the service.
/// It is looked at again when it does: a name may lead elsewhere by then.
pub async fn check_public(location: &Location, inside: &[AllowedPrivateHost]) -> Result<(), Error> {
    match location {
        Location::Url(url) => for_now(settings(url, NetworkAccess::Outside(inside)).await),
        Location::Folder(_) => Err(not_by_https()),
    }
}

/// A name that can't be looked up is left to the run, which is tried again.
fn for_now(held: Result<Vec<String>, Error>) -> Result<(), Error> {
    match held {
        Ok(_) | Err(Error::Unreachable(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The settings that hold git to where it may go on its way to `url`.
pub(super) async fn settings(url: &Url, reach: NetworkAccess<'_>) -> Result<Vec<String>, Error> {
    let NetworkAccess::Outside(inside) = reach else { return Ok(Vec::new()) };
    if url.scheme() != "https" {
        return Err(not_by_https());
    }
    // Whoever answers there could send git on to where it may not go.
    let mut settings = vec!["http.followRedirects=false".to_owned()];
    if inside.iter().any(|host| host.is_of(url)) {
        return Ok(settings);
    }
    // A proxy would look the name up by itself.
    settings.push("http.proxy=".to_owned());
    settings.extend(held(url).await?);
    Ok(settings)
}

/// Whether git must know how to be held to addresses. One that does not passes over it without a
/// word.
pub(super) fn needs_pinning(settings: &[String]) -> bool {
    settings.iter().any(|setting| setting.starts_with(PIN))
}

/// Looks up where the URL leads, and holds git to that where it is a name.
async fn held(url: &Url) -> Result<Option<String>, Error> {
    let port = url.port_or_known_default().unwrap_or(443);
    let (name, found) = match url.host() {
        Some(Host::Ipv4(address)) => (None, vec![IpAddr::V4(address)]),
        Some(Host::Ipv6(address)) => (None, vec![IpAddr::V6(address)]),
        Some(Host::Domain(name)) => (Some(pinnable(name)?), look_up(name, port).await?),
        None => (None, Vec::new()),
    };
    let outside: Vec<IpAddr> = found.into_iter().filter(|address| is_public(*address)).collect();
    if outside.is_empty() {
        return Err(Error::Inside(url.host_str().unwrap_or_default().to_owned()));
    }
    Ok(name.map(|name| pin(name, port, &outside)))
}

/// A name that stands for nothing else where git is told its addresses, such as `+` or `*` would.
fn pinnable(name: &str) -> Result<&str, Error> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && !name.starts_with(['-', '.'])
        && !name.ends_with('.');
    if is_plain {
        return Ok(name);
    }
    Err(Error::BadLocation(format!(
        "\"{name}\" is no name of a host that git can be held to; write it without a dot at its \
        end, and with \
         letters, digits, \"-\" and \"_\" only"
    )))
}

/// Nothing where the name leads nowhere. That is answered like one that leads inside: which names
/// the service's network knows is no more the caller's business than its addresses.
async fn look_up(name: &str, port: u16) -> Result<Vec<IpAddr>, Error> {
    let asked = tokio::time::timeout(LOOK_UP_LIMIT, tokio::net::lookup_host((name, port))).await;
    let answer = asked.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    heard(name, answer.map(|found| found.map(|address| address.ip()).collect()))
}

/// What the resolver's answer comes to. One that could not say may do so later.
fn heard(name: &str, answer: io::Result<Vec<IpAddr>>) -> Result<Vec<IpAddr>, Error> {
    match answer {
        Ok(found) => Ok(found),
        Err(error) if leads_nowhere(&error) => Ok(Vec::new()),
        Err(error) => Err(Error::Unreachable(format!(
            "\"{name}\" could not be looked up ({error}); if this goes on, make sure that names \
            can be resolved \
             where the service runs"
        ))),
    }
}

/// The standard library has no other sign of it than the text.
fn leads_nowhere(error: &io::Error) -> bool {
    let said = error.to_string().to_ascii_lowercase();
    NOWHERE.iter().any(|nowhere| said.contains(nowhere))
}

/// As curl has it: `host:port:address,address`.
pub(super) fn pin(name: &str, port: u16, addresses: &[IpAddr]) -> String {
    let addresses = addresses.iter().map(|address| match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    });
    format!("{PIN}{name}:{port}:{}", addresses.collect::<Vec<_>>().join(","))
}

fn not_by_https() -> Error {
    Error::BadLocation(
        "only what an administrator of the service asked for is read from its disk or by its ssh \
        key; ask one, \
         or give the repository's https address"
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
    async fn a_private_address_is_refused() {
        for inside in [
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
                settings(&url(inside), NetworkAccess::Outside(&[])).await.expect_err(inside);
            let host = url(inside).host_str().expect("a host").to_owned();
            assert!(matches!(&error, Error::Inside(named) if *named == host), "{inside}: {error}");
            assert!(error.to_string().contains("ingest.allowed_private_hosts"), "{error}");
            assert!(
                settings(&url(inside), NetworkAccess::Anywhere).await.expect("allowed").is_empty()
            );
        }
        let held = settings(&url("https://93.184.215.14/a/b"), NetworkAccess::Outside(&[])).await;
        assert_eq!(held.expect("outside"), ["http.followRedirects=false", "http.proxy="]);
    }

    #[test]
    fn a_failed_lookup_is_retried_and_an_empty_one_is_private() {
        let name = "git.example.org";
        for said in ["Name or service not known", "No address associated with hostname"] {
            let said = format!("failed to lookup address information: {said}");
            assert!(heard(name, Err(io::Error::other(said))).expect("an answer").is_empty());
        }
        let outage = "failed to lookup address information: Temporary failure in name resolution";
        for failure in [io::Error::other(outage), io::ErrorKind::TimedOut.into()] {
            let error = heard(name, Err(failure)).expect_err("no answer");
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            assert!(error.to_string().contains(name), "{error}");
            // Asked for, it waits for the run; that goes nowhere meanwhile.
            assert!(for_now(Err(error)).is_ok());
        }
        assert!(for_now(Err(Error::Inside(name.to_owned()))).is_err());
    }

    #[tokio::test]
    async fn a_location_other_than_https_requires_an_administrator() {
        for location in ["ssh://git@example.org/a/b", "file:///srv/git/a"] {
            let location = url(location);
            let refused = settings(&location, NetworkAccess::Outside(&[])).await;
            assert!(matches!(refused, Err(Error::BadLocation(_))), "{location}");
            assert!(
                settings(&location, NetworkAccess::Anywhere).await.expect("allowed").is_empty()
            );
        }
        let folder = Location::Folder("/srv/a".into());
        assert!(check_public(&folder, &[]).await.is_err());
    }

    #[tokio::test]
    async fn allowed_private_hosts_are_reached_without_redirects() {
        let listed = hosts(&["localhost:8443", "10.0.0.5", "[::1]"]);
        let reach = NetworkAccess::Outside(&listed);
        for allowed in ["https://localhost:8443/a/b", "https://10.0.0.5/a", "https://[::1]:443/a"] {
            let held = settings(&url(allowed), reach).await.expect(allowed);
            assert_eq!(held, ["http.followRedirects=false"], "{allowed}");
        }
        for other in ["https://localhost/a", "https://10.0.0.5:22/a", "https://[::1]:8443/a"] {
            assert!(settings(&url(other), reach).await.is_err(), "{other}");
        }
    }

    #[test]
    fn a_listed_host_is_a_host_and_nothing_more() {
        assert_eq!(hosts(&["Git.Corp.Example"]), hosts(&["git.corp.example:443"]));
        for wrong in ["", "*", "*.example.org", "https://example.org", "host/a", "me@host", "a b"] {
            assert!(wrong.parse::<AllowedPrivateHost>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_is_pinned_to_its_addresses() {
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
