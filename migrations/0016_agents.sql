-- A program is never more than an agent, and is nothing where it was given nothing: `least` passes over
-- nulls, so that until now a program was an agent of every project. The function is the background
-- role's; who brings the schema up to date may act as that role and does not have its rights by itself.
grant create on schema mc to memory_copilot_worker;
set local role memory_copilot_worker;
create or replace function mc.role_of(principal uuid, project uuid) returns mc.role
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select case when u.is_agent and granted.role > 'agent' then 'agent' else granted.role end
    from users u, projects p, lateral (
        select max(role) as role from (
            select 'admin'::mc.role as role where u.is_admin
            union all
            select m.role from project_members m where m.project_id = p.id and m.user_id = u.id
            union all
            select least(t.role, m.role) from project_teams t
            join team_members m on m.team_id = t.team_id and m.user_id = u.id
            where t.project_id = p.id) as roles) as granted
    where u.id = role_of.principal and u.disabled_at is null and p.id = role_of.project
$$;
reset role;
revoke create on schema mc from memory_copilot_worker;
