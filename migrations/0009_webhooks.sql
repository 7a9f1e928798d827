-- Events from providers: webhooks with their deliveries, and pull requests, pushed commits, CI
-- results and parts of documents. Syncs of integrations write all but the first two as well.

-- A webhook is a URL with an id and a secret, of one project and one provider: its deliveries can
-- change that project alone.
create table webhooks (
    id                          uuid primary key,
    project_id                  uuid        not null references projects on delete cascade,
    -- The provider: github, gitlab, jira, youtrack, redmine, confluence.
    provider                    text        not null,
    -- Signs the deliveries; encrypted.
    secret                      bytea       not null,
    -- Also valid until it expires: the provider and this service can't change the secret together.
    previous_secret             bytea,
    previous_secret_expires_at  timestamptz,
    created_by                  uuid        references users on delete set null,
    created_at                  timestamptz not null default now(),
    constraint webhooks_previous_secret_check
        check ((previous_secret is null) = (previous_secret_expires_at is null))
);
create index webhooks_project_id_idx on webhooks (project_id, id);
call mc.enable_project_rls('webhooks', 'project_id', 'maintainer', 'maintainer');
alter policy project_select on webhooks
    using (project_id = (select mc.project_as_maintainer()));

-- Requests that a webhook received. The worker role inserts them, since a provider has no account
-- and thus no project.
create table webhook_deliveries (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    webhook_id    uuid        not null references webhooks on delete cascade,
    -- The provider's own id, by which a repeated delivery is detected.
    external_id   text        not null,
    -- A keyed hash of a signed body, for the same purpose: the signature may not cover the id, so
    -- an eavesdropper could repeat the delivery with another id.
    body_mac      bytea,
    -- The type of the event, in the provider's words.
    event_type    text        not null,
    -- The parts of the event that are used, masked; never the whole body.
    event         jsonb       not null,
    state         text        not null default 'pending'
                              constraint webhook_deliveries_state_check
                              check (state in ('pending', 'completed', 'ignored', 'failed')),
    -- The result, as text.
    outcome       text,
    received_at   timestamptz not null default now(),
    completed_at  timestamptz,
    constraint webhook_deliveries_external_id_key unique (webhook_id, external_id),
    constraint webhook_deliveries_body_mac_key unique (webhook_id, body_mac)
);
create index webhook_deliveries_project_id_idx on webhook_deliveries (project_id, id);
create index webhook_deliveries_webhook_id_idx on webhook_deliveries (webhook_id, id);
-- Deliveries of a webhook are processed in the order in which they arrived.
create index webhook_deliveries_pending_idx on webhook_deliveries (webhook_id, id)
    where state = 'pending';
create index webhook_deliveries_received_at_idx on webhook_deliveries (project_id, received_at);
call mc.enable_project_rls('webhook_deliveries', 'project_id', 'maintainer', 'maintainer');
alter policy project_select on webhook_deliveries
    using (project_id = (select mc.project_as_maintainer()));
revoke insert, delete on webhook_deliveries from memory_copilot_service;

-- Pull requests and merge requests.
create table pull_requests (
    id                 uuid primary key,
    project_id         uuid        not null references projects on delete cascade,
    -- The provider's own id: octocat/hello!12.
    external_id        text        not null,
    title              text        not null,
    state              text        not null
                                   constraint pull_requests_state_check
                                   check (state in ('open', 'closed', 'merged')),
    author             text,
    -- The latest commit of its branch, and the commit that merged it into its base.
    head_sha           text,
    merge_sha          text,
    base_ref           text,
    url                text        not null default '',
    -- Each reviewer's latest review:
    -- {"vera": {"state": "approved", "at": "2026-01-02T03:04:05Z"}}.
    reviews            jsonb       not null default '{}',
    -- The provider's time of the stored state: an older one that arrives later changes nothing.
    source_updated_at  timestamptz not null,
    updated_at         timestamptz not null default now(),
    constraint pull_requests_external_id_key unique (project_id, external_id)
);
create index pull_requests_project_id_idx on pull_requests (project_id, id);
create index pull_requests_source_updated_at_idx on pull_requests (project_id, source_updated_at)
    where state <> 'open';
call mc.enable_project_rls('pull_requests', 'project_id', 'agent', 'agent');

-- Commits that were the head or the merge of a pull request. Rows are only added, so that events
-- may arrive in any order.
create table pull_request_commits (
    project_id       uuid not null references projects on delete cascade,
    sha              text not null,
    pull_request_id  uuid not null references pull_requests on delete cascade,
    primary key (project_id, sha, pull_request_id)
);
create index pull_request_commits_pull_request_id_idx on pull_request_commits (pull_request_id);
call mc.enable_project_rls('pull_request_commits', 'project_id', 'agent', 'agent');

-- Tasks that a pull request mentions, by the tracker's id; the project may not have them.
create table pull_request_tasks (
    project_id       uuid not null references projects on delete cascade,
    external_id      text not null,
    pull_request_id  uuid not null references pull_requests on delete cascade,
    primary key (project_id, external_id, pull_request_id)
);
create index pull_request_tasks_pull_request_id_idx on pull_request_tasks (pull_request_id);
call mc.enable_project_rls('pull_request_tasks', 'project_id', 'agent', 'agent');

