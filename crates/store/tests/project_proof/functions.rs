//! Functions with access to all projects. SQL of an attacker's choice can call those that the
//! service role may execute, but without a proof they return and change nothing.

use std::collections::BTreeSet;

use mc_domain::{ProjectId, ProjectKey, UserId};
use mc_postgres::context_key::ContextKey;
use mc_store::testing::{chains, execute, last_text, text};
use mc_store::{Result, Store, projects};

use super::{LOCAL, World, code_in, is_refused, message_with, set};

const NIL: &str = "00000000-0000-0000-0000-000000000000";
/// Functions without a proof. They return whether the job with an id is due or has finished, but
/// not its kind, arguments or project.
const REVIEWED: [&str; 2] = ["mc.is_job_due(text)", "mc.is_job_finished(text)"];
/// Job kinds that API requests enqueue, the argument with the id of their row, and its table.
const JOBS: [(&str, &str, &str); 6] = [
    ("index_repository", "run", "ingest_runs"),
    ("post_task_comment", "task", "tasks"),
    ("run_hygiene_task", "report", "hygiene_runs"),
    ("sync_integration", "id", "integrations"),
    ("process_delivery", "id", "webhook_deliveries"),
    ("fetch_workspace", "id", "workspaces"),
];

/// A call of a function for the administrator, or in the other project.
struct Call {
    /// The function, as the catalog names it.
    function: &'static str,
    sql: String,
}

fn keys(function: &'static str, arguments: &str) -> Call {
    let name = function.split('(').next().unwrap();
    let sql = format!("select coalesce(string_agg(key, ','), '') from {name}({arguments})");
    Call { function, sql }
}

fn value(function: &'static str, arguments: &str) -> Call {
    let name = function.split('(').next().unwrap();
    Call { function, sql: format!("select coalesce({name}({arguments})::text, '')") }
}

/// A call of a function that returns a row for each project that it may read.
fn rows(function: &'static str, arguments: &str) -> Call {
    let name = function.split('(').next().unwrap();
    let sql = format!("select nullif(count(*), 0)::text from {name}({arguments})");
    Call { function, sql: format!("select coalesce(({sql}), '')") }
}

fn enqueue(kind: &str, key: &str, argument: &str, id: &str) -> Call {
    let args = format!("'{kind}', {key}, '{{\"{argument}\": \"{id}\"}}', now(), 3");
    value("mc.enqueue_job(text,text,jsonb,timestamp with time zone,integer)", &args)
}

impl World {
    /// Adds a row of every table, and an audit event, to the other project.
    pub(super) async fn with_rows() -> Self {
        let world = Self::new().await;
        let theirs = world.theirs;
        world.add_rows(theirs, 1).await;
        let more = format!(
            "do $$ begin
                 update tasks set integration_id =
                     (select id from integrations where project_id = '{theirs}')
                 where project_id = '{theirs}';
                 -- A bug fix of the future.
                 update tasks set labels = '{{bug}}', opened_at = now() + interval '1 hour'
                 where project_id = '{theirs}';
                 update pull_requests set state = 'merged', author = 'x',
                     merged_at = now() + interval '2 hours'
                 where project_id = '{theirs}';
                 -- The project's policy has no version yet.
                 delete from policy_versions where project_id = '{theirs}';
                 insert into audit_events
                     (chain, seq, occurred_at, action, target, details, key_id, mac)
                 values ('{theirs}', 1, now(), 'x', 'x', '{{}}', '\\x00', '\\x00');
             end $$"
        );
        execute(world.db.url(), &more).await.unwrap();
        world
    }

    /// Adds a row of every table to a project, the `n`-th one, in place of its task.
    pub(super) async fn add_rows(&self, project: ProjectId, n: usize) {
        let delete = format!("delete from tasks where project_id = '{project}'");
        execute(self.db.url(), &delete).await.unwrap();
        let rows =
            include_str!("../isolation/rows.sql").replace(":project", &format!("'{project}'"));
        execute(self.db.url(), &rows.replace(":n", &n.to_string())).await.unwrap();
    }

