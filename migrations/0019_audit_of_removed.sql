-- The audit of a project outlives it: it is then for those who administer the service, as that of the
-- service (the nil id) is. While the project lives it is for its own people.
create function mc.enter_audit(principal uuid, chain uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    may constant boolean := exists (
            select from users u where u.id = enter_audit.principal and u.is_admin and u.disabled_at is null)
        and not exists (select from projects p where p.id = enter_audit.chain);
begin
    perform set_config('memory_copilot.principal', principal::text, true),
            set_config('memory_copilot.curates', case when may then enter_audit.chain::text else '' end, true);
    return may;
end $$;
call mc.run_as_worker(array['mc.enter_audit(uuid, uuid)']::regprocedure[]);
drop function mc.enter_service(uuid);
