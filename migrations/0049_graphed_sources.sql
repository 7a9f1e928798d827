-- Whether vectors of a source of a project are in its graph. To see it in the vectors themselves, a search stepped over
-- everything that had just been moved.
create table graphed_sources (
    model_id    smallint not null references embedding_models on delete cascade,
    project_id  uuid     not null references projects on delete cascade,
    source_kind text     not null,
    primary key (model_id, project_id, source_kind)
);
create index graphed_sources_project on graphed_sources (project_id);
call mc.protect('graphed_sources', 'project_id', 'writes', 'writes');
-- Whoever moves vectors writes it.
revoke insert, update, delete on graphed_sources from memory_copilot_service;

insert into graphed_sources (model_id, project_id, source_kind)
select distinct model_id, project_id, source_kind from embeddings where in_graph;

-- A project's graph of a model, for the vectors of one more source.
drop function mc.make_graph(smallint, uuid);
create function mc.make_graph(model smallint, project uuid, source text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dimensions int := (select m.dimensions from embedding_models m where m.id = model);
    name text := format('embeddings_graph_%s_%s', model, replace(project::text, '-', ''));
begin
    execute format('create index if not exists %I on embeddings
        using hnsw ((embedding::vector(%s)) vector_cosine_ops)
        where model_id = %s and project_id = %L and in_graph',
        name, dimensions, model, project);
    insert into graphed_sources (model_id, project_id, source_kind) values (model, project, source)
        on conflict do nothing;
end $$;
revoke execute on function mc.make_graph(smallint, uuid, text) from public;
grant execute on function mc.make_graph(smallint, uuid, text) to memory_copilot_worker;

-- While vectors are moved, each leaves a dead row on the heap of those that are still compared. A fifth of the table,
-- PostgreSQL's measure, is too many to step over.
alter table embeddings set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
