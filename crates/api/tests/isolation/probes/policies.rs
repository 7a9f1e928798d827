//! PostgreSQL without the code's filters: statements on every table that say nothing of projects.

use std::collections::BTreeMap;

use mc_store::audit::Chain;
use mc_store::testing::{text, write};
use mc_store::{Error, Store};
use serde_json::{Value, json};

use crate::oracle::{self, Rank};
use crate::run::Fault;
use crate::world::{Person, Post, Project, World};

/// Tables that only an administrator of a project writes to.
const MANAGED: [&str; 3] = ["projects", "project_members", "project_teams"];
/// Tables of a project that only its maintainers see.
const CURATED: [&str; 8] = [
    "quarantine_items",
    "audit_events",
    "audit_checkpoints",
    "webhooks",
    "webhook_deliveries",
    "integrations",
    "deletion_candidates",
    "hygiene_runs",
];
/// Tables that are read-only for the service: SQL functions or background services write them.
pub const READ_ONLY: [&str; 15] = [
    "policy_versions",
    "audit_checkpoints",
    "pull_requests",
    "pull_request_commits",
    "pull_request_tasks",
    "pull_request_file_lists",
    "pull_request_files",
    "pushed_commits",
    "ci_results",
    "doc_parts",
    "deletion_candidates",
    "exports",
    "history_commits",
    "history_commit_files",
    "hnsw_sources",
];
/// Tables in which the service may only update rows: background services insert and delete them.
pub const CHANGED_ONLY: [&str; 2] = ["webhook_deliveries", "duplicate_clusters"];
/// Tables with usage data: persons see their own rows, and maintainers all. The service adds rows
/// of its user alone, and nothing changes one. Counts of reads are not deleted before the audit has
/// them.
const USAGE: [&str; 4] = ["save_outcomes", "client_sessions", "read_counts", "dialog_outcomes"];
/// Tables whose rows belong to a user: the column that says to whom, and whether maintainers see
/// those of others. They delete others' workspaces, and change others' patches.
const OWNED: [(&str, &str, bool); 3] = [
    ("workspaces", "owner_id", true),
    ("navigations", "user_id", false),
    ("patches", "author_id", true),
];
/// Tables of which the service may update some columns, and not that of the project.
pub const KEPT_IN_PROJECT: [&str; 2] = ["workspaces", "patches"];
/// Tables with private data: `private_to` has the owner of a row.
const PRIVATE: [&str; 7] = [
    "memory_records",
    "passages",
    "embeddings",
    "embedding_queue",
    "record_versions",
    "record_citations",
    "record_contributions",
];
/// Number of tables that are tested without the policy of records.
const OF_RECORDS: usize = 4;
/// Tables of no project, which the service must not read: they hold ids of all.
const FORBIDDEN: [&str; 2] = ["change_feed", "change_feed_watermark"];

/// Tests the policies. With `lifted`, tables whose rows belong to records are tested without the
/// policy that hides data of others' private records, which precedes their other policies.
pub async fn policies(world: &World, lifted: bool) -> Result<(), Fault> {
    let private = if lifted { &PRIVATE[..OF_RECORDS] } else { &PRIVATE[..] };
    let tables = tables(world).await?;
    forced(world, &tables).await?;
    nobody_entered(world, &tables).await?;
    let main =
        |tenant| world.projects.iter().find(|one: &&Project| one.is_main && one.tenant == tenant);
    let (ours, theirs) = (main(0).expect("a project"), main(1).expect("a project"));
    let of = |tenant, post| move |one: &&Person| one.tenant == tenant && one.post == post;
    for (tenant, post) in [
        (Some(0), Post::Viewer),
        (Some(0), Post::Agent),
        (Some(0), Post::Member),
        (Some(0), Post::Maintainer),
        (Some(0), Post::Admin),
        (Some(0), Post::Teammate),
        (Some(0), Post::Removed),
        (Some(0), Post::Disabled),
        // The team of the next tenant may read this project.
        (Some(1), Post::Teammate),
        (Some(2), Post::Admin),
        (None, Post::Stranger),
        (None, Post::Root),
    ] {
        let person = world.people.iter().find(of(tenant, post)).expect("everybody");
        reads(world, &tables, private, person, ours).await?;
        writes(world, &tables, private, person, ours, theirs).await?;
        chains(world, person, ours, theirs).await?;
    }
    Ok(())
}

