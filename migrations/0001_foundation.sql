-- The team's memory: projects, tasks, dialogs, records, documents, code, and the passages that
-- search sees. PostgreSQL is the only truth; the keyword index is derived from `feed`.

create extension if not exists vector;

create table projects (
    id          uuid primary key,
    key         text        not null constraint projects_key_unique unique,
    name        text        not null,
    settings    jsonb       not null default '{}',
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now()
);

create table tasks (
    id           uuid primary key,
    project_id   uuid        not null references projects on delete cascade,
    external_id  text        not null,
    title        text        not null default '',
    status       text        not null default 'unknown',
    assignee     text,
    labels       text[]      not null default '{}',
    links        jsonb       not null default '[]',
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now(),
    constraint tasks_external_id_unique unique (project_id, external_id)
);

create table dialogs (
    id          uuid primary key,
    project_id  uuid        not null references projects on delete cascade,
    task_id     uuid        references tasks on delete set null,
    developer   text,
    messages    jsonb       not null default '[]',
    distilled   text        not null default '',
    created_at  timestamptz not null default now(),
    updated_at  timestamptz not null default now()
);
create index dialogs_project on dialogs (project_id, created_at);
create index dialogs_task on dialogs (task_id);

create table memory_records (
    id             uuid primary key,
    project_id     uuid        not null references projects on delete cascade,
    task_id        uuid        references tasks on delete set null,
    dialog_id      uuid        references dialogs on delete set null,
    kind           text        not null,
    title          text        not null default '',
    content        text        not null,
    scope          text[]      not null default '{}',
    tags           text[]      not null default '{}',
    owner          text,
    ttl            timestamptz not null,
    quality        jsonb       not null default '{}',
    meta           jsonb       not null default '{}',
    state          text        not null default 'active',
    superseded_by  uuid        references memory_records on delete set null,
    -- sha256 of the normalised content: equal text never makes a second live row.
    content_hash   bytea       not null,
    -- 64-bit simhash of the content's words, for near duplicates.
    simhash        bigint      not null,
    version        int         not null default 1,
    hits           int         not null default 0,
    used           int         not null default 0,
    last_hit_at    timestamptz,
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    constraint memory_records_kind_known
        check (kind in ('fact', 'fewshot', 'pattern', 'adr_link', 'gotcha', 'rule')),
    constraint memory_records_state_known
        check (state in ('active', 'stale', 'superseded', 'deleted')),
    constraint memory_records_content_bounded check (char_length(content) between 1 and 2000)
);
create unique index memory_records_live_content on memory_records (project_id, kind, content_hash)
    where state in ('active', 'stale');
create index memory_records_task on memory_records (task_id);

-- What a record said before it was merged into, superseded or edited.
create table memory_versions (
    record_id   uuid        not null references memory_records on delete cascade,
    version     int         not null,
    title       text        not null,
    content     text        not null,
    scope       text[]      not null,
    tags        text[]      not null,
    meta        jsonb       not null,
    reason      text        not null,
    changed_by  text,
    changed_at  timestamptz not null default now(),
    primary key (record_id, version)
);

create table repositories (
    id           uuid primary key,
    project_id   uuid        not null references projects on delete cascade,
    owner        text        not null,
    name         text        not null,
    namespace    text        not null generated always as ('repo:' || owner || '/' || name) stored,
    -- A path or a URL, without credentials.
    location     text        not null,
    source_ref   text        not null default '',
    indexed_at   timestamptz,
    created_at   timestamptz not null default now(),
    constraint repositories_name_unique unique (project_id, owner, name)
);

create table files (
    id             uuid primary key,
    repository_id  uuid        not null references repositories on delete cascade,
    project_id     uuid        not null references projects on delete cascade,
    path           text        not null,
    -- sha256 of the bytes on disk: what decides whether a file is read again.
    content_hash   bytea       not null,
    size           bigint      not null,
    language       text        not null,
    line_count     int         not null,
    -- The version of the chunker that cut this file; an older one is cut again.
    chunker        int         not null,
    updated_at     timestamptz not null default now(),
    constraint files_path_unique unique (repository_id, path)
);
create index files_project_path on files (project_id, path);

