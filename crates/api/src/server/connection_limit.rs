//! Limit of connections by address, without which one address could hold them all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;

use crate::ingress::ClientNetwork;

/// Counter of open connections by network; cheap to clone.
#[derive(Clone)]
pub struct ConnectionLimiter {
    max: usize,
    trusted: Arc<[IpNet]>,
    open: Arc<Mutex<HashMap<ClientNetwork, usize>>>,
}

/// A counted connection, until it is dropped.
pub struct ConnectionPermit {
    limiter: ConnectionLimiter,
    network: ClientNetwork,
}

impl ConnectionLimiter {
    /// Allows `max` connections of each network, and any number of trusted ones; 0 is no limit.
    pub fn new(max: usize, trusted: &[IpNet]) -> Self {
        let max = if max == 0 { usize::MAX } else { max };
        Self { max, trusted: trusted.into(), open: Arc::default() }
    }

    /// Returns a permit for a connection from `peer`, unless it has too many.
    pub fn acquire(&self, peer: IpAddr) -> Option<ConnectionPermit> {
        let peer = peer.to_canonical();
        let network = ClientNetwork::of(peer);
        let is_trusted = self.trusted.iter().any(|trusted| trusted.contains(&peer));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.entry(network).or_default();
        if *own >= self.max && !is_trusted {
            return None;
        }
        *own += 1;
        Some(ConnectionPermit { limiter: self.clone(), network })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.limiter.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = open.get_mut(&self.network) {
            *own -= 1;
            if *own == 0 {
                open.remove(&self.network);
            }
        }
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
        assert!(limiter.open.lock().expect("a lock").is_empty());
        assert!(acquire("192.0.2.1").is_some());
    }
}
