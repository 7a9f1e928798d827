//! Workspaces: fetches, space, expiry, registered directories, navigations and nodes.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::time::Duration;

use mc_domain::{
    NavigationId, NavigationPhase, NodeId, ProjectId, Role, UserId, WorkspaceId, WorkspaceKind,
    WorkspaceState,
};
use mc_store::accounts::{self, NewUser};
use mc_store::members::{self, Grantee, MembershipScope};
use mc_store::repositories::{self, Repository};
use mc_store::testing::{execute, text, until_a_session_waits, write};
use mc_store::workspaces::{self, Fetch, NewFolder, Workspace};
use mc_store::{Error, Store, Tx, ingest_runs, jobs, navigations, nodes};
use mc_testkit::TestDatabase;

const LOCAL: UserId = UserId::LOCAL;
const HOUR: Duration = Duration::from_hours(1);

/// A project with a repository, and the store of its administrator.
struct World {
    db: TestDatabase,
    project: ProjectId,
    repository: Repository,
    local: Store,
}

impl World {
    async fn new() -> Self {
        let db = TestDatabase::create().await;
        let project = db.project("shop").await.id;
        let local = db.service().for_project(LOCAL, project);
        let mut tx = local.begin().await.unwrap();
        let location = "https://git.example.org/o/n.git";
        let repository = repositories::ensure(&mut tx, project, "o", "n", location).await.unwrap();
        tx.commit().await.unwrap();
        Self { db, project, repository, local }
    }

    /// Returns a new user with a role on the project, and the store acting for them.
    async fn user(&self, login: &str, role: Role) -> (UserId, Store) {
        let new = NewUser { login, name: "", email: None, is_agent: false, is_admin: false };
        let mut tx = self.db.service().begin().await.unwrap();
        let id = accounts::create(&mut tx, &new).await.unwrap().id;
        tx.commit().await.unwrap();
        let mut tx = self.local.begin().await.unwrap();
        let project = MembershipScope::Project(self.project);
        members::set(&mut tx, project, Grantee::User(id), role).await.unwrap();
        tx.commit().await.unwrap();
        (id, self.db.service().for_project(id, self.project))
    }

