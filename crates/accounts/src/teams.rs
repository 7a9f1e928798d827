//! Teams and their members.

use mc_contract::operations::member::{CreateTeam, Member, Team};
use mc_contract::text::DisplayName;
use mc_domain::{AuditAction, Role, Scope};
use mc_store::Store;
use mc_store::members::{self, Grantee, MembershipScope};
use serde_json::json;

use crate::members::{check_role, removed_role, set_role_details};
use crate::{Error, Principal, commit, users};

/// Creates a team with the principal as its administrator.
pub async fn create(
    store: &Store,
    principal: &Principal,
    request: &CreateTeam,
) -> Result<Team, Error> {
    let key = request.key.as_str();
    let name = request.name.as_ref().map_or(key, DisplayName::as_str);
    let mut tx = store.begin().await?;
    let team = members::create_team(&mut tx, key, name, principal.user).await;
    let team = team.map_err(Error::exists_in("key"))?;
    commit(tx, principal.user, AuditAction::TeamChanged, &team.key, json!({ "change": "added" }))
        .await?;
    Ok(team)
}

/// Lists the principal's teams by key; for service administrators, all teams.
pub async fn list(store: &Store, principal: &Principal) -> Result<Vec<Team>, Error> {
    Ok(members::teams(store, principal.user, principal.is_service_admin()).await?)
}

/// Deletes a team, and with it the roles that its members had through it.
pub async fn delete(store: &Store, principal: &Principal, key: &str) -> Result<(), Error> {
    let team = get_administered(store, principal, key).await?;
    let mut tx = store.begin().await?;
    members::delete_team(&mut tx, team.id).await?;
    commit(tx, principal.user, AuditAction::TeamChanged, key, json!({ "change": "deleted" })).await
}

/// Lists the members of a team by login.
pub async fn list_members(
    store: &Store,
    principal: &Principal,
    key: &str,
) -> Result<Vec<Member>, Error> {
    let team = find(store, principal, key).await?;
    Ok(members::users(store, MembershipScope::Team(team.id)).await?)
}

/// Gives a user a role in a team.
pub async fn set_member(
    store: &Store,
    principal: &Principal,
    key: &str,
    login: &str,
    role: Role,
) -> Result<(), Error> {
    let team = get_administered(store, principal, key).await?;
    let user = users::get(store, login).await?;
    check_role(&user, role)?;
    let mut tx = store.begin().await?;
    members::set(&mut tx, MembershipScope::Team(team.id), Grantee::User(user.id), role).await?;
    let details = set_role_details(&user.login, Some(role));
    commit(tx, principal.user, AuditAction::TeamChanged, key, details).await
}

/// Removes a user from a team.
pub async fn remove_member(
    store: &Store,
    principal: &Principal,
    key: &str,
    login: &str,
) -> Result<(), Error> {
    let team = get_administered(store, principal, key).await?;
    let user = users::get(store, login).await?;
    let mut tx = store.begin().await?;
    let (scope, grantee) = (MembershipScope::Team(team.id), Grantee::User(user.id));
    removed_role(members::remove(&mut tx, scope, grantee).await?, "login", login)?;
    let details = set_role_details(&user.login, None);
    commit(tx, principal.user, AuditAction::TeamChanged, key, details).await
}

/// Returns a team that the principal may see: one that they are in, or any team for service
/// administrators.
pub async fn find(store: &Store, principal: &Principal, key: &str) -> Result<Team, Error> {
    Ok(get_visible(store, principal, key).await?.0)
}

/// Returns a team and the principal's role in it.
pub(crate) async fn get(
    store: &Store,
    principal: &Principal,
    key: &str,
) -> Result<(Team, Option<Role>), Error> {
    let team = members::find_team(store, key, principal.user).await?;
    team.ok_or_else(|| Error::UnknownTeam(key.to_owned()))
}

/// Returns a team that the principal is in, or any team for service administrators.
pub(crate) async fn get_visible(
    store: &Store,
    principal: &Principal,
    key: &str,
) -> Result<(Team, Option<Role>), Error> {
    let (team, role) = get(store, principal, key).await?;
    if role.is_none() && !principal.is_service_admin() {
        return Err(Error::UnknownTeam(key.to_owned()));
    }
    Ok((team, role))
}

/// Returns a team that the principal may change.
async fn get_administered(store: &Store, principal: &Principal, key: &str) -> Result<Team, Error> {
    principal.require(Scope::Admin)?;
    let (team, role) = get_visible(store, principal, key).await?;
    if role < Some(Role::Admin) && !principal.is_service_admin() {
        return Err(Error::NotTeamAdmin(key.to_owned()));
    }
    Ok(team)
}
