//! Errors of the use-cases.

use mc_auth::{keys, login};
use mc_domain::{Classified, ErrorKind, ProjectId, ProjectKey, Role, Scope, Scopes};

use crate::sign_in::DecisionError;

/// A failed use-case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The credential, which has only these scopes, lacks a scope.
    #[error("requires a token with the scope `{0}`")]
    MissingScope(Scope, Scopes),
    /// The principal does not administer the service.
    #[error("requires a service administrator")]
    NotServiceAdmin,
    /// The principal came with a personal access token.
    #[error("a personal access token can't decide about tokens and logins")]
    NotInteractive,
    /// The credential of the request was revoked or expired while the request was read.
    #[error("the credential of this request has been revoked or has expired")]
    CredentialRevoked,
    /// No user has this login.
    #[error("there is no user \"{0}\"")]
    UnknownUser(String),
    /// An agent would become a service administrator.
    #[error("can't be set for an agent")]
    AgentAsAdmin,
    /// An agent would be invited.
    #[error("is an agent, which signs in nowhere")]
    InvitedAgent,
    /// A disabled user would be invited.
    #[error("the account is disabled")]
    InvitedDisabled,
    /// An agent would get the role of a person.
    #[error("an agent has at most the role `agent`, not `{0}`: it proposes, and a person decides")]
    RoleOfAgent(Role),
    /// The successor of a user who leaves is no enabled person, or the user.
    #[error("must be another person with an enabled account")]
    InvalidSuccessor,
    /// Administrators can't disable or demote themselves: the last one could not undo it.
    #[error("you can't disable your own account or drop your own administration")]
    OwnAccount,
    /// No team has this key, or the principal may not see it.
    #[error("there is no team \"{0}\", or it is not yours to see")]
    UnknownTeam(String),
    /// The principal does not administer the team.
    #[error("requires an administrator of the team \"{0}\"")]
    NotTeamAdmin(String),
    /// The user or team has no role to remove.
    #[error("\"{name}\" has no role here")]
    NoRole {
        /// The field of the request that names the user or team.
        field: &'static str,
        /// The login or the team's key.
        name: String,
    },
    /// The user has no login at this host.
    #[error("the user has no login at {0}")]
    NoProviderLogin(String),
    /// A unique name is taken.
    #[error("{what} exists already")]
    AlreadyExists {
        /// The name, in words.
        what: &'static str,
        /// The field of the request.
        field: &'static str,
    },
    /// A token would have more scopes than the credential that creates it.
    #[error("a token has at most the scopes of the one that creates it: {0}")]
    ExcessiveScopes(Scopes),
    /// A token would be created for another person.
    #[error("is a person, who creates tokens for themselves")]
    TokenForPerson,
    /// No valid token of the principal has this id.
    // The message leaves the id out: next to the word "token" it may be masked as a secret.
    #[error("none of your valid tokens has this id")]
    UnknownToken,
    /// An agent tried to create a project, which would have no administrator.
    #[error("an agent can't create a project: it would have no administrator")]
    ProjectByAgent(ProjectKey),
    /// The policy has changed since the caller read it.
    #[error("the policy has changed since you read it")]
    PolicyChanged,
    /// No deleted project with this id has an audit.
    #[error("there is no audit of a deleted project with the id {0}")]
    UnknownAudit(ProjectId),
    /// No login provider has this name.
    #[error("there is no such login provider")]
    UnknownProvider,
    /// No pending device login has this user code.
    #[error("no login waits with this code")]
    UnknownUserCode,
    /// A login at a provider for a disabled account.
    #[error(
        "the account {0} is disabled; enable it first (`memory-copilot users update {0} --disabled \
         false`), or set the login for another user"
    )]
    LoginOfDisabled(String),
    /// The account is disabled.
    #[error("your account is disabled; ask a service administrator to enable it")]
    AccountDisabled,
    /// No active key can sign access tokens.
    #[error("no key signs access tokens at present")]
    NoSigningKey,
    /// The database's signing keys were encrypted with another key.
    #[error("{0}; encryption.key_file must hold the key that the database was used with")]
    WrongEncryptionKey(#[source] keys::Error),
    /// A signing key can't be created or used.
    #[error(transparent)]
    Key(#[from] keys::Error),
    /// A pending login can't be decrypted.
    #[error(transparent)]
    Crypto(#[from] mc_crypto::Error),
    /// The login at a provider failed.
    #[error(transparent)]
    Login(#[from] login::Error),
    /// The device login can't be decided any more.
    #[error(transparent)]
    Decision(#[from] DecisionError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
}

impl Error {
    /// Names the request's field of a unique name that is taken.
    pub(crate) fn exists_in(field: &'static str) -> impl Fn(mc_store::Error) -> Self {
        move |error| match error {
            mc_store::Error::AlreadyExists { what } => Self::AlreadyExists { what, field },
            other => other.into(),
        }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::MissingScope(..)
            | Self::NotServiceAdmin
            | Self::NotInteractive
            | Self::NotTeamAdmin(_)
            | Self::ExcessiveScopes(_)
            | Self::ProjectByAgent(_)
            | Self::AccountDisabled => ErrorKind::Forbidden,
            Self::CredentialRevoked => ErrorKind::Unauthenticated,
            Self::UnknownUser(_)
            | Self::UnknownTeam(_)
            | Self::NoRole { .. }
            | Self::NoProviderLogin(_)
            | Self::UnknownToken
            | Self::UnknownAudit(_)
            | Self::UnknownProvider
            | Self::UnknownUserCode => ErrorKind::NotFound,
            Self::AgentAsAdmin
            | Self::InvitedAgent
            | Self::InvitedDisabled
            | Self::RoleOfAgent(_)
            | Self::InvalidSuccessor
            | Self::OwnAccount
            | Self::LoginOfDisabled(_)
            | Self::AlreadyExists { .. }
            | Self::TokenForPerson
            | Self::PolicyChanged => ErrorKind::Conflict,
            Self::NoSigningKey | Self::WrongEncryptionKey(_) => ErrorKind::Unavailable,
            Self::Key(error) => error.kind(),
            Self::Crypto(error) => error.kind(),
            Self::Login(error) => error.kind(),
            Self::Decision(error) => error.kind(),
            Self::Store(error) => error.kind(),
        }
    }

    fn field(&self) -> Option<String> {
        let field = match self {
            Self::UnknownUser(_)
            | Self::InvitedAgent
            | Self::InvitedDisabled
            | Self::LoginOfDisabled(_) => "login",
            Self::AgentAsAdmin => "is_admin",
            Self::RoleOfAgent(_) => "role",
            Self::InvalidSuccessor => "successor_login",
            Self::UnknownTeam(_) => "team",
            Self::NoProviderLogin(_) => "host",
            Self::NoRole { field, .. } | Self::AlreadyExists { field, .. } => field,
            Self::ExcessiveScopes(_) => "scopes",
            Self::TokenForPerson => "agent_login",
            Self::UnknownToken => "id",
            Self::ProjectByAgent(_) => "key",
            Self::UnknownAudit(_) => "project_id",
            Self::UnknownProvider => "provider",
            Self::UnknownUserCode => "user_code",
            Self::Store(error) => return error.field(),
            _ => return None,
        };
        Some(field.to_owned())
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::MissingScope(_, scopes) => {
                return Some(format!("this one has: {scopes}; create one with that scope"));
            }
            Self::ProjectByAgent(key) => {
                return Some(format!(
                    "have a person create it (POST /projects {{\"key\": \"{key}\"}}) and give the \
                     agent a role: PUT /projects/{key}/members/<its login> {{\"role\": \"agent\"}}"
                ));
            }
            Self::NotServiceAdmin => {
                "the local token, created at the service's first start, belongs to one"
            }
            Self::NotInteractive => {
                "sign in with `memory-copilot login`, or use the local token on the service's host"
            }
            Self::CredentialRevoked => "sign in again with `memory-copilot login`",
            Self::UnknownUser(login) => {
                return Some(format!(
                    "a service administrator invites a person with `memory-copilot users invite \
                     {login}`, or creates a user with POST /users"
                ));
            }
            Self::InvitedAgent => {
                "create a token for it with `memory-copilot token create NAME --agent LOGIN`, or \
                 with POST /tokens and `agent_login`"
            }
            Self::InvitedDisabled => {
                "enable it first with `memory-copilot users update LOGIN --disabled false`, or \
                 with PATCH /users/{login} {\"is_disabled\": false}"
            }
            Self::RoleOfAgent(_) => "give it the role `agent`, or `viewer` to read only",
            Self::InvalidSuccessor => {
                "GET /users lists the accounts; without a successor, the user's projects and teams \
                 may stay without an administrator"
            }
            Self::OwnAccount => "another service administrator can do it",
            Self::UnknownTeam(_) => "GET /teams lists the teams that you are in",
            Self::UnknownToken => {
                "GET /tokens lists yours, and GET /tokens?user= those of another user for service \
                 administrators"
            }
            Self::UnknownAudit(_) => {
                "GET /audit?action=project.deleted lists the projects that were deleted"
            }
            Self::UnknownProvider => "providers are configured in sign_in.providers",
            Self::UnknownUserCode => "start it at the terminal again: memory-copilot login",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
