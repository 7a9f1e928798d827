//! Teams, and the members of teams and projects with their roles.

use mc_contract::operations::member::{Member, Team};
use mc_domain::{ProjectId, Role, TeamId, UserId};

use crate::error::word;
use crate::row::read;
use crate::{Error, Result, Store, Tx};

/// The team or project of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MembershipScope {
    /// A team, by its id.
    Team(TeamId),
    /// A project; the store acts in it.
    Project(ProjectId),
}

/// The user or team that a role is granted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grantee {
    /// A single user.
    User(UserId),
    /// A team; only on a project.
    Team(TeamId),
}

/// Adds a team with one admin; [`Error::AlreadyExists`] if the key is taken.
pub async fn create_team(tx: &mut Tx, key: &str, name: &str, admin: UserId) -> Result<Team> {
    let team = sqlx::query_as!(
        Team,
        "insert into teams (id, key, name) values ($1, $2, $3) returning id, key, name, created_at",
        TeamId::generate().0,
        key,
        name
    )
    .fetch_one(&mut *tx.0)
    .await?;
    tx.run(sqlx::query!(
        "insert into team_members (team_id, user_id, role) values ($1, $2, 'admin')",
        team.id.0,
        admin.0
    ))
    .await?;
    Ok(team)
}

/// Returns the team with this key, and the user's role in it.
pub async fn find_team(
    store: &Store,
    key: &str,
    user: UserId,
) -> Result<Option<(Team, Option<Role>)>> {
    let row = sqlx::query!(
        r#"select t.id, t.key, t.name, t.created_at, (case when u.is_agent
               then least(m.role, 'agent') else m.role end)::text as "role?"
           from teams t
           left join (team_members m join users u on u.id = m.user_id)
               on m.team_id = t.id and m.user_id = $2
           where t.key = $1"#,
        key,
        user.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let role = row.role.as_deref().map(word).transpose()?;
    let team = read!(row => Team { id: row.id.into(), key, name, created_at });
    Ok(Some((team?, role)))
}

/// Returns the teams of a user, by key; with `all`, for service administrators, every team.
pub async fn teams(store: &Store, user: UserId, all: bool) -> Result<Vec<Team>> {
    Ok(sqlx::query_as!(
        Team,
        "select id, key, name, created_at from teams t
         where $2 or exists (select from team_members m where m.team_id = t.id and m.user_id = $1)
         order by key",
        user.0,
        all
    )
    .fetch_all(&mut *store.plain().await?)
    .await?)
}

/// Deletes a team, and with it the roles on projects that it gave its members.
pub async fn delete_team(tx: &mut Tx, team: TeamId) -> Result<()> {
    tx.run(sqlx::query!("delete from teams where id = $1", team.0)).await
}

/// Grants a role, which replaces the former one. [`Error::LastAdmin`] if a project would
/// lose its last admin.
pub async fn set(tx: &mut Tx, scope: MembershipScope, grantee: Grantee, role: Role) -> Result<()> {
    if role < Role::Admin {
        ensure_admin_remains(tx, scope, grantee).await?;
    }
    match (scope, grantee) {
        (MembershipScope::Team(team), Grantee::User(user)) => {
            tx.run(sqlx::query!(
            "insert into team_members (team_id, user_id, role) values ($1, $2, $3::text::mc.role)
                 on conflict (team_id, user_id) do update set role = excluded.role",
            team.0,
            user.0,
            role.as_str()
        ))
            .await
        }
        (MembershipScope::Project(project), Grantee::User(user)) => {
            tx.run(sqlx::query!(
                "insert into project_members (project_id, user_id, role)
                 values ($1, $2, $3::text::mc.role)
                 on conflict (project_id, user_id) do update set role = excluded.role",
                project.0,
                user.0,
                role.as_str()
            ))
            .await
        }
        (MembershipScope::Project(project), Grantee::Team(team)) => {
            tx.run(sqlx::query!(
                "insert into project_teams (project_id, team_id, role)
                 values ($1, $2, $3::text::mc.role)
                 on conflict (project_id, team_id) do update set role = excluded.role",
                project.0,
                team.0,
                role.as_str()
            ))
            .await
        }
        (MembershipScope::Team(_), Grantee::Team(_)) => {
            Err(Error::Unsupported("a team has no teams as members".into()))
        }
    }
}

/// Rejects a change of the last user who is admin of a project by a role of their own. Of two
/// admins who demote each other, the second waits for the first and is then the last one. Disabled
/// users don't count: a service administrator can disable and enable anyone.
async fn ensure_admin_remains(tx: &mut Tx, scope: MembershipScope, grantee: Grantee) -> Result<()> {
    let (MembershipScope::Project(project), Grantee::User(user)) = (scope, grantee) else {
        return Ok(());
    };
    let administrators = sqlx::query_scalar!(
        "select m.user_id from project_members m join users u on u.id = m.user_id
         where m.project_id = $1 and m.role = 'admin' and not u.is_agent and u.disabled_at is null
         order by m.user_id for update of m",
        project.0
    )
    .fetch_all(&mut *tx.0)
    .await?;
    if administrators == [user.0] { Err(Error::LastAdmin) } else { Ok(()) }
}

/// Revokes a role; returns `false` if there was none. [`Error::LastAdmin`] as for [`set`].
pub async fn remove(tx: &mut Tx, scope: MembershipScope, grantee: Grantee) -> Result<bool> {
    ensure_admin_remains(tx, scope, grantee).await?;
    let (team, project) = match scope {
        MembershipScope::Team(team) => (Some(team.0), None),
        MembershipScope::Project(project) => (None, Some(project.0)),
    };
    let (user, granted_team) = match grantee {
        Grantee::User(user) => (Some(user.0), None),
        Grantee::Team(team) => (None, Some(team.0)),
    };
    let removed = sqlx::query_scalar!(
        r#"with of_team as (
               delete from team_members where team_id = $1 and user_id = $3 returning 1),
           of_project as (
               delete from project_members where project_id = $2 and user_id = $3 returning 1),
           of_teams as (
               delete from project_teams where project_id = $2 and team_id = $4 returning 1)
           select (select count(*) from of_team) + (select count(*) from of_project)
                + (select count(*) from of_teams) as "count!""#,
        team,
        project,
        user,
        granted_team
    )
    .fetch_one(&mut *tx.0)
    .await?;
    Ok(removed > 0)
}

/// Returns the users with a role in a team, or with a role of their own on a project; by login.
pub async fn users(store: &Store, scope: MembershipScope) -> Result<Vec<Member>> {
    let (team, project) = match scope {
        MembershipScope::Team(team) => (Some(team.0), None),
        MembershipScope::Project(project) => (None, Some(project.0)),
    };
    let rows = sqlx::query!(
        r#"select u.login as "name!", m.role::text as "role!", m.added_at as "added_at!"
           from (select user_id, role, added_at from team_members where team_id = $1
                 union all
                 select user_id, role, added_at from project_members where project_id = $2) as m
           join users u on u.id = m.user_id order by lower(u.login)"#,
        team,
        project
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Member { name, role: word(&row.role)?, added_at })
}

/// Returns the teams with a role on the project, by key.
pub async fn teams_of(store: &Store, project: ProjectId) -> Result<Vec<Member>> {
    let rows = sqlx::query!(
        r#"select t.key as "name!", p.role::text as "role!", p.added_at as "added_at!"
           from project_teams p join teams t on t.id = p.team_id
           where p.project_id = $1 order by t.key"#,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Member { name, role: word(&row.role)?, added_at })
}
