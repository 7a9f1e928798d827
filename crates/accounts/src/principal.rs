//! The principal of a request, and what its credential allows.

use std::sync::Arc;

use mc_domain::{Caller, Scope, Scopes, TokenId, UserId};
use mc_store::accounts::{CredentialKind, TokenOwner};

use crate::Error;

/// The user on whose behalf a request runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Id of the authenticated user.
    pub user: UserId,
    /// Whether the user is a service administrator.
    pub is_admin: bool,
    credential_kind: CredentialKind,
    credential: TokenId,
    login: Arc<str>,
    scopes: Scopes,
}

impl Principal {
    /// Returns the login, under which actions are recorded.
    pub fn name(&self) -> &str {
        &self.login
    }

    /// Returns the id of the personal access token or session, which derived tokens share.
    pub fn credential(&self) -> TokenId {
        self.credential
    }

    /// Returns the user with the credential.
    pub fn caller(&self) -> Caller {
        Caller { user: self.user, credential: self.credential }
    }

    /// Returns the scopes of the credential.
    pub fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// Requires a scope of the credential.
    pub fn require(&self, needed: Scope) -> Result<(), Error> {
        if self.scopes.contains(needed) {
            return Ok(());
        }
        Err(Error::MissingScope(needed, self.scopes))
    }

    /// Requires a credential that a person signed in with. With a personal access token a program
    /// could otherwise create credentials that outlive it.
    pub fn require_interactive(&self) -> Result<(), Error> {
        if self.credential_kind == CredentialKind::Token {
            return Err(Error::NotInteractive);
        }
        Ok(())
    }

    /// Whether the user is a service administrator and the credential has the scope `admin`.
    pub fn is_service_admin(&self) -> bool {
        self.is_admin && self.scopes.contains(Scope::Admin)
    }

    /// Whether the user is a service administrator and the credential has the scope
    /// `ingest:local`. Without both, only repositories at public https URLs may be indexed.
    pub fn has_local_access(&self) -> bool {
        self.is_admin && self.scopes.contains(Scope::IngestLocal)
    }

    /// Requires [`Self::is_service_admin`].
    pub fn require_service_admin(&self) -> Result<(), Error> {
        self.require(Scope::Admin)?;
        if self.is_admin { Ok(()) } else { Err(Error::NotServiceAdmin) }
    }
}

impl From<TokenOwner> for Principal {
    fn from(owner: TokenOwner) -> Self {
        Self {
            user: owner.user,
            is_admin: owner.is_admin,
            credential_kind: owner.by,
            credential: owner.token,
            login: owner.login.into(),
            scopes: owner.scopes,
        }
    }
}
