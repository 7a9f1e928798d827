-- Background jobs. The queue is that of the library apalis, in the schema `apalis`, which the
-- library's own migrations create. The functions here add guarantees that the library lacks. Their
-- bodies are late bound, so that neither set of migrations waits for the other.
--
-- The library counts an attempt whenever a worker with the job dies, even before it started the
-- job; it retries at once and without limit, and records an outcome later, if at all. So these
-- functions count attempts themselves, in the job's metadata (`attempts` and `max_attempts`), and
-- the worker that finishes an attempt records its outcome.

-- Returns an id for a new job. Ids are in the order of creation, by which lists are read page by
-- page. The library's ids have milliseconds; two more digits of these have the microseconds.
create function mc.new_job_id() returns text
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
    micros constant bigint := extract(epoch from clock_timestamp()) * 1000000;
    stamp constant bigint := micros / 1000 << 10 | micros % 1000;
begin
    return (select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
                                     (stamp >> 5 * digit & 31)::int + 1, 1), ''
                              order by digit desc)
            from generate_series(0, 11) digit) || right(apalis.generate_ulid(), 14);
end $$;

-- Enqueues a job. Returns its id, or null if the kind has a job with this key. The caller's
-- transaction inserts it, so the job exists if and only if its cause is committed.
create function mc.enqueue_job(
    kind text, unique_key text, args jsonb, scheduled_at timestamptz, max_attempts int)
returns text
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    job_id text;
begin
    if enqueue_job.max_attempts is null or enqueue_job.max_attempts not between 1 and 100 then
        raise exception 'max_attempts of a job must be 1 to 100';
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

-- Starts an attempt of a job that the worker has claimed. Returns the attempt's number and the
-- maximum; a number above the maximum is no attempt: the job has used them up. Returns no row if
-- the worker has lost the job.
create function mc.start_job_attempt(job_id text, worker text)
returns table (attempt int, max_attempts int)
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    -- A crash of the server may lose this count: at worst the job has one more attempt.
    perform set_config('synchronous_commit', 'off', true);
    return query
    with claimed as (
        select c.id, (c.metadata -> 'attempts')::int + 1 as attempt,
               (c.metadata -> 'max_attempts')::int as max_attempts
        from apalis.jobs c
        where c.id = job_id and c.lock_by = worker and c.status in ('Queued', 'Running')
        for update)
    update apalis.jobs j
    set status = 'Running', lock_at = now(),
        metadata = j.metadata
            || hstore('attempts', least(claimed.attempt, claimed.max_attempts)::text)
    from claimed where j.id = claimed.id
    returning claimed.attempt, claimed.max_attempts;
end $$;

-- Finishes an attempt. Without an error the job is completed; with an error it is retried after
-- `retry_in_seconds`, or discarded if that is null. Returns false if the attempt is not the current
-- one.
create function mc.finish_job(
    job_id text, worker text, attempt int, error text, retry_in_seconds float8)
returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    update apalis.jobs j
    set status = case when error is null then 'Done' when retry_in_seconds is null then 'Killed'
                 else 'Pending' end,
        done_at = case when error is null or retry_in_seconds is null then now() end,
        run_at = case when error is null or retry_in_seconds is null then j.run_at
                 else now() + make_interval(secs => retry_in_seconds) end,
        last_result = case when error is not null then jsonb_build_object('Err', error) end
    where j.id = job_id and j.lock_by = worker and j.status = 'Running'
        -- mc.start_job_attempt stores a number above the maximum as the maximum.
        and (j.metadata -> 'attempts')::int
            = least(attempt, (j.metadata -> 'max_attempts')::int);
    return found;
end $$;

-- Releases the jobs of a worker that stopped while its process lives. Their current attempts do not
-- count.
create function mc.release_jobs(worker text) returns void
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    update apalis.jobs j
    set status = 'Pending', lock_by = null, lock_at = null,
        metadata = case when j.status = 'Running'
                   then j.metadata
                       || hstore('attempts', ((j.metadata -> 'attempts')::int - 1)::text)
                   else j.metadata end
    where j.lock_by = worker and j.status in ('Queued', 'Running');
end $$;

-- Expires the workers of a node's former process. A process that has just started calls it: it
-- alone uses the node's directory. The attempts of those workers count; mc.maintain_jobs rescues
-- their jobs.
create function mc.expire_workers(node text) returns void
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    -- No longer ago than the library's own timeout, or the library would reschedule the jobs
    -- without counting.
    update apalis.workers w set last_seen = least(w.last_seen, now() - interval '1 day')
    where starts_with(w.id, node);
end $$;

-- Maintains the queue. Rescues jobs of workers that are unknown, or silent for
-- `heartbeat_timeout_seconds`. Discards jobs with no attempt left, each of which ended with its
-- process. Prunes jobs that were completed `retention_days` ago. A job that was running when its
-- process died may be the cause: it returns at a random time within `rescue_spread_seconds`, which
-- double with each attempt, so that a culprit soon dies alone.
create function mc.maintain_jobs(
    heartbeat_timeout_seconds float8, rescue_spread_seconds float8, retention_days int)
