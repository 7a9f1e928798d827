//! Which addresses are somebody's on the internet. All others lead into the network that the service stands
//! in, where it may reach what its callers can't.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Whether an address is somebody's on the internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_outside_v4(v4),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped().or_else(|| embedded(v6)) {
            Some(v4) => is_outside_v4(v4),
            None => is_outside_v6(v6),
        },
    }
}

/// Whether a URL leads to this machine, where no proxy stands in between.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn is_outside_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    !(v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_broadcast()
        || v4.is_documentation()
        || v4.is_multicast()
        || a == 0
        || a >= 240
        // Shared addresses (RFC 6598), protocol assignments (RFC 6890), benchmarks (RFC 2544).
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && (18..20).contains(&b)))
}

/// Global unicast, but for documentation and protocol assignments (RFC 2928), among them Teredo, which has
/// an IPv4 address of any kind in it.
fn is_outside_v6(v6: Ipv6Addr) -> bool {
    let [a, b, ..] = v6.segments();
    let is_documentation = (a, b) == (0x2001, 0xdb8) || (a == 0x3fff && b < 0x1000);
    let is_assignment = a == 0x2001 && b < 0x200;
    a & 0xe000 == 0x2000 && !is_documentation && !is_assignment
}

/// The IPv4 address that a translator (`64:ff9b::/96`) or 6to4 (`2002::/16`) would make of it.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = v6.segments();
    let bytes = v6.octets();
    let four = |at: usize| {
        let part: [u8; 4] = bytes[at..at + 4].try_into().ok()?;
        Some(Ipv4Addr::from(part))
    };
    match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => four(12),
        [0x2002, ..] => four(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_inside_is_known_in_every_form() {
        for inside in [
            "127.0.0.1",
            "127.255.255.254",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::127.0.0.1",
            "fe80::1",
            "fec0::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.5",
            "64:ff9b::a00:1",
            "64:ff9b:1::a00:1",
            "2002:7f00:1::",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "3fff::1",
        ] {
            assert!(!is_public(inside.parse().expect("an address")), "{inside}");
        }
        for outside in [
            "93.184.215.14",
            "172.32.0.1",
            "100.128.0.1",
            "198.20.0.1",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:93.184.215.14",
            "64:ff9b::5db8:d70e",
        ] {
            assert!(is_public(outside.parse().expect("an address")), "{outside}");
        }
    }
}
