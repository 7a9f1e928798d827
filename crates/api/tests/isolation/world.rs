//! The world that the attempts are made in: three tenants over one database and one service.

mod embedder;
mod hygiene;
mod integrations;
mod people;
mod reviewed;
mod rows;
mod seed;
mod service;
mod webhooks;
mod workspaces;

use std::collections::HashSet;

use axum::Router;
use mc_crypto::Encryptor;
use mc_domain::{ProjectId, UserId};
use mc_search::SearchContext;
use mc_store::Store;
use mc_testkit::TestDatabase;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tempfile::TempDir;
use tokio_util::sync::DropGuard;
use uuid::Uuid;

use crate::marks::{self, Owners, Places};
use crate::oracle::{self, Scope};

pub use embedder::vector;
pub use hygiene::{cluster, pair};
pub use integrations::{CONNECTOR, integration};
pub use people::{
    ACCESS, ALL, Credential, EXCHANGE, Person, Post, TokenState, hash, names as names_of, session,
    token_row,
};
pub use reviewed::{private, proposal, quarantine_item};
pub use seed::{SHARED_SYMBOL, policy};
pub use service::served;
pub use webhooks::{
    GIT_HOSTS, SECRET_PREFIX, SOURCES, STATES, delivery, webhook, webhook_of_delivery,
    webhook_secret,
};
pub use workspaces::{navigation, patch, workspace};

pub const TENANTS: usize = 3;
/// The common owner: of teams and users that attempts create.
pub const COMMON: usize = 0;
const FIRST_PROJECT: usize = 1;
const FIRST_TEAM: usize = FIRST_PROJECT + 2 * TENANTS;
const FIRST_PERSON: usize = FIRST_TEAM + TENANTS;
/// Owners of private data follow those of persons.
const FIRST_PRIVATE: usize = FIRST_PERSON + people::COUNT;

/// Something of a project.
#[derive(Debug, Clone)]
pub struct Thing {
    pub id: Uuid,
    /// The name that people know it by: one that each tenant has, or one of its own.
    pub name: String,
    /// Mark of its text.
    pub mark: String,
}

/// A project, and all that is in it.
#[derive(Debug, Clone)]
pub struct Project {
    pub place: usize,
    pub tenant: usize,
    /// The one that others may be let into, of a tenant's two.
    pub is_main: bool,
    pub id: Uuid,
    /// A mark of its own.
    pub key: String,
    pub records: Vec<Thing>,
    pub docs: Vec<Thing>,
    pub dialogs: Vec<Thing>,
    pub tasks: Vec<Thing>,
    pub bundles: Vec<Thing>,
    pub repositories: Vec<Thing>,
    pub runs: Vec<Thing>,
    pub files: Vec<Thing>,
    /// Ids of searchable passages, with the marks of their texts.
    pub passages: Vec<Thing>,
    /// Commits of its first repository; the n-th touched the n-th file.
    pub commits: Vec<Thing>,
    /// Ids of their passages, which are searched alone.
    pub commit_passages: Vec<Thing>,
    /// Records that wait for a person.
    pub proposals: Vec<Thing>,
    /// Quarantine items.
    pub quarantine_items: Vec<Thing>,
    /// Webhooks, one for each of [`SOURCES`].
    pub webhooks: Vec<Thing>,
    /// Webhook deliveries.
    pub deliveries: Vec<Thing>,
    /// Integrations.
    pub integrations: Vec<Thing>,
    /// Pull requests; the n-th belongs to the n-th task.
    pub changes: Vec<Thing>,
    /// Records that say the same, as hygiene found them: the n-th are the n-th pair of the
    /// project's records.
    pub clusters: Vec<Thing>,
    /// Hygiene runs.
    pub reports: Vec<Thing>,
    /// Exports.
    pub exports: Vec<Thing>,
    /// Private data of persons in the project.
    pub privates: Vec<Private>,
    /// Workspaces; the n-th is that of the owner of the n-th private data.
    pub workspaces: Vec<Thing>,
    /// Navigations; the n-th is in the n-th workspace.
    pub navigations: Vec<Thing>,
    /// Patches; the n-th is of the n-th workspace and its owner.
    pub patches: Vec<Thing>,
    /// Of the policy, which its members alone see.
    pub policy_mark: String,
    /// Of an event of the audit, which its maintainers alone see.
    pub audit_mark: String,
}

/// Private data of a person in a project.
#[derive(Debug, Clone)]
pub struct Private {
    pub place: usize,
    pub owner: Uuid,
    pub records: Vec<Thing>,
    /// One for each record.
    pub passages: Vec<Thing>,
}

