//! The client behind proxies. `Forwarded` (RFC 7239) and `X-Forwarded-For` are claims that anyone
//! can send; they count only as far as trusted peers vouch for them.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Where a request began, as far as is known for sure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    pub address: IpAddr,
    /// Whether the client spoke TLS to a trusted proxy.
    pub is_https: bool,
}

/// The client of a request that came from `peer`.
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Client {
    let peer = peer.to_canonical();
    let unproxied = Client { address: peer, is_https: false };
    if !is_trusted(peer, trusted) {
        return unproxied;
    }
    let standard = hops(headers, &header::FORWARDED).map(read_element).collect::<Vec<_>>();
    let common: Vec<_> = hops(headers, &X_FORWARDED_FOR).map(read_address).collect();
    let by_standard = nearest_stranger(peer, standard.iter().map(|hop| hop.address), trusted);
    let by_custom = nearest_stranger(peer, common.iter().copied(), trusted);
    let address = match (standard.is_empty(), common.is_empty()) {
        (false, true) => by_standard,
        (true, false) => by_custom,
        (false, false) if by_standard == by_custom => by_standard,
        // Nothing is said; or a proxy wrote one of them and passed the other on, as the client sent it.
        _ => peer,
    };
    let is_https = match standard.last() {
        Some(hop) => hop.is_https,
        None => hops(headers, &X_FORWARDED_PROTO)
            .last()
            .is_some_and(|proto| proto.eq_ignore_ascii_case("https")),
    };
    Client { address, is_https }
}

fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&address))
}

/// Each proxy adds the address it was called from at the end: read from there, the first that is no
/// trusted proxy is the client. What can't be read ends the search at the proxy that wrote it.
fn nearest_stranger(
    peer: IpAddr,
    hops: impl DoubleEndedIterator<Item = Option<IpAddr>>,
    trusted: &[IpNet],
) -> IpAddr {
    let mut nearest = peer;
    for hop in hops.rev() {
        let Some(address) = hop else { return nearest };
        nearest = address;
        if !is_trusted(address, trusted) {
            return nearest;
        }
    }
    nearest
}

/// The elements of a header that is a list, over all its lines.
fn hops<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter();
    lines.flat_map(|line| line.to_str().unwrap_or("unreadable").split(',')).map(str::trim)
}

struct Hop {
    address: Option<IpAddr>,
    is_https: bool,
}

/// One element of `Forwarded`: `for="[2001:db8::1]:4711";proto=https`.
fn read_element(element: &str) -> Hop {
    let mut hop = Hop { address: None, is_https: false };
    for pair in element.split(';') {
        let Some((name, value)) = pair.split_once('=') else { continue };
        let value = value.trim().trim_matches('"');
        match name.trim().to_ascii_lowercase().as_str() {
            "for" => hop.address = read_address(value),
            "proto" => hop.is_https = value.eq_ignore_ascii_case("https"),
            _ => {}
        }
    }
    hop
}

/// An address with or without a port, in any of the ways that proxies write it.
fn read_address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    bare.parse().ok().or_else(with_port).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const PROXY: &str = "10.0.0.1";

    fn seen(peer: &str, headers: &[(&'static str, &'static str)]) -> Client {
        let trusted = ["10.0.0.0/8".parse().expect("a network")];
        let mut sent = HeaderMap::new();
        for (name, value) in headers {
            sent.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        client(peer.parse().expect("an address"), &sent, &trusted)
    }

    fn address(peer: &str, headers: &[(&'static str, &'static str)]) -> String {
        seen(peer, headers).address.to_string()
    }

    #[test]
    fn nobody_is_believed_but_a_trusted_proxy() {
        let claim = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https")];
        let stranger = seen("198.51.100.7", &claim);
        assert_eq!(stranger.address.to_string(), "198.51.100.7");
        assert!(!stranger.is_https);
        let proxied = seen(PROXY, &claim);
        assert_eq!(proxied.address.to_string(), "192.0.2.1");
        assert!(proxied.is_https);
        assert_eq!(address("::ffff:10.0.0.1", &claim), "192.0.2.1");
    }

    #[test]
    fn what_a_client_writes_before_its_proxy_does_not_count() {
        let spoofed = [("x-forwarded-for", "203.0.113.9, 192.0.2.1, 10.0.0.2")];
        assert_eq!(address(PROXY, &spoofed), "192.0.2.1");
        let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(address(PROXY, &lines), "192.0.2.1");
        let standard = [("forwarded", "for=203.0.113.9, for=192.0.2.1;by=10.0.0.1")];
        assert_eq!(address(PROXY, &standard), "192.0.2.1");
    }

    #[test]
    fn of_two_headers_that_disagree_neither_counts() {
        let both = |standard, common| [("forwarded", standard), ("x-forwarded-for", common)];
        assert_eq!(address(PROXY, &both("for=203.0.113.9", "192.0.2.1")), PROXY);
        assert_eq!(address(PROXY, &both("for=192.0.2.1", "192.0.2.1")), "192.0.2.1");
    }

    #[test]
    fn addresses_are_read_in_every_way_they_are_written() {
        for (header, expected) in [
            (("x-forwarded-for", "192.0.2.1:4711"), "192.0.2.1"),
            (("x-forwarded-for", "2001:db8::1"), "2001:db8::1"),
            (("x-forwarded-for", "[2001:db8::1]:80"), "2001:db8::1"),
            (("x-forwarded-for", "::ffff:192.0.2.1"), "192.0.2.1"),
            (("forwarded", r#"For="[2001:db8::1]:4711";Proto=https"#), "2001:db8::1"),
            (("forwarded", "proto=http ; for=192.0.2.1"), "192.0.2.1"),
            (("forwarded", "for=unknown"), PROXY),
            (("forwarded", "for=_hidden, for=10.0.0.2"), "10.0.0.2"),
            (("x-forwarded-for", ""), PROXY),
            (("x-forwarded-for", "192.0.2.1, nonsense"), PROXY),
        ] {
            assert_eq!(address(PROXY, &[header]), expected, "{header:?}");
        }
    }
}
