//! The database with one check less. A test must fail if a check is removed by mistake.

mod foreign_keys;

use std::fmt::Write as _;
use std::sync::Arc;

use mc_store::testing::{execute, text};

use crate::probes;
use crate::probes::policies::{CHANGED_ONLY, KEPT_IN_PROJECT, READ_ONLY};
use crate::run::{attempts, seed, setting};
use crate::world::World;

/// Tables whose rows belong to records and have their visibility.
const OF_RECORDS: [&str; 3] = ["record_versions", "record_citations", "record_contributions"];
/// Attempts that must do to notice that a function decides less, unless `ISOLATION_MUTANT_ATTEMPTS`
/// says so.
const ENOUGH: u64 = 3_000;

/// A change of the database that removes a check.
struct Mutant {
    name: String,
    sql: String,
    /// Which takes it back.
    undo: String,
    /// Whether data of others' private records is visible as well, because the policy that hides it
    /// also hides data of other projects.
    lifted: bool,
}

/// A function, a part of its text, and the replacement.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("effective_role", " and u.disabled_at is null", ""),
    (
        "effective_role",
        "case when is_agent and granted > 'agent' then 'agent' else granted end",
        "granted",
    ),
    ("effective_role", "least(t.role, m.role)", "m.role"),
    ("effective_role", "least(t.role, m.role)", "t.role"),
    ("effective_role", "if is_admin then", "if true then"),
    ("effective_role", "m.project_id = effective_role.project and ", ""),
    (
        "effective_role",
        "effective_role.project and m.user_id = effective_role.principal",
        "effective_role.project",
    ),
    ("effective_role", "m.team_id = t.team_id and ", ""),
    ("effective_role", " and m.user_id = effective_role.principal\n            where", " where"),
    ("effective_role", "where t.project_id = effective_role.project", "where true"),
    ("set_project_context", "coalesce(role::text, 'none')", "coalesce(role::text, 'viewer')"),
    ("project_as_agent", "'{agent,", "'{viewer,agent,"),
    ("project_as_admin", "'{admin}'", "'{member,maintainer,admin}'"),
    ("find_project_by_key", "r.role, p.policy", "coalesce(r.role, 'viewer'), p.policy"),
    ("list_projects", "r.role, p.policy", "coalesce(r.role, 'viewer'), p.policy"),
    ("find_project", "r.role, p.policy", "coalesce(r.role, 'admin'), p.policy"),
    ("find_project_of_record", "select p.*", AS_ADMIN),
    (
        "find_project_of_record",
        "(r.private_to is null or r.private_to = find_project_of_record.principal)",
        "true",
    ),
    ("find_project_of_bundle", "select p.*", AS_ADMIN),
    ("find_project_of_ingest_run", "select p.*", AS_ADMIN),
    ("find_project_of_quarantine_item", "p.role >= 'maintainer'", "true"),
    ("find_project_of_quarantine_item", "p.role >= 'maintainer'", "p.role >= 'member'"),
    ("find_project_of_workspace", "select p.*", AS_ADMIN),
    ("find_project_of_navigation", "select p.*", AS_ADMIN),
    ("find_project_of_navigation", "n.user_id = find_project_of_navigation.principal", "true"),
    (
        "find_project_of_patch",
        "lateral mc.find_project(find_project_of_patch.principal, p.project_id) f",
        "lateral (select q.id, q.key, q.name, q.created_at, 'admin'::mc.role as role, q.policy, \
         q.policy_version from projects q where q.id = p.project_id) f",
    ),
    ("find_project_of_patch", "p.author_id = find_project_of_patch.principal", "true"),
    ("find_project_of_patch", "f.role >= 'maintainer'", "f.role >= 'member'"),
    ("project_as_member", "'{member,", "'{viewer,agent,member,"),
    ("project_as_maintainer", "'{maintainer,", "'{member,maintainer,"),
    ("set_audit_context", "u.is_admin and ", ""),
    (
        "set_audit_context",
        "not exists (select from projects p where p.id = set_audit_context.chain)",
        "true",
    ),
    ("set_policy", "mc.effective_role(principal, project) >= 'maintainer'", "true"),
    ("set_policy", ">= 'maintainer'", ">= 'member'"),
    ("set_policy", " and (expected_version is null or p.policy_version = expected_version)", ""),
    ("lock_audit_head", "lock_audit_head.chain is distinct from mc.project_as_viewer()", "false"),
    (
        "require_member_for_team_records",
        "mc.project_as_member() is distinct from coalesce(new.project_id, old.project_id)",
        "false",
    ),
    ("create_project", " and u.disabled_at is null", ""),
    ("create_project", " and not u.is_agent", ""),
    ("is_proved", "and code = mc.mac(session_user", "and '' <> mc.mac(session_user"),
    ("project_as_viewer", "right(context, 64) = encode(", "'' <> encode("),
    ("principal", "right(context, 64) = encode(", "'' <> encode("),
    (
        "allow_private_network",
        "not mc.is_proved('allow_private_network', principal, repository, code)",
        "false",
    ),
    ("open_folder", "not mc.is_proved('open_folder', principal, workspace, code)", "false"),
    ("workspace_space", "mc.project_as_agent() is distinct from workspace_space.project", "false"),
    ("check_private_network", "old.allows_private_network is not true", "false"),
    ("has_user_context", "split_part(context, ' ', 1) = 'user'", "true"),
    ("has_user_context", "split_part(context, ' ', 3) = principal::text", "true"),
    ("has_user_context", "right(context, 64) = mc.mac(", "'' <> mc.mac("),
    ("list_projects", "(select mc.has_user_context(list_projects.principal))", "true"),
    ("find_project_by_key", "or code = mc.mac(session_user", "or '' <> mc.mac(session_user"),
    ("find_project", "(select mc.has_user_context(find_project.principal))", "true"),
    ("create_project", "(select mc.has_user_context(create_project.principal))", "true"),
    ("set_policy", "project = mc.project_as_maintainer() and principal = mc.principal()", "true"),
    ("set_policy", "project = mc.project_as_maintainer() and ", ""),
    ("set_policy", " and principal = mc.principal()", ""),
    ("enqueue_job", "not mc.may_enqueue_job(", "false and not mc.may_enqueue_job("),
    ("may_enqueue_job", "starts_with(unique_key, target || ' ')", "true"),
    ("may_enqueue_job", "mc.project_as_agent()", "mc.project_as_viewer()"),
    ("may_enqueue_job", "mc.project_as_member()", "mc.project_as_viewer()"),
    ("may_enqueue_job", "mc.project_as_maintainer()", "mc.project_as_viewer()"),
    (
        "may_enqueue_job",
        "from ingest_runs r where r.id = target)",
        "from ingest_runs r where r.id = target) or true",
    ),
    (
        "may_enqueue_job",
        "from hygiene_runs r where r.id = target)",
        "from hygiene_runs r where r.id = target) or true",
    ),
    ("may_enqueue_job", "where c.task_id = target)", "where c.task_id = target) or true"),
    ("may_enqueue_job", "where i.id = target)", "where i.id = target) or true"),
    ("may_enqueue_job", "where d.id = target)", "where d.id = target) or true"),
    (
        "may_enqueue_job",
        "'fetch_workspace' then mc.project_as_member()",
        "'fetch_workspace' then mc.project_as_viewer()",
    ),
    ("may_enqueue_job", "where w.id = target)", "where w.id = target) or true"),
    ("may_read_figures", "project = mc.project_as_viewer()", "true"),
    ("usage_by_week", "not mc.may_read_figures(usage_by_week.project)", "false"),
    ("bugfix_lead_times", "not mc.may_read_figures(bugfix_lead_times.project)", "false"),
    ("onboarding_time", "not mc.may_read_figures(onboarding_time.project)", "false"),
    ("count_bug_fixes", "not mc.may_read_figures(count_bug_fixes.project)", "false"),
    (
        "after_integrations_delete",
        "and j.job_type = 'sync_integration' and starts_with(j.idempotency_key, i.id || ' ')",
        "",
    ),
];

