-- Vectors with 16 bits a number in place of 32: half the pages to read where each is compared, half the graph, and
-- similarities that differ from the fourth digit on. The graphs are made anew.
do $$
declare
    graphs constant text[] := array(
        select indexname from pg_indexes
        where schemaname = 'public' and tablename = 'embeddings' and indexname like 'embeddings\_graph\_%');
    graph text;
begin
    foreach graph in array graphs loop
        execute format('drop index public.%I', graph);
    end loop;
end $$;
alter table embeddings alter column embedding type halfvec using embedding::halfvec;

-- A graph takes twice as many of such numbers.
alter table embedding_models drop constraint embedding_models_dimensions_bounded;
alter table embedding_models add constraint embedding_models_dimensions_bounded
    check (dimensions between 1 and 4000);

create or replace function mc.make_graph(model smallint, project uuid, source text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dimensions int := (select m.dimensions from embedding_models m where m.id = model);
    name text := format('embeddings_graph_%s_%s', model, replace(project::text, '-', ''));
begin
    execute format('create index if not exists %I on embeddings
        using hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops)
        where model_id = %s and project_id = %L and in_graph',
        name, dimensions, model, project);
    insert into graphed_sources (model_id, project_id, source_kind) values (model, project, source)
        on conflict do nothing;
end $$;
select mc.make_graph(model_id, project_id, source_kind) from graphed_sources;
