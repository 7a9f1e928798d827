//! Users who leave.

use mc_contract::operations::user::{OffboardResponse, OffboardUser};
use mc_contract::text::Login;
use mc_domain::{AuditAction, UserId};
use mc_store::accounts::{self, UserUpdate};
use mc_store::{Store, invitations, sessions};
use serde_json::json;

use crate::{Error, Principal, commit, users};

/// Ends all access of a user at once and permanently, deletes the private records, and gives the
/// successor what the user was responsible for. The account stays, disabled, since the history of
/// records names it.
pub async fn offboard(
    store: &Store,
    principal: &Principal,
    login: &str,
    request: &OffboardUser,
) -> Result<OffboardResponse, Error> {
    let user = users::get(store, login).await?;
    if user.id == principal.user {
        return Err(Error::OwnAccount);
    }
    let successor = match &request.successor_login {
        Some(login) => find_successor(store, login, user.id).await?,
        None => user.id,
    };
    let mut tx = store.for_user(successor).begin().await?;
    let sessions = sessions::revoke_all(&mut tx, user.id).await?;
    let tokens = accounts::revoke_all_tokens(&mut tx, user.id).await?;
    invitations::delete(&mut tx, user.id).await?;
    sessions::forget_identities(&mut tx, user.id).await?;
    accounts::delete_provider_logins(&mut tx, user.id).await?;
    let disabled =
        UserUpdate { is_disabled: Some(true), is_admin: Some(false), ..UserUpdate::default() };
    accounts::change(&mut tx, &user.login, &disabled).await?;
    let left = accounts::offboard(&mut tx, user.id).await?;
    let response = OffboardResponse {
        login: user.login,
        sessions,
        tokens,
        private_records: left.private_records,
        owned_records: left.owned_records,
        projects: left.projects,
        teams: left.teams,
    };
    let mut details = json!(response);
    details["successor"] = json!(request.successor_login.as_ref().map(|_| successor));
    commit(tx, principal.user, AuditAction::UserOffboarded, user.id, details).await?;
    Ok(response)
}

/// Returns the id of an enabled person other than the one who leaves.
async fn find_successor(store: &Store, login: &Login, leaver: UserId) -> Result<UserId, Error> {
    let successor = users::get(store, login.as_str()).await.map_err(|error| match error {
        Error::UnknownUser(_) => Error::InvalidSuccessor,
        other => other,
    })?;
    let is_valid = successor.id != leaver && !successor.is_agent && successor.disabled_at.is_none();
    if is_valid { Ok(successor.id) } else { Err(Error::InvalidSuccessor) }
}
