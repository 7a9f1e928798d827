//! Row-level security: statements of the service's database roles without a filter, or beyond the
//! principal's role.
#![allow(missing_docs, clippy::unwrap_used)]

use mc_contract::operations::user::User;
use mc_domain::{ProjectId, Role, SourceKind, UserId};
use mc_store::accounts::{self, NewUser, UserUpdate};
use mc_store::members::{self, Grantee, MembershipScope};
use mc_store::passages::PassageFilter;
use mc_store::testing::{execute, text, waiting_for_a_lock, write};
use mc_store::{Error, Store, projects, vectors};
use mc_testkit::TestDatabase;

/// Two projects with a row in each table, and a user with a role on the first.
struct World {
    db: TestDatabase,
    ours: ProjectId,
    theirs: ProjectId,
    ann: UserId,
}

impl World {
    async fn with(role: Role) -> Self {
        let db = TestDatabase::create().await;
        let (ours, theirs) = (db.project("ours").await.id, db.project("theirs").await.id);
        for (n, project) in [(1, ours), (2, theirs)] {
            let sql = include_str!("isolation/rows.sql");
            let sql =
                sql.replace(":project", &format!("'{project}'")).replace(":n", &n.to_string());
            execute(db.url(), &sql).await.unwrap();
        }
        let ann = user(db.service(), "ann").await;
        let world = Self { db, ours, theirs, ann };
        world.grant(Grantee::User(ann), role).await;
        world
    }

    async fn grant(&self, who: Grantee, role: Role) {
        let ours = self.db.service().for_project(UserId::LOCAL, self.ours);
        let mut tx = ours.begin().await.unwrap();
        members::set(&mut tx, MembershipScope::Project(self.ours), who, role).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// Returns the store acting for a user in a project.
    fn store_for(&self, user: UserId, project: ProjectId) -> Store {
        self.db.service().for_project(user, project)
    }

    /// Returns all tables with rows of projects, and their column with the project's id.
    async fn tables(&self) -> Vec<(String, &'static str)> {
        let tables = text(
            self.db.store(),
            "select string_agg(distinct table_name, ',') from information_schema.columns
             where table_schema = 'public' and column_name = 'project_id'",
        );
        let mut tables: Vec<_> = tables
            .await
            .unwrap()
            .split(',')
            .map(|table| (table.to_owned(), "project_id"))
            .collect();
        tables.push(("projects".to_owned(), "id"));
        assert!(tables.len() > 15, "{tables:?}");
        tables
    }
}

async fn user(store: &Store, login: &str) -> UserId {
    let new = NewUser { login, name: "", email: None, is_agent: false, is_admin: false };
    create_user(store, &new).await.unwrap().id
}

async fn create_user(store: &Store, new: &NewUser<'_>) -> Result<User, Error> {
    let mut tx = store.begin().await?;
    let user = accounts::create(&mut tx, new).await?;
    tx.commit().await?;
    Ok(user)
}

async fn number(store: &Store, sql: &str) -> i64 {
    text(store, sql).await.unwrap().parse().unwrap()
}

#[tokio::test]
async fn unfiltered_query_returns_rows_of_the_project_alone() {
    let world = World::with(Role::Viewer).await;
    let ann = world.store_for(world.ann, world.ours);
    for (table, column) in world.tables().await {
        let ours = format!("select count(*)::text from {table} where {column} = '{}'", world.ours);
        let all = format!("select count(*)::text from {table}");
        let expected = number(world.db.store(), &ours).await;
        let existing = number(world.db.store(), &all).await;
        assert!(
            0 < expected && expected < existing,
            "{table} has no rows of both: the test is blind"
        );
        // Quarantine, webhooks, integrations and hygiene runs are visible to maintainers only, as
        // are workspaces, patches and usage data of other users. Navigations are visible to their
        // user only.
        let curated = [
            "quarantine_items",
            "webhooks",
            "webhook_deliveries",
            "integrations",
            "deletion_candidates",
            "hygiene_runs",
            "save_outcomes",
            "client_sessions",
            "read_counts",
            "dialog_outcomes",
            "workspaces",
            "navigations",
            "patches",
        ];
        let is_curated = curated.contains(&table.as_str());
        let expected = if is_curated { 0 } else { expected };
        assert_eq!(number(&ann, &all).await, expected, "{table}");
    }
}

#[tokio::test]
async fn workspace_is_its_owners_and_maintainers_only_delete_it() {
    let world = World::with(Role::Maintainer).await;
    let service = world.db.service();
    let counts = async |store: &Store| {
        let sql = "select concat_ws(' ', (select count(*) from workspaces),
                       (select count(*) from navigations))";
        text(store, sql).await.unwrap()
    };
    let touch = "update workspaces set used_at = now()";
    let (owner, ann) =
        (world.store_for(UserId::LOCAL, world.ours), world.store_for(world.ann, world.ours));
    assert_eq!(counts(&owner).await, "1 1");
    assert_eq!(counts(&ann).await, "1 0", "a maintainer sees the workspace");
    for (store, changed) in [(&owner, 1), (&ann, 0)] {
        assert_eq!(write(store, touch).await.unwrap(), changed);
        let moved = "update navigations set cwd = 'src'";
        assert_eq!(write(store, moved).await.unwrap(), changed);
    }
    for column in ["state = 'ready'", "node_id = gen_random_uuid()", "folder = '/'"] {
        let changed = write(&owner, &format!("update workspaces set {column}")).await;
        assert!(is_refused(changed), "{column}");
    }

