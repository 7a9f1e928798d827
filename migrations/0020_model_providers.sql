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
