-- What each project keeps, masks and lets happen: the document of mc_domain::policy. The one in force
-- stands beside the project, so that whoever enters it reads both at once; every one is kept.
alter table projects drop column settings;
alter table projects
    add column policy jsonb not null default '{}',
    -- 0 until somebody sets one.
    add column policy_version int not null default 0,
    -- Whether models that are not on the service's machine may see the project's texts.
    add column remote_models boolean not null
        generated always as (coalesce((policy #>> '{models,remote}')::boolean, true)) stored;

create table policy_versions (
    project_id  uuid        not null references projects on delete cascade,
    version     int         not null,
    policy      jsonb       not null,
    changed_by  uuid        references users on delete set null,
    changed_at  timestamptz not null default now(),
    primary key (project_id, version)
);
call mc.protect('policy_versions', 'project_id', 'manages', 'manages');
-- Written by mc.set_policy alone, and never again.
revoke insert, update, delete on policy_versions from memory_copilot_service;
revoke update on policy_versions from memory_copilot_worker;

-- Functions that read tables under the policies run as the role that sees all rows.
create procedure mc.run_as_worker(functions regprocedure[]) language plpgsql as $$
declare
    function regprocedure;
begin
    grant create on schema mc to memory_copilot_worker;
    foreach function in array functions loop
        execute format('revoke execute on function %s from public', function);
        execute format('grant execute on function %s to memory_copilot_service, memory_copilot_worker', function);
        execute format('alter function %s owner to memory_copilot_worker', function);
    end loop;
    revoke create on schema mc from memory_copilot_worker;
end $$;
revoke execute on procedure mc.run_as_worker(regprocedure[]) from public;

-- As before, with two more of what a role is enough for: a member decides what counts, a maintainer
-- looks into quarantine and audit.
create or replace function mc.enter(principal uuid, project uuid) returns mc.role
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    role constant mc.role := mc.role_of(principal, project);
begin
    perform set_config('memory_copilot.principal', principal::text, true),
            set_config('memory_copilot.reads', case when role is null then '' else project::text end, true),
            set_config('memory_copilot.writes', case when role >= 'agent' then project::text else '' end, true),
            set_config('memory_copilot.decides', case when role >= 'member' then project::text else '' end, true),
            set_config('memory_copilot.curates', case when role >= 'maintainer' then project::text else '' end, true),
            set_config('memory_copilot.manages', case when role >= 'admin' then project::text else '' end, true);
    return role;
end $$;
create function mc.decides() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.decides', true), '')::uuid $$;
create function mc.curates() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.curates', true), '')::uuid $$;
revoke execute on function mc.decides(), mc.curates() from public;
grant execute on function mc.decides(), mc.curates() to memory_copilot_service, memory_copilot_worker;

-- Puts a policy in force unless another has come since the caller read version `expected` (null replaces
-- any); answers the new version, null where one has.
create function mc.set_policy(principal uuid, project uuid, expected int, document jsonb) returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    set_version int;
begin
    if mc.role_of(principal, project) >= 'maintainer' then
        update projects p set policy = document, policy_version = p.policy_version + 1, updated_at = now()
        where p.id = set_policy.project and (expected is null or p.policy_version = expected)
        returning p.policy_version into set_version;
        insert into policy_versions (project_id, version, policy, changed_by)
        select set_policy.project, set_version, document, principal where set_version is not null;
    end if;
    return set_version;
end $$;

-- Those that answer a project answer its policy too.
drop function mc.project_named(uuid, text);
drop function mc.projects_of(uuid);
drop function mc.project_of_record(uuid, uuid);
drop function mc.project_of_bundle(uuid, uuid);
drop function mc.project_of_ingest(uuid, uuid);
drop function mc.project_of(uuid, uuid);

create function mc.project_named(principal uuid, named text)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.role_of(project_named.principal, p.id) as r (role)
    where p.key = project_named.named and r.role is not null
$$;
create function mc.projects_of(principal uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.role_of(projects_of.principal, p.id) as r (role)
    where r.role is not null
$$;
create function mc.project_of(principal uuid, project uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.role_of(project_of.principal, p.id) as r (role)
    where p.id = project_of.project and r.role is not null
$$;
create function mc.project_of_record(principal uuid, record uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from memory_records r, lateral mc.project_of(project_of_record.principal, r.project_id) p
    where r.id = project_of_record.record
$$;
create function mc.project_of_bundle(principal uuid, bundle uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from bundles b, lateral mc.project_of(project_of_bundle.principal, b.project_id) p
    where b.id = project_of_bundle.bundle
$$;
create function mc.project_of_ingest(principal uuid, ingest uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from ingest_runs i, lateral mc.project_of(project_of_ingest.principal, i.project_id) p
    where i.id = project_of_ingest.ingest
$$;
call mc.run_as_worker(array[
    'mc.set_policy(uuid, uuid, int, jsonb)', 'mc.project_named(uuid, text)', 'mc.projects_of(uuid)',
    'mc.project_of(uuid, uuid)', 'mc.project_of_record(uuid, uuid)', 'mc.project_of_bundle(uuid, uuid)',
    'mc.project_of_ingest(uuid, uuid)']::regprocedure[]);
