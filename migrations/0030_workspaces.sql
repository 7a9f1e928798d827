-- Workspaces: trees of repositories that a user reads and changes, each on one node, and the nodes.

-- Nodes that serve requests. A node renews seen_at; one that is not seen for long is dead.
create table nodes (
    -- Of the node's data directory.
    id          uuid        primary key,
    name        text        not null
                            constraint nodes_name_check check (char_length(name) between 1 and 500),
    -- URL at which other nodes reach it; empty if the operator has configured none.
    url         text        not null default ''
                            constraint nodes_url_check check (char_length(url) <= 500),
    seen_at     timestamptz not null default now()
);
grant select on nodes to memory_copilot_service;
grant select, insert, update, delete on nodes to memory_copilot_worker;

alter table ingest_runs
    -- When the fetch of the workspace started that requested the run.
    add column fetch_started_at timestamptz;

-- Foreign keys compare the project (0015_project_foreign_keys.sql). An index that begins with the
-- project would replace that of the repository in plans for its newest runs.
create unique index ingest_runs_id_project_id_key on ingest_runs (id, project_id);

create table workspaces (
    id                uuid        primary key,
    project_id        uuid        not null references projects on delete cascade,
    -- Only the owner reads and changes the files.
    owner_id          uuid        not null references users on delete cascade,
    -- The repository, with its location; null if it was deleted since.
    repository_id     uuid,
    -- Name of the repository at the time of the request.
    repo_owner        text        not null
                                  constraint workspaces_repo_owner_check
                                  check (char_length(repo_owner) between 1 and 200),
    repo_name         text        not null
                                  constraint workspaces_repo_name_check
                                  check (char_length(repo_name) between 1 and 200),
    -- A clone of its own, or a directory of the node that an administrator has registered.
    kind              text        not null
                                  constraint workspaces_kind_check check (kind in ('clone', 'folder')),
    -- Path of a registered directory; null for a clone.
    folder            text        constraint workspaces_folder_check
                                  check ((kind = 'folder') = (folder is not null)
                                      and char_length(folder) <= 4096),
    is_editable       boolean     not null,
    state             text        not null
                                  constraint workspaces_state_check
                                  check (state in ('queued', 'fetching', 'ready', 'failed')),
    -- The node with the files; null until a node starts to fetch them.
    node_id           uuid,
    -- The job that fetches it; null for a folder.
    job_id            text,
    -- Name of the current attempt; another one has lost the workspace.
    attempt           text,
    requested_ref     text        not null default ''
                                  constraint workspaces_requested_ref_check
                                  check (char_length(requested_ref) <= 255),
    is_shallow        boolean     not null default true,
    -- The fetched branch, tag or commit; empty if the host names no default branch.
    git_ref           text        not null default '',
    commit_id         text        not null default '',
    -- The index run that the fetch enqueued.
    ingest_run_id     uuid,
    -- Bytes on the disk.
    size_bytes        bigint      not null default 0
                                  constraint workspaces_size_bytes_check check (size_bytes >= 0),
    -- Message and time of the last failure.
    last_error        jsonb,
    created_at        timestamptz not null default now(),
    fetch_started_at  timestamptz,
    fetched_at        timestamptz,
    used_at           timestamptz not null default now(),
    -- Null for a folder, which is not deleted.
    expires_at        timestamptz,
    constraint workspaces_expires_at_check check ((expires_at is null) = (kind = 'folder')),
    constraint workspaces_project_id_id_key unique (project_id, id),
    constraint workspaces_repository_id_fkey foreign key (project_id, repository_id)
        references repositories (project_id, id) on delete set null (repository_id),
    constraint workspaces_ingest_run_id_fkey foreign key (project_id, ingest_run_id)
        references ingest_runs (project_id, id) on delete set null (ingest_run_id)
);
create index workspaces_owner_id_idx on workspaces (owner_id);
create index workspaces_repository_id_idx on workspaces (project_id, repository_id)
    where repository_id is not null;
create index workspaces_ingest_run_id_idx on workspaces (project_id, ingest_run_id)
    where ingest_run_id is not null;
create index workspaces_node_id_idx on workspaces (node_id);
call mc.enable_project_rls('workspaces', 'project_id', 'member', 'viewer');
-- Maintainers see and delete those of others, which take space; they change nothing in them.
create policy owner_select on workspaces as restrictive for select to memory_copilot_service
    using (owner_id = (select mc.principal())
           or project_id = (select mc.project_as_maintainer()));
create policy owner_insert on workspaces as restrictive for insert to memory_copilot_service
    with check (owner_id = (select mc.principal()) and state = 'queued');
create policy owner_update on workspaces as restrictive for update to memory_copilot_service
    using (owner_id = (select mc.principal()));
create policy owner_delete on workspaces as restrictive for delete to memory_copilot_service
    using (owner_id = (select mc.principal())
           or project_id = (select mc.project_as_maintainer()));
