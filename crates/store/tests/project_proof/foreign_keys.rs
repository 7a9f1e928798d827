//! Foreign keys. PostgreSQL checks them without regard to the policies, so only the keys themselves
//! keep a row of a project from referring to a row of another one, which a job would then change.

use mc_domain::ProjectId;
use mc_store::testing::{
    execute, keys_across_projects, last_text, tables_that_outlive_projects, text, write,
};
use mc_store::{Error, Result};

use super::World;

/// Rows of the entered project :project and its user :user that refer to the row :id of a table. A
/// job or a function with access to all projects follows each of these references.
const REFERENCES: [(&str, &str); 9] = [
    // Its issues would be read from, and comments posted to, the other project's tracker.
    ("integrations", "update tasks set integration_id = ':id'"),
    ("integrations", "update task_comments set integration_id = ':id'"),
    // The run would write the other project's index.
    (
        "repositories",
        "insert into ingest_runs (id, project_id, repository_id, requested_ref)
         values (gen_random_uuid(), ':project', ':id', 'other')",
    ),
    // The other project's repository would be fetched, with its access to the private network.
    (
        "repositories",
        "insert into workspaces (id, project_id, owner_id, repository_id, repo_owner, repo_name,
                                 kind, is_editable, state, expires_at)
         values (gen_random_uuid(), ':project', ':user', ':id', 'o', 'n', 'clone', true, 'queued',
                 now() + interval '1 day')",
    ),
    (
        "tasks",
        "insert into task_comments (task_id, project_id, digest) values (':id', ':project', '')",
    ),
    // The other project's next run would write its hash and size into this row.
    (
        "repositories",
        "insert into files (id, project_id, repository_id, path, content_hash, size_bytes,
                            language, line_count, chunker_version)
         values (gen_random_uuid(), ':project', ':id', 'key.rs', '\\x00', 1, 'rust', 1, 1)",
    ),
    // The record would turn stale.
    (
        "memory_records",
        "insert into record_citations (id, project_id, record_id, file_path, verdict)
         values (gen_random_uuid(), ':project', ':id', 'a.rs', 'orphaned')",
    ),
    // The other project's vector would be written into this row.
    (
        "passages",
        "insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash,
                                 embedding)
         select id, ':id', ':project', 'code', '\\x00', '[1,0]' from embedding_models",
    ),
    (
        "passages",
        "insert into embedding_queue (passage_id, model_id, project_id)
         select ':id', id, ':project' from embedding_models",
    ),
];

/// Returns two projects with a row of every table. The rows that [`REFERENCES`] insert are missing.
async fn world_with_both() -> World {
    let world = World::with_rows().await;
    world.add_rows(world.ours, 2).await;
    for table in ["task_comments", "embeddings", "embedding_queue"] {
        execute(world.db.url(), &format!("delete from {table}")).await.unwrap();
    }
    world
}

#[tokio::test]
async fn row_of_a_project_refers_to_no_row_of_another() {
    let world = world_with_both().await;
    // A comment whose integration can be set.
    let comment = "insert into task_comments (task_id, project_id, digest)
                   select id, project_id, '' from tasks where project_id = ':project'";
    let (comment, none) = (comment.replace(":project", &world.ours.to_string()), "select 1");
    for (table, statement) in REFERENCES {
        let before = if statement.starts_with("update task_comments") { &*comment } else { none };
        let attempt = async |owner: ProjectId| {
            let id = world.id_in(table, owner).await;
            let sql = statement.replace(":project", &world.ours.to_string()).replace(":id", &id);
            let sql = sql.replace(":user", &world.ann_id.to_string());
            last_text(&world.ann, &[before, &sql, "select 'done'"]).await
        };
        assert_eq!(attempt(world.ours).await.unwrap(), "done", "{statement}");
        let foreign = attempt(world.theirs).await;
        assert!(is_rejected_by_a_key(&foreign), "{statement}: {foreign:?}");
    }
}

/// A violated foreign key: usually its row was deleted concurrently.
fn is_rejected_by_a_key<T>(done: &Result<T>) -> bool {
    matches!(done, Err(Error::DeletedConcurrently))
}

#[tokio::test]
async fn every_foreign_key_compares_the_project() {
    let world = World::new().await;
    assert_eq!(keys_across_projects(world.db.store()).await.unwrap(), "");
}