returns table (rescued bigint, discarded bigint, pruned bigint)
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    with orphans as (
        -- The exponent is limited: an index run may have many attempts, and should return soon.
        select j.id, case when j.status = 'Running'
                     then random() * rescue_spread_seconds
                         * 2 ^ least((j.metadata -> 'attempts')::int, 8)
                     else 0 end as pause
        from apalis.jobs j left join apalis.workers w on w.id = j.lock_by
        where j.status in ('Queued', 'Running')
            and (w.id is null
                 or w.last_seen < now() - make_interval(secs => heartbeat_timeout_seconds))
        for update of j skip locked)
    update apalis.jobs j
    set status = 'Pending', lock_by = null, lock_at = null,
        run_at = now() + make_interval(secs => o.pause)
    from orphans o where o.id = j.id;
    get diagnostics rescued = row_count;

    update apalis.jobs j
    set status = 'Killed', done_at = now(),
        last_result = jsonb_build_object('Err', 'the worker process died in every attempt')
    where j.status = 'Pending'
        and (j.metadata -> 'attempts')::int >= (j.metadata -> 'max_attempts')::int;
    get diagnostics discarded = row_count;

    delete from apalis.jobs j
    where j.status = 'Done' and j.done_at < now() - make_interval(days => retention_days);
    get diagnostics pruned = row_count;
    delete from idempotency_keys where created_at < now() - interval '1 year';
    delete from apalis.workers w
    where w.last_seen < now() - interval '1 day'
        and not exists (select from apalis.jobs j where j.lock_by = w.id);
    return next;
end $$;

-- Returns the state of a job for a status of the library.
create function mc.job_state(status text) returns text language sql immutable parallel safe as $$
    select case status when 'Done' then 'completed' when 'Killed' then 'discarded'
        when 'Queued' then 'running' when 'Running' then 'running' else 'pending' end
$$;

-- Lists jobs, the latest first. Null arguments do not filter.
create function mc.list_jobs(
    job_id text, state_filter text, kind_filter text, before_id text, max_count bigint)
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
        and (statuses is null or j.status = any(statuses))
    order by j.id desc limit list_jobs.max_count;
end $$;

-- Retries a discarded job now, with all its attempts. Returns false if it is not discarded.
create function mc.retry_job(job_id text) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
    kind text;
begin
    update apalis.jobs j
    set status = 'Pending', run_at = now(), lock_by = null, lock_at = null, done_at = null,
        metadata = j.metadata || hstore('attempts', '0')
    where j.id = job_id and j.status = 'Killed'
    returning j.job_type into kind;
    if kind is null then
        return false;
    end if;
    perform pg_notify('apalis::job::insert',
                      json_build_object('job_type', kind, 'id', job_id)::text);
    return true;
end $$;

-- Deletes a job that is discarded or pending. Returns false if there is none.
create function mc.delete_job(job_id text) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    delete from apalis.jobs j
    where j.id = job_id and mc.job_state(j.status) in ('discarded', 'pending');
    return found;
end $$;

-- Returns whether a job could have started by now and has not: it will see all earlier changes. A
-- running job may have read past some. Volatile, to see commits during the caller's wait for a row.
create function mc.is_job_due(job_id text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    return exists (select from apalis.jobs j
                   where j.id = job_id and j.status in ('Pending', 'Failed', 'Queued')
                       and j.run_at <= clock_timestamp());
end $$;

-- Returns whether a job is pending or running.
create function mc.is_job_active(job_id text) returns boolean
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
    return exists (select from apalis.jobs j
                   where j.id = job_id and mc.job_state(j.status) in ('pending', 'running'));
end $$;

-- Returns whether no worker will start a job any more: it is completed, discarded or deleted, or
-- there was none.
create function mc.is_job_finished(job_id text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    return not exists (select from apalis.jobs j
                       where j.id = job_id and j.status not in ('Done', 'Killed'));
end $$;

-- Keys of effects that a job had. The queue guarantees that a job runs at least once; its
-- transaction inserts a key here and does nothing if the key exists, so its effect happens once.
create table idempotency_keys (
    kind        text        not null,
    key         text        not null,
    created_at  timestamptz not null default now(),
    primary key (kind, key)
);
create index idempotency_keys_created_at_idx on idempotency_keys (created_at);
grant select, insert, delete on idempotency_keys to memory_copilot_worker;

-- The service enqueues jobs and sees whether one is due or finished; only workers do the rest.
revoke execute on function
    mc.start_job_attempt(text, text), mc.finish_job(text, text, int, text, float8),
    mc.release_jobs(text), mc.expire_workers(text), mc.maintain_jobs(float8, float8, int),
    mc.job_state(text), mc.list_jobs(text, text, text, text, bigint), mc.retry_job(text),
    mc.delete_job(text), mc.is_job_active(text) from public;
grant execute on function
    mc.start_job_attempt(text, text), mc.finish_job(text, text, int, text, float8),
    mc.release_jobs(text), mc.expire_workers(text), mc.maintain_jobs(float8, float8, int),
    mc.job_state(text), mc.list_jobs(text, text, text, text, bigint), mc.retry_job(text),
    mc.delete_job(text), mc.is_job_active(text) to memory_copilot_worker;
call mc.set_worker_owner(array[
    'mc.new_job_id()', 'mc.enqueue_job(text, text, jsonb, timestamptz, int)', 'mc.is_job_due(text)',
    'mc.is_job_finished(text)']::regprocedure[]);
