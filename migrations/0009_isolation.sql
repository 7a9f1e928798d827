-- Who may see what. The service connects as a role that owns nothing and sees of each project's tables
-- only the rows of the project that its transaction has entered, on behalf of someone who may
-- (mc.enter). A second role, for work in the background, sees all rows and can't change the schema
-- either. Both are groups; the roles that log in are made by the service (crates/store/src/logins.rs).
do $$
declare
    group_role text;
begin
    foreach group_role in array array['memory_copilot_service', 'memory_copilot_worker'] loop
        begin
            execute format('create role %I nologin nosuperuser nobypassrls nocreatedb nocreaterole', group_role);
        exception
            -- Another database of this server has them already, or is just making them.
            when duplicate_object or unique_violation then null;
        end;
        -- Whoever creates a role may administer it, and is its member only when it says so.
        if not (select rolsuper from pg_roles where rolname = current_user) then
            execute format('grant %I to current_user with inherit false, set true', group_role);
        end if;
    end loop;
end $$;

create schema mc;
grant usage on schema mc to memory_copilot_service, memory_copilot_worker;

-- In the order of what they may do.
create type mc.role as enum ('viewer', 'agent', 'member', 'maintainer', 'admin');

-- People, and programs that act by themselves.
create table users (
    id           uuid primary key,
    -- Unique whatever the case.
    login        text        not null,
    name         text        not null default '',
    email        text,
    is_agent     boolean     not null default false,
    -- Has every right on every project and administers users and teams.
    is_admin     boolean     not null default false,
    created_at   timestamptz not null default now(),
    -- Set where the user may no longer come in.
    disabled_at  timestamptz,
    constraint users_no_agent_administers check (not (is_agent and is_admin))
);
create unique index users_login_unique on users (lower(login));

create table teams (
    id          uuid primary key,
    key         text        not null constraint teams_key_unique unique,
    name        text        not null,
    created_at  timestamptz not null default now()
);

create table team_members (
    team_id   uuid        not null references teams on delete cascade,
    user_id   uuid        not null references users on delete cascade,
    role      mc.role     not null,
    added_at  timestamptz not null default now(),
    primary key (team_id, user_id)
);
create index team_members_user on team_members (user_id);

create table project_members (
    project_id  uuid        not null references projects on delete cascade,
    user_id     uuid        not null references users on delete cascade,
    role        mc.role     not null,
    added_at    timestamptz not null default now(),
    primary key (project_id, user_id)
);
create index project_members_user on project_members (user_id);

-- A team's members have, on the project, their role in the team, but at most this one.
create table project_teams (
    project_id  uuid        not null references projects on delete cascade,
    team_id     uuid        not null references teams on delete cascade,
    role        mc.role     not null,
    added_at    timestamptz not null default now(),
    primary key (project_id, team_id)
);
create index project_teams_team on project_teams (team_id);

-- Personal access tokens: long secrets of which only the hash is kept.
create table access_tokens (
    id            uuid primary key,
    user_id       uuid        not null references users on delete cascade,
    name          text        not null,
    -- sha256 of the secret.
    hash          bytea       not null constraint access_tokens_hash_unique unique,
    -- The secret's last characters, so that its owner can tell it from others.
    hint          text        not null default '',
    scopes        text[]      not null,
    created_at    timestamptz not null default now(),
    expires_at    timestamptz,
    last_used_at  timestamptz,
    revoked_at    timestamptz
);
create index access_tokens_user on access_tokens (user_id, id);

-- Who holds the token that the service makes for its own host. Without such a token it can't come in.
insert into users (id, login, name, is_admin)
values ('00000000-0000-7000-8000-000000000001', 'local', 'Local administrator', true);

-- The role that someone has on a project; null where it is none. The one place where this is decided.
create function mc.role_of(principal uuid, project uuid) returns mc.role
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select case when u.is_agent then least(granted.role, 'agent') else granted.role end
    from users u, projects p, lateral (
        select max(role) as role from (
            select 'admin'::mc.role as role where u.is_admin
            union all
            select m.role from project_members m where m.project_id = p.id and m.user_id = u.id
            union all
            select least(t.role, m.role) from project_teams t
            join team_members m on m.team_id = t.team_id and m.user_id = u.id
            where t.project_id = p.id) as roles) as granted
    where u.id = role_of.principal and u.disabled_at is null and p.id = role_of.project
$$;