#[tokio::test]
async fn every_row_is_deleted_with_its_project() {
    let world = World::new().await;
    // A passage has one of five parents (passages_source_check), each by a key that can be null.
    let tables = tables_that_outlive_projects(world.db.store()).await.unwrap();
    assert_eq!(tables, "passages");
}

/// Sets each column with a foreign key to a row of the other project. Other constraints that would
/// reject this first are removed, as are rows of the other project with the same reference.
const REFER_TO_THEIRS: &str = "do $$
declare
    key record;
    updated bigint;
begin
    for key in
        select k.conrelid::regclass as referencing, k.conname from pg_constraint k
        where k.contype = 'c' and k.connamespace = 'public'::regnamespace
    loop
        execute format('alter table %s drop constraint %I', key.referencing, key.conname);
    end loop;
    for key in
        select k.conrelid::regclass as referencing, k.confrelid::regclass as referenced, a.attname,
               r.attname as referenced_column
        from pg_constraint k
        cross join unnest(k.conkey, k.confkey) as pair (own, theirs)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = pair.own
        join pg_attribute r on r.attrelid = k.confrelid and r.attnum = pair.theirs
        where k.contype = 'f' and a.attname <> 'project_id'
            and exists (select from pg_attribute p
                        where p.attrelid = k.conrelid and p.attname = 'project_id')
            and exists (select from pg_attribute p
                        where p.attrelid = k.confrelid and p.attname = 'project_id')
    loop
        begin
            if key.referencing <> key.referenced then
                execute format('delete from %s where project_id = :theirs', key.referencing);
            end if;
            execute format(
                'update %s set %I = (select %I from %s where project_id = :theirs limit 1)
                 where project_id = :ours',
                key.referencing, key.attname, key.referenced_column, key.referenced);
            get diagnostics updated = row_count;
            raise exception '% of % rows of % refers to the other project', key.attname, updated,
                key.referencing;
        exception when foreign_key_violation then null;
        end;
    end loop;
end $$";

#[tokio::test]
async fn every_foreign_key_rejects_a_row_of_another_project() {
    let world = World::with_rows().await;
    world.add_rows(world.ours, 2).await;
    let sql = REFER_TO_THEIRS
        .replace(":theirs", &format!("''{}''", world.theirs))
        .replace(":ours", &format!("''{}''", world.ours));
    execute(world.db.url(), &sql).await.unwrap();
}

#[tokio::test]
async fn deleted_integration_deletes_no_job_but_its_own() {
    let world = World::with_rows().await;
    let (ours, own) = (world.ours, "019a0000-0000-7000-8000-000000000001");
    let theirs = world.id_in("integrations", world.theirs).await;
    let insert = format!(
        "insert into integrations (id, project_id, connector, resource, capability,
                                   interval_minutes, include_comments)
         values ('{own}', '{ours}', 'our-jira', 'CS', 'issues', 15, false)"
    );
    let enqueue = |kind: &str, key: &str, id: &str| {
        format!("mc.enqueue_job('{kind}', {key}, '{{\"id\": \"{id}\"}}', now(), 1)")
    };
    // Deletes the own integration, to which a job was set. The job has then finished if the
    // trigger has deleted it.
    let is_deleted = async |job: &str| {
        let set = format!("update integrations set job_id = {job} where id = '{own}'");
        let note = format!(
            "select set_config('test.job', job_id, true) from integrations where id = '{own}'"
        );
        let delete = format!("delete from integrations where id = '{own}'");
        let finished = "select mc.is_job_finished(current_setting('test.job'))::text";
        last_text(&world.ann, &[&insert, &set, &note, &delete, finished]).await.unwrap()
    };
    let own_job = enqueue("sync_integration", &format!("'{own} 1'"), own);
    assert_eq!(is_deleted(&own_job).await, "true");
    for (kind, key) in [
        ("sync_integration", format!("'{theirs} 1'")),
        ("sync_integration", "null".to_owned()),
        // Keys of other kinds may begin with any id.
        ("index_repository", format!("'{own} 1'")),
    ] {
        let foreign = enqueue(kind, &key, &theirs);
        write(world.db.store(), &format!("select {foreign}")).await.unwrap();
        let newest = "select max(id) from apalis.jobs";
        let job = text(world.db.store(), newest).await.unwrap();
        assert_eq!(is_deleted(&format!("'{job}'")).await, "false", "{kind} {key}");
    }
}
