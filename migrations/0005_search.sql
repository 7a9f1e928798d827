-- Search: passages, their vectors, the change feed for keyword indexes, and the bundles that
-- recalls return. PostgreSQL is the source of truth; keyword indexes are derived.

-- The unit of search. Records, dialogs, documents, commits and code are searched as passages only.
create table passages (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    -- The source: exactly one of these five.
    record_id     uuid        references memory_records on delete cascade,
    dialog_id     uuid        references dialogs on delete cascade,
    doc_id        uuid        references docs on delete cascade,
    file_id       uuid        references files on delete cascade,
    commit_id     uuid        references history_commits on delete cascade,
    source_kind   text        not null generated always as (
        case when record_id is not null then 'memory'
             when dialog_id is not null then 'dialog'
             when doc_id is not null then 'doc'
             when commit_id is not null then 'change'
             else 'code' end) stored,
    -- Position within the source, from 0.
    ordinal       int         not null default 0,
    -- The record's kind for memory, else empty.
    record_kind   text        not null default '',
    -- Record title, heading path or the enclosing symbol.
    title         text        not null default '',
    -- File path or URL.
    location      text        not null default '',
    -- Lines within a document; those of code are in code_chunks.
    line_start    int,
    line_end      int,
    symbols       text[]      not null default '{}',
    scope         text[]      not null default '{}',
    tags          text[]      not null default '{}',
    language      text        not null default '',
    -- Author of the text; empty if there is no single one.
    author        text        not null default '',
    -- For a message: its date and the messages before it. Indexed and embedded with the text, but
    -- not shown as part of it.
    context       text        not null default '',
    text          text        not null,
    -- sha256 of everything that is embedded.
    content_hash  bytea       not null,
    -- The only user who may see the passage, as in memory_records.
    private_to    uuid,
    created_at    timestamptz not null default now(),
    updated_at    timestamptz not null default now(),
    constraint passages_source_check
        check (num_nonnulls(record_id, dialog_id, doc_id, file_id, commit_id) = 1)
);
create index passages_project_id_idx on passages (project_id, source_kind);
create index passages_record_id_idx on passages (record_id) where record_id is not null;
create index passages_dialog_id_idx on passages (dialog_id) where dialog_id is not null;
create index passages_doc_id_idx on passages (doc_id) where doc_id is not null;
create index passages_file_id_idx on passages (file_id, ordinal) where file_id is not null;
-- A commit has one passage: its message.
create unique index passages_commit_id_key on passages (commit_id) where commit_id is not null;
-- No statement selects rows by these columns, and an analysis would spend most of its time on them.
alter table passages
    alter title set statistics 0, alter symbols set statistics 0, alter context set statistics 0,
    alter author set statistics 0, alter text set statistics 0;
call mc.enable_project_rls('passages', 'project_id', 'agent', 'agent');
create policy private_all on passages as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));

-- Chunks of code (seed 002): the attributes that only passages of code have.
create table code_chunks (
    passage_id     uuid primary key references passages on delete cascade,
    project_id     uuid  not null references projects on delete cascade,
    repository_id  uuid  not null references repositories on delete cascade,
    file_id        uuid  not null references files on delete cascade,
    chunk_index    int   not null,
    -- 1-based, inclusive.
    line_start     int   not null,
    line_end       int   not null,
    -- Lines at the top that repeat the end of the previous chunk.
    overlap_lines  int   not null default 0,
    chunk_hash     bytea not null,
    span_hash      bytea not null,
    summary        text  not null default '',
    parent_symbol  text,
    source_ref     text  not null default '',
    -- As for documents.
    trust          text  not null default 'imported' check (trust in ('imported', 'untrusted'))
);
create index code_chunks_file_id_idx on code_chunks (file_id, chunk_index);
create index code_chunks_repository_id_idx on code_chunks (repository_id);
call mc.enable_project_rls('code_chunks', 'project_id', 'agent', 'agent');