    /// Returns the id of the project's row in a table.
    pub(super) async fn id_in(&self, table: &str, project: ProjectId) -> String {
        let sql = format!("select id::text from {table} where project_id = '{project}'");
        text(self.db.store(), &sql).await.unwrap()
    }

    /// Returns the id of the other project's row in a table.
    async fn theirs_in(&self, table: &str) -> String {
        self.id_in(table, self.theirs).await
    }

    /// Returns calls of every function that needs a proof, without its code if it takes one.
    async fn calls(&self) -> Vec<Call> {
        let theirs = self.theirs;
        let by_id = async |function: &'static str, table: &str| {
            let id = self.theirs_in(table).await;
            keys(function, &format!("'{LOCAL}', '{id}'"))
        };
        let mut calls = vec![
            keys("mc.list_projects(uuid)", &format!("'{LOCAL}'")),
            by_id("mc.find_project_of_record(uuid,uuid)", "memory_records").await,
            by_id("mc.find_project_of_bundle(uuid,uuid)", "bundles").await,
            by_id("mc.find_project_of_ingest_run(uuid,uuid)", "ingest_runs").await,
            by_id("mc.find_project_of_quarantine_item(uuid,uuid)", "quarantine_items").await,
            by_id("mc.find_project_of_workspace(uuid,uuid)", "workspaces").await,
            by_id("mc.find_project_of_navigation(uuid,uuid)", "navigations").await,
            by_id("mc.find_project_of_patch(uuid,uuid)", "patches").await,
            value(
                "mc.create_project(uuid,uuid,text,text)",
                &format!("'{LOCAL}', gen_random_uuid(), 'new', ''"),
            ),
            value(
                "mc.set_policy(uuid,uuid,integer,jsonb)",
                &format!("'{LOCAL}', '{theirs}', null, '{{}}'"),
            ),
            Call {
                function: "mc.find_task_integration(uuid)",
                sql: format!(
                    "select coalesce(string_agg(resource, ','), '')
                     from mc.find_task_integration('{}')",
                    self.theirs_in("tasks").await
                ),
            },
            rows(
                "mc.usage_by_week(uuid,uuid,timestamp with time zone,integer)",
                &format!("'{theirs}', null, '2026-11-23 00:00Z', 1"),
            ),
            rows(
                "mc.bugfix_lead_times(uuid,uuid,timestamp with time zone,\
                 timestamp with time zone,timestamp with time zone)",
                &format!("'{theirs}', null, now(), now() + interval '1 day', now()"),
            ),
            rows(
                "mc.onboarding_time(uuid,uuid,timestamp with time zone,timestamp with time zone)",
                &format!("'{theirs}', null, now(), now()"),
            ),
            rows("mc.count_bug_fixes(uuid)", &format!("'{theirs}'")),
            rows("mc.workspace_space(uuid,uuid)", &format!("'{theirs}', '{LOCAL}'")),
            Call {
                function: "mc.lock_audit_head(uuid,bigint)",
                sql: format!("select seq::text from mc.lock_audit_head('{theirs}', null)"),
            },
            value(
                "mc.append_audit_events(uuid,bigint,bytea,bigint[],timestamp with time zone[],\
                 uuid[],text[],text[],text[],bytea[],bytea[])",
                &format!(
                    "'{theirs}', null, null, array[2::bigint], array[now()], array[null::uuid],
                     array['x'], array['x'], array['{{}}'], array[''::bytea], array[''::bytea]"
                ),
            ),
        ];
        for (kind, argument, table) in JOBS {
            calls.push(enqueue(kind, "null", argument, &self.theirs_in(table).await));
        }
        for function in [
            "mc.principal()",
            "mc.project_as_viewer()",
            "mc.project_as_agent()",
            "mc.project_as_member()",
            "mc.project_as_maintainer()",
            "mc.project_as_admin()",
        ] {
            calls.push(value(function, ""));
        }
        calls
    }

    /// Returns calls of the functions that take a code, without a valid one.
    fn calls_with_a_code(&self) -> Vec<Call> {
        let (theirs, code) = (self.theirs, "0".repeat(64));
        vec![
            value(
                "mc.set_project_context(uuid,uuid,text)",
                &format!("'{LOCAL}', '{theirs}', '{code}'"),
            ),
            value("mc.set_audit_context(uuid,uuid,text)", &format!("'{LOCAL}', '{NIL}', '{code}'")),
            value("mc.set_user_context(uuid,uuid,text)", &format!("'{LOCAL}', '{NIL}', '{code}'")),
            keys(
                "mc.find_project_by_key(uuid,text,text)",
                &format!("'{LOCAL}', 'theirs', '{code}'"),
            ),
            value("mc.offboard_user(uuid,uuid,text)", &format!("'{LOCAL}', '{NIL}', '{code}'")),
            value(
                "mc.allow_private_network(uuid,uuid,text)",
                &format!("'{LOCAL}', '{theirs}', '{code}'"),
            ),
            value("mc.open_folder(uuid,uuid,text)", &format!("'{LOCAL}', '{NIL}', '{code}'")),
        ]
    }

    /// Returns whether a call reveals and changes nothing. The ids of the entered user and project
    /// are not secret.
    fn is_nothing(&self, got: Result<String>) -> bool {
        match got {
            Ok(text) => {
                text.is_empty() || text == self.ann_id.to_string() || text == self.ours.to_string()
            }
            refused => is_refused(refused),
        }
    }
}

