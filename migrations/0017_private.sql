-- What belongs to a private record is as private as the record: its history, what it cites and where it
-- came from. Whether the record is there is asked under the policies of who asks. What is added is not
-- looked at: a record and its origin are written by one statement, which does not see its own rows.
do $$
declare
    name text;
begin
    foreach name in array array['memory_versions', 'memory_citations', 'record_sources'] loop
        execute format('create policy private on %I as restrictive to memory_copilot_service
            using (exists (select from memory_records r where r.id = record_id)) with check (true)', name);
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