-- Begins what a transaction does for someone in a project: until its end the policies below let the
-- rows of that project through, as far as the role goes. Answers the role; where it is null, nothing
-- is let through.
create function mc.enter(principal uuid, project uuid) returns mc.role
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    role constant mc.role := mc.role_of(principal, project);
begin
    perform set_config('memory_copilot.principal', principal::text, true),
            set_config('memory_copilot.reads', case when role is null then '' else project::text end, true),
            set_config('memory_copilot.writes', case when role >= 'agent' then project::text else '' end, true),
            set_config('memory_copilot.manages', case when role >= 'admin' then project::text else '' end, true);
    return role;
end $$;

-- The project whose rows the transaction may read, change, and whose members it may decide about. Null
-- when none was entered, and no row equals that.
create function mc.reads() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.reads', true), '')::uuid $$;
create function mc.writes() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.writes', true), '')::uuid $$;
create function mc.manages() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.manages', true), '')::uuid $$;
-- On whose behalf the transaction runs.
create function mc.principal() returns uuid language sql stable parallel safe as
    $$ select nullif(current_setting('memory_copilot.principal', true), '')::uuid $$;

-- Puts a table of a project's rows under the policies. What a column says decides, and `added_by` and
-- `changed_by` name the setting that must say the same for new and for existing rows. The look-ups
-- stand in sub-selects, so that each runs once a statement and can be looked up in an index.
create procedure mc.protect(name regclass, project_column text, added_by text, changed_by text)
language plpgsql as $$
declare
    ours constant text := format('%I = (select mc.%%s())', project_column);
begin
    execute format('alter table %s enable row level security', name);
    execute format('alter table %s force row level security', name);
    execute format('create policy read on %s for select to memory_copilot_service using (%s)',
        name, format(ours, 'reads'));
    execute format('create policy add on %s for insert to memory_copilot_service with check (%s)',
        name, format(ours, added_by));
    execute format('create policy change on %s for update to memory_copilot_service using (%s) with check (%2$s)',
        name, format(ours, changed_by));
    execute format('create policy remove on %s for delete to memory_copilot_service using (%s)',
        name, format(ours, changed_by));
    execute format('create policy background on %s to memory_copilot_worker using (true) with check (true)', name);
    -- Migrations and backups are the owner's, who does not serve.
    execute format('create policy owner on %s to current_user using (true) with check (true)', name);
    execute format('grant select, insert, update, delete on %s to memory_copilot_service, memory_copilot_worker', name);
end $$;

-- Rows that did not say which project they are of.
alter table memory_versions add column project_id uuid;
update memory_versions v set project_id = r.project_id from memory_records r where r.id = v.record_id;
alter table memory_versions alter column project_id set not null;
alter table bundle_items add column project_id uuid;
update bundle_items i set project_id = b.project_id from bundles b where b.id = i.bundle_id;
alter table bundle_items alter column project_id set not null;
alter table embedding_queue add column project_id uuid;
update embedding_queue q set project_id = p.project_id from passages p where p.id = q.passage_id;
alter table embedding_queue alter column project_id set not null;
create index embedding_queue_project on embedding_queue (project_id);

call mc.protect('projects', 'id', 'writes', 'manages');
call mc.protect('tasks', 'project_id', 'writes', 'writes');
call mc.protect('dialogs', 'project_id', 'writes', 'writes');
call mc.protect('memory_records', 'project_id', 'writes', 'writes');
call mc.protect('memory_versions', 'project_id', 'writes', 'writes');
call mc.protect('memory_citations', 'project_id', 'writes', 'writes');
call mc.protect('repositories', 'project_id', 'writes', 'writes');
call mc.protect('files', 'project_id', 'writes', 'writes');
call mc.protect('docs', 'project_id', 'writes', 'writes');
call mc.protect('passages', 'project_id', 'writes', 'writes');
call mc.protect('code_chunks', 'project_id', 'writes', 'writes');
call mc.protect('code_symbols', 'project_id', 'writes', 'writes');
call mc.protect('embeddings', 'project_id', 'writes', 'writes');
call mc.protect('embedding_queue', 'project_id', 'writes', 'writes');
call mc.protect('ingest_runs', 'project_id', 'writes', 'writes');
-- A recall by someone who may only read is noted all the same.
call mc.protect('bundles', 'project_id', 'reads', 'writes');
call mc.protect('bundle_items', 'project_id', 'reads', 'writes');
call mc.protect('project_members', 'project_id', 'manages', 'manages');
call mc.protect('project_teams', 'project_id', 'manages', 'manages');