#[tokio::test]
async fn function_without_a_proof_yields_nothing() {
    let world = World::with_rows().await;
    let as_ann = world.db.service().for_user(world.ann_id);
    let mac = "0".repeat(64);
    let forged = [
        set("memory_copilot.context", &format!("user {NIL} {LOCAL} {mac}")),
        set("memory_copilot.context", &format!("admin {} {LOCAL} {mac}", world.theirs)),
    ];
    for call in world.calls().await.into_iter().chain(world.calls_with_a_code()) {
        for store in [world.db.service(), &world.ann, &as_ann] {
            let got = last_text(store, &[&call.sql]).await;
            assert!(world.is_nothing(got), "{}", call.sql);
            for context in &forged {
                let got = last_text(store, &[context, &call.sql]).await;
                assert!(world.is_nothing(got), "{} after {context}", call.sql);
            }
        }
    }
}

#[tokio::test]
async fn function_with_a_proof_yields_something() {
    let world = World::with_rows().await;
    let as_local = world.db.service().for_user(LOCAL);
    for call in world.calls().await {
        let mut outcomes = Vec::new();
        for store in [&as_local, &world.local] {
            outcomes.push(last_text(store, &[&call.sql]).await);
        }
        let yields = |got: &Result<String>| got.as_ref().is_ok_and(|text| !text.is_empty());
        assert!(outcomes.iter().any(yields), "{}: {outcomes:?}", call.sql);
    }
}

#[tokio::test]
async fn security_definer_functions_take_a_proof_or_are_reviewed() {
    let world = World::with_rows().await;
    let sql = "select string_agg(p.oid::regprocedure::text, ';')
               from pg_proc p join pg_namespace n on n.oid = p.pronamespace
               where p.prosecdef
                   and has_schema_privilege('memory_copilot_service', n.oid, 'usage')
                   and has_function_privilege('memory_copilot_service', p.oid, 'execute')";
    let listed = text(world.db.service(), sql).await.unwrap();
    let listed: BTreeSet<_> = listed.split(';').collect();
    let calls = world.calls().await.into_iter().chain(world.calls_with_a_code());
    let expected: BTreeSet<_> = calls.map(|call| call.function).chain(REVIEWED).collect();
    // A new function needs a proof and a call above, or a review and an entry in SECURITY.md; one
    // that only other functions need must not be executable by the service role.
    assert_eq!(listed, expected);
}

