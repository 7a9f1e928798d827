//! Who stands at the door: the client's network, and how it came.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

use super::{Authority, Ingress, forwarded};
use crate::problem::Problem;

/// Bits of an IPv6 address that tell one network from another: a host chooses the rest itself.
const NETWORK_BITS: u32 = 64;

/// A year, for this name alone.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The connection that a request came on; the server puts it among the request's extensions.
#[derive(Debug, Clone, Copy)]
pub struct ConnectInfo {
    /// The other end.
    pub peer: SocketAddr,
    /// This end.
    pub local: SocketAddr,
    /// Whether it is encrypted.
    pub is_tls: bool,
}

/// What is known of a request's way, behind proxies that are trusted.
#[derive(Debug, Clone, Copy)]
pub struct ClientInfo {
    pub network: ClientNetwork,
    pub local: IpAddr,
    pub is_https: bool,
}

/// Whom limits by address count as one: an IPv4 address, or a /64 of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNetwork(IpAddr);

impl ClientNetwork {
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> NETWORK_BITS << NETWORK_BITS;
                Ipv6Addr::from_bits(network).into()
            }
        })
    }
}

impl std::fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            IpAddr::V4(address) => write!(f, "{address}"),
            IpAddr::V6(address) => write!(f, "{address}/{NETWORK_BITS}"),
        }
    }
}

/// Works the [`Visit`] out for the layers inside. Encrypted answers tell browsers to stay with TLS.
pub async fn resolve_client(
    State(door): State<Ingress>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(connection) = request.extensions().get::<ConnectInfo>().copied() else {
        tracing::error!("a request came without its connection; serve with `run`");
        return Err(Problem::internal());
    };
    let visit = resolve(&connection, request.headers(), &door);
    let insists_on_tls = visit.is_https && !is_loopback(&request);
    request.extensions_mut().insert(visit);
    let mut response = next.run(request).await;
    if insists_on_tls {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    Ok(response)
}

fn resolve(connection: &ConnectInfo, headers: &HeaderMap, door: &Ingress) -> ClientInfo {
    let origin = forwarded::client(connection.peer.ip(), headers, &door.0.settings.trusted_proxies);
    ClientInfo {
        network: ClientNetwork::of(origin.address),
        local: connection.local.ip().to_canonical(),
        is_https: connection.is_tls || origin.is_https,
    }
}

/// A browser that was told to use TLS for `localhost` would do so for everything else on the machine.
fn is_loopback(request: &Request) -> bool {
    Authority::requested(request.uri(), request.headers(), true)
        .is_ok_and(|authority| authority.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_caller_and_a_mapped_address_is_ipv4() {
        let network = |address: &str| ClientNetwork::of(address.parse().expect("an address"));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.7"), network("192.0.2.7"));
        assert_ne!(network("192.0.2.7"), network("192.0.2.8"));
        assert_eq!(network("2001:db8::1").to_string(), "2001:db8::/64");
    }
}