/// Only who works in a project may lengthen its audit, and only who administers the service reads
/// that of the service.
async fn chains(
    world: &World,
    person: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    for (chain, is_ours) in [(ours, true), (theirs, false)] {
        let head = format!("select * from mc.lock_audit_head('{}', null)", chain.id);
        let is_refused = is_refused(&write(&world.as_seen_by(person, ours), &head).await);
        let may = is_ours && oracle::role(person, ours).is_some();
        if is_refused == may {
            return Err(format!(
                "the {:?} of {:?} gets the end of a chain ({is_ours}, {may})",
                person.post, person.tenant
            ));
        }
    }
    let user = mc_domain::UserId(person.id);
    for project in [ours, theirs] {
        let chain = Chain::Project(mc_domain::ProjectId(project.id));
        let live = world.database.service().for_audit(user, chain);
        let seen = read(&live, "select count(*)::text from audit_events").await?;
        if seen != "0" {
            return Err(format!(
                "the {:?} of {:?} sees {seen} events of a live project as if it was removed",
                person.post, person.tenant
            ));
        }
    }
    let service = world.database.service().for_audit(user, Chain::Service);
    let seen = read(&service, "select count(*)::text from audit_events").await?;
    if (seen != "0") == person.administers_service() {
        Ok(())
    } else {
        Err(format!(
            "the {:?} of {:?} sees {seen} events of the service",
            person.post, person.tenant
        ))
    }
}

/// Tables with private data.
type Private = &'static [&'static str];