#[tokio::test]
async fn context_of_a_user_takes_a_code_of_its_own() {
    let world = World::new().await;
    let call = |code: &str| format!("select mc.set_user_context('{LOCAL}', '{NIL}', {code})");
    let single = Store::connect(&world.db.logins().service, 1, chains()).await.unwrap();
    let tx = single.for_user(LOCAL).begin().await.unwrap();
    let of_user = message_with(&world.ann, "set_user_context", &LOCAL.to_string()).await;
    tx.commit().await.unwrap();
    let tx = world.local.begin().await.unwrap();
    let of_project = message_with(&world.ann, "set_project_context", &LOCAL.to_string()).await;
    tx.commit().await.unwrap();
    let (of_user, of_project) = (code_in(&of_user), code_in(&of_project));
    for code in ["null", "''", "repeat('0', 64)", &*of_user, &*of_project] {
        // The one connection of `single` has sent the message of the user.
        for store in [&world.ann, world.db.service(), &single] {
            assert!(is_refused(last_text(store, &[&call(code)]).await), "{code}");
            assert!(is_refused(text(store, &call(code)).await), "{code}");
        }
    }
    assert!(world.reveals_nothing(&[&super::set_context(world.theirs, &of_user)]).await);
    single.close().await;
}

#[tokio::test]
async fn lookup_by_key_takes_a_code_of_its_own() {
    let world = World::new().await;
    let find = |key: &str, code: &str| {
        format!("select key from mc.find_project_by_key('{LOCAL}', '{key}', {code})")
    };
    let single = Store::connect(&world.db.logins().service, 1, chains()).await.unwrap();
    let key = ProjectKey::parse("theirs").unwrap();
    assert!(projects::find(&single, world.ann_id, &key).await.unwrap().is_none());
    let found = projects::find(&single, LOCAL, &key).await.unwrap().unwrap();
    assert_eq!((found.id, &found.key), (world.theirs, &key));
    // Other sessions see the statement, but not its parameters.
    let sent = "select query from pg_stat_activity
                where datname = current_database() and query like '%from mc.find_project_by_key%'
                    and pid <> pg_backend_pid()";
    let sent = text(&world.ann, sent).await.unwrap();
    assert!(sent.ends_with("from mc.find_project_by_key($1, $2, $3)"), "{sent}");
    let tx = single.for_user(LOCAL).begin().await.unwrap();
    let of_user = message_with(&world.ann, "set_user_context", &LOCAL.to_string()).await;
    tx.commit().await.unwrap();
    let of_user = code_in(&of_user);
    for code in ["null", "''", "repeat('0', 64)", &*of_user] {
        for store in [&world.ann, world.db.service(), &single] {
            assert!(is_refused(text(store, &find("theirs", code)).await), "{code}");
            assert!(is_refused(last_text(store, &[&find("theirs", code)]).await), "{code}");
        }
    }
    // The worker role needs no code.
    assert_eq!(text(world.db.store(), &find("theirs", "''")).await.unwrap(), "theirs");
    single.close().await;
}

#[tokio::test]
async fn code_of_a_lookup_is_valid_for_one_session_user_and_project() {
    let world = World::new().await;
    let connect = async || Store::connect(&world.db.logins().service, 1, chains()).await.unwrap();
    let (single, other) = (connect().await, connect().await);
    let key = ContextKey::of_login(&world.db.logins().service).unwrap();
    let pid = text(&single, "select pg_backend_pid()::text").await.unwrap().parse().unwrap();
    let code = key.code(pid, &format!("find_project_by_key {LOCAL} theirs"));
    let find = |user: UserId, project: &str| {
        format!("select key from mc.find_project_by_key('{user}', '{project}', '{code}')")
    };
    assert_eq!(text(&single, &find(LOCAL, "theirs")).await.unwrap(), "theirs");
    assert!(is_refused(text(&other, &find(LOCAL, "theirs")).await), "another session");
    assert!(is_refused(text(&single, &find(LOCAL, "ours")).await), "another project");
    assert!(is_refused(text(&single, &find(world.ann_id, "theirs")).await), "another user");
    single.close().await;
    other.close().await;
}

