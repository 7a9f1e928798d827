-- Integrations: subscriptions of projects to resources of the operator's connectors, which workers
-- poll; and the one comment that the service posts at a task's tracker.

-- A row names a connector of the operator's configuration, which alone has the URL and the
-- credential: a maintainer can't make the service send requests elsewhere.
create table integrations (
    id                     uuid primary key,
    project_id             uuid        not null references projects on delete cascade,
    -- The connector.
    connector              text        not null,
    -- The resource: a repository (owner/name), a tracker project's key, a space's key.
    resource               text        not null,
    capability             text        not null
                                       constraint integrations_capability_check
                                       check (capability in ('issues', 'pages', 'refs')),
    interval_minutes       int         not null
                                       constraint integrations_interval_check
                                       check (interval_minutes between 5 and 1440),
    include_comments       boolean     not null,
    is_paused              boolean     not null default false,
    created_by             uuid        references users on delete set null,
    created_at             timestamptz not null default now(),

    -- Workers write the rest. Where the next sync resumes, in the provider's terms and ours.
    sync_state             jsonb,
    next_sync_at           timestamptz not null default now(),
    -- The latest job. While it is pending, users can't request another.
    job_id                 text,
    -- When stored items were last compared with a full listing, to find deleted ones.
    reconciled_at          timestamptz not null default now(),
    -- The last sync that succeeded, why the latest one failed, and how many have failed since.
    last_success_at        timestamptz,
    last_error             text,
    consecutive_failures   int         not null default 0,

    -- The current sync run: from the first page to the last or to a failure, over any number of
    -- jobs. Null if there is none.
    run_started_at         timestamptz,
    -- Pages read, and items stored from them.
    run_pages              bigint      not null default 0,
    run_items              bigint      not null default 0,
    -- The last run that ended, successfully or not.
    last_run_completed_at  timestamptz,
    last_run_pages         bigint      not null default 0,
    last_run_items         bigint      not null default 0,
    constraint integrations_resource_key unique (project_id, connector, resource, capability)
);
create index integrations_next_sync_at_idx on integrations (next_sync_at) where not is_paused;
call mc.enable_project_rls('integrations', 'project_id', 'maintainer', 'maintainer');
alter policy project_select on integrations
    using (project_id = (select mc.project_as_maintainer()));

-- Deletes the jobs of deleted integrations. A running one finds nothing to do. So there are never
-- more jobs than integrations, however often one is created and deleted.
create function mc.after_integrations_delete() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    delete from apalis.jobs j using old_rows i
    where j.id = i.job_id and j.status not in ('Queued', 'Running');
    return null;
end $$;
create trigger integrations_after_delete after delete on integrations
    referencing old table as old_rows
    for each statement execute function mc.after_integrations_delete();
call mc.set_worker_owner(array['mc.after_integrations_delete()']::regprocedure[]);
-- A trigger needs no right to execute its function.
revoke execute on function mc.after_integrations_delete() from memory_copilot_service;

-- The integration that last brought a task or a document, by which deleted ones are found.
alter table tasks add column integration_id uuid references integrations on delete set null;
create index tasks_integration_id_idx on tasks (integration_id) where integration_id is not null;
alter table docs add column integration_id uuid references integrations on delete set null;
create index docs_integration_id_idx on docs (integration_id) where integration_id is not null;

-- Stored items of an integration that its current full listing has not had yet. The listing takes
-- many jobs, so this can't be kept in a process. An item that two full listings lack is deleted.
create table deletion_candidates (
    project_id      uuid not null references projects on delete cascade,
    integration_id  uuid not null references integrations on delete cascade,
    -- The provider's own id of a task or a document.
    external_id     text not null,
    primary key (integration_id, external_id)
);
create index deletion_candidates_project_id_idx on deletion_candidates (project_id);
call mc.enable_project_rls('deletion_candidates', 'project_id', 'maintainer', 'maintainer');
alter policy project_select on deletion_candidates
    using (project_id = (select mc.project_as_maintainer()));
revoke insert, update, delete on deletion_candidates from memory_copilot_service;

-- The comment at a task's tracker that lists the records and dialogs of the task. A person approves
-- it, then a job posts it.
create table task_comments (
    task_id         uuid        primary key references tasks on delete cascade,
    project_id      uuid        not null references projects on delete cascade,
    -- Digest of the approved text and its destination. The job composes the text again, and posts
    -- it only if the digest is the same.
    digest          text        not null,
    approved_by     uuid        references users on delete set null,
    approved_at     timestamptz not null default now(),
    state           text        not null default 'pending'
                                constraint task_comments_state_check
                                check (state in ('pending', 'posted', 'failed')),
    -- Why it is not posted, or not yet.
    reason          text        not null default '',
    -- If this job is finished and the comment is still pending, posting has failed.
    job_id          text,
    -- When a worker started to post: no other posts at the same time.
    started_at      timestamptz,
    -- Id of the comment at the provider, and the integration that posted it.
    comment_id      text,
    integration_id  uuid        references integrations on delete set null,
    posted_digest   text,
    posted_at       timestamptz
);
create index task_comments_project_id_idx on task_comments (project_id);
create index task_comments_integration_id_idx on task_comments (integration_id);
create index task_comments_approved_by_idx on task_comments (approved_by);
-- An approval sends text out of the service: it needs a member at least, and the policy may need
-- more.
call mc.enable_project_rls('task_comments', 'project_id', 'member', 'member');

-- Finds the integration to which a task's comment would be posted, unless it is paused. Members may
-- call it; integrations themselves are visible to maintainers alone.
create function mc.find_task_integration(task uuid)
returns table (id uuid, connector text, resource text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select i.id, i.connector, i.resource from tasks t join integrations i on i.id = t.integration_id
    where t.id = find_task_integration.task and t.project_id = (select mc.project_as_member())
        and i.capability = 'issues' and not i.is_paused
$$;
call mc.set_worker_owner(array['mc.find_task_integration(uuid)']::regprocedure[]);
