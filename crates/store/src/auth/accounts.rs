//! Users, their tokens and their logins at providers.

mod offboarding;
mod provider_logins;
mod tokens;
mod users;

use mc_domain::{Scopes, TokenId, UserId};

use crate::error::word;
use crate::row::read;
use crate::{Result, Store};

pub use offboarding::{LeftBehind, offboard};
pub use provider_logins::{
    delete_provider_login, delete_provider_logins, list_provider_logins, set_provider_login,
    verify_provider_login,
};
pub use tokens::{NewToken, create_token, revoke, revoke_all_tokens, revoke_any, tokens};
pub use users::{NewUser, UserUpdate, change, create, find, list};

/// Prefix of the names of local tokens. Others may have such a name, too.
const LOCAL_NAME: &str = "local token of ";

/// sha256 of a secret.
pub type SecretHash = [u8; 32];

/// The owner of a valid token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenOwner {
    /// Id of the user.
    pub user: UserId,
    /// Login name.
    pub login: String,
    /// Id of the personal access token, or of the session of an issued token.
    pub token: TokenId,
    /// How the user authenticated.
    pub by: CredentialKind,
    /// Whether the user is a service administrator.
    pub is_admin: bool,
    /// Scopes that the token grants.
    pub scopes: Scopes,
}

/// The kind of credential of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// A session: a person signed in.
    Login,
    /// The local token of the service's own host.
    Local,
    /// A personal access token, or a token exchanged for one.
    Token,
}

/// Returns the owner of the token with this hash, unless the token is revoked or expired or its
/// owner is disabled. Stores the time of use, at most once per minute.
pub async fn holder(store: &Store, hash: &SecretHash) -> Result<Option<TokenOwner>> {
    let mut session = store.plain().await?;
    let row = sqlx::query!(
        "with found as (
             select t.id, t.user_id, t.is_local, t.scopes, u.login, u.is_admin, t.last_used_at
             from access_tokens t join users u on u.id = t.user_id
             where t.hash = $1 and t.revoked_at is null
                 and (t.expires_at is null or t.expires_at > now()) and u.disabled_at is null),
         noted as (
             update access_tokens t set last_used_at = now() from found f
             where t.id = f.id
                 and (f.last_used_at is null or f.last_used_at < now() - interval '1 minute'))
         select id, user_id, is_local, scopes, login, is_admin from found",
        hash.as_slice()
    )
    .fetch_optional(&mut *session)
    .await?;
    session.done();
    let Some(row) = row else { return Ok(None) };
    let is_local = row.user_id == UserId::LOCAL.0 && row.is_local;
    let owner = read!(row => TokenOwner {
        user: row.user_id.into(), login, is_admin, token: row.id.into(),
        by: if is_local { CredentialKind::Local } else { CredentialKind::Token },
        scopes: read_scopes(&row.scopes)?
    });
    owner.map(Some)
}

/// Sets the local token of a node, which is a host with a data directory; the former one is
/// revoked. A token that was revoked stays so: a new token file gets a new one.
pub async fn set_local_token(
    store: &Store,
    node: &str,
    hash: &SecretHash,
    hint: &str,
) -> Result<()> {
    sqlx::query!(
        "with replaced as (
             update access_tokens set revoked_at = now()
             where user_id = $2 and name = $6 and is_local and hash <> $3
                 and revoked_at is null)
         insert into access_tokens (id, user_id, name, hash, hint, scopes, is_local)
         values ($1, $2, $6, $3, $4, $5, true)
         on conflict (hash) do update
             set name = excluded.name, scopes = excluded.scopes, is_local = true",
        TokenId::generate().0,
        UserId::LOCAL.0,
        hash.as_slice(),
        hint,
        &scope_words(Scopes::ALL),
        format!("{LOCAL_NAME}{node}")
    )
    .execute(&mut *store.plain().await?)
    .await?;
    Ok(())
}

/// Returns the scopes as a column stores them.
pub(crate) fn scope_words(scopes: Scopes) -> Vec<String> {
    scopes.iter().map(|scope| scope.as_str().to_owned()).collect()
}

/// Parses the scopes of a column.
pub(crate) fn read_scopes(words: &[String]) -> Result<Scopes> {
    words.iter().map(|scope| word(scope)).collect()
}
