//! Limit of connections by address, without which one address could hold them all.

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

use crate::ingress::ClientNetwork;
use crate::shares::{Share, Shares};

/// Counter of open connections by network; cheap to clone.
#[derive(Clone)]
pub struct ConnectionLimiter {
    trusted: Arc<[IpNet]>,
    open: Shares<ClientNetwork>,
}

/// A connection, counted until it is dropped unless its network is trusted.
pub struct ConnectionPermit(
    #[expect(dead_code, reason = "the connection counts as long as it is there")]
    Option<Share<ClientNetwork>>,
);

impl ConnectionLimiter {
    /// Allows `max` connections of each network, and any number of trusted ones; 0 is no limit.
    pub fn new(max: usize, trusted: &[IpNet]) -> Self {
        Self { trusted: trusted.into(), open: Shares::new(max) }
    }

    /// Returns a permit for a connection from `peer`, unless it has too many.
    pub fn acquire(&self, peer: IpAddr) -> Option<ConnectionPermit> {
        let peer = peer.to_canonical();
        if self.trusted.iter().any(|trusted| trusted.contains(&peer)) {
            return Some(ConnectionPermit(None));
        }
        let share = self.open.take(ClientNetwork::of(peer), 1)?;
        Some(ConnectionPermit(Some(share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permit_is_free_again_when_its_connection_ends() {
        let limiter = ConnectionLimiter::new(1, &["10.0.0.0/8".parse().expect("a network")]);
        let acquire = |address: &str| limiter.acquire(address.parse().expect("an address"));
        let first = acquire("192.0.2.1");
        assert!(first.is_some());
        assert!(acquire("192.0.2.1").is_none());
        assert!(acquire("::ffff:192.0.2.1").is_none());
        assert!(acquire("192.0.2.2").is_some(), "another address");
        let proxied = (acquire("10.0.0.1"), acquire("10.0.0.1"));
        assert!(proxied.1.is_some(), "a proxy is many clients");
        drop((first, proxied));
        assert!(limiter.open.is_unused());
        assert!(acquire("192.0.2.1").is_some());
    }
}