create table embedding_models (
    id          smallint    generated always as identity primary key,
    name        text        not null constraint embedding_models_name_key unique,
    -- An HNSW index takes at most 4000 dimensions of halfvec.
    dimensions  int         not null constraint embedding_models_dimensions_check
                            check (dimensions between 1 and 4000),
    -- How to open the model again, without secrets: it serves until its successor is ready.
    provider    jsonb       not null,
    created_at  timestamptz not null default now()
);
grant select on embedding_models to memory_copilot_service;
grant select, insert, update, delete on embedding_models to memory_copilot_worker;

-- Vectors. New ones are flat: a search compares each. Those of a large project move to an HNSW
-- index in the background, so that no save waits for it.
create table embeddings (
    model_id     smallint not null references embedding_models on delete cascade,
    passage_id   uuid     not null references passages on delete cascade,
    project_id   uuid     not null references projects on delete cascade,
    source_kind  text     not null,
    private_to   uuid,
    -- The passage's content_hash that this vector belongs to.
    text_hash    bytea    not null,
    -- 16 bits a number: half the pages to read, and half the index, of 32 bits. Similarities differ
    -- from the fourth digit on.
    embedding    halfvec  not null,
    in_hnsw      boolean  not null default false,
    primary key (model_id, passage_id)
)
-- A move leaves a dead row for each vector. PostgreSQL's default, a fifth of the table, would make
-- searches step over too many of them.
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
create index embeddings_project_id_idx on embeddings (model_id, project_id, source_kind, in_hnsw);
create index embeddings_passage_id_idx on embeddings (passage_id);
-- As for passages.
alter table embeddings alter embedding set statistics 0;
call mc.enable_project_rls('embeddings', 'project_id', 'agent', 'agent');
create policy private_all on embeddings as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));

-- Sources of a project of which vectors are in its HNSW index. To find that out from the vectors, a
-- search would step over all that have just moved.
create table hnsw_sources (
    model_id     smallint not null references embedding_models on delete cascade,
    project_id   uuid     not null references projects on delete cascade,
    source_kind  text     not null,
    primary key (model_id, project_id, source_kind)
);
create index hnsw_sources_project_id_idx on hnsw_sources (project_id);
call mc.enable_project_rls('hnsw_sources', 'project_id', 'agent', 'agent');
-- Only the worker moves vectors.
revoke insert, update, delete on hnsw_sources from memory_copilot_service;

-- Creates the HNSW index of a project and model if there is none, for the vectors of one more
-- source. Each project has its own: in a shared index the time and the completeness of a search
-- would reveal other projects' vectors. The function runs as the table's owner, since only an owner
-- can create an index.
create function mc.create_hnsw_index(model smallint, project uuid, source text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dimensions int := (select m.dimensions from embedding_models m where m.id = model);
    name text := format('embeddings_hnsw_%s_%s_idx', model, replace(project::text, '-', ''));
begin
    execute format('create index if not exists %I on embeddings
        using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops)
        where model_id = %s and project_id = %L and in_hnsw',
        name, dimensions, model, project);
    insert into hnsw_sources (model_id, project_id, source_kind)
        values (model, project, source) on conflict do nothing;
end $$;

-- Drops the HNSW indexes of deleted projects and models. Returns how many.
create function mc.drop_orphaned_hnsw_indexes() returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    name text;
    dropped int := 0;
begin
    for name in
        select i.indexname from pg_indexes i
        where i.schemaname = 'public' and i.tablename = 'embeddings'
            and i.indexname ~ '^embeddings_hnsw_[0-9]+_[0-9a-f]{32}_idx$'
            and not exists (select from projects p, embedding_models m
                            where p.id = split_part(i.indexname, '_', 4)::uuid
                                and m.id = split_part(i.indexname, '_', 3)::smallint) loop
        execute format('drop index public.%I', name);
        dropped := dropped + 1;
    end loop;
    return dropped;
end $$;

