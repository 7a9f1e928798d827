-- Stores the commit of each file, also of a document, and whether the index of a repository is of one
-- whole commit.

-- The commit at which the stored text was read; empty outside git. An unchanged file keeps it.
alter table files add column source_ref text not null default '';
update files f set source_ref = coalesce(
    (select c.source_ref from code_chunks c where c.file_id = f.id limit 1), r.source_ref)
from repositories r
where r.id = f.repository_id;
alter table code_chunks drop column source_ref;

-- Whether a run has changed the index since the last run that ended well: the files may be of several
-- commits.
alter table repositories add column is_partial boolean not null default false;
update repositories r set is_partial = true
where exists (
    select from ingest_runs i
    where i.repository_id = r.id and i.status <> 'SUCCEEDED' and i.started_at is not null
        and (r.indexed_at is null or coalesce(i.completed_at, i.started_at) > r.indexed_at));
-- Files that the last run which ended well could not read or store.
alter table repositories add column failed_files int not null default 0;
update repositories r set failed_files = coalesce(
    (select i.failed_files from ingest_runs i
     where i.repository_id = r.id and i.status = 'SUCCEEDED'
     order by i.completed_at desc limit 1), 0);

-- Returns what the clones of a project take. One that could not be fetched takes nothing. Owners with
-- any role that edits may ask.
create or replace function mc.workspace_space(project uuid, member uuid)
returns table (of_user bigint, bytes bigint, pending bigint)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if mc.project_as_agent() is distinct from workspace_space.project
        and not pg_has_role(session_user, 'memory_copilot_worker', 'member') then
        return;
    end if;
    return query
    select count(*) filter (where w.owner_id = workspace_space.member and w.state <> 'failed'),
           coalesce(sum(w.size_bytes), 0)::bigint,
           count(*) filter (where w.state in ('queued', 'fetching'))
    from workspaces w where w.project_id = workspace_space.project and w.kind = 'clone';
end $$;
