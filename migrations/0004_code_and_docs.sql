-- Code and documents: repositories with their files, symbols and commits, index runs, and
-- documents. Their passages and the chunks of code are in 0005_search.sql.

create table repositories (
    id                           uuid primary key,
    project_id                   uuid        not null references projects on delete cascade,
    owner                        text        not null,
    name                         text        not null,
    namespace                    text        not null generated always as (
        'repo:' || owner || '/' || name) stored,
    -- A path or a URL, without credentials.
    location                     text        not null,
    -- Whether git may fetch from a private network, or by another protocol than https. A service
    -- administrator requested it then.
    allows_private_network       boolean     not null default false,
    source_ref                   text        not null default '',
    -- The commit up to which commit history is stored; empty if there is none, or not all of it.
    history_ref                  text        not null default '',
    -- The masking rules of the stored history, as in files.masking_fingerprint.
    history_masking_fingerprint  bigint      not null default 0,
    indexed_at                   timestamptz,
    created_at                   timestamptz not null default now(),
    constraint repositories_name_key unique (project_id, owner, name)
);
call mc.enable_project_rls('repositories', 'project_id', 'agent', 'agent');

create table files (
    id                   uuid primary key,
    repository_id        uuid        not null references repositories on delete cascade,
    project_id           uuid        not null references projects on delete cascade,
    path                 text        not null,
    -- sha256 of the bytes on disk: a file is read again when it changes.
    content_hash         bytea       not null,
    size_bytes           bigint      not null,
    language             text        not null,
    line_count           int         not null,
    -- Version of the chunker, and fingerprint of the policy's masking rules: a file of an older
    -- version or of other rules is read again. 0 is no fingerprint.
    chunker_version      int         not null,
    masking_fingerprint  bigint      not null default 0,
    updated_at           timestamptz not null default now(),
    constraint files_path_key unique (repository_id, path)
);
create index files_project_id_path_idx on files (project_id, path);
call mc.enable_project_rls('files', 'project_id', 'agent', 'agent');

-- Definitions by qualified name (`CartSessions::Setting#trigger_delay_time_in_minutes`).
create table code_symbols (
    file_id     uuid  not null references files on delete cascade,
    project_id  uuid  not null references projects on delete cascade,
    name        text  not null,
    kind        text  not null,
    line_start  int   not null,
    line_end    int   not null,
    -- sha256 of the definition's lines.
    span_hash   bytea not null,
    primary key (file_id, name, line_start)
);
create index code_symbols_name_idx on code_symbols (project_id, name);
call mc.enable_project_rls('code_symbols', 'project_id', 'agent', 'agent');

-- Commit history of indexed repositories: files that a commit touched suggest files for a similar
-- task. Only ancestors of the indexed commit are stored.
create table history_commits (
    id             uuid primary key,
    project_id     uuid        not null references projects on delete cascade,
    repository_id  uuid        not null references repositories on delete cascade,
    sha            text        not null,
    -- First line of the message; sanitized, as the passage is.
    subject        text        not null,
    committed_at   timestamptz not null,
    trust          text        not null default 'imported',
    constraint history_commits_sha_key unique (repository_id, sha),
    constraint history_commits_trust_check check (trust in ('untrusted', 'imported'))
);
create index history_commits_project_id_idx on history_commits (project_id);
call mc.enable_project_rls('history_commits', 'project_id', 'agent', 'agent');

-- The files that a commit touched. A rename moves the rows to the renamed file.
create table history_commit_files (
    commit_id   uuid not null references history_commits on delete cascade,
    file_id     uuid not null references files on delete cascade,
    project_id  uuid not null references projects on delete cascade,
    primary key (commit_id, file_id)
);
create index history_commit_files_file_id_idx on history_commit_files (file_id);
create index history_commit_files_project_id_idx on history_commit_files (project_id);
call mc.enable_project_rls('history_commit_files', 'project_id', 'agent', 'agent');

-- Only index runs write history; the foreign keys delete it with its repository.
revoke insert, update, delete on history_commits, history_commit_files from memory_copilot_service;

-- Index runs of repositories (repo_rag_index_job of seed 002). Runs of one project take turns: the
-- job of a run completes at once if another run of the project is running, and the run gets a new
-- job when that one ends.
create table ingest_runs (
    id              uuid primary key,
    project_id      uuid        not null references projects on delete cascade,
    repository_id   uuid        not null references repositories on delete cascade,
    status          text        not null default 'QUEUED',
    -- The run's latest job; null while it waits for its turn.
    job_id          text,
    attempt         int         not null default 0,
    max_attempts    int         not null default 5,
    -- Branch, tag or commit to check out; empty for a path's working tree or the default branch.
    requested_ref   text        not null default '',
    files_total     int         not null default 0,
    files_done      int         not null default 0,
    files_changed   int         not null default 0,
    files_deleted   int         not null default 0,
    -- Reason -> count.
    files_skipped   jsonb       not null default '{}',
    chunks_written  int         not null default 0,
    chunks_reused   int         not null default 0,
    last_error      jsonb,
    -- The worker of the current attempt: one that was presumed dead can report nothing.
    worker          text,
    queued_at       timestamptz not null default now(),
    started_at      timestamptz,
    completed_at    timestamptz,
    constraint ingest_runs_status_check
        check (status in ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED'))
);
create index ingest_runs_active_idx on ingest_runs (project_id, queued_at)
    where status in ('QUEUED', 'RUNNING');
create index ingest_runs_repository_id_idx on ingest_runs (repository_id, queued_at);
call mc.enable_project_rls('ingest_runs', 'project_id', 'agent', 'agent');

create table docs (
    id             uuid primary key,
    project_id     uuid        not null references projects on delete cascade,
    source         text        not null,
    doc_id         text        not null,
    title          text        not null,
    url            text        not null default '',
    content        text        not null,
    scope          text[]      not null default '{}',
    tags           text[]      not null default '{}',
    -- Set if the document is a file of an indexed repository.
    file_id        uuid        references files on delete cascade,
    -- Set if the document is the full text of a record with a summary as its content. Search finds
    -- it with that record, and it is deleted with it.
    record_id      uuid        references memory_records on delete cascade,
    -- For a conversation: author, time and line count of each message
    -- (mc_store::docs::MessageSpan), so that lost passages can be rebuilt. Null for others.
    message_spans  jsonb,
    -- Untrusted is a document with prompt injection that the project's policy accepts.
    trust          text        not null default 'imported'
                               check (trust in ('imported', 'untrusted')),
    saved_by       uuid        references users on delete set null,
    -- When the document was submitted, as for dialogs.
    sent_at        timestamptz not null default now(),
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    constraint docs_doc_id_key unique (project_id, source, doc_id)
);
create index docs_project_id_idx on docs (project_id, id);
create index docs_title_idx on docs (project_id, lower(title));
create index docs_url_idx on docs (project_id, url);
create index docs_file_id_idx on docs (file_id);
create index docs_record_id_idx on docs (record_id) where record_id is not null;
call mc.enable_project_rls('docs', 'project_id', 'agent', 'agent');

-- Finds the project of an index run.
create function mc.find_project_of_ingest_run(principal uuid, run uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.*
    from ingest_runs i,
         lateral mc.find_project(find_project_of_ingest_run.principal, i.project_id) p
    where i.id = find_project_of_ingest_run.run
$$;
call mc.set_worker_owner(array['mc.find_project_of_ingest_run(uuid, uuid)']::regprocedure[]);