-- The state and the place of the files belong to the nodes.
revoke update on workspaces from memory_copilot_service;
grant update (job_id, used_at, expires_at) on workspaces to memory_copilot_service;

-- Opens a directory of the service's machine as a workspace. The code proves that the service, which
-- has checked the principal's rights and the directory, calls it.
create function mc.open_folder(principal uuid, workspace uuid, code text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if not mc.is_proved('open_folder', principal, workspace, code) then
        raise insufficient_privilege
            using message = 'the code does not prove that the service opens this directory',
                hint = 'Only the service can compute codes. If the service gets this error, '
                    'restart it: it stores its key again at each start.';
    end if;
    update workspaces w set state = 'ready', fetched_at = now()
    where w.id = open_folder.workspace and w.kind = 'folder';
    return found;
end $$;

-- Current directory and phase of a user in a workspace (seed 003). The id is the handle that a
-- client sends back; it is no authority.
create table navigations (
    id            uuid        primary key,
    project_id    uuid        not null references projects on delete cascade,
    workspace_id  uuid        not null,
    user_id       uuid        not null references users on delete cascade,
    -- Path from the root of the workspace; empty for the root.
    cwd           text        not null default ''
                              constraint navigations_cwd_check check (octet_length(cwd) <= 4096),
    phase         text        not null default 'discovery'
                              constraint navigations_phase_check
                              check (phase in ('discovery', 'edit')),
    created_at    timestamptz not null default now(),
    used_at       timestamptz not null default now(),
    constraint navigations_workspace_id_fkey foreign key (project_id, workspace_id)
        references workspaces (project_id, id) on delete cascade
);
create index navigations_workspace_id_idx on navigations (project_id, workspace_id);
create index navigations_user_id_idx on navigations (user_id);
create index navigations_used_at_idx on navigations (used_at);
call mc.enable_project_rls('navigations', 'project_id', 'viewer', 'viewer');
create policy user_all on navigations as restrictive to memory_copilot_service
    using (user_id = (select mc.principal())) with check (user_id = (select mc.principal()));

-- Returns how many clones a user has in a project, how many bytes all of the project have, and how
-- many of them have no size yet. The caller sees only some of them.
create function mc.workspace_space(project uuid, member uuid)
returns table (of_user bigint, bytes bigint, pending bigint)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if mc.project_as_member() is distinct from workspace_space.project
        and not pg_has_role(session_user, 'memory_copilot_worker', 'member') then
        return;
    end if;
    return query
    select count(*) filter (where w.owner_id = workspace_space.member),
           coalesce(sum(w.size_bytes), 0)::bigint,
           count(*) filter (where w.state in ('queued', 'fetching'))
    from workspaces w where w.project_id = workspace_space.project and w.kind = 'clone';
end $$;

-- Finds the project of a workspace.
create function mc.find_project_of_workspace(principal uuid, workspace uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.*
    from workspaces w,
         lateral mc.find_project(find_project_of_workspace.principal, w.project_id) p
    where w.id = find_project_of_workspace.workspace
$$;
-- Finds the project of a navigation. For all but its user there is none.
create function mc.find_project_of_navigation(principal uuid, navigation uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.*
    from navigations n,
         lateral mc.find_project(find_project_of_navigation.principal, n.project_id) p
    where n.id = find_project_of_navigation.navigation
        and n.user_id = find_project_of_navigation.principal
$$;
call mc.set_worker_owner(array[
    'mc.open_folder(uuid, uuid, text)', 'mc.workspace_space(uuid, uuid)',
    'mc.find_project_of_workspace(uuid, uuid)',
    'mc.find_project_of_navigation(uuid, uuid)']::regprocedure[]);

-- As in 0027_judgments.sql, and the fetch of a workspace.
create or replace function mc.may_enqueue_job(kind text, unique_key text, args jsonb)
returns boolean
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
    target uuid;
begin
    if pg_has_role(session_user, 'memory_copilot_worker', 'member') then
        return true;
    end if;
    target := args ->> case kind when 'index_repository' then 'run' when 'run_hygiene_task'
        then 'report' when 'post_task_comment' then 'task' else 'id' end;
    return (unique_key is null or starts_with(unique_key, target || ' '))
        and case kind
            when 'index_repository' then mc.project_as_agent()
                = (select r.project_id from ingest_runs r where r.id = target)
            when 'post_task_comment' then mc.project_as_member()
                = (select c.project_id from task_comments c where c.task_id = target)
            when 'run_hygiene_task' then mc.project_as_maintainer()
                = (select r.project_id from hygiene_runs r where r.id = target)
            when 'sync_integration' then mc.project_as_maintainer()
                = (select i.project_id from integrations i where i.id = target)
            when 'process_delivery' then mc.project_as_maintainer()
                = (select d.project_id from webhook_deliveries d where d.id = target)
            when 'judge_record' then mc.project_as_member()
                = (select r.project_id from memory_records r where r.id = target)
            when 'fetch_workspace' then mc.project_as_member()
                = (select w.project_id from workspaces w where w.id = target)
            end is true;
end $$;