create table docs (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    -- Set where the document is a file of an indexed repository.
    file_id       uuid        references files on delete cascade,
    source        text        not null,
    doc_id        text        not null,
    title         text        not null,
    url           text        not null default '',
    content       text        not null,
    scope         text[]      not null default '{}',
    tags          text[]      not null default '{}',
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    constraint docs_id_unique unique (project_id, source, doc_id)
);
create index docs_title on docs (project_id, lower(title));
create index docs_url on docs (project_id, url);
create index docs_file on docs (file_id);

-- The one shape that search knows.
create table passages (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    record_id     uuid        references memory_records on delete cascade,
    dialog_id     uuid        references dialogs on delete cascade,
    doc_id        uuid        references docs on delete cascade,
    file_id       uuid        references files on delete cascade,
    source_kind   text        not null generated always as (
        case when record_id is not null then 'memory'
             when dialog_id is not null then 'dialog'
             when doc_id is not null then 'doc'
             else 'code' end) stored,
    -- Position within the source, from 0.
    ordinal       int         not null default 0,
    -- The record's kind for memory, else empty.
    record_kind   text        not null default '',
    -- Record title, heading path or the enclosing symbol.
    title         text        not null default '',
    -- File path or URL.
    place         text        not null default '',
    symbols       text[]      not null default '{}',
    scope         text[]      not null default '{}',
    tags          text[]      not null default '{}',
    language      text        not null default '',
    text          text        not null,
    -- sha256 of what is embedded (title, place and text).
    content_hash  bytea       not null,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    constraint passages_one_source check (num_nonnulls(record_id, dialog_id, doc_id, file_id) = 1)
);
create index passages_project on passages (project_id, source_kind);
create index passages_record on passages (record_id) where record_id is not null;
create index passages_dialog on passages (dialog_id) where dialog_id is not null;
create index passages_doc on passages (doc_id) where doc_id is not null;
create index passages_file on passages (file_id, ordinal) where file_id is not null;

-- What seed 002 wants of a chunk of code beyond its passage.
create table code_chunks (
    passage_id     uuid primary key references passages on delete cascade,
    project_id     uuid not null references projects on delete cascade,
    repository_id  uuid not null references repositories on delete cascade,
    file_id        uuid not null references files on delete cascade,
    chunk_index    int  not null,
    -- 1-based, inclusive.
    line_start     int  not null,
    line_end       int  not null,
    -- Lines at the top that repeat the end of the chunk before.
    overlap_lines  int  not null default 0,
    chunk_hash     bytea not null,
    span_hash      bytea not null,
    summary        text not null default '',
    parent_symbol  text,
    source_ref     text not null default ''
);
create index code_chunks_file on code_chunks (file_id, chunk_index);

-- Definitions by qualified name (`CartSessions::Setting#trigger_delay_time_in_minutes`).
create table code_symbols (
    file_id     uuid not null references files on delete cascade,
    project_id  uuid not null references projects on delete cascade,
    name        text not null,
    kind        text not null,
    line_start  int  not null,
    line_end    int  not null,
    -- sha256 of the definition's lines.
    span_hash   bytea not null,
    primary key (file_id, name, line_start)
);
create index code_symbols_name on code_symbols (project_id, name);

-- The places in the code that a record was true of.
create table memory_citations (
    id            uuid primary key,
    record_id     uuid        not null references memory_records on delete cascade,
    project_id    uuid        not null references projects on delete cascade,
    file_path     text        not null,
    symbol        text,
    line_start    int,
    line_end      int,
    commit_sha    text,
    -- sha256 of the cited lines as they were; null until the file has been indexed.
    content_hash  bytea,
    verdict       text        not null default 'unchecked',
    checked_at    timestamptz not null default now(),
    constraint memory_citations_verdict_known
        check (verdict in ('fresh', 'drifted', 'orphaned', 'unchecked'))
);
create index memory_citations_record on memory_citations (record_id);
create index memory_citations_file on memory_citations (project_id, file_path);