-- Passages whose current text has no vector of the active model.
create table embedding_queue (
    passage_id    uuid primary key references passages on delete cascade,
    project_id    uuid        not null,
    private_to    uuid,
    attempts      int         not null default 0,
    last_error    text,
    -- Lower ones first: vectors of commits come after those of code and notes.
    priority      smallint    not null default 0,
    scheduled_at  timestamptz not null default now()
);
-- After a change of model all rows have the same scheduled_at: without passage_id each batch would
-- sort them all.
create index embedding_queue_scheduled_at_idx
    on embedding_queue (priority, scheduled_at, passage_id);
-- If a project's policy excludes the active model, its rows are rescheduled, so that no batch steps
-- over them. This index finds them.
create index embedding_queue_project_id_idx on embedding_queue (project_id, scheduled_at);
call mc.enable_project_rls('embedding_queue', 'project_id', 'agent', 'agent');
create policy private_all on embedding_queue as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));

-- Returns whether a policy allows a model, which is remote or on the service's own machine.
create function mc.is_embedding_allowed(allowed_models text, is_remote boolean) returns boolean
language sql immutable parallel safe as $$
    select allowed_models = 'any' or allowed_models = 'local' and not is_remote
$$;

-- The change feed: changed passages, read by keyword indexes in the order of (txid, seq). No reader
-- moves past the oldest running transaction, so a row that commits late is seen, too.
create table change_feed (
    seq         bigint      generated always as identity primary key,
    txid        xid8        not null default pg_current_xact_id(),
    passage_id  uuid        not null,
    created_at  timestamptz not null default now()
);
create index change_feed_txid_seq_idx on change_feed (txid, seq);
create index change_feed_created_at_idx on change_feed (created_at);

-- Up to which transaction rows of the feed were deleted. An index that has not read that far must
-- be rebuilt.
create table change_feed_watermark (
    is_singleton  boolean primary key default true
                          constraint change_feed_watermark_singleton_check check (is_singleton),
    txid          xid8    not null
);
insert into change_feed_watermark (txid) values ('0');

-- The feed has ids of all projects: the service role can't read it.
grant select, insert, update, delete on change_feed, change_feed_watermark to memory_copilot_worker;

-- Triggers of passages write the feed and the embedding queue. They notify workers of the queue
-- alone: readers of the feed poll it, and a NOTIFY makes all commits of a database wait for each
-- other. A passage that is inserted together with its vector is not queued.
create function mc.after_passages_insert() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into change_feed (passage_id) select id from new_rows;
    insert into embedding_queue (passage_id, project_id, private_to)
        select c.id, c.project_id, c.private_to from new_rows c
        where not exists (select 1 from embeddings e
                          where e.passage_id = c.id and e.text_hash = c.content_hash)
        on conflict do nothing;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    return null;
end $$;
create function mc.after_passages_update() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into change_feed (passage_id) select id from new_rows;
    -- A queued passage is as private as the passage, even if nothing else changed.
    update embedding_queue q set private_to = c.private_to from new_rows c
    where q.passage_id = c.id and q.private_to is distinct from c.private_to;
    insert into embedding_queue (passage_id, project_id, private_to)
        select c.id, c.project_id, c.private_to from new_rows c join old_rows p using (id)
        where c.content_hash <> p.content_hash
        on conflict (passage_id) do update
            set attempts = 0, last_error = null, scheduled_at = now(),
                private_to = excluded.private_to;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    return null;
end $$;
create function mc.after_passages_delete() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into change_feed (passage_id) select id from old_rows;
    return null;
end $$;
create trigger passages_after_insert after insert on passages
    referencing new table as new_rows
    for each statement execute function mc.after_passages_insert();
create trigger passages_after_update after update on passages
    referencing old table as old_rows new table as new_rows
    for each statement execute function mc.after_passages_update();
create trigger passages_after_delete after delete on passages
    referencing old table as old_rows
    for each statement execute function mc.after_passages_delete();

