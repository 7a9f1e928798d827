-- A record's source is as private as the record (0017). Every statement of the service says so itself: the trigger
-- looked the record up for each save, also in the statement that makes the record, which does not see its own rows.
-- The nil UUID is the default and stands for "not said"; the trigger replaces it, and null is for everybody.
create or replace function mc.inherit_privacy() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    new.private_to := coalesce(nullif(new.private_to, '00000000-0000-0000-0000-000000000000'),
        (select r.private_to from memory_records r where r.id = new.record_id));
    return new;
end $$;
alter table record_sources alter column private_to set default '00000000-0000-0000-0000-000000000000';
drop trigger record_sources_made on record_sources;
create trigger record_sources_made before insert on record_sources
    for each row when (new.private_to = '00000000-0000-0000-0000-000000000000') execute function mc.inherit_privacy();
