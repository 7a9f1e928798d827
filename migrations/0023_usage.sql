-- Data by which later work measures whether the memory helps: outcomes of saves, sessions of
-- clients, counts of reads, times of issues and pull requests, files of pull requests, logins of
-- users at providers, and outcomes of dialogs. Recall uses none of it.

-- Outcomes of saves, including rejected ones, without their texts. Only the user and maintainers
-- see a row.
create table save_outcomes (
    id                  bigint      generated always as identity primary key,
    project_id          uuid        not null references projects on delete cascade,
    -- Who saved, or released the save from quarantine. No references here: each save would lock
    -- the rows, and the outcome stays when the record is deleted.
    user_id             uuid        not null,
    session_id          uuid,
    -- Kind of the record.
    kind                text        not null,
    visibility          text        not null
                                    constraint save_outcomes_visibility_check
                                    check (visibility in ('private', 'proposed', 'team')),
    outcome             text        not null
                                    constraint save_outcomes_outcome_check check (outcome in
                                        ('created', 'merged', 'superseded', 'proposed',
                                         'duplicate', 'quarantined', 'rejected', 'failed')),
    -- Category of the reason why nothing was saved, such as too_short or policy.
    reason              text        constraint save_outcomes_reason_check
                                    check (char_length(reason) between 1 and 64),
    -- The record that holds the note, unless it is private.
    record_id           uuid,
    -- The item that the policy made of the save, or from which a maintainer released it. Both
    -- outcomes of a released save have it.
    quarantine_item_id  uuid,
    saved_at            timestamptz not null default now(),
    constraint save_outcomes_private_check check (visibility <> 'private' or record_id is null)
);
create index save_outcomes_project_id_idx on save_outcomes (project_id, saved_at);

-- Sessions of clients: the requests of one client from its start to its end (mc_domain's
-- ClientSession). A row is added by the first request in a project that is stored here.
create table client_sessions (
    project_id  uuid        not null references projects on delete cascade,
    -- No reference, as in save_outcomes.
    user_id     uuid        not null,
    id          uuid        not null,
    -- When the client started the session, which may be before its first request in the project.
    started_at  timestamptz not null,
    primary key (project_id, user_id, id)
);
create index client_sessions_started_at_idx on client_sessions (project_id, started_at);

-- Counts of reads by search, record, document and passage. Single reads would outnumber all other
-- audit events, so the service counts them, and adds the counts after some seconds. When an hour is
-- over, the job `cleanup` takes them out, and records one audit event for each user and hour.
create table read_counts (
    id          bigint      generated always as identity primary key,
    project_id  uuid        not null references projects on delete cascade,
    -- No reference, as in save_outcomes.
    user_id     uuid        not null,
    kind        text        not null
                            constraint read_counts_kind_check
                            check (kind in ('search', 'record', 'document', 'passage')),
    -- The beginning of the hour.
    hour        timestamptz not null,
    count       int         not null constraint read_counts_count_check check (count > 0)
);
create index read_counts_project_id_idx on read_counts (project_id, hour);

-- The service role adds rows for the user of its transaction only, and can't update them.
-- Maintainers delete outcomes and sessions to erase a person's data. Nobody but the worker takes
-- counts out before they are in the audit.
call mc.enable_project_rls('save_outcomes', 'project_id', 'agent', 'maintainer');
call mc.enable_project_rls('client_sessions', 'project_id', 'viewer', 'maintainer');
call mc.enable_project_rls('read_counts', 'project_id', 'viewer', 'maintainer');
do $$
declare
    adder record;
begin
    for adder in
        select * from (values ('save_outcomes', 'agent'), ('client_sessions', 'viewer'),
            ('read_counts', 'viewer')) as adders (relation, role)
    loop
        execute format('alter policy project_select on %I using (
            project_id = (select mc.project_as_maintainer())
            or project_id = (select mc.project_as_viewer()) and user_id = (select mc.principal()))',
            adder.relation);
        execute format('alter policy project_insert on %I with check (
            project_id = (select mc.project_as_%s()) and user_id = (select mc.principal()))',
            adder.relation, adder.role);
        execute format('drop policy project_update on %I', adder.relation);
        execute format('revoke update on %I from memory_copilot_service', adder.relation);
    end loop;
end $$;
drop policy project_delete on read_counts;
revoke delete on read_counts from memory_copilot_service;

-- `session_id` is the session of the recall. `is_control` marks a recall of a control group: the
-- client stated that it shows the bundle to no model, so it is no evidence for or against the
-- items, and is not counted as a recall of them.
alter table bundles
    add column session_id uuid,
    add column is_control boolean not null default false;

