-- Nodes may run different embedding models, as while a new configuration is rolled out. Each model
-- has its own entries in the embedding queue, so no node takes or deletes entries of another model.

alter table embedding_models
    -- When a node last ran the model. Passages are queued for models in use.
    add column used_at timestamptz not null default '-infinity',
    alter column used_at set default now(),
    -- A server may shorten its vectors, and vectors of different dimensions are not comparable.
    drop constraint embedding_models_name_key,
    add constraint embedding_models_name_key unique (name, dimensions);

-- Every node queues the passages that its model lacks when it starts.
delete from embedding_queue;
alter table embedding_queue
    drop constraint embedding_queue_pkey,
    add column model_id smallint not null references embedding_models on delete cascade,
    add primary key (passage_id, model_id);
drop index embedding_queue_scheduled_at_idx;
create index embedding_queue_scheduled_at_idx
    on embedding_queue (model_id, priority, scheduled_at, passage_id);

-- As in 0005_search.sql, for each model in use: nodes renew used_at each minute.
create or replace function mc.after_passages_insert() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into change_feed (passage_id) select id from new_rows;
    insert into embedding_queue (passage_id, model_id, project_id, private_to)
        select c.id, m.id, c.project_id, c.private_to
        from new_rows c join embedding_models m on m.used_at > now() - interval '10 minutes'
        where not exists (select 1 from embeddings e where e.model_id = m.id
                          and e.passage_id = c.id and e.text_hash = c.content_hash)
        on conflict do nothing;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    return null;
end $$;
create or replace function mc.after_passages_update() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into change_feed (passage_id) select id from new_rows;
    -- A queued passage is as private as the passage, even if nothing else changed.
    update embedding_queue q set private_to = c.private_to from new_rows c
    where q.passage_id = c.id and q.private_to is distinct from c.private_to;
    insert into embedding_queue (passage_id, model_id, project_id, private_to)
        select c.id, m.id, c.project_id, c.private_to
        from new_rows c join old_rows p using (id)
            join embedding_models m on m.used_at > now() - interval '10 minutes'
        where c.content_hash <> p.content_hash
        on conflict (passage_id, model_id) do update
            set attempts = 0, last_error = null, scheduled_at = now(),
                private_to = excluded.private_to;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    return null;
end $$;

-- As in 0014_function_proof.sql, with the whole key of the queue.
create or replace function mc.set_policy(
    principal uuid, project uuid, expected_version int, document jsonb)
returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    set_version int;
    allowed_before text := (
        select p.allowed_embedding_models from projects p where p.id = set_policy.project);
begin
    if (pg_has_role(session_user, 'memory_copilot_worker', 'member')
            or project = mc.project_as_maintainer() and principal = mc.principal())
        and mc.effective_role(principal, project) >= 'maintainer' then
        update projects p
        set policy = document, policy_version = p.policy_version + 1, updated_at = now()
        where p.id = set_policy.project
            and (expected_version is null or p.policy_version = expected_version)
        returning p.policy_version into set_version;
        insert into policy_versions (project_id, version, policy, changed_by)
        select set_policy.project, set_version, document, principal where set_version is not null;
        -- Passages that the policy kept from a model may be allowed now. Rows that another
        -- transaction has locked are skipped: they are due within the hour.
        if allowed_before <> (
            select p.allowed_embedding_models from projects p where p.id = set_policy.project) then
            update embedding_queue q set scheduled_at = now()
            where (q.passage_id, q.model_id) in (
                select w.passage_id, w.model_id from embedding_queue w
                where w.project_id = set_policy.project and w.scheduled_at > now()
                for update skip locked);
            perform pg_notify('embedding_queue', '');
        end if;
    end if;
    return set_version;
end $$;
