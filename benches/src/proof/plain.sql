-- The functions as they were before the proof. Their settings have no MAC, so any SQL can change
-- them. They ignore the argument `code`, so that the service can send the same statements.
do $plain$ begin
create or replace function mc.project_as_viewer() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_viewer', true), '')::uuid $$;
create or replace function mc.project_as_agent() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_agent', true), '')::uuid $$;
create or replace function mc.project_as_member() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_member', true), '')::uuid $$;
create or replace function mc.project_as_maintainer() returns uuid language sql stable parallel safe
    as $$ select nullif(current_setting('memory_copilot.project_as_maintainer', true), '')::uuid $$;
create or replace function mc.project_as_admin() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_admin', true), '')::uuid $$;
create or replace function mc.principal() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.principal', true), '')::uuid $$;
create or replace function mc.set_project_context(principal uuid, project uuid, code text)
returns mc.role
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    role constant mc.role := mc.effective_role(principal, project);
begin
    perform set_config('memory_copilot.principal', principal::text, true),
            set_config('memory_copilot.project_as_viewer',
                case when role is null then '' else project::text end, true),
            set_config('memory_copilot.project_as_agent',
                case when role >= 'agent' then project::text else '' end, true),
            set_config('memory_copilot.project_as_member',
                case when role >= 'member' then project::text else '' end, true),
            set_config('memory_copilot.project_as_maintainer',
                case when role >= 'maintainer' then project::text else '' end, true),
            set_config('memory_copilot.project_as_admin',
                case when role >= 'admin' then project::text else '' end, true);
    return role;
end $$;
create or replace function mc.find_project_by_key(principal uuid, project_key text, code text)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
begin
    return query
        select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
        from projects p, lateral mc.effective_role(find_project_by_key.principal, p.id) as r (role)
        where p.key = find_project_by_key.project_key and r.role is not null;
end $$;
end $plain$
