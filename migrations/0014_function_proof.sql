-- Functions with access to all projects require a proof, too (0013_project_proof.sql), because SQL
-- that is injected into a statement of the service role could call them with the ids of other users
-- and projects. Functions that list or create projects, or find the project of a row, require the
-- context of the user. The one that finds a project by its key takes a code. Those that
-- set a policy or enqueue a job require the context of the project. Logins of the worker role see
-- all rows anyway and need no proof.

-- Allows the transaction to list the projects of a user and to create a project for them. The
-- transaction enters no project, so the policies hide every row. `target` is the nil UUID.
create function mc.set_user_context(principal uuid, target uuid, code text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
    context constant text := mc.set_context('set_user_context', code, 'user', target, principal);
begin
end $$;

-- Returns whether the transaction has the context of this user. The context of a project does not
-- count: it gives no access to other projects, not even to those of the same user.
create function mc.has_user_context(principal uuid) returns boolean
language plpgsql stable parallel restricted set search_path = pg_catalog, pg_temp as $$
declare
    context constant text := current_setting('memory_copilot.context', true);
begin
    return pg_has_role(session_user, 'memory_copilot_worker', 'member')
        or (split_part(context, ' ', 1) = 'user' and split_part(context, ' ', 3) = principal::text
            and right(context, 64) = mc.mac('', int4send(pg_backend_pid())
                || timestamptz_send(now()) || convert_to(left(context, -65), 'UTF8'))) is true;
end $$;

-- Finds a project by its key. Each request begins with it, and a context would be another round
-- trip, so it has a code of its own. The statement binds it as a parameter, which other statements
-- can't read, so the code need not cover the message.
drop function mc.find_project_by_key(uuid, text);
create function mc.find_project_by_key(principal uuid, project_key text, code text)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
    call constant text := concat_ws(' ', pg_backend_pid(), 'find_project_by_key',
                                    find_project_by_key.principal, project_key);
begin
    if not (pg_has_role(session_user, 'memory_copilot_worker', 'member')
            or code = mc.mac(session_user, convert_to(call, 'UTF8'))) is true then
        raise insufficient_privilege
            using message = 'the code does not prove that the service finds this project',
                hint = 'Only the service can compute codes. If the service gets this error, '
                    'restart it: it stores its key again at each start.';
    end if;
    return query
        select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
        from projects p, lateral mc.effective_role(find_project_by_key.principal, p.id) as r (role)
        where p.key = find_project_by_key.project_key and r.role is not null;
end $$;

-- These require the context of the user. The look-ups by the id of a record, a bundle, an index run
-- and a quarantine item call mc.find_project.
create or replace function mc.list_projects(principal uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.effective_role(list_projects.principal, p.id) as r (role)
    where (select mc.has_user_context(list_projects.principal)) and r.role is not null
$$;
create or replace function mc.find_project(principal uuid, project uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.id, p.key, p.name, p.created_at, r.role, p.policy, p.policy_version
    from projects p, lateral mc.effective_role(find_project.principal, p.id) as r (role)
    where p.id = find_project.project and r.role is not null
        and (select mc.has_user_context(find_project.principal))
$$;

-- Creates a project with its creator as admin. Returns the time of creation, or null if the key is
-- taken, the creator is disabled or an agent, or the transaction does not have their context.
create or replace function mc.create_project(
    principal uuid, new_id uuid, new_key text, new_name text)
returns timestamptz
language sql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
    with created as (
        insert into projects (id, key, name)
        select new_id, new_key, new_name
        from users u where u.id = principal and u.disabled_at is null and not u.is_agent
            and (select mc.has_user_context(create_project.principal))
        on conflict (key) do nothing
        returning id, created_at),
    administered as (
        insert into project_members (project_id, user_id, role)
        select c.id, principal, 'admin' from created c)
    select c.created_at from created c
$$;

-- Sets a project's policy, unless its version is no longer `expected_version` (null replaces any).
-- The principal must be a maintainer of the project. A transaction of the service role must also
-- have entered this project for this principal. Returns the new version, or null if the policy was
-- not set.
create or replace function mc.set_policy(
    principal uuid, project uuid, expected_version int, document jsonb)
returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    set_version int;
    allowed_before text := (
        select p.allowed_embedding_models from projects p where p.id = set_policy.project);
begin
    if (pg_has_role(session_user, 'memory_copilot_worker', 'member')
            or project = mc.project_as_maintainer() and principal = mc.principal())
        and mc.effective_role(principal, project) >= 'maintainer' then
        update projects p
        set policy = document, policy_version = p.policy_version + 1, updated_at = now()
        where p.id = set_policy.project
            and (expected_version is null or p.policy_version = expected_version)
        returning p.policy_version into set_version;
        insert into policy_versions (project_id, version, policy, changed_by)
        select set_policy.project, set_version, document, principal where set_version is not null;
        -- Passages that the policy kept from the active model may be allowed now. Rows that another
        -- transaction has locked are skipped: they are due within the hour.
        if allowed_before <> (
            select p.allowed_embedding_models from projects p where p.id = set_policy.project) then
            update embedding_queue q set scheduled_at = now()
            where q.passage_id in (
                select w.passage_id from embedding_queue w
                where w.project_id = set_policy.project and w.scheduled_at > now()
                for update skip locked);
            perform pg_notify('embedding_queue', '');
        end if;
    end if;
    return set_version;
end $$;

-- Returns whether the transaction may enqueue a job. API requests must be allowed to enqueue its
-- kind, and its row must be in the project that the transaction has entered, with the role that
-- writes such rows. A unique key must begin with the row's id, so that a job can't block the jobs
-- of other rows.
create function mc.may_enqueue_job(kind text, unique_key text, args jsonb) returns boolean
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
    target uuid;
begin
    if pg_has_role(session_user, 'memory_copilot_worker', 'member') then
        return true;
    end if;
    target := args ->> case kind when 'index_repository' then 'run' when 'run_hygiene_task'
        then 'report' when 'post_task_comment' then 'task' else 'id' end;
    return (unique_key is null or starts_with(unique_key, target || ' '))
        and case kind
            when 'index_repository' then mc.project_as_agent()
                = (select r.project_id from ingest_runs r where r.id = target)
            when 'post_task_comment' then mc.project_as_member()
                = (select c.project_id from task_comments c where c.task_id = target)
            when 'run_hygiene_task' then mc.project_as_maintainer()
                = (select r.project_id from hygiene_runs r where r.id = target)
            when 'sync_integration' then mc.project_as_maintainer()
                = (select i.project_id from integrations i where i.id = target)
            when 'process_delivery' then mc.project_as_maintainer()
                = (select d.project_id from webhook_deliveries d where d.id = target)
            end is true;
end $$;

-- Enqueues a job. Returns its id, or null if the kind has a job with this key. The caller's
-- transaction inserts it, so the job exists if and only if its cause is committed.
create or replace function mc.enqueue_job(
    kind text, unique_key text, args jsonb, scheduled_at timestamptz, max_attempts int)
returns text
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    job_id text;
begin
    if enqueue_job.max_attempts is null or enqueue_job.max_attempts not between 1 and 100 then
        raise exception 'max_attempts of a job must be 1 to 100';
    end if;
    if not mc.may_enqueue_job(enqueue_job.kind, enqueue_job.unique_key, enqueue_job.args) then
        raise insufficient_privilege
            using message = format('the transaction may not enqueue this job (%s)',
                                   enqueue_job.kind),
                hint = 'The service role enqueues only jobs on rows of the project that it has '
                    'entered, of the kinds in mc.may_enqueue_job. Add a new kind there, or enqueue '
                    'it as the worker role.';
    end if;
    insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority,
                             metadata, idempotency_key)
    values (mc.new_job_id(), enqueue_job.kind, convert_to(enqueue_job.args::text, 'UTF8'),
            'Pending', 0, 2147483647, enqueue_job.scheduled_at, 0,
            hstore(array['attempts', 'max_attempts'],
                   array['0', enqueue_job.max_attempts::text]),
            enqueue_job.unique_key)
    on conflict (job_type, idempotency_key) do nothing
    returning id into job_id;
    return job_id;
end $$;

call mc.set_worker_owner(array[
    'mc.find_project_by_key(uuid, text, text)', 'mc.set_user_context(uuid, uuid, text)',
    'mc.has_user_context(uuid)', 'mc.may_enqueue_job(text, text, jsonb)']::regprocedure[]);
-- Only functions of the worker role call these. An existing trigger runs its function without this
-- right. With the right, injected SQL could create a trigger on a temporary table that writes to
-- the change feed and the embedding queue of any project.
revoke execute on function mc.has_user_context(uuid), mc.may_enqueue_job(text, text, jsonb),
    mc.effective_role(uuid, uuid), mc.find_project(uuid, uuid), mc.new_job_id(),
    mc.after_passages_insert(), mc.after_passages_update(), mc.after_passages_delete()
    from memory_copilot_service;