impl Project {
    /// Returns the private data of a person in the project.
    pub fn private_of(&self, person: &Person) -> Option<&Private> {
        self.privates.iter().find(|one| one.owner == person.id)
    }

    /// Returns whether only maintainers may save and review.
    pub fn is_strict(&self) -> bool {
        self.tenant == 1
    }

    /// The places of all that people keep to themselves here.
    pub fn private_places(&self) -> Places {
        Places::all(self.privates.iter().map(|one| Places::one(one.place)))
    }
}

/// A tenant's team.
#[derive(Debug, Clone)]
pub struct Team {
    pub place: usize,
    pub id: Uuid,
    pub key: String,
}

/// Everything, and the service over it.
pub struct World {
    pub projects: Vec<Project>,
    pub teams: Vec<Team>,
    pub people: Vec<Person>,
    pub database: TestDatabase,
    pub search: SearchContext,
    /// With the service's own key.
    pub encryptor: Encryptor,
    owners: Owners,
    router: Router,
    _index: TempDir,
    _stop: DropGuard,
}

impl World {
    /// Builds it as `seed` says.
    pub async fn build(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let (mut projects, teams) = (seed::projects(&mut rng), seed::teams(&mut rng));
        let people = people::invent(&mut rng);
        reviewed::privates(&mut rng, &mut projects, &people);
        workspaces::invent(&mut rng, &mut projects);
        let database = TestDatabase::create().await;
        let service = served(&database).await;
        let mut sql = seed::sql(&mut rng, &projects, &teams, service.model);
        sql.push_str(&people::sql(&people, &projects, &teams));
        sql.push_str(&webhooks::sql(&projects, &people, &service.encryptor));
        sql.push_str(&integrations::sql(&projects));
        sql.push_str(&hygiene::sql(&projects));
        sql.push_str(&reviewed::sql(&projects, &people, service.model, &service.encryptor));
        sql.push_str(&workspaces::sql(&projects));
        execute(&database, &sql).await;
        reviewed::audited(&database, &projects).await;
        let owners = owners(&projects, &teams, &people);
        let mut world = Self {
            projects,
            teams,
            people,
            search: service.search,
            encryptor: service.encryptor,
            owners,
            router: service.router,
            database,
            _index: service.index,
            _stop: service.stop,
        };
        people::sign_in(&mut world).await;
        world
    }

    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The database's URL for its superuser.
    pub fn url(&self) -> &str {
        self.database.url()
    }

    pub fn owner(&self, id: Uuid) -> Option<Places> {
        self.owners.get(&id).copied()
    }

    /// The people who may see a project.
    pub fn seen_by(&self, project: &Project) -> Places {
        let seeing = self.people.iter().filter(|one| oracle::role(one, project).is_some());
        Places::all(seeing.map(Person::place))
    }

    /// Returns the owners that a response to a person about a project may show: the project, their
    /// private data in it, its members, and the teams that it is shared with.
    pub fn around(&self, person: &Person, project: &Project) -> Places {
        let own_team = &self.teams[project.tenant];
        let guests = &self.teams[(project.tenant + 1) % TENANTS];
        let teams = if project.is_main {
            Places::one(own_team.place) | Places::one(guests.place)
        } else {
            Places::NONE
        };
        let own = project.private_of(person).map_or(Places::NONE, |own| Places::one(own.place));
        Places::one(project.place) | own | self.seen_by(project) | teams
    }

    /// Describes owners for messages.
    pub fn describe(&self, place: Places) -> String {
        let project = self.projects.iter().find(|one| Places::one(one.place) == place);
        let person = self.people.iter().find(|one| one.place() == place);
        let team = self.teams.iter().find(|one| Places::one(one.place) == place);
        let mut privates = self.projects.iter().flat_map(|one| &one.privates);
        if let Some(private) = privates.find(|one| Places::one(one.place) == place) {
            let owner = self.people.iter().find(|one| one.id == private.owner);
            return format!(
                "what {:?} keeps to themselves",
                owner.map(|one| (one.post, one.tenant))
            );
        }
        match (project, person, team) {
            (Some(Project { tenant, is_main, .. }), ..) => {
                format!("tenant {tenant}'s {} project", if *is_main { "main" } else { "side" })
            }
            (_, Some(Person { tenant, post, .. }), _) => format!("{post:?} of tenant {tenant:?}"),
            (.., Some(team)) => format!("the team {}", team.key),
            _ => format!("somewhere ({place:?})"),
        }
    }

