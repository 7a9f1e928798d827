//! Roles of users and teams on a project. `store` is that of a project context: the database
//! checks the principal's role in the transaction of the change.

use mc_contract::operations::user::User;
use mc_domain::{AuditAction, Role};
use mc_store::Store;
use mc_store::audit::{self, NewEvent};
use mc_store::members::{self, Grantee, MembershipScope};
use mc_store::projects::Project;
use serde_json::{Value, json};

use crate::{Error, Principal, teams, users};

/// Gives a user a role on a project. The last administrator keeps the role `admin`.
pub async fn set_role(
    store: &Store,
    project: &Project,
    login: &str,
    role: Role,
) -> Result<(), Error> {
    let user = users::get(store, login).await?;
    check_role(&user, role)?;
    grant(store, project, Grantee::User(user.id), &user.login, role).await
}

/// Removes a user's own role on a project. The last administrator keeps the role `admin`.
pub async fn remove_role(store: &Store, project: &Project, login: &str) -> Result<(), Error> {
    let user = users::get(store, login).await?;
    let is_removed = revoke(store, project, Grantee::User(user.id), &user.login).await?;
    removed_role(is_removed, "login", login)
}

/// Shares a project with a visible team. `role` is the highest role that its members get.
pub async fn share(
    store: &Store,
    principal: &Principal,
    project: &Project,
    team: &str,
    role: Role,
) -> Result<(), Error> {
    let team = teams::get_visible(store, principal, team).await?.0;
    grant(store, project, Grantee::Team(team.id), &format!("team {}", team.key), role).await
}

/// Ends the sharing of a project with a team, also with one that the principal has left. A team
/// that has no role on the project is reported only to those who may see it.
pub async fn unshare(
    store: &Store,
    principal: &Principal,
    project: &Project,
    key: &str,
) -> Result<(), Error> {
    let (team, role) = teams::get(store, principal, key).await?;
    let grantee = Grantee::Team(team.id);
    let is_removed = revoke(store, project, grantee, &format!("team {key}")).await?;
    if !is_removed && role.is_none() && !principal.is_service_admin() {
        return Err(Error::UnknownTeam(key.to_owned()));
    }
    removed_role(is_removed, "team", key)
}

async fn grant(
    store: &Store,
    project: &Project,
    grantee: Grantee,
    name: &str,
    role: Role,
) -> Result<(), Error> {
    let mut tx = store.begin().await?;
    members::set(&mut tx, MembershipScope::Project(project.id), grantee, role).await?;
    audit::record(&mut tx, member_changed(project, name, Some(role)));
    Ok(tx.commit().await?)
}

/// Removes a role and returns whether there was one.
async fn revoke(
    store: &Store,
    project: &Project,
    grantee: Grantee,
    name: &str,
) -> Result<bool, Error> {
    let mut tx = store.begin().await?;
    let is_removed =
        members::remove(&mut tx, MembershipScope::Project(project.id), grantee).await?;
    if is_removed {
        audit::record(&mut tx, member_changed(project, name, None));
        tx.commit().await?;
    }
    Ok(is_removed)
}

fn member_changed(project: &Project, name: &str, role: Option<Role>) -> NewEvent {
    NewEvent::new(AuditAction::MemberChanged, &project.key).with(set_role_details(name, role))
}

/// Requires that a user can have a role: one that an agent can't use would only look granted.
pub(crate) fn check_role(user: &User, role: Role) -> Result<(), Error> {
    if user.is_agent && role > Role::Agent { Err(Error::RoleOfAgent(role)) } else { Ok(()) }
}

/// Returns the details of an event about a changed role; without a role it was removed.
pub(crate) fn set_role_details(name: &str, role: Option<Role>) -> Value {
    json!({ "member": name, "role": role })
}

/// Requires that a role was removed.
pub(crate) fn removed_role(is_removed: bool, field: &'static str, name: &str) -> Result<(), Error> {
    if is_removed { Ok(()) } else { Err(Error::NoRole { field, name: name.to_owned() }) }
}
