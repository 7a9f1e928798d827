//! Who is there, and the credentials that they come with.

use std::fmt::Write as _;

use mc_auth::secret::{PersonalAccessToken, RefreshToken, SecretHash};
use rand::Rng as _;
use rand::rngs::StdRng;
use uuid::Uuid;

use super::rows::{Plain, Rows, Value as _, row};
use super::{FIRST_PERSON, Project, TENANTS, Team, World, execute};
use crate::attempt::{Answer, Attempt};
use crate::marks::{Places, id, mark};
use crate::oracle::Scope;

/// The roles that a person was set up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Post {
    /// Roles on the tenant's projects, given to the person.
    Viewer,
    Agent,
    Member,
    Maintainer,
    Admin,
    /// Has the roles of the team.
    Teammate,
    /// Was a member, and is no longer.
    Removed,
    /// Was a member, and is disabled.
    Disabled,
    /// For attempts that give and take roles; never calls.
    Pawn,
    /// No role anywhere.
    Stranger,
    /// Administers the service.
    Root,
    /// The host's own administrator.
    Local,
}

const OF_TENANT: [Post; 9] = [
    Post::Viewer,
    Post::Agent,
    Post::Member,
    Post::Maintainer,
    Post::Admin,
    Post::Teammate,
    Post::Removed,
    Post::Disabled,
    Post::Pawn,
];

/// How many people there are.
pub const COUNT: usize = TENANTS * OF_TENANT.len() + 3;

/// A person.
#[derive(Debug, Clone)]
pub struct Person {
    pub number: usize,
    pub tenant: Option<usize>,
    pub post: Post,
    pub id: Uuid,
    /// A mark of the person.
    pub login: String,
    pub tokens: Vec<Token>,
    pub credentials: Vec<Credential>,
}

/// A personal access token.
#[derive(Debug, Clone)]
pub struct Token {
    pub id: Uuid,
    pub text: String,
    pub scopes: u8,
    pub state: TokenState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenState {
    Valid,
    Expired,
    Revoked,
    /// Revoked once an access token was made with it.
    RevokedLater,
}

/// A bearer credential, with its rights.
#[derive(Debug, Clone)]
pub struct Credential {
    pub what: &'static str,
    pub bearer: String,
    /// Bits as [`Scope`]'s order has them.
    pub scopes: u8,
    /// Whether it lets anybody in.
    pub is_valid: bool,
    /// Whether a user signed in for it.
    pub is_present: bool,
}

impl Credential {
    pub fn is_for(&self, scope: Scope) -> bool {
        self.scopes & scope.bit() != 0
    }
}

/// Every scope.
pub const ALL: u8 = 0b111_1111;
const LOCAL: &str = "00000000-0000-7000-8000-000000000001";

/// The names of scopes, with a space between.
pub fn names(scopes: u8) -> Vec<&'static str> {
    Scope::ALL
        .iter()
        .filter(|(scope, _)| scopes & scope.bit() != 0)
        .map(|(_, name)| *name)
        .collect()
}

impl Person {
    pub fn place(&self) -> Places {
        Places::one(self.place_number())
    }

    pub fn place_number(&self) -> usize {
        FIRST_PERSON + self.number
    }

    pub fn administers_service(&self) -> bool {
        matches!(self.post, Post::Root | Post::Local)
    }
}

/// Generates all persons, without credentials.
pub fn invent(rng: &mut StdRng) -> Vec<Person> {
    let tenants = (0..TENANTS).flat_map(|tenant| OF_TENANT.map(|post| (Some(tenant), post)));
    let others = [Post::Stranger, Post::Root, Post::Local].map(|post| (None, post));
    tenants
        .chain(others)
        .enumerate()
        .map(|(number, (tenant, post))| person(rng, number, tenant, post))
        .collect()
}

fn person(rng: &mut StdRng, number: usize, tenant: Option<usize>, post: Post) -> Person {
    let is_local = post == Post::Local;
    let (id, login) = if is_local {
        (LOCAL.parse().expect("an id"), "local".to_owned())
    } else {
        (id(rng), mark(rng, FIRST_PERSON + number))
    };
    let tokens = tokens(rng);
    Person { number, tenant, post, id, login, tokens, credentials: Vec::new() }
}

fn tokens(rng: &mut StdRng) -> Vec<Token> {
    let one = 1 << rng.random_range(0..Scope::ALL.len());
    let some = rng.random_range(1..ALL);
    [
        (ALL, TokenState::Valid),
        (one, TokenState::Valid),
        (some, TokenState::Valid),
        // Enough for all but the locations that an administrator may index.
        (ALL & !Scope::IngestLocal.bit(), TokenState::Valid),
        (ALL, TokenState::Expired),
        (ALL, TokenState::Revoked),
        (ALL, TokenState::RevokedLater),
    ]
    .map(|(scopes, state)| {
        let text = PersonalAccessToken::generate().expose().to_owned();
        Token { id: id(rng), text, scopes, state }
    })
    .into()
}