const AS_ADMIN: &str =
    "select p.id, p.key, p.name, p.created_at, 'admin'::mc.role, p.policy, p.policy_version";

/// Functions whose other check is removed as well, because without the role no caller would get
/// past it.
const BESIDES: &[(&str, &str, &str)] = &[
    ("find_project_by_key", " and r.role is not null", ""),
    ("list_projects", " and r.role is not null", ""),
    ("find_project", " and r.role is not null", ""),
    (
        "find_project_of_record",
        "lateral mc.find_project(find_project_of_record.principal, r.project_id) p",
        "projects p",
    ),
    ("find_project_of_record", "where ", "where p.id = r.project_id and "),
    (
        "find_project_of_bundle",
        "lateral mc.find_project(find_project_of_bundle.principal, b.project_id) p",
        "projects p",
    ),
    ("find_project_of_bundle", "where ", "where p.id = b.project_id and "),
    (
        "find_project_of_ingest_run",
        "lateral mc.find_project(find_project_of_ingest_run.principal, i.project_id) p",
        "projects p",
    ),
    ("find_project_of_ingest_run", "where ", "where p.id = i.project_id and "),
    (
        "find_project_of_workspace",
        "lateral mc.find_project(find_project_of_workspace.principal, w.project_id) p",
        "projects p",
    ),
    ("find_project_of_workspace", "where ", "where p.id = w.project_id and "),
    (
        "find_project_of_navigation",
        "lateral mc.find_project(find_project_of_navigation.principal, n.project_id) p",
        "projects p",
    ),
    ("find_project_of_navigation", "where ", "where p.id = n.project_id and "),
];