-- The outcome of a dialog, and the version of the system prompt used in it; null if not stated.
alter table dialogs
    add column outcome text constraint dialogs_outcome_check
        check (outcome in ('succeeded', 'failed', 'abandoned')),
    add column prompt_version text constraint dialogs_prompt_version_check
        check (char_length(prompt_version) between 1 and 500);

-- The provider's times; null if the provider did not send them.
alter table tasks
    add column opened_at timestamptz,
    add column closed_at timestamptz;
-- `closed_at` is also set if a pull request is merged. Without a time of the provider's, they are
-- the time of the state that was closed or merged.
alter table pull_requests
    add column opened_at timestamptz,
    add column closed_at timestamptz,
    add column merged_at timestamptz;

-- A pull request's list of files, as an integration read it from the provider; or why there is
-- none.
create table pull_request_file_lists (
    pull_request_id  uuid        primary key,
    project_id       uuid        not null,
    -- Whose credential read the list, which is deleted with it; null if there is no list.
    integration_id   uuid,
    -- The head of the pull request at that time.
    head_sha         text        not null,
    -- Whether all files are in pull_request_files: their number is limited.
    is_complete      boolean     not null default false,
    -- Whether the diffs were stored with the files, while the pull request is open.
    has_diffs        boolean     not null default false,
    -- Why there is no list, or no newer one.
    error            text,
    updated_at       timestamptz not null default now(),
    constraint pull_request_file_lists_pull_request_id_fkey
        foreign key (project_id, pull_request_id)
        references pull_requests (project_id, id) on delete cascade,
    constraint pull_request_file_lists_integration_id_fkey
        foreign key (project_id, integration_id)
        references integrations (project_id, id) on delete cascade
);
create unique index pull_request_file_lists_project_id_id_key
    on pull_request_file_lists (project_id, pull_request_id);
create index pull_request_file_lists_integration_id_idx
    on pull_request_file_lists (integration_id) where integration_id is not null;

create table pull_request_files (
    pull_request_id  uuid not null,
    project_id       uuid not null,
    path             text not null,
    -- The path before a rename.
    previous_path    text,
    status           text not null
                          constraint pull_request_files_status_check
                          check (status in ('added', 'modified', 'removed', 'renamed')),
    -- Changed lines; null if the provider sends neither the counts nor the diff.
    additions        int,
    deletions        int,
    -- The diff of the file, masked, while the pull request is open. Null also if the provider sends
    -- none, or if it is too long: part of a diff would mislead.
    diff             text constraint pull_request_files_diff_check
                          check (octet_length(diff) <= 131072),
    primary key (pull_request_id, path),
    constraint pull_request_files_pull_request_id_fkey
        foreign key (project_id, pull_request_id)
        references pull_request_file_lists (project_id, pull_request_id) on delete cascade
);
create index pull_request_files_path_idx on pull_request_files (project_id, path);
-- Diffs to delete when they are old.
create index pull_request_files_diff_idx on pull_request_files (project_id) where diff is not null;
-- No statement selects rows by it.
alter table pull_request_files alter diff set statistics 0;

-- Only workers write these.
call mc.enable_project_rls('pull_request_file_lists', 'project_id', 'agent', 'agent');
call mc.enable_project_rls('pull_request_files', 'project_id', 'agent', 'agent');
revoke insert, update, delete on pull_request_file_lists, pull_request_files
    from memory_copilot_service;

-- A user's login at a provider, to tie authors of pull requests to users. A service administrator
-- sets it, or a sign-in with the provider. The rows belong to no project, so the service checks
-- access to them.
create table provider_logins (
    user_id     uuid        not null references users on delete cascade,
    -- The host of the provider's pages in lower case, with a port if it is not the scheme's:
    -- github.com. A login is unique there, regardless of case.
    host        text        not null
                            constraint provider_logins_host_check
                            check (host = lower(host) and char_length(host) between 1 and 255),
    login       text        not null
                            constraint provider_logins_login_check
                            check (char_length(login) between 1 and 128),
    -- The administrator who set it; null if it is from a sign-in.
    created_by  uuid        references users,
    created_at  timestamptz not null default now(),
    primary key (user_id, host)
);
create unique index provider_logins_login_key on provider_logins (host, lower(login));
create index provider_logins_created_by_idx on provider_logins (created_by)
    where created_by is not null;
grant select, insert, update, delete on provider_logins to memory_copilot_service;
grant select on provider_logins to memory_copilot_worker;