-- Results of recalls.
create table bundles (
    id           uuid primary key,
    project_id   uuid        not null references projects on delete cascade,
    -- The caller's name, as the caller states it.
    principal    text        not null,
    -- The caller's user, to look up handles that come without a bundle in the caller's latest one;
    -- null for background work. No reference: each recall would lock the user's row.
    user_id      uuid,
    request      jsonb       not null,
    confidence   real        not null,
    token_count  int         not null,
    degraded     text[]      not null default '{}',
    -- When the first feedback arrived. From then on, items that were not used count as skipped.
    feedback_at  timestamptz,
    created_at   timestamptz not null default now()
);
create index bundles_project_id_idx on bundles (project_id, created_at);
create index bundles_user_id_idx on bundles (project_id, user_id, id) where user_id is not null;
alter table bundles alter request set statistics 0;
-- A viewer's recall is stored as well.
call mc.enable_project_rls('bundles', 'project_id', 'viewer', 'agent');

create table bundle_items (
    bundle_id   uuid        not null references bundles on delete cascade,
    position    int         not null,
    project_id  uuid        not null,
    section     text        not null,
    -- The item's short name within the bundle: m1, d1, t1, c1.
    handle      text,
    record_id   uuid        references memory_records on delete set null,
    doc_id      uuid        references docs on delete set null,
    passage_id  uuid,
    score       real        not null,
    -- Null until feedback arrives.
    is_used     boolean,
    used_at     timestamptz,
    primary key (bundle_id, position)
);
create index bundle_items_record_id_idx on bundle_items (record_id);
create index bundle_items_doc_id_idx on bundle_items (doc_id) where doc_id is not null;
call mc.enable_project_rls('bundle_items', 'project_id', 'viewer', 'agent');

-- Evidence that an item of a bundle helped, once for each bundle, item and kind: feedback named it,
-- the caller opened it, a later save of the caller cites it, or a merged pull request touches a
-- file that it cites.
create table bundle_uses (
    project_id  uuid        not null references projects on delete cascade,
    bundle_id   uuid        not null references bundles on delete cascade,
    record_id   uuid        references memory_records on delete cascade,
    doc_id      uuid        references docs on delete cascade,
    kind        text        not null
                            constraint bundle_uses_kind_check
                            check (kind in ('feedback', 'opened', 'cited', 'merged')),
    created_at  timestamptz not null default now(),
    constraint bundle_uses_item_check check (num_nonnulls(record_id, doc_id) = 1)
);
create unique index bundle_uses_item_key
    on bundle_uses (bundle_id, coalesce(record_id, doc_id), kind);
create index bundle_uses_project_id_idx on bundle_uses (project_id);
create index bundle_uses_record_id_idx on bundle_uses (record_id) where record_id is not null;
create index bundle_uses_doc_id_idx on bundle_uses (doc_id) where doc_id is not null;
call mc.enable_project_rls('bundle_uses', 'project_id', 'agent', 'agent');

-- Finds the project of a bundle.
create function mc.find_project_of_bundle(principal uuid, bundle uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.*
    from bundles b, lateral mc.find_project(find_project_of_bundle.principal, b.project_id) p
    where b.id = find_project_of_bundle.bundle
$$;

revoke execute on function mc.create_hnsw_index(smallint, uuid, text),
    mc.drop_orphaned_hnsw_indexes(), mc.is_embedding_allowed(text, boolean) from public;
grant execute on function mc.create_hnsw_index(smallint, uuid, text),
    mc.drop_orphaned_hnsw_indexes() to memory_copilot_worker;
grant execute on function mc.is_embedding_allowed(text, boolean)
    to memory_copilot_service, memory_copilot_worker;
call mc.set_worker_owner(array[
    'mc.after_passages_insert()', 'mc.after_passages_update()', 'mc.after_passages_delete()',
    'mc.find_project_of_bundle(uuid, uuid)']::regprocedure[]);
