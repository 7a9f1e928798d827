-- Makes of a migrated database one that rlsautotest understands; README.md says why each step is sound.
-- Only for a database that is thrown away.

-- Every table that has rows of projects is under the policies. This is checked first, since the tool
-- does not know which tables should be.
do $$
declare
    bare text;
begin
    select string_agg(c.relname, ', ') into bare from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and exists (select from pg_attribute a
                    where a.attrelid = c.oid and a.attname = 'project_id' and not a.attisdropped)
        and not (c.relrowsecurity and c.relforcerowsecurity);
    if bare is not null then
        raise exception 'tables with rows of projects without forced row-level security: %', bare;
    end if;
end $$;

-- With its default the tool makes no source that anybody may see. Without it the column is null, as
-- it is in the other tables whose rows may be private: for everybody.
alter table record_contributions alter column private_to drop default;

-- The tool's names for a client, for a client without an identity, and for what passes all policies.
alter role memory_copilot_service rename to authenticated;
alter role memory_copilot_worker rename to service_role;
create role anon nologin;
grant usage on schema public, mc to anon;

-- A role that may use the tables and that no policy names must see nothing of them. What belongs to no
-- project has no policies; nobody gets there, so that the tool looks at the rest.
do $$
declare
    relation record;
begin
    for relation in select oid::regclass as name, relrowsecurity as is_protected from pg_class
                    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') loop
        if relation.is_protected then
            execute format('grant select, insert, update, delete on %s to anon', relation.name);
        else
            execute format('revoke all on %s from authenticated, service_role', relation.name);
        end if;
    end loop;
end $$;

-- mc.project_as_viewer() and its like read a setting and nothing else; written out, the tool sets it itself.
do $$
declare
    policy record;
    spelled text;
begin
    for policy in select * from pg_policies where schemaname = 'public' loop
        spelled := regexp_replace(policy.qual, '\( SELECT mc\.(\w+)\(\) AS \w+\)',
            'current_setting(''memory_copilot.\1'', true)::uuid', 'g');
        if spelled <> policy.qual then
            execute format('alter policy %I on %I using (%s)', policy.policyname, policy.tablename, spelled);
        end if;
        spelled := regexp_replace(policy.with_check, '\( SELECT mc\.(\w+)\(\) AS \w+\)',
            'current_setting(''memory_copilot.\1'', true)::uuid', 'g');
        if spelled <> policy.with_check then
            execute format('alter policy %I on %I with check (%s)', policy.policyname, policy.tablename, spelled);
        end if;
    end loop;
end $$;

-- What makes rows hard to invent has no part in who sees them.
do $$
declare
    part record;
begin
    for part in select t.tgrelid::regclass as name, t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid
                where c.relnamespace = 'public'::regnamespace and not t.tgisinternal loop
        execute format('drop trigger %I on %s', part.tgname, part.name);
    end loop;
    for part in select k.conrelid::regclass as name, k.conname from pg_constraint k join pg_class c on c.oid = k.conrelid
                where c.relnamespace = 'public'::regnamespace and not c.relispartition
                    and k.contype in ('f', 'c', 'u', 'p') loop
        execute format('alter table %s drop constraint if exists %I cascade', part.name, part.conname);
    end loop;
    for part in select i.indexrelid::regclass as name from pg_index i join pg_class c on c.oid = i.indrelid
                where c.relnamespace = 'public'::regnamespace and not c.relispartition loop
        execute format('drop index if exists %s cascade', part.name);
    end loop;
    for part in select a.attrelid::regclass as name, a.attname, a.attgenerated <> '' as is_generated,
                    t.typname in ('vector', 'halfvec') as is_vector
                from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_type t on t.oid = a.atttypid
                where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
                    and a.attnum > 0 and not a.attisdropped loop
        if part.is_generated then
            execute format('alter table %s alter column %I drop expression', part.name, part.attname);
        end if;
        if part.is_vector then
            execute format('alter table %s alter column %I type text', part.name, part.attname);
        end if;
    end loop;
end $$;
