-- Turns a migrated database into one that rlsautotest understands. README.md has the reason for each
-- step. Use only a temporary database.

-- Checks that every table with rows of projects has policies, since the tool does not know which
-- tables need them.
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

-- With this default, the tool would create only private rows. Without it, the column is null, as in
-- the other tables with private rows, which means visible to all members.
alter table record_contributions alter column private_to drop default;

-- The service may update some columns of patches only. Of these, the tool chooses one for which it
-- invents no valid value.
grant update on patches to memory_copilot_service;

-- The tool's names of the roles: a client, a client without an identity, a role that passes all
-- policies.
alter role memory_copilot_service rename to authenticated;
alter role memory_copilot_worker rename to service_role;
create role anon nologin;
grant usage on schema public, mc to anon;

-- `anon` may use the tables, but no policy names it, so it must see no rows. Tables that belong to no
-- project have no policies: no role may use them, so that the tool skips them.
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

-- mc.project_as_viewer() and similar functions return the project that the service has proved to have
-- entered. The policies get settings instead, which the tool can set itself. The tool does not know
-- that a row's user is the one of the transaction, so it tests the policies without this condition.
create function pg_temp.prepared(condition text) returns text language sql as $$
    select regexp_replace(
        regexp_replace(condition, '\((user_id|author_id) = \( SELECT mc\.principal\(\) AS principal\)\)', 'true', 'g'),
        '\( SELECT mc\.(\w+)\(\) AS \w+\)', 'current_setting(''memory_copilot.\1'', true)::uuid', 'g')
$$;
do $$
declare
    policy record;
begin
    for policy in select * from pg_policies where schemaname = 'public' loop
        if pg_temp.prepared(policy.qual) <> policy.qual then
            execute format('alter policy %I on %I using (%s)', policy.policyname, policy.tablename,
                pg_temp.prepared(policy.qual));
        end if;
        if pg_temp.prepared(policy.with_check) <> policy.with_check then
            execute format('alter policy %I on %I with check (%s)', policy.policyname, policy.tablename,
                pg_temp.prepared(policy.with_check));
        end if;
    end loop;
end $$;

-- Triggers, constraints and indexes do not affect which rows a role sees, but would prevent the tool
-- from inventing rows.
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