    let bob = user(service, "bob").await;
    world.grant(Grantee::User(bob), Role::Member).await;
    let bobs = world.store_for(bob, world.ours);
    assert_eq!(counts(&bobs).await, "0 0", "a member sees those of others not");
    assert_eq!(write(&bobs, touch).await.unwrap(), 0);
    assert_eq!(write(&bobs, "delete from workspaces").await.unwrap(), 0);
    let copy = |owner: UserId, state: &str| {
        format!(
            "insert into workspaces (id, project_id, owner_id, repo_owner, repo_name, kind,
                                     is_editable, state, expires_at)
             values (gen_random_uuid(), '{}', '{owner}', 'o', 'n', 'clone', true, '{state}',
                     now())",
            world.ours
        )
    };
    assert!(is_refused(write(&bobs, &copy(UserId::LOCAL, "queued")).await));
    assert!(is_refused(write(&bobs, &copy(bob, "ready")).await));
    assert_eq!(write(&bobs, &copy(bob, "queued")).await.unwrap(), 1);
    assert_eq!(counts(&bobs).await, "1 0");
    // A role that only reads gets no new workspace, and keeps the one it has.
    world.grant(Grantee::User(bob), Role::Viewer).await;
    assert!(is_refused(write(&bobs, &copy(bob, "queued")).await));
    assert_eq!(write(&bobs, touch).await.unwrap(), 1);

    assert_eq!(write(&ann, "delete from workspaces").await.unwrap(), 2);
    assert_eq!(counts(world.db.store()).await, "1 1", "those of the other project");
}

