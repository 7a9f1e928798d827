-- A graph of vectors for each large project. In one that projects share, how long a search takes and how
-- complete it is tells of the others' vectors: where theirs are nearer, it passes them all to come to its
-- own. The graphs so far are dropped; their vectors are compared one by one until they have been moved
-- into the new ones, in the background.
drop function mc.make_graph(smallint);
do $$
declare
    graph text;
begin
    for graph in select indexname from pg_indexes
                 where schemaname = 'public' and tablename = 'embeddings'
                     and indexname like 'embeddings\_graph\_%' loop
        execute format('drop index public.%I', graph);
    end loop;
end $$;
update embeddings set in_graph = false where in_graph;

-- Only a table's owner can give it an index: the graph of a project's vectors of a model.
create function mc.make_graph(model smallint, project uuid) returns void
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dimensions int := (select m.dimensions from embedding_models m where m.id = model);
    name text := format('embeddings_graph_%s_%s', model, replace(project::text, '-', ''));
begin
    execute format('create index if not exists %I on embeddings
        using hnsw ((embedding::vector(%s)) vector_cosine_ops)
        where model_id = %s and project_id = %L and in_graph',
        name, dimensions, model, project);
end $$;

-- Drops the graphs of projects and models that are gone; answers how many.
create function mc.drop_graphs() returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    graph text;
    dropped int := 0;
begin
    for graph in
        select i.indexname from pg_indexes i
        where i.schemaname = 'public' and i.tablename = 'embeddings'
            and i.indexname ~ '^embeddings_graph_[0-9]+_[0-9a-f]{32}$'
            and not exists (select from projects p, embedding_models m
                            where p.id = split_part(i.indexname, '_', 4)::uuid
                                and m.id = split_part(i.indexname, '_', 3)::smallint) loop
        execute format('drop index public.%I', graph);
        dropped := dropped + 1;
    end loop;
    return dropped;
end $$;

revoke execute on function mc.make_graph(smallint, uuid), mc.drop_graphs() from public;
grant execute on function mc.make_graph(smallint, uuid), mc.drop_graphs() to memory_copilot_worker;
