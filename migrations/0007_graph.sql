-- Vectors are compared one by one while a project has few. Only those of large projects are in the
-- HNSW graph, and get there in the background: see crates/store/src/vectors/graph.rs.
alter table embeddings add column in_graph boolean not null default false;

drop index embeddings_project;
create index embeddings_project on embeddings (model_id, project_id, source_kind, in_graph);

-- The graphs so far, one for each model, hold every vector; the service makes their successors.
do $$
declare
    graph text;
begin
    for graph in select indexname from pg_indexes
                 where schemaname = current_schema() and tablename = 'embeddings'
                     and indexname like 'embeddings\_hnsw\_%' loop
        execute format('drop index %I', graph);
    end loop;
end $$;
