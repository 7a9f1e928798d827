//! Parsers of requests, for benchmarks: the service runs some of them before it reads a body.

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::{IpNet, Ipv4Net};

use crate::ingress::forwarded;

/// A trusted proxy.
const PROXY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Returns whether a JSON body is within the limits of depth and number of values.
pub fn is_within_json_limits(json: &[u8]) -> bool {
    crate::json_limits::check(json).is_ok()
}

/// Returns the client of a request from a proxy of `10.0.0.0/8`, which is trusted, with this header
/// of forwarded addresses. A value that is no header has no client.
pub fn forwarded_client(header: HeaderName, value: &str) -> Option<IpAddr> {
    let headers = HeaderMap::from_iter([(header, HeaderValue::from_str(value).ok()?)]);
    let trusted = Ipv4Net::new_assert(PROXY, 8);
    Some(forwarded::client(PROXY.into(), &headers, &[IpNet::V4(trusted)]).address)
}

/// Returns the diff between a record and a proposal to change it.
pub fn record_diff(before: &str, after: &str) -> String {
    crate::record_diff::unified(before, after)
}
