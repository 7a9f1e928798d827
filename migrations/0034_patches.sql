-- Patches: changes of a workspace's files that a model or a client has proposed. All texts are
-- masked, the diff as well: it is applied to the files as a model sees them.
create table patches (
    id                      uuid        primary key,
    project_id              uuid        not null references projects on delete cascade,
    -- Null if the workspace was deleted since.
    workspace_id            uuid,
    author_id               uuid        not null references users on delete cascade,
    state                   text        not null default 'generated'
                                        constraint patches_state_check
                                        check (state in ('generated', 'applied', 'discarded')),
    -- Whether a person has to look at it before it is published.
    requires_manual_review  boolean     not null,
    -- Whether its last dry run succeeded.
    has_dry_run             boolean     not null default false,
    instructions            text        not null
                                        constraint patches_instructions_check
                                        check (char_length(instructions) <= 4000),
    target_paths            text[]      not null default '{}',
    forbidden_paths         text[]      not null default '{}',
    -- The tracker's id of the task that it is for; empty without one.
    task_external_id        text        not null default '',
    -- The bundle that the model was shown. No reference: bundles are written later, and expire.
    bundle_id               uuid,
    -- Commit that was checked out in the workspace.
    base_commit             text        not null default '',
    -- Who wrote it: the name of the chat model; empty if the client sent it.
    model                   text        not null default '',
    diff                    text        not null
                                        constraint patches_diff_check
                                        check (octet_length(diff) between 1 and 4194304),
    -- How exactly the proposal fitted the files.
    grade                   text        not null,
    summary                 text[]      not null,
    annotations             jsonb       not null,
    prompt_tokens           bigint      not null default 0,
    completion_tokens       bigint      not null default 0,
    -- The last review; null before the first.
    review                  jsonb,
    created_at              timestamptz not null default now(),
    updated_at              timestamptz not null default now(),
    expires_at              timestamptz not null,
    constraint patches_workspace_id_fkey foreign key (project_id, workspace_id)
        references workspaces (project_id, id) on delete set null (workspace_id)
);
create index patches_project_id_idx on patches (project_id, id);
create index patches_workspace_id_idx on patches (project_id, workspace_id)
    where workspace_id is not null;
create index patches_author_id_idx on patches (author_id);
create index patches_expires_at_idx on patches (expires_at);
call mc.enable_project_rls('patches', 'project_id', 'agent', 'agent');
-- Maintainers see and discard those of others.
create policy author_select on patches as restrictive for select to memory_copilot_service
    using (author_id = (select mc.principal())
           or project_id = (select mc.project_as_maintainer()));
create policy author_insert on patches as restrictive for insert to memory_copilot_service
    with check (author_id = (select mc.principal()) and state = 'generated');
create policy author_update on patches as restrictive for update to memory_copilot_service
    using (author_id = (select mc.principal())
           or project_id = (select mc.project_as_maintainer()));
create policy author_delete on patches as restrictive for delete to memory_copilot_service
    using (author_id = (select mc.principal()));
-- What was proposed stays as it is.
revoke update on patches from memory_copilot_service;
grant update (state, requires_manual_review, has_dry_run, review, updated_at, expires_at)
    on patches to memory_copilot_service;

-- Finds the project of a patch. For those who may not see the patch there is none.
create function mc.find_project_of_patch(principal uuid, patch uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select f.*
    from patches p, lateral mc.find_project(find_project_of_patch.principal, p.project_id) f
    where p.id = find_project_of_patch.patch
        and (p.author_id = find_project_of_patch.principal or f.role >= 'maintainer')
$$;
call mc.set_worker_owner(array['mc.find_project_of_patch(uuid, uuid)']::regprocedure[]);