/// Each table with rows of projects, and the column that says of which.
type Tables = Vec<(String, &'static str)>;

async fn tables(world: &World) -> Result<Tables, Fault> {
    let sql = "select string_agg(distinct table_name, ',') from information_schema.columns
               where table_schema = 'public' and column_name = 'project_id'";
    let names = read(world.database.store(), sql).await?;
    let mut tables: Tables = names.split(',').map(|name| (name.to_owned(), "project_id")).collect();
    tables.push(("projects".into(), "id"));
    tables.extend(["audit_events", "audit_checkpoints"].map(|name| (name.to_owned(), "chain")));
    if tables.len() < 24 {
        return Err(format!("only {tables:?} belong to projects: the probe is blind"));
    }
    Ok(tables)
}

async fn forced(world: &World, tables: &Tables) -> Result<(), Fault> {
    let names: Vec<_> = tables.iter().map(|(name, _)| format!("'{name}'")).collect();
    let sql = format!(
        "select coalesce(string_agg(relname, ','), '') from pg_class where relname in ({})
        and relnamespace = 'public'::regnamespace and not (relrowsecurity and relforcerowsecurity)",
        names.join(", ")
    );
    let open = read(world.database.store(), &sql).await?;
    if !open.is_empty() {
        return Err(format!("{open} are not under forced policies"));
    }
    for table in FORBIDDEN {
        if !is_refused(&write(world.database.service(), &format!("select from {table}")).await) {
            return Err(format!("the service reads {table}"));
        }
    }
    Ok(())
}

async fn nobody_entered(world: &World, tables: &Tables) -> Result<(), Fault> {
    let seen = read(world.database.service(), &counted(tables, None, None)).await?;
    let any = counts(&seen).into_iter().find(|(_, (all, _))| *all > 0);
    any.map_or(Ok(()), |(table, _)| Err(format!("who has entered nothing sees rows of {table}")))
}

/// Everybody sees all rows of the project they entered, and no others; strangers see none.
async fn reads(
    world: &World,
    tables: &Tables,
    private: Private,
    person: &Person,
    project: &Project,
) -> Result<(), Fault> {
    let there = world.database.store();
    let there =
        counts(&read(there, &counted(tables, Some(project), Some((person, private)))).await?);
    let sql = counted(tables, Some(project), None);
    let seen = counts(&read(&world.as_seen_by(person, project), &sql).await?);
    let role = oracle::role(person, project);
    for (table, (all, own)) in &there {
        let is_owned = owned(table).is_some();
        let sees_all = owned(table).is_none_or(|(_, is_curated)| is_curated);
        let is_usage = USAGE.contains(&table.as_str());
        let sees_own_alone = !sees_all || (is_owned || is_usage) && role < Some(Rank::Maintainer);
        let lacks_own = is_owned && *own == 0 && project.private_of(person).is_some();
        if lacks_own || !sees_own_alone && (*own == 0 || own == all) {
            return Err(format!(
                "{table} has not rows of several projects: the probe is blind; add some in world"
            ));
        }
        let least = if CURATED.contains(&table.as_str()) { Rank::Maintainer } else { Rank::Viewer };
        let expected = if role >= Some(least) { (*own, *own) } else { (0, 0) };
        if seen.get(table) != Some(&expected) {
            return Err(format!(
                "the {:?} of {:?} sees {:?} rows of {table} (all, and the project's) instead of \
                 {expected:?}",
                person.post,
                person.tenant,
                seen.get(table)
            ));
        }
    }
    Ok(())
}

/// Returns a query that counts the rows of each table, and those of a project. Private rows count
/// only if they belong to `reader`, if there is one.
fn counted(
    tables: &Tables,
    project: Option<&Project>,
    reader: Option<(&Person, Private)>,
) -> String {
    let id = project.map_or_else(uuid::Uuid::nil, |project| project.id);
    let each: Vec<_> = tables
        .iter()
        .map(|(table, column)| {
            let readers = match reader {
                Some((reader, private)) if private.contains(&table.as_str()) => {
                    format!("and coalesce(private_to = '{}', true)", reader.id)
                }
                Some((reader, _)) if USAGE.contains(&table.as_str()) => {
                    owned_by(reader, project, ("user_id", true))
                }
                Some((reader, _)) => {
                    owned(table).map_or_else(String::new, |owned| owned_by(reader, project, owned))
                }
                _ => String::new(),
            };
            format!(
                "select '{table}' as name, count(*) as n, count(*) filter (where {column} = '{id}' \
            {readers}) as own from {table}"
            )
        })
        .collect();
    format!(
        "select string_agg(name || ' ' || n || ' ' || own, ',') from ({}) as counted",
        each.join(" union all ")
    )
}

/// Returns the column of a table that says to whom a row belongs, and whether maintainers see those
/// of others; `None` for tables whose rows belong to nobody.
fn owned(table: &str) -> Option<(&'static str, bool)> {
    let (_, column, is_curated) = OWNED.into_iter().find(|(name, ..)| *name == table)?;
    Some((column, is_curated))
}

/// Returns the condition for rows of users that a person may see.
fn owned_by(
    reader: &Person,
    project: Option<&Project>,
    (column, is_curated): (&str, bool),
) -> String {
    let role = project.and_then(|project| oracle::role(reader, project));
    if is_curated && role >= Some(Rank::Maintainer) {
        return String::new();
    }
    format!("and {column} = '{}'", reader.id)
}

fn counts(text: &str) -> BTreeMap<String, (i64, i64)> {
    let number = |text: Option<&str>| text.and_then(|text| text.parse().ok()).expect("a count");
    text.split(',')
        .map(|entry| {
            let mut words = entry.split(' ');
            (
                words.next().expect("a table").to_owned(),
                (number(words.next()), number(words.next())),
            )
        })
        .collect()
}

/// Tests that writes stay within the project of the transaction and the role; all are rolled back.
async fn writes(
    world: &World,
    tables: &Tables,
    private: Private,
    person: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let role = oracle::role(person, ours);
    let there = counted(tables, Some(ours), Some((person, private)));
    let there = counts(&read(world.database.store(), &there).await?);
    let mut block = "declare n bigint; noted text := ''; begin ".to_owned();
    let mut made = 0;
    let mut of_person = BTreeMap::new();
    for (table, column, _) in OWNED {
        let sql = format!(
            "select count(*)::text from {table} where project_id = '{}' and {column} = '{}'",
            ours.id, person.id
        );
        of_person.insert(table, read(world.database.store(), &sql).await?);
    }
    for (table, column) in tables {
        let mut statements = writes_to(world, (table, column), person, (ours, theirs)).await?;
        if private.contains(&table.as_str()) {
            let others = format!("{column} = '{}' and private_to <> '{}'", ours.id, person.id);
            let copied = copy(world, table, (&others, ""), &json!({})).await?;
            statements.push(("add-others", copied));
        }
        made += statements.len();
        for (what, statement) in statements {
            block.push_str(&format!(
                "begin {statement}; get diagnostics n = row_count; raise exception using errcode = \
                 'ZZ001', message = n::text;
                 exception when others then noted := noted || '{table} {what} ' || sqlstate || ' '
                    || (case sqlstate when 'ZZ001' then sqlerrm else '-' end) || ','; end; "));
        }
    }
    block.push_str("raise exception using errcode = 'ZZ002', message = noted; end");
    let noted = match write(&world.as_seen_by(person, ours), &format!("do $probe$ {block} $probe$"))
        .await
    {
        Err(Error::Statement(error)) => error
            .as_database_error()
            .map(|error| error.message().to_owned())
            .ok_or_else(|| error.to_string())?,
        other => return Err(format!("the probe itself failed: {other:?}")),
    };
    let mut seen = 0;
    for entry in noted.split(',').filter(|entry| !entry.is_empty()) {
        let words: Vec<_> = entry.split(' ').collect();
        let [table, what, state, rows] = words[..] else {
            return Err(format!("the probe itself failed: {noted}"));
        };
        let is_fixed = READ_ONLY.contains(&table);
        let may = role >= Some(least_role(table)) && !is_fixed;
        // The copied row of usage data is another user's.
        let is_addable = !is_fixed && !CHANGED_ONLY.contains(&table) && !USAGE.contains(&table);
        let may_add = role >= Some(least_role_to_add(table)) && is_addable;
        let own = there[table].1;
        let is_right = match what {
            "change" | "remove" | "move" if is_fixed || table == "audit_events" => state == "42501",
            "change" | "move" if USAGE.contains(&table) => state == "42501",
            "change" | "move" if KEPT_IN_PROJECT.contains(&table) => state == "42501",
            // Maintainers discard patches of others, and change nothing in their workspaces.
            "use" if may && table == "patches" => state == "ZZ001" && rows == own.to_string(),
            "use" => state == "ZZ001" && rows == if may { &*of_person[table] } else { "0" },
            "remove" if table == "patches" => {
                state == "ZZ001" && rows == if may { &*of_person[table] } else { "0" }
            }
            "remove" if CHANGED_ONLY.contains(&table) => state == "42501",
            "remove" if matches!(table, "read_counts" | "chat_requests" | "prompt_versions") => {
                state == "42501"
            }
            // The team's records among them are for people to take out.
            "remove" if table == "memory_records" && role == Some(Rank::Agent) => state == "42501",
            "decide" => match role {
                Some(Rank::Agent) => state == "42501",
                _ if may => state == "ZZ001" && rows != "0",
                _ => state == "ZZ001" && rows == "0",
            },
            "change" | "remove" => {
                state == "ZZ001" && rows == if may { own } else { 0 }.to_string()
            }
            "move" => {
                if may && (own > 0 || owned(table).is_none()) {
                    state == "42501"
                } else {
                    state == "ZZ001" && rows == "0"
                }
            }
            "add-ours" => (state == "42501") != may_add,
            _ => state == "42501",
        };
        if !is_right {
            return Err(format!(
                "the {:?} of {:?} in tenant 0's main project: {what} on {table} ends with {state} \
                 and {rows} rows of {own}",
                person.post, person.tenant
            ));
        }
        seen += 1;
    }
    if seen == made { Ok(()) } else { Err(format!("the probe itself failed: {seen} statements")) }
}

/// Returns statements that write to a table, each with a word for it.
async fn writes_to(
    world: &World,
    (table, column): (&str, &str),
    person: &Person,
    (ours, theirs): (&Project, &Project),
) -> Result<Vec<(&'static str, String)>, Fault> {
    let of = |project: &Project| format!("{column} = '{}'", project.id);
    let (of_ours, of_theirs) = (of(ours), of(theirs));
    // A new row of a user is the caller's own.
    let mut own = match owned(table) {
        Some((column, _)) => json!({column: person.id}),
        None => json!({}),
    };
    // The first state and a later one, and a change of a column that may be changed.
    let states = match table {
        "workspaces" => Some(("queued", "ready", "used_at = now()")),
        "patches" => Some(("generated", "applied", "updated_at = now()")),
        _ => None,
    };
    if let Some((first, ..)) = states {
        own["state"] = json!(first);
    }
    let mut statements = vec![
        // Nothing of a row is read, so that no other policy stands before the one for changes.
        ("change", format!("update {table} set {of_ours}")),
        ("remove", format!("delete from {table}")),
        ("move", format!("update {table} set {of_theirs}")),
        ("add-ours", copy(world, table, (&of_ours, "team"), &own).await?),
        ("add-theirs", copy(world, table, (&of_theirs, "proposed"), &own).await?),
    ];
    if let Some((column, _)) = owned(table) {
        let mut foreign = own.clone();
        let mut owners = ours.privates.iter().map(|private| private.owner);
        foreign[column] = json!(owners.find(|owner| *owner != person.id));
        statements.push(("add-others", copy(world, table, (&of_ours, ""), &foreign).await?));
    }
    if let Some((_, later, change)) = states {
        let mut done = own.clone();
        done["state"] = json!(later);
        statements.push(("add-done", copy(world, table, (&of_ours, ""), &done).await?));
        statements.push(("use", format!("update {table} set {change}")));
    }
    if table == "memory_records" {
        let counts = "update memory_records set title = title || '!' where visibility = 'team'";
        statements.push(("decide", counts.to_owned()));
    }
    Ok(statements)
}

async fn columns(world: &World, table: &str) -> Result<String, Fault> {
    let sql = format!(
        "select string_agg(quote_ident(column_name), ', ' order by ordinal_position) \
        from information_schema.columns
        where table_schema = 'public' and table_name = '{table}' and is_generated = 'NEVER'"
    );
    read(world.database.store(), &sql).await
}

/// Returns a statement that inserts a copy of an existing row with some other values: policies are
/// checked before keys.
async fn copy(
    world: &World,
    table: &str,
    (which, of_records): (&str, &str),
    values: &Value,
) -> Result<String, Fault> {
    let columns = columns(world, table).await?;
    let is_private = which.contains("private_to");
    let which = match table {
        // A trigger rejects team records of some callers before any policy is checked.
        "memory_records" if !is_private => format!("{which} and visibility = '{of_records}'"),
        _ if !is_private && PRIVATE.contains(&table) => format!("{which} and private_to is null"),
        _ => which.to_owned(),
    };
    let sql = format!(
        "select (to_jsonb(one) || '{values}')::text from {table} as one where {which} limit 1"
    );
    let row = read(world.database.store(), &sql).await?.replace('\'', "''");
    Ok(format!(
        "insert into {table} ({columns}) overriding system value select {columns} from \
         jsonb_populate_record(null::{table}, '{row}')"
    ))
}

async fn read(store: &Store, sql: &str) -> Result<String, Fault> {
    text(store, sql).await.map_err(|error| format!("{error:?} at {sql}"))
}

/// 42501: insufficient privilege.
pub fn is_refused<T>(done: &Result<T, Error>) -> bool {
    let Err(Error::Statement(error)) = done else { return false };
    error.as_database_error().and_then(|e| e.code().map(|code| code == "42501")) == Some(true)
}

/// Returns the least role that changes and deletes rows of a table.
fn least_role(table: &str) -> Rank {
    match table {
        _ if MANAGED.contains(&table) => Rank::Admin,
        "quarantine_items" | "webhooks" | "webhook_deliveries" | "integrations"
        | "hygiene_runs" | "sgr_schemas" | "prompt_versions" => Rank::Maintainer,
        _ if USAGE.contains(&table) => Rank::Maintainer,
        "duplicate_clusters" | "task_comments" => Rank::Member,
        "workspaces" | "navigations" => Rank::Viewer,
        _ => Rank::Agent,
    }
}

/// Returns the least role that adds rows to a table.
fn least_role_to_add(table: &str) -> Rank {
    match table {
        // Operations of viewers are recorded, too.
        "bundles" | "bundle_items" | "audit_events" | "navigations" => Rank::Viewer,
        // Data of the team, and repositories to fetch.
        "memory_records" | "task_comments" | "workspaces" => Rank::Member,
        "webhooks" | "integrations" | "hygiene_runs" | "sgr_schemas" | "prompt_versions" => {
            Rank::Maintainer
        }
        // Who makes a project has no role on it yet: the database does that by a function.
        _ if MANAGED[1..].contains(&table) => Rank::Admin,
        _ => Rank::Agent,
    }
}
