-- A policy says of each kind of model by itself which providers may see the project's texts. What was one
-- switch for all becomes the same answer for both.
create function pg_temp.with_providers(policy jsonb) returns jsonb language sql immutable as $$
    select policy || jsonb_build_object('models', jsonb_build_object('embedding', providers, 'chat', providers))
    from (select case (policy #>> '{models,remote}')::boolean when false then 'local' else 'any' end) as p (providers)
$$;
alter table projects drop column remote_models;
update projects set policy = pg_temp.with_providers(policy) where policy #> '{models,remote}' is not null;
update policy_versions set policy = pg_temp.with_providers(policy) where policy #> '{models,remote}' is not null;

alter table projects
    -- Which embedding models may see the project's texts: mc_domain::policy::Providers.
    add column embedding_providers text not null
        generated always as (coalesce(policy #>> '{models,embedding}', 'any')) stored;

-- Whether a model may, that is on another machine than the service or not.
create function mc.may_embed(providers text, is_remote boolean) returns boolean
language sql immutable parallel safe as $$
    select providers = 'any' or providers = 'local' and not is_remote
$$;
revoke execute on function mc.may_embed(text, boolean) from public;
grant execute on function mc.may_embed(text, boolean) to memory_copilot_service, memory_copilot_worker;

-- What the model in use may not see is put off, so that nobody has to look past it: found by its project.
drop index embedding_queue_project;
create index embedding_queue_project on embedding_queue (project_id, run_at);

-- The functions are the background role's; who brings the schema up to date may act as that role and does
-- not have its rights by itself.
grant create on schema mc to memory_copilot_worker;
set local role memory_copilot_worker;
-- As before, and where other models may see the passages, those that were put off are due again. One that
-- somebody is just writing is passed over: it is due within the hour.
create or replace function mc.set_policy(principal uuid, project uuid, expected int, document jsonb) returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    set_version int;
    providers text := (select p.embedding_providers from projects p where p.id = set_policy.project);
begin
    if mc.role_of(principal, project) >= 'maintainer' then
        update projects p set policy = document, policy_version = p.policy_version + 1, updated_at = now()
        where p.id = set_policy.project and (expected is null or p.policy_version = expected)
        returning p.policy_version into set_version;
        insert into policy_versions (project_id, version, policy, changed_by)
        select set_policy.project, set_version, document, principal where set_version is not null;
        if providers <> (select p.embedding_providers from projects p where p.id = set_policy.project) then
            update embedding_queue q set run_at = now()
            where q.passage_id in (
                select w.passage_id from embedding_queue w
                where w.project_id = set_policy.project and w.run_at > now() for update skip locked);
            perform pg_notify('embedding_queue', '');
        end if;
    end if;
    return set_version;
end $$;

-- As before, and what waits is for whom the passage is for, also when nothing but that has changed.
create or replace function mc.passages_updated() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    update embedding_queue q set private_to = c.private_to from changed c
    where q.passage_id = c.id and q.private_to is distinct from c.private_to;
    insert into embedding_queue (passage_id, project_id, private_to)
        select c.id, c.project_id, c.private_to from changed c join previous p using (id)
        where c.content_hash <> p.content_hash
        on conflict (passage_id) do update
            set attempts = 0, last_error = null, run_at = now(), private_to = excluded.private_to;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    perform pg_notify('passages', '');
    return null;
end $$;
reset role;
revoke create on schema mc from memory_copilot_worker;