    /// Returns the database as a person sees it in a project.
    pub fn as_seen_by(&self, person: &Person, project: &Project) -> Store {
        self.database.service().for_project(UserId(person.id), ProjectId(project.id))
    }

    /// The ids of all that belongs to projects now, by project, or by who keeps it to themselves
    /// there.
    pub async fn owners_now(&self) -> Owners {
        let mut owners = self.owners.clone();
        let tables = "select coalesce(string_agg(format('select id::text, project_id, %s from %I',
                          case when table_name in ('memory_records', 'passages') then 'private_to'
                          when table_name = 'workspaces' then 'owner_id'
                          when table_name = 'navigations' then 'user_id'
                          when table_name = 'patches' then 'author_id'
                          else 'null::uuid' end, table_name), ' union all '), 'select null, null, \
                          null')
                      from information_schema.columns a where table_schema = 'public'
                      and column_name = 'id' and exists (select from information_schema.columns b
                      where b.table_name = a.table_name and b.column_name = 'project_id')";
        let store = self.database.store();
        let union = mc_store::testing::text(store, tables).await.expect("tables");
        let pairs = format!(
            "select coalesce(string_agg(concat_ws(' ', id, project_id, private_to), ','), '')
             from ({union}) all_of_them (id, project_id, private_to)"
        );
        let pairs = mc_store::testing::text(store, &pairs).await.expect("ids");
        for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
            let mut ids = pair.split(' ').map(str::parse::<Uuid>);
            // Some tables count their rows instead.
            let Some(Ok(id)) = ids.next() else { continue };
            let project = ids.next().expect("two ids").expect("an id");
            let owner = ids.next().map(|id| id.expect("an id"));
            let of = self.projects.iter().find(|one| one.id == project);
            let private = |of: &Project| {
                of.privates.iter().find(|one| Some(one.owner) == owner).map(|one| one.place)
            };
            let place = match owner {
                Some(_) => of.and_then(private),
                None => of.map(|of| of.place),
            };
            owners.entry(id).or_insert(Places::one(place.unwrap_or(COMMON)));
        }
        owners
    }
}

/// Runs statements as the superuser, all or none.
async fn execute(database: &TestDatabase, sql: &str) {
    let block = format!("do $world$ begin {sql} end $world$");
    mc_store::testing::execute(database.url(), &block)
        .await
        .expect("statements that fit the schema");
}

fn owners(projects: &[Project], teams: &[Team], people: &[Person]) -> Owners {
    let mut owners = Owners::new();
    for project in projects {
        let place = Places::one(project.place);
        let lists = [
            &project.records,
            &project.docs,
            &project.dialogs,
            &project.tasks,
            &project.bundles,
            &project.repositories,
            &project.runs,
            &project.files,
            &project.passages,
            &project.commits,
            &project.commit_passages,
            &project.proposals,
            &project.quarantine_items,
            &project.webhooks,
            &project.deliveries,
            &project.integrations,
            &project.changes,
            &project.clusters,
            &project.reports,
            &project.exports,
        ];
        for private in &project.privates {
            let things = private.records.iter().chain(&private.passages);
            owners.extend(things.map(|thing| (thing.id, Places::one(private.place))));
        }
        for things in [&project.workspaces, &project.navigations, &project.patches] {
            let places = project.privates.iter().map(|private| Places::one(private.place));
            owners.extend(things.iter().map(|thing| thing.id).zip(places));
        }
        owners.extend(lists.into_iter().flatten().map(|thing| (thing.id, place)));
        owners.insert(project.id, place);
    }
    owners.extend(teams.iter().map(|team| (team.id, Places::one(team.place))));
    for person in people {
        owners.insert(person.id, person.place());
        owners.extend(person.tokens.iter().map(|token| (token.id, person.place())));
    }
    owners
}

/// Fails where two things have the same id or mark, which would make the scanner blind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_and_marks_in_the_fixture_are_unique() {
    let world = World::build(1).await;
    let marks: Vec<_> = world.projects.iter().flat_map(|project| &project.passages).collect();
    let distinct: HashSet<_> = marks.iter().map(|thing| (&thing.mark, thing.id)).collect();
    assert!(distinct.len() == marks.len() && marks.len() > 100, "{}", marks.len());
    for project in &world.projects {
        let key = marks::marks_in(project.key.as_bytes(), b"");
        assert_eq!(key, [(Places::one(project.place), project.key.clone())]);
    }
    let scopes: HashSet<_> = Scope::ALL.iter().map(|(_, name)| name).collect();
    assert_eq!(scopes.len(), 7);
}
