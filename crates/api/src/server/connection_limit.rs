//! How many connections each address has: without a limit, one could hold them all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;

use crate::ingress::ClientNetwork;

/// The connections that are open, by network; cheap to clone.
#[derive(Clone)]
pub struct ConnectionLimiter {
    most: usize,
    trusted: Arc<[IpNet]>,
    open: Arc<Mutex<HashMap<ClientNetwork, usize>>>,
}

/// One connection's place, until it is dropped.
pub struct ConnectionPermit {
    crowd: ConnectionLimiter,
    network: ClientNetwork,
}

impl ConnectionLimiter {
    /// `most` connections for each network but those in `trusted`; 0 is no limit.
    pub fn new(most: usize, trusted: &[IpNet]) -> Self {
        let most = if most == 0 { usize::MAX } else { most };
        Self { most, trusted: trusted.into(), open: Arc::default() }
    }

    /// A place for a connection from `peer`, where it has not too many already.
    pub fn acquire(&self, peer: IpAddr) -> Option<ConnectionPermit> {
        let peer = peer.to_canonical();
        let network = ClientNetwork::of(peer);
        let is_trusted = self.trusted.iter().any(|trusted| trusted.contains(&peer));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.entry(network).or_default();
        if *own >= self.most && !is_trusted {
            return None;
        }
        *own += 1;
        Some(ConnectionPermit { crowd: self.clone(), network })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.crowd.open.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn a_place_is_free_again_when_its_connection_is_gone() {
        let crowd = ConnectionLimiter::new(1, &["10.0.0.0/8".parse().expect("a network")]);
        let enter = |address: &str| crowd.acquire(address.parse().expect("an address"));
        let first = enter("192.0.2.1");
        assert!(first.is_some());
        assert!(enter("192.0.2.1").is_none());
        assert!(enter("::ffff:192.0.2.1").is_none());
        assert!(enter("192.0.2.2").is_some(), "another address");
        let proxied = (enter("10.0.0.1"), enter("10.0.0.1"));
        assert!(proxied.1.is_some(), "a proxy is many clients");
        drop((first, proxied));
        assert!(crowd.open.lock().expect("a lock").is_empty());
        assert!(enter("192.0.2.1").is_some());
    }
}
