//! The client of a request: its network and its connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, header};

use super::{Authority, Ingress, forwarded};
use crate::problem::Problem;

/// Bits of an IPv6 address that identify a network. A host chooses the rest itself.
const NETWORK_BITS: u32 = 64;

/// HSTS of one year, without subdomains.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The connection of a request. The server adds it to the request's extensions.
#[derive(Debug, Clone, Copy)]
pub struct ConnectInfo {
    /// The address of the client or proxy.
    pub peer: SocketAddr,
    /// The address of the service.
    pub local: SocketAddr,
    /// Whether the connection uses TLS.
    pub is_tls: bool,
}

/// The client of a request, as seen through trusted proxies.
#[derive(Debug, Clone, Copy)]
pub struct ClientInfo {
    pub network: ClientNetwork,
    pub local: IpAddr,
    pub is_https: bool,
}

/// The unit of limits by address: an IPv4 address, or a /64 of IPv6. All loopback addresses are
/// one: a program on this machine can call from any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientNetwork(IpAddr);

impl ClientNetwork {
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => {
                let network = address.to_bits() >> NETWORK_BITS << NETWORK_BITS;
                Ipv6Addr::from_bits(network).into()
            }
        })
    }

    /// Returns the address, of IPv6 the first one of the network.
    pub fn address(self) -> IpAddr {
        self.0
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

/// Adds the [`ClientInfo`] for the layers inside. Responses over TLS get the HSTS header.
pub async fn resolve_client(
    State(ingress): State<Ingress>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let Some(connection) = request.extensions().get::<ConnectInfo>().copied() else {
        tracing::error!("request has no connection info; serve with `mc_api::run`");
        return Err(Problem::internal());
    };
    let client = resolve(&connection, request.headers(), &ingress);
    let needs_hsts = client.is_https && !is_loopback(&request);
    request.extensions_mut().insert(client);
    let mut response = next.run(request).await;
    if needs_hsts {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    Ok(response)
}

fn resolve(connection: &ConnectInfo, headers: &HeaderMap, ingress: &Ingress) -> ClientInfo {
    let trusted = &ingress.0.settings.trusted_proxies;
    let client = forwarded::client(connection.peer.ip(), headers, trusted);
    ClientInfo {
        network: ClientNetwork::of(client.address),
        local: connection.local.ip().to_canonical(),
        is_https: connection.is_tls || client.is_https,
    }
}

/// HSTS for `localhost` would apply to every other service on the machine.
fn is_loopback(request: &Request) -> bool {
    Authority::requested(request.uri(), request.headers(), true)
        .is_ok_and(|authority| authority.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_counts_by_network_and_a_mapped_address_as_ipv4() {
        let network = |address: &str| ClientNetwork::of(address.parse().expect("an address"));
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.7"), network("192.0.2.7"));
        assert_ne!(network("192.0.2.7"), network("192.0.2.8"));
        assert_eq!(network("2001:db8::1").to_string(), "2001:db8::/64");
    }

    #[test]
    fn all_loopback_addresses_are_one_network() {
        let network = |address: &str| ClientNetwork::of(address.parse().expect("an address"));
        for address in ["127.0.0.2", "127.255.255.254", "::1", "::ffff:127.9.8.7"] {
            assert_eq!(network(address), network("127.0.0.1"), "{address}");
        }
        assert_ne!(network("::"), network("::1"), "the rest of that /64");
        assert_ne!(network("128.0.0.1"), network("127.0.0.1"));
    }
}