#[tokio::test]
async fn patch_is_its_authors_and_maintainers_only_change_its_state() {
    let world = World::with(Role::Maintainer).await;
    let seen = async |store: &Store| number(store, "select count(*)::text from patches").await;
    let discard = "update patches set state = 'discarded'";
    let (author, ann) =
        (world.store_for(UserId::LOCAL, world.ours), world.store_for(world.ann, world.ours));
    for store in [&author, &ann] {
        assert_eq!(seen(store).await, 1);
        assert_eq!(write(store, discard).await.unwrap(), 1);
    }
    // Nobody changes what was proposed, by whom, and where.
    for column in [
        "diff",
        "instructions",
        "summary",
        "annotations",
        "target_paths",
        "author_id",
        "project_id",
        "workspace_id",
    ] {
        let changed = write(&author, &format!("update patches set {column} = {column}")).await;
        assert!(is_refused(changed), "{column}");
    }

    let bob = user(world.db.service(), "bob").await;
    let copy = |author: UserId, state: &str| {
        format!(
            "insert into patches (id, project_id, author_id, state, requires_manual_review,
                                  instructions, diff, grade, summary, annotations, expires_at)
             values (gen_random_uuid(), '{}', '{author}', '{state}', false, '', '+', 'exact',
                     '{{}}', '{{}}', now())",
            world.ours
        )
    };
    world.grant(Grantee::User(bob), Role::Viewer).await;
    let bobs = world.store_for(bob, world.ours);
    assert!(is_refused(write(&bobs, &copy(bob, "generated")).await), "a viewer proposes nothing");
    world.grant(Grantee::User(bob), Role::Member).await;
    assert_eq!(seen(&bobs).await, 0, "a member sees those of others not");
    for statement in [discard, "delete from patches"] {
        assert_eq!(write(&bobs, statement).await.unwrap(), 0, "{statement}");
    }
    assert!(is_refused(write(&bobs, &copy(UserId::LOCAL, "generated")).await));
    assert!(is_refused(write(&bobs, &copy(bob, "applied")).await));
    assert_eq!(write(&bobs, &copy(bob, "generated")).await.unwrap(), 1);
    assert_eq!(seen(&bobs).await, 1);
    assert_eq!(seen(&ann).await, 2);
    // A role that only reads sees its own, and changes nothing.
    world.grant(Grantee::User(bob), Role::Viewer).await;
    assert_eq!(seen(&bobs).await, 1);
    for statement in [discard, "delete from patches"] {
        assert_eq!(write(&bobs, statement).await.unwrap(), 0, "{statement}");
    }

    assert_eq!(write(&ann, "delete from patches").await.unwrap(), 0, "those of others");
    assert_eq!(write(&author, "delete from patches").await.unwrap(), 1);
    // A patch outlives its workspace.
    let workspace = format!(
        "update patches set workspace_id = (select id from workspaces where project_id = '{0}')
         where project_id = '{0}'",
        world.ours
    );
    assert_eq!(write(world.db.store(), &workspace).await.unwrap(), 1);
    assert_eq!(write(&ann, "delete from workspaces").await.unwrap(), 1);
    let without = "select count(*)::text from patches where workspace_id is null";
    assert_eq!(number(&bobs, without).await, 1);
}

#[tokio::test]
async fn no_rows_are_visible_without_principal_or_role() {
    let world = World::with(Role::Admin).await;
    let stranger = user(world.db.service(), "stranger").await;
    let nobody = world.db.service().clone();
    let theirs = world.store_for(world.ann, world.theirs);
    let ours = world.store_for(stranger, world.ours);
    for (table, _) in world.tables().await {
        for store in [&nobody, &theirs, &ours] {
            let all = format!("select count(*)::text from {table}");
            assert_eq!(number(store, &all).await, 0, "{table}");
        }
    }
}