create table embedding_models (
    id          smallint generated always as identity primary key,
    name        text        not null constraint embedding_models_name_unique unique,
    dimensions  int         not null constraint embedding_models_dimensions_bounded
                            check (dimensions between 1 and 2000),
    -- How to open the model again (no secrets), so that it can answer until its successor is ready.
    provider    jsonb       not null,
    created_at  timestamptz not null default now()
);

create table embeddings (
    model_id     smallint not null references embedding_models on delete cascade,
    passage_id   uuid     not null references passages on delete cascade,
    project_id   uuid     not null references projects on delete cascade,
    source_kind  text     not null,
    -- The content_hash of the passage that this vector was made of.
    text_hash    bytea    not null,
    embedding    vector   not null,
    primary key (model_id, passage_id)
);
create index embeddings_project on embeddings (model_id, project_id, source_kind);
create index embeddings_passage on embeddings (passage_id);

-- Passages whose current text has no vector of the active model yet.
create table embedding_queue (
    passage_id  uuid primary key references passages on delete cascade,
    attempts    int         not null default 0,
    last_error  text,
    run_at      timestamptz not null default now()
);
create index embedding_queue_due on embedding_queue (run_at);

-- The change feed. Readers go by (txid, seq) and never move past the oldest running transaction,
-- so a row that commits late is still seen.
create table feed (
    seq         bigint generated always as identity primary key,
    txid        xid8 not null default pg_current_xact_id(),
    passage_id  uuid not null
);
create index feed_order on feed (txid, seq);

create function passages_inserted() returns trigger language plpgsql as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id) select id from changed on conflict do nothing;
    perform pg_notify('passages', '');
    return null;
end $$;
create trigger passages_inserted after insert on passages
    referencing new table as changed for each statement execute function passages_inserted();

create function passages_updated() returns trigger language plpgsql as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id)
        select c.id from changed c join previous p using (id)
        where c.content_hash <> p.content_hash
        on conflict (passage_id) do update set attempts = 0, last_error = null, run_at = now();
    perform pg_notify('passages', '');
    return null;
end $$;
create trigger passages_updated after update on passages
    referencing old table as previous new table as changed
    for each statement execute function passages_updated();

create function passages_deleted() returns trigger language plpgsql as $$
begin
    insert into feed (passage_id) select id from changed;
    perform pg_notify('passages', '');
    return null;
end $$;
create trigger passages_deleted after delete on passages
    referencing old table as changed for each statement execute function passages_deleted();

-- What was recalled, for whom, and what of it was used.
create table bundles (
    id          uuid primary key,
    project_id  uuid        not null references projects on delete cascade,
    principal   text        not null,
    request     jsonb       not null,
    confidence  real        not null,
    tokens      int         not null,
    degraded    text[]      not null default '{}',
    created_at  timestamptz not null default now()
);
create index bundles_project on bundles (project_id, created_at);

create table bundle_items (
    bundle_id   uuid not null references bundles on delete cascade,
    position    int  not null,
    section     text not null,
    record_id   uuid references memory_records on delete set null,
    doc_id      uuid references docs on delete set null,
    passage_id  uuid,
    score       real not null,
    -- null until feedback arrives.
    used        boolean,
    used_at     timestamptz,
    primary key (bundle_id, position)
);
create index bundle_items_record on bundle_items (record_id);

-- Runs of the indexer (seed 002's repo_rag_index_job).
create table ingest_runs (
    id              uuid primary key,
    project_id      uuid        not null references projects on delete cascade,
    repository_id   uuid        not null references repositories on delete cascade,
    status          text        not null default 'QUEUED',
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
    -- Which process works on it; a live one renews heartbeat_at.
    worker          text,
    heartbeat_at    timestamptz,
    run_at          timestamptz not null default now(),
    queued_at       timestamptz not null default now(),
    started_at      timestamptz,
    completed_at    timestamptz,
    constraint ingest_runs_status_known
        check (status in ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED'))
);
create index ingest_runs_open on ingest_runs (run_at) where status in ('QUEUED', 'RUNNING');
create index ingest_runs_repository on ingest_runs (repository_id, queued_at);
