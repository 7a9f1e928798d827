-- What belongs to a private record is as private as the record: its history, where it came from, and what it
-- cites. Whether the record is there is asked under the policies of who asks, row by row: for an `exists` the
-- planner would read all the records there are. What is added is not looked at: a record and its origin are
-- written by one statement, which does not see its own rows.
do $$
declare
    name text;
begin
    foreach name in array array['memory_versions', 'record_sources'] loop
        execute format('create policy private on %I as restrictive to memory_copilot_service
            using ((select r.id from memory_records r where r.id = record_id) is not null) with check (true)', name);
    end loop;
end $$;

-- Citations are read by every recall, so they say by themselves whose they are.
alter table memory_citations add column private_to uuid;
update memory_citations c set private_to = r.private_to
from memory_records r where r.id = c.record_id and r.private_to is not null;
create function mc.citations_inherit() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    new.private_to := (select r.private_to from memory_records r where r.id = new.record_id);
    return new;
end $$;
create trigger memory_citations_made before insert on memory_citations
    for each row execute function mc.citations_inherit();
revoke execute on function mc.citations_inherit() from public;
grant execute on function mc.citations_inherit() to memory_copilot_service, memory_copilot_worker;
create policy private on memory_citations as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal())) with check (true);

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
