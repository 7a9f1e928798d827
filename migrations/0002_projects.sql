-- Projects, the users and teams with a role on them, and the functions that decide access.

-- People, and agents: programs that act by themselves.
create table users (
    id           uuid primary key,
    -- Unique regardless of case.
    login        text        not null,
    name         text        not null default '',
    email        text,
    is_agent     boolean     not null default false,
    -- A service administrator is admin of every project and manages users and teams.
    is_admin     boolean     not null default false,
    created_at   timestamptz not null default now(),
    -- Set for an account that is disabled.
    disabled_at  timestamptz,
    constraint users_admin_check check (not (is_agent and is_admin))
);
create unique index users_login_key on users (lower(login));
create index users_email_idx on users (lower(email)) where email is not null;

create table teams (
    id          uuid primary key,
    key         text        not null constraint teams_key_key unique,
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
create index team_members_user_id_idx on team_members (user_id);

-- Users and teams belong to no project; the service checks access to them.
grant select, insert, update, delete on users, teams, team_members to memory_copilot_service;
grant select on users, team_members to memory_copilot_worker;

create table projects (
    id                        uuid primary key,
    key                       text        not null constraint projects_key_key unique,
    name                      text        not null,
    -- The policy in force (mc_domain::policy), in the project's row so that the statement that
    -- authorizes a request reads it, too. policy_versions has all versions.
    policy                    jsonb       not null default '{}',
    -- 0 until a policy is set.
    policy_version            int         not null default 0,
    -- Which embedding models may see the project's texts: any, local or none.
    allowed_embedding_models  text        not null generated always as (
        coalesce(policy #>> '{models,embedding}', 'any')) stored,
    created_at                timestamptz not null default now(),
    updated_at                timestamptz not null default now()
);
call mc.enable_project_rls('projects', 'id', 'agent', 'admin');

create table project_members (
    project_id  uuid        not null references projects on delete cascade,
    user_id     uuid        not null references users on delete cascade,
    role        mc.role     not null,
    added_at    timestamptz not null default now(),
    primary key (project_id, user_id)
);
create index project_members_user_id_idx on project_members (user_id);
call mc.enable_project_rls('project_members', 'project_id', 'admin', 'admin');

-- Members of a team have their team role on the project, but at most this one.
create table project_teams (
    project_id  uuid        not null references projects on delete cascade,
    team_id     uuid        not null references teams on delete cascade,
    role        mc.role     not null,
    added_at    timestamptz not null default now(),
    primary key (project_id, team_id)
);
create index project_teams_team_id_idx on project_teams (team_id);
call mc.enable_project_rls('project_teams', 'project_id', 'admin', 'admin');

-- The owner of the token that the service creates for its own host.
insert into users (id, login, name, is_admin)
values ('00000000-0000-7000-8000-000000000001', 'local', 'Local administrator', true);

-- Returns the role of a user on a project, or null if there is none. Nothing else decides this.
-- The highest of several roles counts; an agent has at most the role `agent`, and none if it was
-- given none (`least` would turn null into `agent`).
create function mc.effective_role(principal uuid, project uuid) returns mc.role
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select case when u.is_agent and granted.role > 'agent' then 'agent' else granted.role end
    from users u, projects p, lateral (
        select max(role) as role from (
            select 'admin'::mc.role as role where u.is_admin
            union all
            select m.role from project_members m where m.project_id = p.id and m.user_id = u.id
            union all
            select least(t.role, m.role) from project_teams t
            join team_members m on m.team_id = t.team_id and m.user_id = u.id
            where t.project_id = p.id) as roles) as granted
    where u.id = effective_role.principal
        and u.disabled_at is null and p.id = effective_role.project
$$;

-- Lets the transaction act in a project on behalf of a user, as far as the user's role allows.
-- Returns the role; if it is null, the policies hide every row.
create function mc.set_project_context(principal uuid, project uuid) returns mc.role
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    role constant mc.role := mc.effective_role(principal, project);
begin
    perform set_config('memory_copilot.principal', principal::text, true),
            set_config('memory_copilot.project_as_viewer',
                case when role is null then '' else project::text end, true),
            set_config('memory_copilot.project_as_agent',
                case when role >= 'agent' then project::text else '' end, true),
            set_config('memory_copilot.project_as_member',
                case when role >= 'member' then project::text else '' end, true),
            set_config('memory_copilot.project_as_maintainer',
                case when role >= 'maintainer' then project::text else '' end, true),
            set_config('memory_copilot.project_as_admin',
                case when role >= 'admin' then project::text else '' end, true);
    return role;
end $$;

-- Creates a project with its creator as admin. Returns the time of creation, or null if the key is
-- taken, or the creator is disabled or an agent: an agent can't be admin, so its project would have
-- none.
create function mc.create_project(principal uuid, new_id uuid, new_key text, new_name text)
returns timestamptz
language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
    with created as (
        insert into projects (id, key, name)
        select new_id, new_key, new_name
        from users u where u.id = principal and u.disabled_at is null and not u.is_agent
        on conflict (key) do nothing
        returning id, created_at),
    administered as (
        insert into project_members (project_id, user_id, role)
        select c.id, principal, 'admin' from created c)
    select c.created_at from created c
$$;

-- Find projects, each with the caller's role on it; those without a role are left out. Later files
-- define such look-ups by the id of a record, a bundle, an index run and a quarantine item.
create function mc.find_project_by_key(principal uuid, project_key text)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.effective_role(find_project_by_key.principal, p.id) as r (role)
    where p.key = find_project_by_key.project_key and r.role is not null
$$;
create function mc.list_projects(principal uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.effective_role(list_projects.principal, p.id) as r (role)
    where r.role is not null
$$;
create function mc.find_project(principal uuid, project uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.effective_role(find_project.principal, p.id) as r (role)
    where p.id = find_project.project and r.role is not null
$$;

call mc.set_worker_owner(array[
    'mc.effective_role(uuid, uuid)', 'mc.set_project_context(uuid, uuid)',
    'mc.create_project(uuid, uuid, text, text)', 'mc.find_project_by_key(uuid, text)',
    'mc.list_projects(uuid)', 'mc.find_project(uuid, uuid)']::regprocedure[]);