/// Users, tokens, memberships.
pub fn sql(people: &[Person], projects: &[Project], teams: &[Team]) -> String {
    let mut rows = Rows::default();
    for person in people {
        user(&mut rows, person);
        if let Some(tenant) = person.tenant {
            memberships(&mut rows, person, tenant, projects, &teams[tenant]);
        }
    }
    for project in projects {
        shares(&mut rows, project, teams);
    }
    let removed = people.iter().filter(|person| person.post == Post::Removed);
    let removed: Vec<_> = removed.map(|person| person.id.sql()).collect();
    let sql = format!("delete from project_members where user_id in ({});", removed.join(", "));
    rows.0 + &sql
}

fn memberships(rows: &mut Rows, person: &Person, tenant: usize, projects: &[Project], team: &Team) {
    let [main, side] = [true, false].map(|is_main| {
        let fits = |one: &&Project| one.tenant == tenant && one.is_main == is_main;
        projects.iter().find(fits).expect("two projects").id
    });
    let grants: &[(Uuid, &str)] = match person.post {
        Post::Viewer => &[(main, "viewer")],
        Post::Agent => &[(main, "maintainer"), (side, "agent")],
        Post::Member => &[(main, "member"), (side, "viewer")],
        Post::Maintainer => &[(main, "maintainer"), (side, "member")],
        Post::Admin | Post::Removed | Post::Disabled => &[(main, "admin"), (side, "admin")],
        _ => &[],
    };
    for (project, role) in grants {
        let row = row![*project, person.id, *role];
        rows.add("project_members (project_id, user_id, role)", &[row]);
    }
    let in_team = match person.post {
        Post::Teammate => "member",
        Post::Admin => "admin",
        _ => return,
    };
    rows.add("team_members (team_id, user_id, role)", &[row![team.id, person.id, in_team]]);
}

/// A main project is its team's to maintain and the next tenant's to read.
fn shares(rows: &mut Rows, project: &Project, teams: &[Team]) {
    let into = "project_teams (project_id, team_id, role)";
    if project.is_main {
        let (own, guests) = (&teams[project.tenant], &teams[(project.tenant + 1) % TENANTS]);
        let shared = row![project.id, guests.id, "viewer"];
        rows.add(into, &[row![project.id, own.id, "maintainer"], shared]);
        return;
    }
    // A project without members, so that each project has a row of each table.
    let empty = Uuid::now_v7();
    let team = row![empty, format!("empty-{}", project.id), "nobody"];
    rows.add("teams (id, key, name)", &[team]);
    rows.add(into, &[row![project.id, empty, "viewer"]]);
}

fn user(rows: &mut Rows, person: &Person) {
    let Person { id, login, post, .. } = person;
    if *post != Post::Local {
        let (name, email) = (format!("Name {login}"), format!("{login}@example.org"));
        let (is_agent, is_admin) = (Plain(*post == Post::Agent), Plain(*post == Post::Root));
        let row = row![*id, login.as_str(), name, email, is_agent, is_admin];
        rows.add("users (id, login, name, email, is_agent, is_admin)", &[row]);
    }
    for token in &person.tokens {
        let is = |state| token.state == state;
        let lives = if is(TokenState::Expired) { "-1 hour" } else { "9 days" };
        let expires = Plain(format!("now() + interval '{lives}'"));
        let revoked = Plain(if is(TokenState::Revoked) { "now()" } else { "null" });
        let (name, hash) = (format!("token {login}"), Plain(hash(&token.text)));
        let scopes = Plain(array(token.scopes));
        rows.add(
            "access_tokens (id, user_id, name, hash, hint, scopes, expires_at, revoked_at)",
            &[row![token.id, *id, name, hash, "hint", scopes, expires, revoked]],
        );
    }
}

/// The hash of a secret as a literal.
pub fn hash(secret: &str) -> String {
    format!("'\\x{}'::bytea", hex::encode(SecretHash::of(secret.as_bytes()).as_bytes()))
}

/// Scopes as a literal.
pub fn array(scopes: u8) -> String {
    let words: Vec<_> = names(scopes).iter().map(|name| format!("'{name}'")).collect();
    format!("array[{}]::text[]", words.join(", "))
}

/// A session with one refresh token: its statements, and the token.
pub fn session(user: Uuid, client: &str, scopes: u8) -> (Uuid, String, String) {
    let (session, secret) = (Uuid::now_v7(), RefreshToken::generate().expose().to_owned());
    let sql = format!(
        "insert into sessions (id, user_id, client, scopes, expires_at)
         values ('{session}', '{user}', '{client}', {}, now() + interval '9 days');
         insert into refresh_tokens (hash, session_id, expires_at)
         values ({}, '{session}', now() + interval '9 days');",
        array(scopes),
        hash(&secret)
    );
    (session, secret, sql)
}