-- What belongs to no project. The feed holds ids of all of them: the service itself can't read it.
grant select on embedding_models to memory_copilot_service;
grant select, insert, update, delete on embedding_models, feed, feed_pruned to memory_copilot_worker;
grant select, insert, update, delete on users, teams, team_members, access_tokens
    to memory_copilot_service;

-- What the triggers write they write for every role.
drop trigger passages_inserted on passages;
drop trigger passages_updated on passages;
drop trigger passages_deleted on passages;
drop function passages_inserted();
drop function passages_updated();
drop function passages_deleted();
create function mc.passages_inserted() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id, project_id)
        select c.id, c.project_id from changed c
        where not exists (select 1 from embeddings e
                          where e.passage_id = c.id and e.text_hash = c.content_hash)
        on conflict do nothing;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    perform pg_notify('passages', '');
    return null;
end $$;
create function mc.passages_updated() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id, project_id)
        select c.id, c.project_id from changed c join previous p using (id)
        where c.content_hash <> p.content_hash
        on conflict (passage_id) do update set attempts = 0, last_error = null, run_at = now();
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    perform pg_notify('passages', '');
    return null;
end $$;
create function mc.passages_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    perform pg_notify('passages', '');
    return null;
end $$;
create trigger passages_inserted after insert on passages
    referencing new table as changed for each statement execute function mc.passages_inserted();
create trigger passages_updated after update on passages
    referencing old table as previous new table as changed
    for each statement execute function mc.passages_updated();
create trigger passages_deleted after delete on passages
    referencing old table as changed for each statement execute function mc.passages_deleted();

-- A project by its key, with the caller's role on it; no row where that is none.
create function mc.project_named(principal uuid, named text)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role
    from projects p, lateral mc.role_of(project_named.principal, p.id) as r (role)
    where p.key = project_named.named and r.role is not null
$$;

-- Every project on which the caller has a role.
create function mc.projects_of(principal uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role
    from projects p, lateral mc.role_of(projects_of.principal, p.id) as r (role)
    where r.role is not null
$$;

-- Makes a project that its creator administers, and answers when; null where the key is taken.
create function mc.create_project(principal uuid, new_id uuid, new_key text, new_name text)
returns timestamptz
language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
    with created as (
        insert into projects (id, key, name)
        select new_id, new_key, new_name
        from users u where u.id = principal and u.disabled_at is null
        on conflict (key) do nothing
        returning id, created_at),
    administered as (
        insert into project_members (project_id, user_id, role)
        select c.id, principal, 'admin' from created c)
    select c.created_at from created c
$$;

-- The project that holds something of which a caller has only the id, with the caller's role on it; no
-- row where that is none.
create function mc.project_of(principal uuid, project uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role
    from projects p, lateral mc.role_of(project_of.principal, p.id) as r (role)
    where p.id = project_of.project and r.role is not null
$$;
create function mc.project_of_record(principal uuid, record uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from memory_records r, lateral mc.project_of(project_of_record.principal, r.project_id) p
    where r.id = project_of_record.record
$$;
create function mc.project_of_bundle(principal uuid, bundle uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from bundles b, lateral mc.project_of(project_of_bundle.principal, b.project_id) p
    where b.id = project_of_bundle.bundle
$$;
create function mc.project_of_ingest(principal uuid, ingest uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from ingest_runs i, lateral mc.project_of(project_of_ingest.principal, i.project_id) p
    where i.id = project_of_ingest.ingest
$$;

-- Only a table's owner can give it an index: the graph of a model that is new.
create function mc.make_graph(model smallint) returns void
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dimensions int := (select m.dimensions from embedding_models m where m.id = model);
begin
    execute format('create index if not exists embeddings_graph_%s on embeddings
        using hnsw ((embedding::vector(%s)) vector_cosine_ops) where model_id = %1$s and in_graph',
        model, dimensions);
end $$;

grant select on users, team_members to memory_copilot_worker;
revoke execute on all routines in schema mc from public;
grant execute on all functions in schema mc to memory_copilot_service, memory_copilot_worker;
revoke execute on function mc.make_graph(smallint) from memory_copilot_service;

-- The functions that read tables under the policies run as the role that sees all rows.
do $$
declare
    definer regprocedure;
begin
    grant create on schema mc to memory_copilot_worker;
    for definer in
        select p.oid::regprocedure from pg_proc p
        where p.prosecdef and p.oid <> 'mc.make_graph(smallint)'::regprocedure
          and p.pronamespace = 'mc'::regnamespace loop
        execute format('alter function %s owner to memory_copilot_worker', definer);
    end loop;
    revoke create on schema mc from memory_copilot_worker;
end $$;