    /// Requests a clone for the store's user.
    async fn clone(&self, store: &Store, owner: UserId) -> WorkspaceId {
        let mut tx = store.begin().await.unwrap();
        let id = workspaces::create_clone(&mut tx, &self.repository, owner, "main", true, HOUR);
        let id = id.await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    async fn folder(&self, node: NodeId) -> WorkspaceId {
        let mut tx = self.local.begin().await.unwrap();
        let new = NewFolder { folder: "/home/dev/shop", is_editable: false, node, commit: "c1" };
        let id = workspaces::create_folder(&mut tx, &self.repository, LOCAL, new).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    async fn begin(&self, id: WorkspaceId, node: NodeId, attempt: &str) -> bool {
        workspaces::begin(self.db.store(), id, node, attempt).await.unwrap().is_some()
    }

    /// Returns whether the attempt still had the workspace when it had fetched the files.
    async fn succeed(&self, id: WorkspaceId, attempt: &str) -> bool {
        let mut tx = self.db.store().begin().await.unwrap();
        let run = ingest_runs::enqueue(&mut tx, &self.repository, "main").await.unwrap().id;
        let fetch = Fetch { git_ref: "main", commit: "c1", size_bytes: 7, ingest_run: run };
        let has_it = workspaces::succeed(&mut tx, id, attempt, fetch).await.unwrap();
        tx.commit().await.unwrap();
        has_it
    }

    async fn find(&self, id: WorkspaceId) -> Option<Workspace> {
        workspaces::find(self.db.store(), id).await.unwrap()
    }

    async fn state(&self, id: WorkspaceId) -> WorkspaceState {
        self.find(id).await.unwrap().state
    }

    async fn error(&self, id: WorkspaceId) -> Option<String> {
        let error = self.find(id).await.unwrap().last_error?;
        Some(error["message"].as_str().unwrap().to_owned())
    }

    async fn execute(&self, sql: &str) {
        execute(self.db.url(), sql).await.unwrap();
    }
}

/// 42501: insufficient privilege.
fn is_refused<T>(done: Result<T, Error>) -> bool {
    let Err(Error::Statement(error)) = done else { return false };
    let refusal = error.as_database_error();
    refusal.is_some_and(|refusal| refusal.code().as_deref() == Some("42501"))
}

async fn space(tx: &mut Tx, world: &World, user: UserId) -> (i64, i64) {
    let space = workspaces::lock_space(tx, world.project, user).await.unwrap();
    (space.of_user, space.bytes)
}

#[tokio::test]
async fn clone_is_queued_with_a_job_and_fetched_by_a_node() {
    let world = World::new().await;
    let id = world.clone(&world.local, LOCAL).await;
    let queued = world.find(id).await.unwrap();
    assert_eq!((queued.kind, queued.state), (WorkspaceKind::Clone, WorkspaceState::Queued));
    assert_eq!((queued.owner, queued.node), (LOCAL, None));
    let job = jobs::find(world.db.store(), &queued.job.unwrap()).await.unwrap().unwrap();
    assert_eq!(
        (job.kind.as_str(), job.args["id"].as_str()),
        ("fetch_workspace", Some(&*id.to_string()))
    );

    let node = NodeId::generate();
    let target = workspaces::begin(world.db.store(), id, node, "a").await.unwrap().unwrap();
    assert_eq!(target.repository.id, world.repository.id);
    assert_eq!((target.requested_ref.as_str(), target.is_shallow), ("main", true));
    let fetching = world.find(id).await.unwrap();
    assert_eq!((fetching.state, fetching.node), (WorkspaceState::Fetching, Some(node)));
    assert!(world.succeed(id, "a").await);
    let ready = world.find(id).await.unwrap();
    assert_eq!((ready.state, ready.size_bytes), (WorkspaceState::Ready, 7));
    assert_eq!((ready.git_ref.as_str(), ready.commit.as_str()), ("main", "c1"));
    assert!(ready.ingest_run.is_some() && ready.fetched_at.is_some());
    assert!(!world.begin(id, node, "b").await, "it has its files");
}

#[tokio::test]
async fn lost_attempt_changes_nothing() {
    let world = World::new().await;
    let id = world.clone(&world.local, LOCAL).await;
    let (dead, alive) = (NodeId::generate(), NodeId::generate());
    assert!(world.begin(id, dead, "dead").await);
    assert!(world.begin(id, alive, "alive").await);
    assert!(!world.succeed(id, "dead").await);
    let store = world.db.store();
    workspaces::fail(store, id, "dead", "away", true).await.unwrap();
    workspaces::release(store, id, "dead").await.unwrap();
    let found = world.find(id).await.unwrap();
    assert_eq!((found.state, found.node), (WorkspaceState::Fetching, Some(alive)));
    assert_eq!(found.last_error, None);

    assert!(world.succeed(id, "alive").await);
    assert!(!world.succeed(id, "alive").await, "only once");
    workspaces::fail(store, id, "alive", "late", true).await.unwrap();
    workspaces::release(store, id, "alive").await.unwrap();
    assert_eq!(world.state(id).await, WorkspaceState::Ready);
}

#[tokio::test]
async fn failed_or_released_attempt_is_repeated_until_the_last() {
    let world = World::new().await;
    let id = world.clone(&world.local, LOCAL).await;
    let (store, node) = (world.db.store(), NodeId::generate());
    assert!(world.begin(id, node, "a").await);
    workspaces::release(store, id, "a").await.unwrap();
    assert_eq!((world.state(id).await, world.error(id).await), (WorkspaceState::Queued, None));

    assert!(world.begin(id, node, "b").await);
    let message = "dev@acme.io may not read it";
    workspaces::fail(store, id, "b", message, false).await.unwrap();
    assert_eq!(world.state(id).await, WorkspaceState::Queued);
    let kept = world.error(id).await.unwrap();
    assert!(kept.ends_with("may not read it") && !kept.contains("dev@"), "{kept}");

    assert!(world.begin(id, node, "c").await);
    workspaces::fail(store, id, "c", "gone", true).await.unwrap();
    assert_eq!(world.state(id).await, WorkspaceState::Failed);
    assert_eq!(world.error(id).await.unwrap(), "gone");
    assert!(!world.begin(id, node, "d").await, "it has failed");
}

#[tokio::test]
async fn success_forgets_the_error_of_a_former_attempt() {
    let world = World::new().await;
    let id = world.clone(&world.local, LOCAL).await;
    let (store, node) = (world.db.store(), NodeId::generate());
    assert!(world.begin(id, node, "a").await);
    workspaces::fail(store, id, "a", "away", false).await.unwrap();
    assert!(world.begin(id, node, "b").await);
    assert!(world.succeed(id, "b").await);
    assert_eq!(world.error(id).await, None);
}

#[tokio::test]
async fn nothing_is_fetched_without_a_workspace_or_a_repository() {
    let world = World::new().await;
    let (id, node) = (world.clone(&world.local, LOCAL).await, NodeId::generate());
    assert!(!world.begin(WorkspaceId::generate(), node, "a").await);
    let folder = world.folder(node).await;
    assert!(!world.begin(folder, node, "a").await, "a directory is not fetched");
    world.execute("update workspaces set state = 'queued'").await;
    assert!(!world.begin(folder, node, "a").await, "in no state");
    world.execute("delete from ingest_runs").await;
    world.execute("delete from repositories").await;
    assert!(!world.begin(id, node, "a").await);
    let kept = world.find(id).await.unwrap();
    assert_eq!((kept.repository, kept.state), (None, WorkspaceState::Queued));
    assert_eq!((kept.repo_owner.as_str(), kept.repo_name.as_str()), ("o", "n"));

    let mut tx = world.local.begin().await.unwrap();
    assert!(workspaces::delete(&mut tx, id, WorkspaceState::ALL).await.unwrap());
    assert!(!workspaces::delete(&mut tx, id, WorkspaceState::ALL).await.unwrap());
    tx.commit().await.unwrap();
    assert!(!world.begin(id, node, "a").await);
}

#[tokio::test]
async fn workspace_fails_when_its_job_is_gone() {
    let world = World::new().await;
    let (store, node) = (world.db.store(), NodeId::generate());
    let waiting = world.clone(&world.local, LOCAL).await;
    let fetching = world.clone(&world.local, LOCAL).await;
    let ready = world.clone(&world.local, LOCAL).await;
    let folder = world.folder(node).await;
    assert!(world.begin(fetching, node, "a").await);
    workspaces::fail(store, fetching, "a", "away", false).await.unwrap();
    assert!(world.begin(fetching, node, "b").await);
    assert!(world.begin(ready, node, "c").await && world.succeed(ready, "c").await);
    assert_eq!(workspaces::fail_abandoned(store).await.unwrap(), 0, "all have jobs that wait");

    let job = world.find(waiting).await.unwrap().job.unwrap();
    let mut tx = store.begin().await.unwrap();
    assert!(jobs::delete(&mut tx, &job).await.unwrap());
    tx.commit().await.unwrap();
    assert_eq!(workspaces::fail_abandoned(store).await.unwrap(), 1);
    assert_eq!(world.state(waiting).await, WorkspaceState::Failed);
    let message = world.error(waiting).await.unwrap();
    assert!(message.contains("fetch the repository again"), "{message}");

    world.execute("update apalis.jobs set status = 'Killed'").await;
    assert_eq!(workspaces::fail_abandoned(store).await.unwrap(), 1);
    assert_eq!(world.state(fetching).await, WorkspaceState::Failed);
    assert_eq!(world.error(fetching).await.unwrap(), "away", "the error of the attempt stays");
    assert!(!world.succeed(fetching, "b").await, "the attempt has lost it");
    for id in [ready, folder] {
        assert_eq!(world.state(id).await, WorkspaceState::Ready);
    }
    assert_eq!(workspaces::fail_abandoned(store).await.unwrap(), 0);
}

#[tokio::test]
async fn node_deletes_expired_workspaces_of_its_own_and_of_dead_nodes() {
    let world = World::new().await;
    let store = world.db.store();
    let [own, alive, dead] = [(); 3].map(|()| NodeId::generate());
    for (id, name) in [(own, "own"), (alive, "alive"), (dead, "dead")] {
        nodes::renew(store, id, name, "").await.unwrap();
    }
    let mut ids = Vec::new();
    // The last node is unknown.
    for node in [own, alive, dead, NodeId::generate()] {
        let id = world.clone(&world.local, LOCAL).await;
        assert!(world.begin(id, node, "a").await && world.succeed(id, "a").await);
        ids.push(id);
    }
    let fetching = world.clone(&world.local, LOCAL).await;
    assert!(world.begin(fetching, own, "a").await);
    let waiting = world.clone(&world.local, LOCAL).await;
    let folder = world.folder(own).await;
    let delete = async || workspaces::delete_expired(store, own).await.unwrap();
    assert_eq!(delete().await, 0, "nothing has expired");

    let expire = "update workspaces set expires_at = now() - interval '1 minute'
                  where kind = 'clone'";
    world.execute(expire).await;
    world
        .execute("update nodes set seen_at = now() - interval '1 minute' where name = 'dead'")
        .await;
    assert_eq!(delete().await, 4, "its own, those of the two, and the one on no node");
    for gone in [ids[0], ids[2], ids[3], waiting] {
        assert_eq!(world.find(gone).await, None);
    }
    for kept in [ids[1], fetching, folder] {
        assert!(world.find(kept).await.is_some());
    }
    assert_eq!(workspaces::delete_expired(store, alive).await.unwrap(), 1);
}

#[tokio::test]
async fn use_postpones_the_end_of_a_clone() {
    let world = World::new().await;
    let (id, folder) =
        (world.clone(&world.local, LOCAL).await, world.folder(NodeId::generate()).await);
    let before = world.find(id).await.unwrap();
    workspaces::mark_used(&world.local, id, 2 * HOUR).await.unwrap();
    assert_eq!(world.find(id).await.unwrap(), before, "not every minute");
    world.execute("update workspaces set used_at = used_at - interval '2 minutes'").await;
    for id in [id, folder] {
        workspaces::mark_used(&world.local, id, 2 * HOUR).await.unwrap();
    }
    let after = world.find(id).await.unwrap();
    assert!(after.expires_at > before.expires_at && after.used_at >= before.used_at);
    assert_eq!(world.find(folder).await.unwrap().expires_at, None);
}

#[tokio::test]
async fn directories_on_the_disk_are_those_of_existing_workspaces() {
    let world = World::new().await;
    let (store, own, other) = (world.db.store(), NodeId::generate(), NodeId::generate());
    let (here, there) =
        (world.clone(&world.local, LOCAL).await, world.clone(&world.local, LOCAL).await);
    assert!(world.begin(here, own, "a").await && world.begin(there, other, "a").await);
    let waiting = world.clone(&world.local, LOCAL).await;
    let ids = [here, there, waiting, WorkspaceId::generate()];
    let existing = workspaces::exist(store, own, &ids).await.unwrap();
    assert_eq!(existing, BTreeSet::from([here]));
    assert!(workspaces::exist(store, own, &[]).await.unwrap().is_empty());
}

#[tokio::test]
async fn space_counts_clones_of_the_user_and_bytes_of_all() {
    let world = World::new().await;
    let (ann_id, ann) = world.user("ann", Role::Member).await;
    let (bob_id, bob) = world.user("bob", Role::Viewer).await;
    let (first, second) = (world.clone(&world.local, LOCAL).await, world.clone(&ann, ann_id).await);
    let folder = world.folder(NodeId::generate()).await;
    for (id, bytes) in [(first, 5), (second, 6), (folder, 100)] {
        workspaces::set_size(world.db.store(), id, bytes).await.unwrap();
    }
    // Of another project.
    let other = world.db.project("other").await.id;
    world
        .execute(&format!(
            "insert into workspaces (id, project_id, owner_id, repo_owner, repo_name, kind,
                                     is_editable, state, size_bytes, expires_at)
             values (gen_random_uuid(), '{other}', '{ann_id}', 'o', 'n', 'clone', true, 'ready', 9,
                     now())"
        ))
        .await;

    let mut tx = ann.begin().await.unwrap();
    assert_eq!(space(&mut tx, &world, ann_id).await, (1, 11), "she does not see the other one");
    assert!(workspaces::lock_space(&mut tx, other, ann_id).await.is_err(), "of another project");
    drop(tx);
    let mut tx = bob.begin().await.unwrap();
    assert!(workspaces::lock_space(&mut tx, world.project, bob_id).await.is_err(), "a reader");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn space_is_locked_until_the_request_ends() {
    let world = World::new().await;
    let mut first = world.local.begin().await.unwrap();
    assert_eq!(space(&mut first, &world, LOCAL).await, (0, 0));
    let (local, project) = (world.local.clone(), world.project);
    let second = tokio::spawn(async move {
        let mut tx = local.begin().await.unwrap();
        workspaces::lock_space(&mut tx, project, LOCAL).await.unwrap().of_user
    });
    until_a_session_waits(&world.local).await.unwrap();
    let new = workspaces::create_clone(&mut first, &world.repository, LOCAL, "", true, HOUR);
    new.await.unwrap();
    first.commit().await.unwrap();
    assert_eq!(second.await.unwrap(), 1);
}

#[tokio::test]
async fn service_sets_neither_the_state_nor_the_place_of_files() {
    let world = World::new().await;
    let id = world.clone(&world.local, LOCAL).await;
    for column in [
        "state = 'ready'",
        "node_id = gen_random_uuid()",
        "attempt = 'a'",
        "kind = 'folder'",
        "folder = '/'",
        "is_editable = true",
        "repository_id = null",
        "owner_id = owner_id",
        "size_bytes = 0",
    ] {
        let changed = write(&world.local, &format!("update workspaces set {column}")).await;
        assert!(is_refused(changed), "{column}");
    }
    let insert = |state: &str| {
        format!(
            "insert into workspaces (id, project_id, owner_id, repo_owner, repo_name, kind, folder,
                                     is_editable, state)
             values (gen_random_uuid(), '{}', '{LOCAL}', 'o', 'n', 'folder', '/', true, '{state}')",
            world.project
        )
    };
    assert!(is_refused(write(&world.local, &insert("ready")).await));
    let service = &world.local;
    let node = NodeId::generate();
    assert!(is_refused(workspaces::begin(service, id, node, "a").await));
    assert!(is_refused(workspaces::fail(service, id, "a", "x", true).await));
    assert!(is_refused(workspaces::release(service, id, "a").await));
    assert!(is_refused(workspaces::set_size(service, id, 0).await));
    assert!(is_refused(nodes::renew(service, node, "mine", "").await));
    assert_eq!(world.state(id).await, WorkspaceState::Queued);
}

#[tokio::test]
async fn only_the_service_opens_a_directory_and_no_clone() {
    let world = World::new().await;
    let node = NodeId::generate();
    let (clone, folder) = (world.clone(&world.local, LOCAL).await, world.folder(node).await);
    let opened = world.find(folder).await.unwrap();
    assert_eq!((opened.kind, opened.state), (WorkspaceKind::Folder, WorkspaceState::Ready));
    assert_eq!((opened.node, opened.folder.as_deref()), (Some(node), Some("/home/dev/shop")));
    assert_eq!((opened.commit.as_str(), opened.expires_at), ("c1", None));
    assert!(opened.fetched_at.is_some());

    world.execute("update workspaces set state = 'queued'").await;
    let open = |id: WorkspaceId| {
        format!("select mc.open_folder('{LOCAL}', '{id}', '{}')::text", "0".repeat(64))
    };
    assert!(is_refused(text(&world.local, &open(folder)).await));
    assert!(is_refused(write(&world.local, &open(folder)).await));
    assert_eq!(world.state(folder).await, WorkspaceState::Queued);
    // The worker role needs no code.
    for (id, state) in [(clone, WorkspaceState::Queued), (folder, WorkspaceState::Ready)] {
        write(world.db.store(), &open(id)).await.unwrap();
        assert_eq!(world.state(id).await, state);
    }
}

#[tokio::test]
async fn navigation_is_found_by_its_user_until_it_is_idle() {
    let world = World::new().await;
    let id = NavigationId(uuid::Uuid::new_v4());
    let workspace = world.clone(&world.local, LOCAL).await;
    let mut tx = world.local.begin().await.unwrap();
    navigations::create(&mut tx, world.project, workspace, LOCAL, id).await.unwrap();
    tx.commit().await.unwrap();
    let find = async |store: &Store| navigations::find(store, id, HOUR).await.unwrap();
    let new = find(&world.local).await.unwrap();
    assert_eq!((new.id, new.workspace), (id, workspace));
    assert_eq!((new.cwd.as_str(), new.phase), ("", NavigationPhase::Discovery));

    // Not even by a maintainer, who sees the workspace.
    let (_, maintainer) = world.user("ann", Role::Maintainer).await;
    assert!(workspaces::find(&maintainer, workspace).await.unwrap().is_some());
    assert_eq!(find(&maintainer).await, None);
    let stolen = navigations::update(&maintainer, &new, "stolen", NavigationPhase::Edit).await;
    assert!(!stolen.unwrap());
    let mut tx = maintainer.begin().await.unwrap();
    assert!(!navigations::delete(&mut tx, id).await.unwrap());
    drop(tx);
    assert_eq!(find(&world.local).await.unwrap(), new);

    let idle = "update navigations set used_at = now() - interval '2 hours'";
    world.execute(idle).await;
    assert_eq!(find(&world.local).await, None);
    let change = async |cwd: &str| {
        navigations::update(&world.local, &new, cwd, NavigationPhase::Edit).await.unwrap()
    };
    assert!(change("src").await);
    assert!(!change("docs").await, "another call has changed it since it was read");
    let used = find(&world.local).await.unwrap();
    assert_eq!((used.cwd.as_str(), used.phase), ("src", NavigationPhase::Edit));
    world.execute(idle).await;
    navigations::touch(&world.local, id).await.unwrap();
    assert_eq!(find(&world.local).await.unwrap(), used);

    let store = world.db.store();
    assert_eq!(navigations::delete_idle(store, HOUR).await.unwrap(), 0);
    world.execute(idle).await;
    assert_eq!(navigations::delete_idle(store, 3 * HOUR).await.unwrap(), 0);
    assert_eq!(navigations::delete_idle(store, HOUR).await.unwrap(), 1);
    assert_eq!(navigations::delete_idle(store, HOUR).await.unwrap(), 0);
}

#[tokio::test]
async fn navigation_ends_by_its_user_or_with_its_workspace() {
    let world = World::new().await;
    let workspace = world.clone(&world.local, LOCAL).await;
    let [one, other] = [(); 2].map(|()| NavigationId(uuid::Uuid::new_v4()));
    let mut tx = world.local.begin().await.unwrap();
    for id in [one, other] {
        navigations::create(&mut tx, world.project, workspace, LOCAL, id).await.unwrap();
    }
    assert!(navigations::delete(&mut tx, one).await.unwrap());
    assert!(!navigations::delete(&mut tx, one).await.unwrap());
    assert!(workspaces::delete(&mut tx, workspace, WorkspaceState::ALL).await.unwrap());
    tx.commit().await.unwrap();
    assert_eq!(navigations::find(world.db.store(), other, HOUR).await.unwrap(), None);
}

#[tokio::test]
async fn node_of_a_workspace_is_alive_while_it_renews_its_row() {
    let world = World::new().await;
    let (store, node) = (world.db.store(), NodeId::generate());
    let id = world.clone(&world.local, LOCAL).await;
    let of = async |store: &Store| nodes::of_workspace(store, id).await.unwrap();
    assert_eq!(of(&world.local).await, None, "nobody fetches it yet");
    assert!(world.begin(id, node, "a").await);
    assert_eq!(of(&world.local).await, None, "an unknown node");
    nodes::renew(store, node, "one", "").await.unwrap();
    nodes::renew(store, node, "two", "http://two:7391").await.unwrap();
    let found = of(&world.local).await.unwrap();
    assert_eq!((found.id, found.is_alive), (node, true));
    assert_eq!((found.name.as_str(), found.url.as_str()), ("two", "http://two:7391"));
    let (_, stranger) = world.user("ann", Role::Member).await;
    assert_eq!(of(&stranger).await, None, "of a workspace that is another's");

    world.execute("update nodes set seen_at = now() - interval '31 seconds'").await;
    assert!(!of(&world.local).await.unwrap().is_alive);
    // Another node deletes it after a month, and not before.
    let other = NodeId::generate();
    world.execute("update nodes set seen_at = now() - interval '29 days'").await;
    nodes::renew(store, other, "other", "").await.unwrap();
    assert!(!of(&world.local).await.unwrap().is_alive);
    world.execute("update nodes set seen_at = now() - interval '31 days'").await;
    nodes::renew(store, node, "two", "").await.unwrap();
    assert!(of(&world.local).await.unwrap().is_alive, "its own row is renewed");
    let names = "select string_agg(name, ',') from nodes";
    assert_eq!(text(store, names).await.unwrap(), "two");
}