async fn of_functions(world: &World) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (function, check, instead) in FUNCTIONS {
        let sql = format!(
            "select pg_get_functiondef(oid) from pg_proc where proname = '{function}' and \
             pronamespace = 'mc'::regnamespace"
        );
        let undo = text(world.database.store(), &sql).await.unwrap();
        let mut sql = replaced(&undo, function, check, instead);
        let besides = BESIDES.iter().filter(|(name, ..)| name == function && *instead != "true");
        for (_, check, instead) in besides {
            sql = replaced(&sql, function, check, instead);
        }
        mutants.push(Mutant {
            name: format!("mc.{function} without {check:?}"),
            sql,
            undo,
            lifted: false,
        });
    }
    mutants
}

fn replaced(text: &str, function: &str, check: &str, instead: &str) -> String {
    assert!(
        text.contains(check),
        "mc.{function} no longer says {check:?}; mend the mutants:\n{text}"
    );
    text.replacen(check, instead, 1)
}

/// For each policy of each table one that lets everything through, and for each table one without
/// any.
async fn of_policies(world: &World) -> Vec<Mutant> {
    let sql = "select string_agg(concat_ws(chr(31), tablename, policyname, coalesce(qual, ''), \
        coalesce(with_check, '')), chr(30) order by tablename, policyname)
               from pg_policies where 'memory_copilot_service' = any(roles)";
    let policies = text(world.database.store(), sql).await.unwrap();
    let mut mutants = Vec::new();
    for policy in policies.split('\u{1e}') {
        let [table, name, using, check] = policy.split('\u{1f}').collect::<Vec<_>>()[..] else {
            panic!("{policy}")
        };
        for (clause, own) in [("using", using), ("with check", check)] {
            // A policy that allows everything can't be weakened; policies on tables that are
            // read-only or update-only for the service have no effect, nor has the check of the
            // project of rows whose project it can't change.
            let is_idle = match name {
                "project_select" => false,
                "project_update" if KEPT_IN_PROJECT.contains(&table) => clause == "with check",
                "project_insert" | "project_delete" if CHANGED_ONLY.contains(&table) => true,
                _ => READ_ONLY.contains(&table),
            };
            if own.is_empty() || own == "true" || is_idle {
                continue;
            }
            mutants.push(Mutant {
                name: format!("policy {name} on {table}, {clause}"),
                sql: format!("alter policy {name} on {table} {clause} (true)"),
                undo: format!("alter policy {name} on {table} {clause} ({own})"),
                lifted: clause == "using" && name != "private_all" && OF_RECORDS.contains(&table),
            });
        }
        if name == "project_select" {
            mutants.push(Mutant {
                name: format!("{table} without row-level security"),
                sql: format!("alter table {table} disable row level security"),
                undo: format!("alter table {table} enable row level security"),
                lifted: false,
            });
            mutants.push(Mutant {
                name: format!("{table}'s policies not forced"),
                sql: format!("alter table {table} no force row level security"),
                undo: format!("alter table {table} force row level security"),
                lifted: false,
            });
        }
    }
    for (trigger, event) in
        [("memory_records_before_insert", "inserted"), ("memory_records_before_update", "changed")]
    {
        mutants.push(Mutant {
            name: format!("records that count {event} by anybody"),
            sql: format!("alter table memory_records disable trigger {trigger}"),
            undo: format!("alter table memory_records enable trigger {trigger}"),
            lifted: false,
        });
    }
    mutants.push(Mutant {
        name: "the private network open to SQL".into(),
        sql: "alter table repositories disable trigger repositories_before_write".into(),
        undo: "alter table repositories enable trigger repositories_before_write".into(),
        lifted: false,
    });
    mutants.push(Mutant {
        name: "the feed readable".into(),
        sql: "grant select on change_feed to memory_copilot_service".into(),
        undo: "revoke select on change_feed from memory_copilot_service".into(),
        lifted: false,
    });
    mutants
}

