-- What an administrator manages: people without an identity provider, people who leave, and the
-- files of a repository that are indexed.

-- Patterns in the syntax of .gitignore: of the only files to index (all if it is empty), and of
-- files that are not.
alter table repositories
    add column include_patterns text[] not null default '{}',
    add column exclude_patterns text[] not null default '{}';

-- Codes by which a person takes over an account that an administrator created for them.
create table invitations (
    id          uuid        primary key,
    user_id     uuid        not null references users on delete cascade,
    -- sha256 of the code.
    hash        bytea       not null constraint invitations_hash_key unique,
    created_by  uuid        references users on delete set null,
    created_at  timestamptz not null default now(),
    expires_at  timestamptz not null
);
-- A new invitation replaces the former one.
create unique index invitations_user_id_key on invitations (user_id);
create index invitations_created_by_idx on invitations (created_by) where created_by is not null;
create index invitations_expires_at_idx on invitations (expires_at);
-- They belong to no project, as other credentials; the service checks access to them.
grant select, insert, update, delete on invitations to memory_copilot_service;
-- The cleanup job deletes expired ones.
grant select, delete on invitations to memory_copilot_worker;

-- Removes a user who leaves from all projects and teams: deletes the address, the private records
-- and the pending quarantine items, ends the roles, and gives the successor the records that name the user as their owner, and the projects
-- and teams that have no other administrator. `principal` is the successor, or the user itself for
-- none: the records then have no owner. Returns the counts, and the keys of the projects that have
-- no administrator of their own any more. The service checks that a service administrator asks for
-- it.
create function mc.offboard_user(principal uuid, target uuid, code text) returns jsonb
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    successor constant uuid := nullif(principal, target);
    left_login constant text := (select u.login from users u where u.id = target);
    next_login constant text := (select u.login from users u where u.id = successor);
    private_records int;
    owned_records int;
    led_projects uuid[];
    led_teams uuid[];
begin
    if not mc.is_proved('offboard_user', principal, target, code) then
        raise insufficient_privilege
            using message = 'the code does not prove that the service removes this user',
                hint = 'Only the service can compute codes. If the service gets this error, '
                    'restart it: it stores its key again at each start.';
    end if;

    -- The successor may have left meanwhile.
    if successor is not null then
        perform from users u
        where u.id = successor and u.disabled_at is null and not u.is_agent for share;
        if not found then
            raise exception 'the successor has left' using errcode = 'serialization_failure';
        end if;
    end if;
    -- Of two administrators who leave at the same time, the second sees that the first has left.
    perform from project_members m
    where m.role = 'admin' and m.project_id in (
        select own.project_id from project_members own where own.user_id = target)
    order by m.project_id, m.user_id for update;

    -- No identity provider finds the account by its address, and another account may have it.
    update users set email = null where id = target;
    update quarantine_items q
    set state = 'deleted', ciphertext = '', excerpt = '', decided_at = now(), notify_at = null
    where q.submitted_by = target and q.state = 'pending';
    delete from memory_records r where r.private_to = target;
    get diagnostics private_records = row_count;
    update memory_records r set owner = next_login, updated_at = now()
    where lower(r.owner) = lower(left_login) and r.state in ('active', 'stale');
    get diagnostics owned_records = row_count;

    led_projects := array(
        select m.project_id from project_members m
        where m.user_id = target and m.role = 'admin' and not exists (
            select from project_members o join users u on u.id = o.user_id
            where o.project_id = m.project_id and o.role = 'admin' and o.user_id <> target
                and u.disabled_at is null and not u.is_agent));
    led_teams := array(
        select m.team_id from team_members m
        where m.user_id = target and m.role = 'admin' and not exists (
            select from team_members o join users u on u.id = o.user_id
            where o.team_id = m.team_id and o.role = 'admin' and o.user_id <> target
                and u.disabled_at is null and not u.is_agent));
    if successor is not null then
        insert into project_members (project_id, user_id, role)
        select led, successor, 'admin' from unnest(led_projects) as led
        on conflict (project_id, user_id) do update set role = 'admin';
        insert into team_members (team_id, user_id, role)
        select led, successor, 'admin' from unnest(led_teams) as led
        on conflict (team_id, user_id) do update set role = 'admin';
    end if;
    delete from project_members m where m.user_id = target;
    delete from team_members m where m.user_id = target;

    return jsonb_build_object(
        'private_records', private_records,
        'owned_records', owned_records,
        'projects', to_jsonb(array(
            select p.key from projects p where p.id = any (led_projects) order by p.key)),
        'teams', to_jsonb(array(
            select t.key from teams t where t.id = any (led_teams) order by t.key)));
end $$;
call mc.set_worker_owner(array['mc.offboard_user(uuid, uuid, text)'::regprocedure]);
-- The function's owner ends the roles of the one who leaves.
grant select on teams to memory_copilot_worker;
grant update on users to memory_copilot_worker;
grant insert, update, delete on team_members to memory_copilot_worker;

-- Lists jobs, newest first, optionally without those of some kinds, such as housekeeping.
drop function mc.list_jobs(text, text, text, text, bigint);
create function mc.list_jobs(
    job_id text, state_filter text, kind_filter text, hidden_kinds text[], before_id text,
    max_count bigint)
returns table (id text, kind text, unique_key text, args jsonb, state text, attempts int,
               max_attempts int, scheduled_at timestamptz, worker text,
               attempted_at timestamptz, completed_at timestamptz, last_result jsonb)
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
    statuses constant text[] := case state_filter
        when 'completed' then array['Done'] when 'discarded' then array['Killed']
        when 'running' then array['Queued', 'Running']
        when 'pending' then array['Pending', 'Failed'] end;
begin
    return query
    select j.id, j.job_type, j.idempotency_key, convert_from(j.job, 'UTF8')::jsonb,
           mc.job_state(j.status), (j.metadata -> 'attempts')::int,
           (j.metadata -> 'max_attempts')::int, j.run_at, j.lock_by, j.lock_at, j.done_at,
           j.last_result
    from apalis.jobs j
    where (list_jobs.job_id is null or j.id = list_jobs.job_id)
        and (list_jobs.before_id is null or j.id < list_jobs.before_id)
        and (list_jobs.kind_filter is null or j.job_type = list_jobs.kind_filter)
        and j.job_type <> all (list_jobs.hidden_kinds)
        and (statuses is null or j.status = any(statuses))
    order by j.id desc limit list_jobs.max_count;
end $$;
revoke execute on function mc.list_jobs(text, text, text, text[], text, bigint) from public;
grant execute on function mc.list_jobs(text, text, text, text[], text, bigint)
    to memory_copilot_worker;
