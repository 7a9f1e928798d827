-- Roles of the database, and the row-level security of every table with rows of projects.
--
-- The owner runs migrations and backups and serves nothing. The service role answers requests: it
-- owns nothing and sees, of each project's tables, only rows of the project that its transaction
-- has entered (mc.set_project_context). The worker role runs background jobs: it sees all rows and
-- can't change the schema. Both are groups; the service creates the roles that log in.
create extension if not exists vector;

do $$
declare
    group_role text;
begin
    foreach group_role in array array['memory_copilot_service', 'memory_copilot_worker'] loop
        begin
            execute format('create role %I nologin nosuperuser nobypassrls nocreatedb nocreaterole',
                group_role);
        exception
            -- Another database of this server has the role already, or creates it right now.
            when duplicate_object or unique_violation then null;
        end;
        -- The creator of a role may administer it, but is no member until it is granted.
        if not (select rolsuper from pg_roles where rolname = current_user) then
            execute format('grant %I to current_user with inherit false, set true', group_role);
        end if;
    end loop;
end $$;

-- Functions are in a schema of their own: `public` has tables alone.
create schema mc;
grant usage on schema mc to memory_copilot_service, memory_copilot_worker;

-- Roles on a project, from the least to the most powerful.
create type mc.role as enum ('viewer', 'agent', 'member', 'maintainer', 'admin');

-- The project on which the transaction acts with at least this role: viewers read, agents write,
-- members decide what counts for the team, maintainers see quarantine and audit, admins manage
-- members. Null if the transaction has entered no project or the role is too low; no row equals
-- null, so the policies then hide everything.
create function mc.project_as_viewer() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_viewer', true), '')::uuid $$;
create function mc.project_as_agent() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_agent', true), '')::uuid $$;
create function mc.project_as_member() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_member', true), '')::uuid $$;
create function mc.project_as_maintainer() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_maintainer', true), '')::uuid $$;
create function mc.project_as_admin() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.project_as_admin', true), '')::uuid $$;

-- The user on whose behalf the transaction runs, or null.
create function mc.principal() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.principal', true), '')::uuid $$;

revoke execute on all functions in schema mc from public;
grant execute on all functions in schema mc to memory_copilot_service, memory_copilot_worker;

-- Puts a table with rows of projects under row-level security. Every role reads the rows of its
-- project; inserting one takes `insert_role` at least, updating or deleting one `change_role`. The
-- policies call the functions above in sub-selects: these run once per statement, and an index can
-- look up their result.
create procedure mc.enable_project_rls(
    relation regclass, project_column text, insert_role text, change_role text)
language plpgsql as $$
declare
    condition constant text := format('%I = (select mc.project_as_%%s())', project_column);
begin
    execute format('alter table %s enable row level security', relation);
    execute format('alter table %s force row level security', relation);
    execute format('create policy project_select on %s for select to memory_copilot_service
        using (%s)', relation, format(condition, 'viewer'));
    execute format('create policy project_insert on %s for insert to memory_copilot_service
        with check (%s)', relation, format(condition, insert_role));
    execute format('create policy project_update on %s for update to memory_copilot_service
        using (%s) with check (%2$s)', relation, format(condition, change_role));
    execute format('create policy project_delete on %s for delete to memory_copilot_service
        using (%s)', relation, format(condition, change_role));
    execute format('create policy worker_all on %s to memory_copilot_worker
        using (true) with check (true)', relation);
    -- `force` applies policies to the owner, too; migrations and backups need all rows.
    execute format('create policy owner_all on %s to current_user
        using (true) with check (true)', relation);
    execute format('grant select, insert, update, delete on %s
        to memory_copilot_service, memory_copilot_worker', relation);
end $$;

-- Makes the worker role the owner of functions that are `security definer`: called by the service
-- role, they see rows of all projects.
create procedure mc.set_worker_owner(functions regprocedure[]) language plpgsql as $$
declare
    function regprocedure;
begin
    -- PostgreSQL lets a role own a function only in a schema in which it may create one.
    grant create on schema mc to memory_copilot_worker;
    foreach function in array functions loop
        execute format('revoke execute on function %s from public', function);
        execute format('grant execute on function %s
            to memory_copilot_service, memory_copilot_worker', function);
        execute format('alter function %s owner to memory_copilot_worker', function);
    end loop;
    revoke create on schema mc from memory_copilot_worker;
end $$;

revoke execute on procedure mc.enable_project_rls(regclass, text, text, text),
    mc.set_worker_owner(regprocedure[]) from public;
