//! The client that a request counts for.

use http::Extensions;
use mc_domain::TokenId;

use crate::authenticate::Principal;
use crate::ingress::{ClientInfo, ClientNetwork};

/// The client that a request counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientKey {
    /// The caller, from any address.
    Caller(TokenId),
    /// The network of a request without authentication.
    Network(ClientNetwork),
    /// This process, which calls the API without a connection.
    Process,
}

impl ClientKey {
    /// Returns the client of a request, once the layers outside have added it.
    pub fn of(extensions: &Extensions) -> Self {
        let caller = extensions.get::<Principal>().map(|caller| Self::Caller(caller.credential()));
        let network = || Some(Self::Network(extensions.get::<ClientInfo>()?.network));
        caller.or_else(network).unwrap_or(Self::Process)
    }
}