/// Returns the check that detects the mutant; `None` if none does. If time allows, attempts run
/// first.
async fn noticed(world: &Arc<World>, mutant: &Mutant, with_attempts: bool) -> Option<&'static str> {
    if mutant.lifted {
        return lifted(world, mutant).await;
    }
    change(world, &mutant.name, &mutant.sql).await;
    let goes_first = with_attempts && every() == 1;
    let noticed = if goes_first && attempts(world, seed(), 0, enough()).await.is_err() {
        Some("an attempt")
    } else if probes::of_the_database(world).await.is_err() {
        Some("a probe")
    } else {
        None
    };
    change(world, &mutant.name, &mutant.undo).await;
    noticed
}

async fn lifted(world: &World, mutant: &Mutant) -> Option<&'static str> {
    let hidden = "private_to is null or private_to = (select mc.principal())";
    for table in OF_RECORDS {
        let lift = format!("alter policy private_all on {table} using (true) with check (true)");
        change(world, table, &lift).await;
    }
    probes::without_the_policy_of_records(world).await.unwrap();
    change(world, &mutant.name, &mutant.sql).await;
    let is_noticed = probes::without_the_policy_of_records(world).await.is_err();
    change(world, &mutant.name, &mutant.undo).await;
    for table in OF_RECORDS {
        let hide =
            format!("alter policy private_all on {table} using ({hidden}) with check ({hidden})");
        change(world, table, &hide).await;
    }
    is_noticed.then_some("a probe")
}

async fn change(world: &World, name: &str, sql: &str) {
    execute(world.url(), sql).await.unwrap_or_else(|error| panic!("{name}: {error:?}"));
}

fn enough() -> u64 {
    setting("ISOLATION_MUTANT_ATTEMPTS", ENOUGH)
}

/// Every n-th mutant of the policies, and of the functions; each when n is 1.
fn every() -> usize {
    usize::try_from(setting("ISOLATION_MUTANTS_EVERY", 12)).unwrap().max(1)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_rls_policy_is_detected() {
    let world = Arc::new(World::build(seed()).await);
    let mutants = of_policies(&world).await;
    assert!(mutants.len() > 90, "{} mutants", mutants.len());
    all_are_noticed(&world, &mutants, "policies").await;
}

/// Applies every n-th mutant, and fails if no probe detects it.
async fn all_are_noticed(world: &Arc<World>, mutants: &[Mutant], of: &str) {
    let (mut report, mut missed) = (String::new(), Vec::new());
    for mutant in mutants.iter().step_by(every()) {
        match noticed(world, mutant, false).await {
            Some(by) => writeln!(report, "{}: noticed by {by}", mutant.name).unwrap(),
            None => missed.push(mutant.name.clone()),
        }
    }
    assert!(missed.is_empty(), "nothing notices this: {missed:?}");
    // Taking them back has put everything in order again.
    probes::of_the_database(world).await.unwrap();
    println!("{report}{} mutants of {of}, all noticed", mutants.len().div_ceil(every()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weakened_sql_function_is_detected() {
    let count = FUNCTIONS.len();
    let (mut report, mut missed) = (String::new(), Vec::new());
    for n in (0..count).step_by(every()) {
        // The next mutant must not find rows that attempts of this one have written.
        let world = Arc::new(World::build(seed()).await);
        let mutant = of_functions(&world).await.swap_remove(n);
        match noticed(&world, &mutant, true).await {
            Some(by) => writeln!(report, "{}: noticed by {by}", mutant.name).unwrap(),
            None => missed.push(mutant.name.clone()),
        }
    }
    assert!(missed.is_empty(), "nothing notices this: {missed:?}");
    println!("{report}{} mutants of functions, all noticed", count.div_ceil(every()));
}