/// Gives each person tokens of each kind, including invalid ones.
pub async fn sign_in(world: &mut World) {
    let mut after = String::new();
    let everybody = world.people.clone();
    let mut all = Vec::new();
    for person in &everybody {
        all.push(credentials(world, person, &mut after).await);
    }
    after.push_str("update access_tokens set revoked_at = now() where id in (");
    let later = everybody.iter().flat_map(|person| &person.tokens);
    let later: Vec<_> = later
        .filter(|token| token.state == TokenState::RevokedLater)
        .map(|token| format!("'{}'", token.id))
        .collect();
    write!(after, "{});", later.join(", ")).expect("text");
    let disabled = everybody.iter().filter(|person| person.post == Post::Disabled);
    let disabled: Vec<_> = disabled.map(|person| format!("'{}'", person.id)).collect();
    write!(after, "update users set disabled_at = now() where id in ({});", disabled.join(", "))
        .expect("text");
    execute(&world.database, &after).await;
    for (person, credentials) in world.people.iter_mut().zip(all) {
        person.credentials = credentials;
    }
}

async fn credentials(world: &World, person: &Person, after: &mut String) -> Vec<Credential> {
    let may_enter = person.post != Post::Disabled;
    let credential = |what, bearer: &str, scopes, is_valid: bool, is_present| Credential {
        what,
        bearer: bearer.to_owned(),
        scopes,
        is_valid: is_valid && may_enter,
        is_present,
    };
    let mut all = vec![
        credential("nothing", "", 0, false, false),
        credential("a made-up token", PersonalAccessToken::generate().expose(), 0, false, false),
    ];
    for token in &person.tokens {
        let (what, is_valid) = match token.state {
            TokenState::Valid => ("a token", true),
            TokenState::Expired => ("an expired token", false),
            TokenState::Revoked => ("a revoked token", false),
            TokenState::RevokedLater => ("a token that was revoked", false),
        };
        all.push(credential(what, &token.text, token.scopes, is_valid, false));
        if matches!(token.state, TokenState::Valid | TokenState::RevokedLater) {
            let jwt = exchanged(world, &token.text).await;
            let what = if is_valid {
                "an exchanged token"
            } else {
                "what a revoked token was exchanged for"
            };
            all.push(credential(what, &jwt, token.scopes, is_valid, false));
        }
    }
    let some = 1 | person.tokens[2].scopes;
    for (what, narrowed, later, scopes, is_valid) in [
        ("a login", ALL, "", ALL, true),
        ("a login for less", some, "", some, true),
        ("a login that was narrowed", ALL, "scopes = array['memory:read']", 1, true),
        ("a revoked login", ALL, "revoked_at = now()", ALL, false),
        ("a login that is over", ALL, "expires_at = now() - interval '1 hour'", ALL, false),
    ] {
        let (session, refresh, sql) = session(person.id, "memory-copilot-cli", ALL);
        execute(&world.database, &sql).await;
        let jwt = refreshed(world, &refresh, narrowed).await;
        if !later.is_empty() {
            write!(after, "update sessions set {later} where id = '{session}';").expect("text");
        }
        all.push(credential(what, &jwt, scopes, is_valid, true));
        all.push(credential("a refresh token", &refresh, 0, false, false));
    }
    all
}

pub const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
pub const ACCESS: &str = "urn:ietf:params:oauth:token-type:access_token";

async fn exchanged(world: &World, token: &str) -> String {
    access_token(
        world,
        &[("grant_type", EXCHANGE), ("subject_token", token), ("subject_token_type", ACCESS)],
    )
    .await
}

async fn refreshed(world: &World, refresh: &str, scopes: u8) -> String {
    let scope = names(scopes).join(" ");
    access_token(
        world,
        &[("grant_type", "refresh_token"), ("refresh_token", refresh), ("scope", &scope)],
    )
    .await
}

async fn access_token(world: &World, form: &[(&str, &str)]) -> String {
    let answer =
        Answer::to(&Attempt::new(http::Method::POST, "/auth/token").form(form), world).await;
    let token = answer.body["access_token"].as_str();
    token.unwrap_or_else(|| panic!("no token: {}", answer.text())).to_owned()
}

/// Returns an unused token of a person: its id, and the statement that inserts it.
pub fn token_row(rng: &mut StdRng, user: Uuid) -> (Uuid, String) {
    let id = id(rng);
    let hash = hash(PersonalAccessToken::generate().expose());
    let sql = format!(
        "insert into access_tokens (id, user_id, name, hash, scopes) values ('{id}', '{user}', \
         'spare', {hash}, {})",
        array(1)
    );
    (id, sql)
}
