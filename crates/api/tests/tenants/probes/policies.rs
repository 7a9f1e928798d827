//! PostgreSQL without the code's filters: statements on every table that say nothing of projects.

use std::collections::BTreeMap;

use mc_store::testing::{text, write};
use mc_store::{Error, Store};

use crate::oracle::{self, Rank};
use crate::run::Fault;
use crate::world::{Person, Post, Project, World};

/// Tables that only an administrator of a project writes to.
const MANAGED: [&str; 3] = ["projects", "project_members", "project_teams"];
/// Tables of no project, which the service must not read: they hold ids of all.
const FORBIDDEN: [&str; 2] = ["feed", "feed_pruned"];

pub async fn policies(world: &World) -> Result<(), Fault> {
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
        reads(world, &tables, person, ours).await?;
        writes(world, &tables, person, ours, theirs).await?;
    }
    Ok(())
}

/// Each table with rows of projects, and the column that says of which.
type Tables = Vec<(String, &'static str)>;

async fn tables(world: &World) -> Result<Tables, Fault> {
    let sql = "select string_agg(distinct table_name, ',') from information_schema.columns
               where table_schema = 'public' and column_name = 'project_id'";
    let names = read(world.database.store(), sql).await?;
    let mut tables: Tables = names.split(',').map(|name| (name.to_owned(), "project_id")).collect();
    tables.push(("projects".into(), "id"));
    if tables.len() < 19 {
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
    let seen = read(world.database.service(), &counted(tables, None)).await?;
    let any = counts(&seen).into_iter().find(|(_, (all, _))| *all > 0);
    any.map_or(Ok(()), |(table, _)| Err(format!("who has entered nothing sees rows of {table}")))
}

/// Everybody sees all rows of the project they entered, and no others; strangers see none.
async fn reads(
    world: &World,
    tables: &Tables,
    person: &Person,
    project: &Project,
) -> Result<(), Fault> {
    let sql = counted(tables, Some(project));
    let there = counts(&read(world.database.store(), &sql).await?);
    let seen = counts(&read(&world.as_seen_by(person, project), &sql).await?);
    let may_see = oracle::role(person, project).is_some();
    for (table, (all, own)) in &there {
        if *own == 0 || own == all {
            return Err(format!(
                "{table} has not rows of several projects: the probe is blind; add some in world/seed.rs"
            ));
        }
        let expected = if may_see { (*own, *own) } else { (0, 0) };
        if seen.get(table) != Some(&expected) {
            return Err(format!(
                "the {:?} of {:?} sees {:?} rows of {table} (all, and the project's) instead of {expected:?}",
                person.post,
                person.tenant,
                seen.get(table)
            ));
        }
    }
    Ok(())
}

fn counted(tables: &Tables, project: Option<&Project>) -> String {
    let id = project.map_or_else(uuid::Uuid::nil, |project| project.id);
    let each: Vec<_> = tables.iter().map(|(table, column)| {
        format!("select '{table}' as name, count(*) as n, count(*) filter (where {column} = '{id}') as own from {table}")
    }).collect();
    format!(
        "select string_agg(name || ' ' || n || ' ' || own, ',') from ({}) as counted",
        each.join(" union all ")
    )
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

/// Writes stay in the project that was entered, and within the role; all are taken back.
async fn writes(
    world: &World,
    tables: &Tables,
    person: &Person,
    ours: &Project,
    theirs: &Project,
) -> Result<(), Fault> {
    let role = oracle::role(person, ours);
    let there = counts(&read(world.database.store(), &counted(tables, Some(ours))).await?);
    let mut block = "declare n bigint; noted text := ''; begin ".to_owned();
    for (table, column) in tables {
        let columns = columns(world, table).await?;
        for (what, statement) in [
            ("change", format!("update {table} set {column} = {column}")),
            ("remove", format!("delete from {table}")),
            ("move", format!("update {table} set {column} = '{}'", theirs.id)),
            ("add-ours", copy(world, table, column, &columns, ours).await?),
            ("add-theirs", copy(world, table, column, &columns, theirs).await?),
        ] {
            block.push_str(&format!(
                "begin {statement}; get diagnostics n = row_count; raise exception using errcode = 'ZZ001', message = n::text;
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
        let may = role >= Some(if MANAGED.contains(&table) { Rank::Admin } else { Rank::Agent });
        let may_add = match table {
            // A recall by somebody who may only read is noted all the same.
            "bundles" | "bundle_items" => role.is_some(),
            // Who makes a project has no role on it yet: the database does that by a function.
            _ => {
                role >= Some(if MANAGED[1..].contains(&table) { Rank::Admin } else { Rank::Agent })
            }
        };
        let own = there[table].1;
        let is_right = match what {
            "change" | "remove" => {
                state == "ZZ001" && rows == if may { own } else { 0 }.to_string()
            }
            "move" => {
                if may {
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
                "the {:?} of {:?} in tenant 0's main project: {what} on {table} ends with {state} and {rows} rows of {own}",
                person.post, person.tenant
            ));
        }
        seen += 1;
    }
    if seen == 5 * tables.len() {
        Ok(())
    } else {
        Err(format!("the probe itself failed: {seen} statements"))
    }
}

async fn columns(world: &World, table: &str) -> Result<String, Fault> {
    let sql = format!("select string_agg(quote_ident(column_name), ', ' order by ordinal_position) from information_schema.columns
        where table_schema = 'public' and table_name = '{table}' and is_generated = 'NEVER'");
    read(world.database.store(), &sql).await
}

/// A statement that adds a row which the project has already: policies are asked before keys are.
async fn copy(
    world: &World,
    table: &str,
    column: &str,
    columns: &str,
    of: &Project,
) -> Result<String, Fault> {
    let sql = format!(
        "select to_jsonb(one)::text from {table} as one where {column} = '{}' limit 1",
        of.id
    );
    let row = read(world.database.store(), &sql).await?.replace('\'', "''");
    Ok(format!(
        "insert into {table} ({columns}) select {columns} from jsonb_populate_record(null::{table}, '{row}')"
    ))
}

async fn read(store: &Store, sql: &str) -> Result<String, Fault> {
    text(store, sql).await.map_err(|error| format!("{error:?} at {sql}"))
}

/// 42501: insufficient privilege.
fn is_refused<T>(done: &Result<T, Error>) -> bool {
    let Err(Error::Statement(error)) = done else { return false };
    error.as_database_error().and_then(|e| e.code().map(|code| code == "42501")) == Some(true)
}
