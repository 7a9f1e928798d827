-- The commit history of indexed repositories: which files a change touched tells which files a similar task needs.
-- Only ancestors of the commit that was indexed are here.
create table history_commits (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    repository_id uuid        not null references repositories on delete cascade,
    sha           text        not null,
    -- First line of the message; sanitized, as the passage is.
    subject       text        not null,
    committed_at  timestamptz not null,
    trust         text        not null default 'imported',
    constraint history_commits_sha_key unique (repository_id, sha),
    constraint history_commits_trust_check check (trust in ('untrusted', 'imported'))
);
create index history_commits_project_id_idx on history_commits (project_id);

-- The files that a commit touched, as they are called now: a rename moves its rows to the new file.
create table history_commit_files (
    commit_id   uuid not null references history_commits on delete cascade,
    file_id     uuid not null references files on delete cascade,
    project_id  uuid not null references projects on delete cascade,
    primary key (commit_id, file_id)
);
create index history_commit_files_file_id_idx on history_commit_files (file_id);
create index history_commit_files_project_id_idx on history_commit_files (project_id);

-- The commit up to which history was read (empty: none, or not to its end), and by which rules it was masked.
alter table repositories
    add column history_ref text not null default '',
    add column history_masked_by bigint not null default 0;

-- A commit is found by its message: one passage each. PostgreSQL 16 can't change the expression of a generated column.
alter table passages add column commit_id uuid references history_commits on delete cascade;
create unique index passages_commit_id_key on passages (commit_id) where commit_id is not null;
alter table passages drop constraint passages_one_source;
drop index passages_project;
alter table passages drop column source_kind;
alter table passages add column source_kind text not null generated always as (
    case when record_id is not null then 'memory'
         when dialog_id is not null then 'dialog'
         when doc_id is not null then 'doc'
         when commit_id is not null then 'change'
         else 'code' end) stored;
create index passages_project on passages (project_id, source_kind);
alter table passages add constraint passages_one_source
    check (num_nonnulls(record_id, dialog_id, doc_id, file_id, commit_id) = 1);

-- Who waits for the vector of a commit waits for those of code and notes first.
alter table embedding_queue add column priority smallint not null default 0;
drop index embedding_queue_due;
create index embedding_queue_due on embedding_queue (priority, run_at, passage_id);

call mc.protect('history_commits', 'project_id', 'writes', 'writes');
call mc.protect('history_commit_files', 'project_id', 'writes', 'writes');
-- Indexing alone writes them; with their repository they are deleted by the foreign keys.
revoke insert, update, delete on history_commits, history_commit_files from memory_copilot_service;
