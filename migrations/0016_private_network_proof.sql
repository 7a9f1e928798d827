-- Access to the private network and to the service's machine requires a proof. Index runs of a
-- repository with allows_private_network read directories and fetch from any host, so SQL that is
-- injected into a statement of the service role must not set it, or keep it for another location.

-- Rejects a row that the service role allows the access, and withdraws it if the location changes.
create function mc.check_private_network() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if not pg_has_role(current_user, 'memory_copilot_worker', 'member') then
        if old.allows_private_network is not true then
            raise insufficient_privilege
                using message = 'the transaction may not allow access to the private network',
                    hint = 'The service calls mc.allow_private_network.';
        end if;
        new.allows_private_network := new.location = old.location;
    end if;
    return new;
end $$;
create trigger repositories_before_write before insert or update on repositories
    for each row when (new.allows_private_network) execute function mc.check_private_network();

-- Allows index runs of a repository to access the private network and the service's machine. The
-- code proves that the service, which has checked the principal's rights, calls it.
create function mc.allow_private_network(principal uuid, repository uuid, code text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if not mc.is_proved('allow_private_network', principal, repository, code) then
        raise insufficient_privilege
            using message = 'the code does not prove that the service allows this access',
                hint = 'Only the service can compute codes. If the service gets this error, '
                    'restart it: it stores its key again at each start.';
    end if;
    update repositories r set allows_private_network = true
    where r.id = allow_private_network.repository;
    return found;
end $$;

revoke execute on function mc.check_private_network() from public;
call mc.set_worker_owner(array['mc.allow_private_network(uuid, uuid, text)']::regprocedure[]);
