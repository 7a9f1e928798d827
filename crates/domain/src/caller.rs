//! The caller of a request.

use crate::{TokenId, UserId};

/// A user with one of their credentials. Access tokens of one session, and those that were
/// exchanged for one personal access token, are the same credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Caller {
    /// Id of the user.
    pub user: UserId,
    /// Id of the personal access token or session.
    pub credential: TokenId,
}
