-- What belongs to a private record is as private as the record: its history, what it cites and where it came
-- from. Each row says by itself whose it is: to look its record up would cost every recall, which reads
-- citations. A record's origin is written by the same statement, which does not see its own rows, and so
-- says it to the trigger.
create function mc.inherit_privacy() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    new.private_to := coalesce(new.private_to,
        (select r.private_to from memory_records r where r.id = new.record_id));
    return new;
end $$;
revoke execute on function mc.inherit_privacy() from public;
grant execute on function mc.inherit_privacy() to memory_copilot_service, memory_copilot_worker;
do $$
declare
    name text;
begin
    foreach name in array array['memory_versions', 'memory_citations', 'record_sources'] loop
        execute format('alter table %I add column private_to uuid', name);
        execute format('update %I b set private_to = r.private_to from memory_records r
            where r.id = b.record_id and r.private_to is not null', name);
        execute format('create trigger %1$I before insert on %2$I
            for each row execute function mc.inherit_privacy()', name || '_made', name);
        execute format('create policy private on %I as restrictive to memory_copilot_service
            using (private_to is null or private_to = (select mc.principal()))
            with check (private_to is null or private_to = (select mc.principal()))', name);
    end loop;
end $$;

-- Somebody else's private record is answered like one that does not exist, whatever is to be done with
-- it.
grant create on schema mc to memory_copilot_worker;
set local role memory_copilot_worker;
create or replace function mc.project_of_record(principal uuid, record uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from memory_records r, lateral mc.project_of(project_of_record.principal, r.project_id) p
    where r.id = project_of_record.record
        and (r.private_to is null or r.private_to = project_of_record.principal)
$$;
reset role;
revoke create on schema mc from memory_copilot_worker;
