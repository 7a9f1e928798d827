//! The host that a request is for: the `Host` header, or the authority of its target.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use http::{HeaderMap, Uri, header};

use crate::problem::Problem;

/// A host with or without a port, normalized: lower case, no trailing dot, IPv4-mapped IPv6
/// addresses as IPv4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Host {
    Name(String),
    Address(IpAddr),
}

/// A text that is not a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a host; write a name or an address, with a port if it matters: host:8443, [::1]"
)]
pub struct InvalidAuthority(String);

impl Authority {
    /// Returns the authority of a request: of the header `Host`, of an absolute URI, or of HTTP/2's
    /// `:authority`. If several are sent they must agree; else a proxy and this service could
    /// choose different ones.
    pub fn requested(uri: &Uri, headers: &HeaderMap, is_https: bool) -> Result<Self, Problem> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host =
            hosts.next().map(|value| read(value.to_str().unwrap_or_default())).transpose()?;
        if hosts.next().is_some() {
            return Err(fault("is sent more than once"));
        }
        let in_uri = uri.authority().map(|authority| read(authority.as_str())).transpose()?;
        match (in_uri, host) {
            (Some(uri), Some(host)) if !uri.is(&host, is_https) => {
                Err(fault("names another host than the request's target"))
            }
            (Some(authority), _) | (None, Some(authority)) => Ok(authority),
            (None, None) => Err(fault("is required")),
        }
    }

    /// Whether it is this machine on every resolver.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Name(name) => name == "localhost",
            Host::Address(address) => address.is_loopback(),
        }
    }

    /// Whether it is this address, with any port.
    pub fn is_address(&self, address: IpAddr) -> bool {
        self.host == Host::Address(address.to_canonical())
    }

    /// Whether this list entry allows the `requested` authority; without a port it allows any.
    pub fn allows(&self, requested: &Self, is_https: bool) -> bool {
        self.host == requested.host
            && self.port.is_none_or(|port| port == requested.port_or_default(is_https))
    }

    fn is(&self, other: &Self, is_https: bool) -> bool {
        self.host == other.host && self.port_or_default(is_https) == other.port_or_default(is_https)
    }

    fn port_or_default(&self, is_https: bool) -> u16 {
        self.port.unwrap_or(if is_https { 443 } else { 80 })
    }
}

impl FromStr for Authority {
    type Err = InvalidAuthority;

    fn from_str(text: &str) -> Result<Self, InvalidAuthority> {
        parse(text).ok_or_else(|| InvalidAuthority(text.chars().take(100).collect()))
    }
}

impl std::fmt::Display for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            Host::Name(name) => f.write_str(name)?,
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn read(text: &str) -> Result<Authority, Problem> {
    text.parse().map_err(|error: InvalidAuthority| fault(&error.to_string()))
}

fn fault(rule: &str) -> Problem {
    Problem::invalid(rule).field("Host")
}

fn parse(text: &str) -> Option<Authority> {
    let (host, digits) = if let Some(rest) = text.strip_prefix('[') {
        let (address, rest) = rest.split_once(']')?;
        let address = IpAddr::from(address.parse::<Ipv6Addr>().ok()?).to_canonical();
        let digits = if rest.is_empty() { rest } else { rest.strip_prefix(':')? };
        (Host::Address(address), digits)
    } else {
        let (host, digits) = text.split_once(':').unwrap_or((text, ""));
        (parse_host(host)?, digits)
    };
    // RFC 3986 allows an empty port.
    let port = if digits.is_empty() { None } else { Some(parse_port(digits)?) };
    Some(Authority { host, port })
}

fn parse_host(host: &str) -> Option<Host> {
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if let Ok(address) = name.parse::<Ipv4Addr>() {
        return Some(Host::Address(address.into()));
    }
    is_name(&name).then_some(Host::Name(name))
}

fn parse_port(digits: &str) -> Option<u16> {
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { digits.parse().ok() } else { None }
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_normalized() {
        for (text, expected) in [
            ("localhost", "localhost"),
            ("LocalHost.:7391", "localhost:7391"),
            ("localhost:", "localhost"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("127.0.0.1.", "127.0.0.1"),
            ("[::1]:7391", "[::1]:7391"),
            ("[0:0:0:0:0:0:0:1]", "[::1]"),
            ("[::FFFF:127.0.0.1]", "127.0.0.1"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("my_service.internal", "my_service.internal"),
        ] {
            let read: Authority = text.parse().expect(text);
            assert_eq!(read.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn invalid_authorities_are_rejected() {
        for text in [
            "",
            ".",
            "localhost..",
            "user@localhost",
            "localhost:port",
            "localhost:+80",
            "localhost:70000",
            "localhost:80:80",
            "::1",
            "[::1",
            "[::1]80",
            "[127.0.0.1]",
            "[fe80::1%25eth0]",
            "local host",
            "*.example.com",
            "http://localhost",
            "localhost/",
            "bücher.example",
        ] {
            assert!(text.parse::<Authority>().is_err(), "{text}");
        }
    }

    #[test]
    fn only_unambiguous_loopback_hosts_are_loopback() {
        for (text, expected) in [
            ("localhost", true),
            ("127.9.9.9", true),
            ("[::1]", true),
            ("[::ffff:127.0.0.1]", true),
            ("0.0.0.0", false),
            ("[::]", false),
            ("127.1", false),
            ("2130706433", false),
            ("localhost.example.com", false),
            ("evil-localhost", false),
            ("127.0.0.1.nip.io", false),
        ] {
            let read: Authority = text.parse().expect(text);
            assert_eq!(read.is_loopback(), expected, "{text}");
        }
    }

    #[test]
    fn a_listed_host_without_a_port_allows_any_port() {
        let allows = |listed: &str, requested: &str, is_https| {
            let listed: Authority = listed.parse().expect(listed);
            listed.allows(&requested.parse().expect(requested), is_https)
        };
        assert!(allows("memory.example", "MEMORY.example.:8443", false));
        assert!(allows("memory.example:443", "memory.example", true));
        assert!(!allows("memory.example:443", "memory.example", false));
        assert!(!allows("memory.example", "a.memory.example", true));
    }
}