#[tokio::test]
async fn cancelled_begin_leaves_no_context_behind() {
    const WAYS: usize = 80;
    let world = World::with(Role::Member).await;
    let service =
        Store::connect(&world.db.logins().service, 1, mc_store::testing::chains()).await.unwrap();
    let ann = service.for_project(world.ann, world.ours);
    let mut arrived = 0;
    // Cancelled ever later, until it completes before it is cancelled.
    for length in 0..WAYS {
        let mut begin = Box::pin(ann.begin());
        for _ in 0..length * length {
            if futures::poll!(&mut begin).is_ready() {
                arrived += 1;
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(begin);
        let tasks = "select count(*)::text from tasks";
        assert_eq!(number(&service, tasks).await, 0, "given up after {length}");
        let named = format!("update users set name = 'Ann {length}' where login = 'ann'");
        assert_eq!(write(&service, &named).await.unwrap(), 1);
    }
    assert!((1..WAYS).contains(&arrived), "{arrived} of {WAYS} were begun: the test is blind");
    let name = "select name from users where login = 'ann'";
    assert_eq!(text(&service, name).await.unwrap(), format!("Ann {}", WAYS - 1));
}

#[tokio::test]
async fn unfiltered_write_changes_rows_of_the_project_alone() {
    let world = World::with(Role::Admin).await;
    let ann = world.store_for(world.ann, world.ours);
    let before = number(world.db.store(), "select count(*)::text from tasks").await;
    assert_eq!(write(&ann, "update tasks set title = 'taken over'").await.unwrap(), 1);
    assert_eq!(write(&ann, "delete from tasks").await.unwrap(), 1);
    let left = "select count(*)::text from tasks where title <> 'taken over'";
    assert_eq!(number(world.db.store(), left).await, before - 1);
    // Neither new nor changed rows get into the other project.
    let into = format!(
        "insert into tasks (id, project_id, external_id) values (gen_random_uuid(), '{}', 'x')",
        world.theirs
    );
    assert!(is_refused(write(&ann, &into).await));
    let moved = format!("update docs set project_id = '{}'", world.theirs);
    assert!(is_refused(write(&ann, &moved).await));
}

#[tokio::test]
async fn viewer_changes_nothing_and_member_manages_no_members() {
    let world = World::with(Role::Viewer).await;
    let viewer = world.store_for(world.ann, world.ours);
    for (table, _) in world.tables().await {
        let deleted = write(&viewer, &format!("delete from {table}")).await;
        // Versions of policies can't be changed.
        assert!(matches!(deleted, Ok(0)) || is_refused(deleted), "{table}");
    }
    world.grant(Grantee::User(world.ann), Role::Member).await;
    let member = world.store_for(world.ann, world.ours);
    assert_eq!(write(&member, "update tasks set title = 'mine'").await.unwrap(), 1);
    let raised = write(&member, "update project_members set role = 'admin'").await;
    assert_eq!(raised.unwrap(), 0);
    let create_user = format!(
        "insert into project_members (project_id, user_id, role)
         values ('{}', gen_random_uuid(), 'admin')",
        world.ours
    );
    assert!(is_refused(write(&member, &create_user).await));
    assert_eq!(write(&member, "delete from projects").await.unwrap(), 0);
}

#[tokio::test]
async fn revoked_role_or_disabled_user_sees_no_rows() {
    let world = World::with(Role::Member).await;
    let ann = world.store_for(world.ann, world.ours);
    let tasks = "select count(*)::text from tasks";
    assert_eq!(number(&ann, tasks).await, 1);
    let change = async |login: &str, disabled| {
        let change = UserUpdate { is_disabled: Some(disabled), ..UserUpdate::default() };
        let mut tx = world.db.service().begin().await.unwrap();
        accounts::change(&mut tx, login, &change).await.unwrap().unwrap();
        tx.commit().await.unwrap();
    };
    change("ANN", true).await;
    assert_eq!(number(&ann, tasks).await, 0);
    change("ann", false).await;
    assert_eq!(number(&ann, tasks).await, 1);
    let admin = world.store_for(UserId::LOCAL, world.ours);
    let mut tx = admin.begin().await.unwrap();
    let ann_there = Grantee::User(world.ann);
    assert!(
        members::remove(&mut tx, MembershipScope::Project(world.ours), ann_there).await.unwrap()
    );
    tx.commit().await.unwrap();
    assert_eq!(number(&ann, tasks).await, 0);
}

#[tokio::test]
async fn team_role_is_capped_by_the_project_and_the_member() {
    let world = World::with(Role::Admin).await;
    let service = world.db.service();
    let bob = user(service, "bob").await;
    let role = async || {
        let project = projects::find(service, bob, &"ours".parse().unwrap()).await.unwrap();
        project.map(|project| project.role)
    };
    let mut tx = service.begin().await.unwrap();
    let team = members::create_team(&mut tx, "platform", "Platform", bob).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(role().await, None);
    world.grant(Grantee::Team(team.id), Role::Viewer).await;
    assert_eq!(role().await, Some(Role::Viewer), "shared read-only, whatever bob is in the team");
    world.grant(Grantee::Team(team.id), Role::Maintainer).await;
    let mut tx = service.begin().await.unwrap();
    members::set(&mut tx, MembershipScope::Team(team.id), Grantee::User(bob), Role::Member)
        .await
        .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(role().await, Some(Role::Member), "no more than bob is in the team");
    world.grant(Grantee::User(bob), Role::Admin).await;
    assert_eq!(role().await, Some(Role::Admin), "his own role counts beside the team's");
}

#[tokio::test]
async fn agent_has_at_most_its_role_and_creates_no_project() {
    let world = World::with(Role::Admin).await;
    let new = NewUser { login: "bot", name: "", email: None, is_agent: true, is_admin: false };
    let bot = create_user(world.db.service(), &new).await.unwrap().id;
    world.grant(Grantee::User(bot), Role::Admin).await;
    let project = projects::find(world.db.service(), bot, &"ours".parse().unwrap()).await.unwrap();
    assert_eq!(project.unwrap().role, Role::Agent);
    let elsewhere = projects::find(world.db.service(), bot, &"theirs".parse().unwrap()).await;
    assert!(elsewhere.unwrap().is_none(), "an agent is nothing where it was given nothing");
    let listed = projects::list(world.db.service(), bot).await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert!(!projects::may_create(world.db.service(), bot).await.unwrap());
    let made = projects::create(world.db.service(), bot, &"own".parse().unwrap(), "Own").await;
    assert!(made.is_err(), "it could not administer one of its own: {made:?}");
    let all_powerful = NewUser { login: "god", is_admin: true, ..new };
    assert!(create_user(world.db.service(), &all_powerful).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_admins_who_demote_each_other_stays_admin() {
    let world = World::with(Role::Admin).await;
    let project = MembershipScope::Project(world.ours);
    // Both act as admins; the second waits for the first.
    let mut local = world.store_for(UserId::LOCAL, world.ours).begin().await.unwrap();
    let mut ann = world.store_for(world.ann, world.ours).begin().await.unwrap();
    members::set(&mut local, project, Grantee::User(world.ann), Role::Viewer).await.unwrap();
    let second = tokio::spawn(async move {
        members::set(&mut ann, project, Grantee::User(UserId::LOCAL), Role::Viewer).await
    });
    while waiting_for_a_lock(world.db.service()).await.unwrap() == 0 {
        assert!(!second.is_finished(), "it did not wait");
        tokio::task::yield_now().await;
    }
    local.commit().await.unwrap();
    let refused = second.await.unwrap();
    assert!(matches!(refused, Err(Error::LastAdmin)), "{refused:?}");
}

#[tokio::test]
async fn taken_key_reveals_nothing_of_another_project() {
    let world = World::with(Role::Viewer).await;
    let service = world.db.service();
    let taken = projects::create(service, world.ann, &"theirs".parse().unwrap(), "Mine").await;
    assert!(matches!(taken, Err(Error::AlreadyExists { .. })), "{taken:?}");
    let (own, created) =
        projects::create(service, world.ann, &"ours".parse().unwrap(), "x").await.unwrap();
    assert_eq!((own.id, own.role, created), (world.ours, Role::Viewer, false));
    let listed = projects::list(service, world.ann).await.unwrap();
    assert_eq!(listed.iter().map(|p| p.key.as_str()).collect::<Vec<_>>(), ["ours"]);
}

#[tokio::test]
async fn own_vectors_are_found_among_nearer_ones_of_others() {
    let world = World::with(Role::Viewer).await;
    let worker = world.db.store();
    let model =
        vectors::register_model(worker, "isolation", 8, &serde_json::json!({})).await.unwrap();
    let sql = include_str!("isolation/vectors.sql")
        .replace(":ours", &format!("'{}'", world.ours))
        .replace(":theirs", &format!("'{}'", world.theirs))
        .replace(":model", &model.id.to_string());
    execute(world.db.url(), &sql).await.unwrap();
    let ann = world.store_for(world.ann, world.ours);
    let filter =
        PassageFilter { sources: vec![SourceKind::Dialog], ..PassageFilter::project(world.ours) };
    let query = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    let found = vectors::nearest(&ann, &model, &query, &filter, 10).await.unwrap();
    assert_eq!(found.len(), 10, "beside 3,000 nearer ones of another project");
    // Row-level security hides rows that the filter does not exclude.
    let theirs = PassageFilter { project: world.theirs, ..filter };
    assert_eq!(vectors::nearest(&ann, &model, &query, &theirs, 10).await.unwrap(), []);
}

#[tokio::test]
async fn every_project_table_has_forced_policies() {
    let world = World::with(Role::Viewer).await;
    for (table, _) in world.tables().await {
        let forced = format!(
            "select (relrowsecurity and relforcerowsecurity)::text from pg_class
             where oid = '{table}'::regclass"
        );
        assert_eq!(text(world.db.store(), &forced).await.unwrap(), "true", "{table}");
    }
    for store in [world.db.service(), world.db.store()] {
        let powers = "select (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb)::text
                      from pg_roles where rolname = current_user";
        assert_eq!(text(store, powers).await.unwrap(), "false");
        let owned = "select count(*)::text from pg_class where relowner = current_user::regrole";
        assert_eq!(number(store, owned).await, 0);
        for forbidden in [
            "alter table tasks disable row level security",
            "drop policy project_select on tasks",
            "create table mine (n int)",
            "truncate tasks",
            "set local session_replication_role = replica",
        ] {
            assert!(is_refused(write(store, forbidden).await), "{forbidden}");
        }
    }
    for forbidden in [
        "select from change_feed",
        "set local role memory_copilot_worker",
        "select mc.create_hnsw_index(1::smallint, gen_random_uuid(), 'doc')",
        "select mc.drop_orphaned_hnsw_indexes()",
    ] {
        assert!(is_refused(write(world.db.service(), forbidden).await), "{forbidden}");
    }
}

/// 42501: insufficient privilege; also raised for a row that violates a policy.
fn is_refused<T>(done: Result<T, Error>) -> bool {
    match done {
        Err(Error::Statement(error)) => {
            error.as_database_error().and_then(|e| e.code().map(|c| c == "42501")) == Some(true)
        }
        _ => false,
    }
}

#[tokio::test]
async fn shared_reads_return_the_rows_of_single_reads() {
    let world = World::with(Role::Viewer).await;
    let records = "select count(*)::text from memory_records";
    for project in [world.ours, world.theirs] {
        let alone = world.store_for(world.ann, project);
        let shared = alone.share_reads();
        let expected = if project == world.ours { "1" } else { "0" };
        for store in [&alone, &shared, &shared] {
            assert_eq!(text(store, records).await.unwrap(), expected);
        }
        // Another project does not use the shared transaction.
        let elsewhere = shared.for_project(world.ann, world.theirs);
        assert_eq!(text(&elsewhere, records).await.unwrap(), "0");
    }
}

#[tokio::test]
async fn shared_reads_use_one_connection_in_turn() {
    let world = World::with(Role::Viewer).await;
    let shared = world.store_for(world.ann, world.ours).share_reads();
    let backend = || text(&shared, "select pg_backend_pid()::text");
    let (first, second) = tokio::join!(backend(), backend());
    assert_eq!(first.unwrap(), second.unwrap());
}

#[tokio::test]
async fn further_shared_reads_use_a_connection_that_is_free() {
    let world = World::with(Role::Viewer).await;
    let logins = world.db.logins();
    let pair = Store::connect(&logins.service, 2, mc_store::testing::chains()).await.unwrap();
    let shared = pair.for_project(world.ann, world.ours).share_reads();
    let backend = async |store: &Store| text(store, "select pg_backend_pid()::text").await.unwrap();
    let first = backend(&shared).await;
    let further = shared.share_reads_if_free().expect("a free connection");
    assert!(shared.share_reads_if_free().is_none(), "the connection is reserved before it is used");
    assert_ne!(backend(&further).await, first);
    drop(further);
    let returned = async {
        while shared.share_reads_if_free().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), returned).await.unwrap();
    drop(shared);
    pair.close().await;
}