#[tokio::test]
async fn context_of_a_project_finds_no_other_project_of_the_user() {
    let world = World::new().await;
    let list = format!(
        "select coalesce(string_agg(key, ',' order by key), '') from mc.list_projects('{LOCAL}')"
    );
    assert_eq!(last_text(&world.local, &[&list]).await.unwrap(), "");
    let as_local = world.db.service().for_user(LOCAL);
    assert_eq!(last_text(&as_local, &[&list]).await.unwrap(), "ours,theirs");
    assert_eq!(text(&as_local, &list).await.unwrap(), "ours,theirs", "read-only");
    let rows = "select count(*)::text from projects";
    assert_eq!(last_text(&as_local, &[rows]).await.unwrap(), "0");
    // The worker role needs no proof.
    assert_eq!(text(world.db.store(), &list).await.unwrap(), "ours,theirs");
}

#[tokio::test]
async fn job_has_a_kind_and_a_key_of_its_own_row() {
    let world = World::with_rows().await;
    let theirs = world.theirs_in("hygiene_runs").await;
    let run = "019a0000-0000-7000-8000-000000000001";
    let insert = format!(
        "with new as (insert into hygiene_runs (id, project_id, task, is_dry_run)
             values ('{run}', '{}', 'expiry', true) returning id)
         select id::text from new",
        world.ours
    );
    let attempt = async |call: Call| last_text(&world.ann, &[&insert, &call.sql]).await;
    let kind = "run_hygiene_task";
    for key in ["null".to_owned(), format!("'{run} today'")] {
        let enqueued = attempt(enqueue(kind, &key, "report", run)).await.unwrap();
        assert!(!enqueued.is_empty(), "{key}");
    }
    for key in ["'today'".to_owned(), format!("'{theirs} today'")] {
        assert!(is_refused(attempt(enqueue(kind, &key, "report", run)).await), "{key}");
    }
    for (kind, argument) in [("schedule_hygiene", "report"), ("sync_integration", "id")] {
        assert!(is_refused(attempt(enqueue(kind, "null", argument, run)).await), "{kind}");
    }
}

#[tokio::test]
async fn policy_is_set_for_the_principal_of_the_context() {
    let world = World::new().await;
    let set_for = async |principal: UserId| {
        let arguments = format!("'{principal}', '{}', null, '{{}}'", world.ours);
        let call = value("mc.set_policy(uuid,uuid,integer,jsonb)", &arguments);
        last_text(&world.ann, &[&call.sql]).await.unwrap()
    };
    assert_eq!(set_for(world.ann_id).await, "1");
    assert_eq!(set_for(LOCAL).await, "");
}

#[tokio::test]
async fn functions_of_triggers_cannot_be_used_on_other_tables() {
    let world = World::new().await;
    let create = |function: &str| {
        format!(
            "create trigger theirs after delete on mine for each statement
             execute function mc.{function}()"
        )
    };
    let attempt = async |function: &str| {
        last_text(&world.ann, &["create temp table mine (id uuid)", &create(function)]).await
    };
    for function in [
        "after_passages_insert",
        "after_passages_update",
        "after_passages_delete",
        "after_docs_delete",
        "after_integrations_delete",
    ] {
        assert!(is_refused(attempt(function).await), "{function}");
    }
    // This function runs with the rights of its caller, so the service role may use it.
    assert!(!is_refused(attempt("copy_private_to").await), "the test is blind");
}