-- The commits of each push, by the commit to which the ref then pointed.
create table pushed_commits (
    project_id  uuid        not null references projects on delete cascade,
    sha         text        not null,
    head_sha    text        not null,
    pushed_at   timestamptz not null default now(),
    primary key (project_id, sha, head_sha)
);
create index pushed_commits_head_sha_idx on pushed_commits (project_id, head_sha);
create index pushed_commits_pushed_at_idx on pushed_commits (project_id, pushed_at);
call mc.enable_project_rls('pushed_commits', 'project_id', 'agent', 'agent');

-- The latest result of each CI check on a commit.
create table ci_results (
    project_id         uuid        not null references projects on delete cascade,
    -- The repository at its provider: octocat/hello.
    repository         text        not null,
    sha                text        not null,
    -- Name of the check.
    name               text        not null,
    conclusion         text        not null
                                   constraint ci_results_conclusion_check check (conclusion in
                                       ('success', 'failure', 'neutral', 'cancelled', 'pending')),
    url                text        not null default '',
    completed_at       timestamptz,
    source_updated_at  timestamptz not null,
    primary key (project_id, sha, repository, name)
);
create index ci_results_source_updated_at_idx on ci_results (project_id, source_updated_at);
call mc.enable_project_rls('ci_results', 'project_id', 'agent', 'agent');

-- Texts from which documents are assembled: comments of an issue or a pull request, descriptions,
-- release notes. A deleted one leaves its row, so that an older event that arrives later does not
-- restore it.
create table doc_parts (
    project_id         uuid        not null references projects on delete cascade,
    -- The document's source and doc_id.
    source             text        not null,
    doc_id             text        not null,
    -- Id of the text within the document.
    part_id            text        not null,
    author             text        not null default '',
    text               text        not null default '',
    sent_at            timestamptz,
    is_deleted         boolean     not null default false,
    source_updated_at  timestamptz not null,
    primary key (project_id, source, doc_id, part_id)
);
create index doc_parts_deleted_idx on doc_parts (project_id, source_updated_at) where is_deleted;
call mc.enable_project_rls('doc_parts', 'project_id', 'agent', 'agent');

-- Only workers write any of these.
revoke insert, update, delete
    on pull_requests, pull_request_commits, pull_request_tasks, pushed_commits, ci_results,
       doc_parts
    from memory_copilot_service;

-- Marks the parts of deleted documents as deleted, whichever role deleted the document: no older
-- event restores it.
create function mc.after_docs_delete() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    update doc_parts p
    set author = '', text = '', is_deleted = true,
        source_updated_at = greatest(p.source_updated_at, now())
    from old_rows d
    where d.file_id is null and p.project_id = d.project_id and p.source = d.source
        and p.doc_id = d.doc_id and not p.is_deleted;
    return null;
end $$;
create trigger docs_after_delete after delete on docs
    referencing old table as old_rows for each statement execute function mc.after_docs_delete();
call mc.set_worker_owner(array['mc.after_docs_delete()']::regprocedure[]);
-- A trigger needs no right to execute its function.
revoke execute on function mc.after_docs_delete() from memory_copilot_service;

-- Returns the CI status of a commit; null if no check has concluded.
create function mc.commit_ci_status(project uuid, commit text) returns text
language sql stable parallel safe as $$
    select case when bool_or(r.conclusion = 'failure') then 'failed'
                when bool_or(r.conclusion = 'success') then 'passed' end
    from public.ci_results r where r.project_id = $1 and r.sha = $2
$$;

-- Returns the pull requests of a commit: those that had it as head or merge; else those that had
-- the commit it was pushed with, which may include others that took the commit over.
create function mc.commit_pull_requests(project uuid, commit text) returns setof uuid
language sql stable parallel safe as $$
    with own as (
        select k.pull_request_id from public.pull_request_commits k
        where k.project_id = $1 and k.sha = $2)
    select own.pull_request_id from own
    union all
    select k.pull_request_id from public.pull_request_commits k
    where k.project_id = $1 and not exists (select from own) and k.sha = any (array(
        select p.head_sha from public.pushed_commits p where p.project_id = $1 and p.sha = $2))
$$;

-- Returns the CI status of a patch. It is derived on each read, so that it is never outdated.
-- The merge commit of its pull request decides, else the head, else the commit itself: the final
-- state of a patch counts, not the way there. Of several pull requests, the merged one comes first,
-- then the oldest: later ones took the patch over.
create function mc.patch_ci_status(project uuid, patch text) returns text
language sql stable parallel safe as $$
    select coalesce((
        select checked.status from (
            select r.id, r.state,
                   coalesce(mc.commit_ci_status($1, r.merge_sha),
                            mc.commit_ci_status($1, r.head_sha)) as status
            from public.pull_requests r
            where r.id in (select mc.commit_pull_requests($1, $2))) checked
        where checked.status is not null
        order by checked.state = 'merged' desc, checked.id limit 1),
        mc.commit_ci_status($1, $2))
$$;

revoke execute on function mc.commit_ci_status(uuid, text), mc.commit_pull_requests(uuid, text),
    mc.patch_ci_status(uuid, text) from public;
grant execute on function mc.commit_ci_status(uuid, text), mc.commit_pull_requests(uuid, text),
    mc.patch_ci_status(uuid, text) to memory_copilot_service, memory_copilot_worker;
