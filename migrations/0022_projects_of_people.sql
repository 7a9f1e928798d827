-- Whoever creates a project administers it, and a program is never more than an agent: one that it creates
-- would be nobody's. The function is the background role's; who brings the schema up to date may act as that
-- role and does not have its rights by itself.
grant create on schema mc to memory_copilot_worker;
set local role memory_copilot_worker;
create or replace function mc.create_project(principal uuid, new_id uuid, new_key text, new_name text)
returns timestamptz
language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
    with created as (
        insert into projects (id, key, name)
        select new_id, new_key, new_name
        from users u where u.id = principal and u.disabled_at is null and not u.is_agent
        on conflict (key) do nothing
        returning id, created_at),
    administered as (
        insert into project_members (project_id, user_id, role)
        select c.id, principal, 'admin' from created c)
    select c.created_at from created c
$$;
reset role;
revoke create on schema mc from memory_copilot_worker;
