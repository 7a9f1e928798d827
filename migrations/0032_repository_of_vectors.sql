-- Stores the repository of each vector, so that a search of one repository joins no passages, and
-- gives commits an HNSW index of their own.

-- Drops the HNSW indexes, so that the update below does not insert each vector into them. The end of
-- this file builds them again: their condition now excludes commits.
do $$
declare
    name text;
begin
    for name in
        select i.indexname from pg_indexes i
        where i.schemaname = 'public' and i.tablename = 'embeddings'
            and i.indexname ~ '^embeddings_hnsw_[0-9]+_[0-9a-f]{32}_idx$' loop
        execute format('drop index public.%I', name);
    end loop;
end $$;

-- Copied from the passage, as project_id is.
alter table embeddings add column repository_id uuid;
update embeddings e set repository_id = p.repository_id
from passages p
where p.id = e.passage_id and p.repository_id is not null;
create index embeddings_repository_id_idx on embeddings (model_id, repository_id, source_kind)
    where repository_id is not null;

-- Creates the HNSW index that holds vectors of this source, if it does not exist, and registers the
-- source. Each project has its own indexes: in a shared one the time and the completeness of a search
-- would reveal other projects' vectors. It has one for commits and one for all other sources, since no
-- search returns commits together with code and notes. The function runs as the table's owner, since
-- only an owner can create an index.
create or replace function mc.create_hnsw_index(model smallint, project uuid, source text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dimensions int := (select m.dimensions from embedding_models m where m.id = model);
    prefix text := case when source = 'change' then 'changes' else 'embeddings' end;
    name text := format('%s_hnsw_%s_%s_idx', prefix, model, replace(project::text, '-', ''));
begin
    execute format('create index if not exists %I on embeddings
        using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops)
        where model_id = %s and project_id = %L and in_hnsw and source_kind %s ''change''',
        name, dimensions, model, project, case when source = 'change' then '=' else '<>' end);
    insert into hnsw_sources (model_id, project_id, source_kind)
        values (model, project, source) on conflict do nothing;
end $$;

-- Drops the HNSW indexes of deleted projects and models. Returns how many.
create or replace function mc.drop_orphaned_hnsw_indexes() returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    name text;
    dropped int := 0;
begin
    for name in
        select i.indexname from pg_indexes i
        where i.schemaname = 'public' and i.tablename = 'embeddings'
            and i.indexname ~ '^(changes|embeddings)_hnsw_[0-9]+_[0-9a-f]{32}_idx$'
            and not exists (select from projects p, embedding_models m
                            where p.id = split_part(i.indexname, '_', 4)::uuid
                                and m.id = split_part(i.indexname, '_', 3)::smallint) loop
        execute format('drop index public.%I', name);
        dropped := dropped + 1;
    end loop;
    return dropped;
end $$;

-- A graph that does not fit into the memory is built many times slower.
set local maintenance_work_mem = '512MB';
select mc.create_hnsw_index(model_id, project_id, source_kind) from hnsw_sources;
