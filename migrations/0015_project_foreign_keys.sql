-- Foreign keys stay within a project. PostgreSQL checks a key without regard to the policies, so
-- SQL that is injected into a statement of the service role could make a row of its project refer
-- to a row of another one. Jobs, and functions with access to all projects, would follow the
-- reference. So each key between two tables with rows of projects includes project_id.

create table mc.old_keys as
    select k.conname as name, k.conrelid::regclass as referencing,
        k.confrelid::regclass as referenced, a.attname as referencing_column,
        k.confdeltype as on_delete
    from pg_constraint k join pg_attribute a on a.attrelid = k.conrelid and a.attnum = k.conkey[1]
    where k.contype = 'f' and k.connamespace = 'public'::regnamespace
        and cardinality(k.conkey) = 1 and k.confdeltype in ('c', 'n')
        and exists (select from pg_attribute p
                    where p.attrelid = k.conrelid and p.attname = 'project_id')
        and exists (select from pg_attribute p
                    where p.attrelid = k.confrelid and p.attname = 'project_id');

-- Tables can be read while the indexes are built and the new keys are checked. Only the replacement
-- of the old keys, at the end, locks readers out.
do $$
declare
    referenced regclass;
    old_key record;
begin
    for referenced in select distinct k.referenced from mc.old_keys k loop
        execute format('create unique index %I on %s (project_id, id)',
                       referenced || '_project_id_id_key', referenced);
    end loop;

    for old_key in select * from mc.old_keys loop
        execute format(
            'alter table %s add constraint %I foreign key (project_id, %I)
                 references %s (project_id, id) on delete %s',
            old_key.referencing, 'new_' || old_key.name, old_key.referencing_column,
            old_key.referenced,
            case old_key.on_delete when 'c' then 'cascade'
                else format('set null (%I)', old_key.referencing_column) end);
    end loop;

    for old_key in select * from mc.old_keys loop
        execute format('alter table %s drop constraint %I', old_key.referencing, old_key.name);
        execute format('alter table %s rename constraint %I to %I', old_key.referencing,
                       'new_' || old_key.name, old_key.name);
    end loop;
exception when foreign_key_violation then
    raise exception '% of a row of table % refers to a row of another project',
            old_key.referencing_column, old_key.referencing
        using errcode = 'foreign_key_violation', hint = format(
            'The service writes no such row. Find it by this query, find out its cause, correct or '
            'delete it, and start the service again: select * from %s c where %I is not null and '
            'not exists (select from %s p where p.project_id = c.project_id and p.id = c.%2$I)',
            old_key.referencing, old_key.referencing_column, old_key.referenced);
end $$;
drop table mc.old_keys;

-- The new indexes begin with the columns of these.
drop index docs_project_id_idx, webhooks_project_id_idx, pull_requests_project_id_idx,
    history_commits_project_id_idx;

-- As in 0010_integrations.sql, but deletes only jobs of the integration: SQL that runs as the
-- service role can store the id of any job.
create or replace function mc.after_integrations_delete() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    delete from apalis.jobs j using old_rows i
    where j.id = i.job_id and j.status not in ('Queued', 'Running')
        and j.job_type = 'sync_integration' and starts_with(j.idempotency_key, i.id || ' ');
    return null;
end $$;
