//! IP addresses of hosts.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{ADDRESS, NAMED, compile, personal};
use crate::Finding;

pub(super) static IP_ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    compile(r"(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f.]{1,15}|[0-9]{1,3}(?:\.[0-9]{1,3}){3}")
});

/// Returns the finding at a candidate, if it is the address of a host.
pub(super) fn ip_address(text: &str, span: &Range<usize>) -> Option<Finding> {
    let value = &text[span.clone()];
    // A network does not identify a person.
    let is_network = text[span.end..].starts_with('/')
        && text[span.end + 1..].starts_with(|c: char| c.is_ascii_digit());
    let is_host = match (value.parse::<Ipv4Addr>(), value.parse::<Ipv6Addr>()) {
        (Ok(v4), _) => {
            let [a, b, c, d] = v4.octets();
            // 1.1.1.1 and similar ones are public services; versions such as 1.2.0.0 look the same.
            let is_common = a == b && b == c && c == d;
            !v4.is_loopback() && !v4.is_documentation() && !is_common && a != 0 && (c, d) != (0, 0)
        }
        (_, Ok(v6)) => {
            // `dead::beef` is a path in many languages.
            let has_digit = value.bytes().any(|b| b.is_ascii_digit());
            !v6.is_loopback() && !v6.is_unspecified() && has_digit
        }
        _ => false,
    };
    (is_host && !is_network).then(|| personal(ADDRESS, span, NAMED))
}
