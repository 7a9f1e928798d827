//! Who is what: teams, and the members of teams and projects.

use chrono::{DateTime, Utc};
use mc_domain::{ProjectId, Role, TeamId, UserId};

use crate::error::word;
use crate::{Error, Store, Tx};

/// A team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Team {
    /// Identifier.
    pub id: TeamId,
    /// Short name.
    pub key: String,
    /// Name for people.
    pub name: String,
    /// Creation.
    pub created_at: DateTime<Utc>,
}

/// Someone, or a team, with a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// A user's login or a team's key.
    pub name: String,
    /// The role; of a team the highest that its members have.
    pub role: Role,
    /// Since when.
    pub added_at: DateTime<Utc>,
}

/// Whose roles are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MembershipScope {
    /// A team's.
    Team(TeamId),
    /// Those on a project; the store must have entered it.
    Project(ProjectId),
}

/// Who gets a role, or loses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grantee {
    /// A user.
    User(UserId),
    /// A team, on a project.
    Team(TeamId),
}

/// Adds a team with one administrator; a key that is taken is [`Error::Exists`].
pub async fn create_team(tx: &mut Tx, key: &str, name: &str, admin: UserId) -> Result<Team, Error> {
    let team = sqlx::query_as!(
        Team,
        "insert into teams (id, key, name) values ($1, $2, $3) returning id, key, name, created_at",
        TeamId::generate().0,
        key,
        name
    )
    .fetch_one(&mut *tx.0)
    .await?;
    sqlx::query!(
        "insert into team_members (team_id, user_id, role) values ($1, $2, 'admin')",
        team.id.0,
        admin.0
    )
    .execute(&mut *tx.0)
    .await?;
    Ok(team)
}

/// The team with this key, and the user's role in it.
pub async fn find_team(
    store: &Store,
    key: &str,
    user: UserId,
) -> Result<Option<(Team, Option<Role>)>, Error> {
    let row = sqlx::query!(
        r#"select t.id, t.key, t.name, t.created_at, (case when u.is_agent then least(m.role, 'agent') else m.role end)::text as "role?"
           from teams t
           left join (team_members m join users u on u.id = m.user_id)
               on m.team_id = t.id and m.user_id = $2
           where t.key = $1"#,
        key,
        user.0
    )
    .fetch_optional(&mut *store.plain().await?)
    .await?;
    row.map(|row| {
        let team =
            Team { id: row.id.into(), key: row.key, name: row.name, created_at: row.created_at };
        Ok((team, row.role.as_deref().map(word).transpose()?))
    })
    .transpose()
}

/// The teams that the user is in, by key; of an administrator of the service (`all`) every team.
pub async fn teams(store: &Store, user: UserId, all: bool) -> Result<Vec<Team>, Error> {
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

/// Removes a team, and with it the roles that its members had by it.
pub async fn delete_team(tx: &mut Tx, team: TeamId) -> Result<(), Error> {
    sqlx::query!("delete from teams where id = $1", team.0).execute(&mut *tx.0).await?;
    Ok(())
}

/// Gives a role, in place of the one that was there. Whoever administers a project last stays its
/// administrator: [`Error::LastAdministrator`].
pub async fn set(
    tx: &mut Tx,
    body: MembershipScope,
    who: Grantee,
    role: Role,
) -> Result<(), Error> {
    if role < Role::Admin {
        ensure_admin_remains(tx, body, who).await?;
    }
    match (body, who) {
        (MembershipScope::Team(team), Grantee::User(user)) => {
            sqlx::query!(
            "insert into team_members (team_id, user_id, role) values ($1, $2, $3::text::mc.role)
                 on conflict (team_id, user_id) do update set role = excluded.role",
            team.0,
            user.0,
            role.as_str()
        )
            .execute(&mut *tx.0)
            .await?
        }
        (MembershipScope::Project(project), Grantee::User(user)) => {
            sqlx::query!(
                "insert into project_members (project_id, user_id, role)
                 values ($1, $2, $3::text::mc.role)
                 on conflict (project_id, user_id) do update set role = excluded.role",
                project.0,
                user.0,
                role.as_str()
            )
            .execute(&mut *tx.0)
            .await?
        }
        (MembershipScope::Project(project), Grantee::Team(team)) => {
            sqlx::query!(
                "insert into project_teams (project_id, team_id, role)
                 values ($1, $2, $3::text::mc.role)
                 on conflict (project_id, team_id) do update set role = excluded.role",
                project.0,
                team.0,
                role.as_str()
            )
            .execute(&mut *tx.0)
            .await?
        }
        (MembershipScope::Team(_), Grantee::Team(_)) => {
            return Err(Error::Unsuitable("a team has no teams as members".into()));
        }
    };
    Ok(())
}

/// Refuses to take the role from the last person who administers a project by themselves. Of two who
/// take it from each other at once, the second waits for the first, and finds nobody else any more. Whoever is
/// disabled is not asked: an administrator of the service can do that to anybody, and undo it.
async fn ensure_admin_remains(
    tx: &mut Tx,
    body: MembershipScope,
    who: Grantee,
) -> Result<(), Error> {
    let (MembershipScope::Project(project), Grantee::User(user)) = (body, who) else {
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
    if administrators == [user.0] { Err(Error::LastAdministrator) } else { Ok(()) }
}

/// Takes a role away; `false` when there was none. Like [`set`] not the last administrator's.
pub async fn remove(tx: &mut Tx, body: MembershipScope, who: Grantee) -> Result<bool, Error> {
    ensure_admin_remains(tx, body, who).await?;
    let (team, project) = match body {
        MembershipScope::Team(team) => (Some(team.0), None),
        MembershipScope::Project(project) => (None, Some(project.0)),
    };
    let (user, granted) = match who {
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
        granted
    )
    .fetch_one(&mut *tx.0)
    .await?;
    Ok(removed > 0)
}

/// Users with a role in a team or, by themselves, on a project; by login.
pub async fn users(store: &Store, body: MembershipScope) -> Result<Vec<Member>, Error> {
    let (team, project) = match body {
        MembershipScope::Team(team) => (Some(team.0), None),
        MembershipScope::Project(project) => (None, Some(project.0)),
    };
    let rows = sqlx::query_as!(
        Row,
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
    rows.into_iter().map(Row::into_member).collect()
}

/// Teams with a role on the project, by key.
pub async fn teams_of(store: &Store, project: ProjectId) -> Result<Vec<Member>, Error> {
    let rows = sqlx::query_as!(
        Row,
        r#"select t.key as "name!", p.role::text as "role!", p.added_at as "added_at!"
           from project_teams p join teams t on t.id = p.team_id
           where p.project_id = $1 order by t.key"#,
        project.0
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    rows.into_iter().map(Row::into_member).collect()
}

struct Row {
    name: String,
    role: String,
    added_at: DateTime<Utc>,
}

impl Row {
    fn into_member(self) -> Result<Member, Error> {
        Ok(Member { name: self.name, role: word(&self.role)?, added_at: self.added_at })
    }
}
