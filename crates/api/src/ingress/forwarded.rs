//! The client behind proxies. Anyone can send `Forwarded` (RFC 7239) and `X-Forwarded-For`, so they
//! count only as far as trusted proxies wrote them.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

pub const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
pub const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The client of a request, as far as trusted proxies report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    pub address: IpAddr,
    /// Whether the client spoke TLS to a trusted proxy.
    pub is_https: bool,
}

/// Returns the client of a request from `peer`.
pub fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Client {
    let peer = peer.to_canonical();
    let unproxied = Client { address: peer, is_https: false };
    if !is_trusted(peer, trusted) {
        return unproxied;
    }
    let standard = hops(headers, &header::FORWARDED).map(read_element).collect::<Vec<_>>();
    let common: Vec<_> = hops(headers, &X_FORWARDED_FOR).map(read_address).collect();
    let by_standard = nearest_untrusted(peer, standard.iter().map(|hop| hop.address), trusted);
    let by_custom = nearest_untrusted(peer, common.iter().copied(), trusted);
    let address = match (standard.is_empty(), common.is_empty()) {
        (false, true) => by_standard,
        (true, false) => by_custom,
        (false, false) if by_standard == by_custom => by_standard,
        // Neither is sent; or a proxy wrote one of them and passed on the other from the client.
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

/// Returns the client of a list of hops. Each proxy appends the address that called it, so the last
/// address that is not a trusted proxy is the client. An entry that can't be read ends the search
/// at the proxy that wrote it.
fn nearest_untrusted(
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

/// Returns the elements of a list header, over all its lines.
fn hops<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter();
    lines.flat_map(|line| line.to_str().unwrap_or("unreadable").split(',')).map(str::trim)
}

struct Hop {
    address: Option<IpAddr>,
    is_https: bool,
}

/// Parses an element of `Forwarded`: `for="[2001:db8::1]:4711";proto=https`.
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

/// Parses an address with or without a port, in each of the forms that proxies write.
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
    fn forwarded_headers_count_only_from_a_trusted_proxy() {
        let claim = [("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https")];
        let direct = seen("198.51.100.7", &claim);
        assert_eq!(direct.address.to_string(), "198.51.100.7");
        assert!(!direct.is_https);
        let proxied = seen(PROXY, &claim);
        assert_eq!(proxied.address.to_string(), "192.0.2.1");
        assert!(proxied.is_https);
        assert_eq!(address("::ffff:10.0.0.1", &claim), "192.0.2.1");
    }

    #[test]
    fn hops_before_the_first_trusted_proxy_are_ignored() {
        let spoofed = [("x-forwarded-for", "203.0.113.9, 192.0.2.1, 10.0.0.2")];
        assert_eq!(address(PROXY, &spoofed), "192.0.2.1");
        let lines = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1")];
        assert_eq!(address(PROXY, &lines), "192.0.2.1");
        let standard = [("forwarded", "for=203.0.113.9, for=192.0.2.1;by=10.0.0.1")];
        assert_eq!(address(PROXY, &standard), "192.0.2.1");
    }

    #[test]
    fn contradictory_forwarded_headers_are_ignored() {
        let both = |standard, common| [("forwarded", standard), ("x-forwarded-for", common)];
        assert_eq!(address(PROXY, &both("for=203.0.113.9", "192.0.2.1")), PROXY);
        assert_eq!(address(PROXY, &both("for=192.0.2.1", "192.0.2.1")), "192.0.2.1");
    }

    #[test]
    fn addresses_are_parsed_in_every_form() {
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
