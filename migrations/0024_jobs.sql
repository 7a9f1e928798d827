-- Background work. Its queue is that of the library apalis, in a schema of its own that the library's own
-- migrations make; what this project asks of it besides stands here, late bound, so that neither set of
-- migrations waits for the other.
--
-- The library counts an attempt whenever a worker dies that had taken a job, begun or not, begins what failed at
-- once and without end, and writes down how a job ended some time later, if at all. So what counts here are
-- starts, kept with the job: `most` of them; and how one ended is written by whoever did it.

-- Asks for work; null where the same (its key) was asked for already. For whoever is in a transaction: the
-- work is there once that is committed.
create function mc.enqueue(kind text, key text, args jsonb, due timestamptz, most int) returns text
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    asked text;
begin
    if enqueue.most is null or enqueue.most not between 1 and 100 then
        raise exception 'a job is begun 1 to 100 times';
    end if;
    insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority, metadata,
                             idempotency_key)
    values (apalis.generate_ulid(), enqueue.kind, convert_to(enqueue.args::text, 'UTF8'), 'Pending', 0,
            2147483647, enqueue.due, 0, hstore(array['starts', 'most'], array['0', enqueue.most::text]),
            enqueue.key)
    on conflict (job_type, idempotency_key) do nothing
    returning id into asked;
    return asked;
end $$;
call mc.run_as_worker(array['mc.enqueue(text, text, jsonb, timestamptz, int)']::regprocedure[]);

-- Begins a job that the worker has taken and still holds: the how-manyth time, and how many there may be;
-- one more than those is no start any more. No row where somebody else has it by now.
create function mc.start_job(wanted text, holder text) returns table (start int, most int)
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    -- A start that a crash of the server forgets is one more at worst.
    perform set_config('synchronous_commit', 'off', true);
    return query
    with held as (
        select h.id, (h.metadata -> 'starts')::int + 1 as start, (h.metadata -> 'most')::int as most
        from apalis.jobs h
        where h.id = wanted and h.lock_by = holder and h.status in ('Queued', 'Running') for update)
    update apalis.jobs j
    set status = 'Running', lock_at = now(),
        metadata = j.metadata || hstore('starts', least(held.start, held.most)::text)
    from held where j.id = held.id
    returning held.start, held.most;
end $$;

-- Ends a start: the job is done (no reason), is begun again after a pause, or is given up (no pause). False where
-- that start is not under way any more.
create function mc.end_job(wanted text, holder text, started int, reason text, pause float8) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    update apalis.jobs j
    set status = case when reason is null then 'Done' when pause is null then 'Killed' else 'Pending' end,
        done_at = case when reason is null or pause is null then now() end,
        run_at = case when reason is null or pause is null then j.run_at
                 else now() + make_interval(secs => pause) end,
        last_result = case when reason is not null then jsonb_build_object('Err', reason) end
    where j.id = wanted and j.lock_by = holder and j.status = 'Running'
        and (j.metadata -> 'starts')::int = started;
    return found;
end $$;

-- Gives back what a worker holds that works no more though its process lives: what it had begun is as if it had
-- not been.
create function mc.release_jobs(holder text) returns void
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    update apalis.jobs j
    set status = 'Pending', lock_by = null, lock_at = null,
        metadata = case when j.status = 'Running'
                   then j.metadata || hstore('starts', ((j.metadata -> 'starts')::int - 1)::text)
                   else j.metadata end
    where j.lock_by = holder and j.status in ('Queued', 'Running');
end $$;

-- The library's own words, by what will come of a job.
create function mc.job_state(status text) returns text language sql immutable parallel safe as $$
    select case status when 'Done' then 'done' when 'Killed' then 'dead'
        when 'Queued' then 'running' when 'Running' then 'running' else 'waiting' end
$$;

create function mc.find_jobs(wanted text, of_state text, of_kind text, before text, most bigint)
returns table (id text, kind text, key text, args jsonb, state text, starts int, starts_most int,
               due_at timestamptz, worker text, taken_at timestamptz, ended_at timestamptz, outcome jsonb)
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
    words constant text[] := case of_state when 'done' then array['Done'] when 'dead' then array['Killed']
        when 'running' then array['Queued', 'Running'] when 'waiting' then array['Pending', 'Failed'] end;
begin
    return query
    select j.id, j.job_type, j.idempotency_key, convert_from(j.job, 'UTF8')::jsonb, mc.job_state(j.status),
           (j.metadata -> 'starts')::int, (j.metadata -> 'most')::int, j.run_at, j.lock_by, j.lock_at,
           j.done_at, j.last_result
    from apalis.jobs j
    where (find_jobs.wanted is null or j.id = find_jobs.wanted)
        and (find_jobs.before is null or j.id < find_jobs.before)
        and (find_jobs.of_kind is null or j.job_type = find_jobs.of_kind)
        and (words is null or j.status = any(words))
    order by j.id desc limit find_jobs.most;
end $$;

-- Has a job that is dead begin anew, now; false where it is not dead.
create function mc.retry_job(wanted text) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
    kind text;
begin
    update apalis.jobs j
    set status = 'Pending', run_at = now(), lock_by = null, lock_at = null, done_at = null,
        metadata = j.metadata || hstore('starts', '0')
    where j.id = wanted and j.status = 'Killed'
    returning j.job_type into kind;
    if kind is null then
        return false;
    end if;
    perform pg_notify('apalis::job::insert', json_build_object('job_type', kind, 'id', wanted)::text);
    return true;
end $$;

-- Throws away a job that is dead or waits; false where there is none.
create function mc.discard_job(wanted text) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    delete from apalis.jobs j where j.id = wanted and mc.job_state(j.status) in ('dead', 'waiting');
    return found;
end $$;

-- What the library leaves lying: jobs of workers that were not heard of for `silence` seconds, or are not
-- known; jobs whose every start ended with its process; and what has ended `kept` days ago. Of jobs that were
-- at work when their process died nobody knows which one ended it: they come back within `apart` seconds, and
-- twice as many after each start, each at a time of its own, so that it soon dies alone.
create function mc.sweep_jobs(silence float8, apart float8, kept int)
returns table (freed bigint, killed bigint, pruned bigint)
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    with orphans as (
        select j.id, case when j.status = 'Running' then random() * apart * 2 ^ ((j.metadata -> 'starts')::int)
                     else 0 end as pause
        from apalis.jobs j left join apalis.workers w on w.id = j.lock_by
        where j.status in ('Queued', 'Running')
            and (w.id is null or w.last_seen < now() - make_interval(secs => silence))
        for update of j skip locked)
    update apalis.jobs j
    set status = 'Pending', lock_by = null, lock_at = null, run_at = now() + make_interval(secs => o.pause)
    from orphans o where o.id = j.id;
    get diagnostics freed = row_count;

    update apalis.jobs j
    set status = 'Killed', done_at = now(),
        last_result = jsonb_build_object('Err', 'the process died each time it was begun')
    where j.status = 'Pending' and (j.metadata -> 'starts')::int >= (j.metadata -> 'most')::int;
    get diagnostics killed = row_count;

    delete from apalis.jobs j where j.status = 'Done' and j.done_at < now() - make_interval(days => kept);
    get diagnostics pruned = row_count;
    delete from job_effects where done_at < now() - interval '1 year';
    delete from apalis.workers w
    where w.last_seen < now() - interval '1 day'
        and not exists (select from apalis.jobs j where j.lock_by = w.id);
    return next;
end $$;

do $$
declare
    function regprocedure;
begin
    foreach function in array array[
        'mc.start_job(text, text)', 'mc.end_job(text, text, int, text, float8)', 'mc.release_jobs(text)',
        'mc.job_state(text)',
        'mc.find_jobs(text, text, text, text, bigint)', 'mc.retry_job(text)', 'mc.discard_job(text)',
        'mc.sweep_jobs(float8, float8, int)']::regprocedure[] loop
        execute format('revoke execute on function %s from public', function);
        execute format('grant execute on function %s to memory_copilot_worker', function);
    end loop;
end $$;

-- What was done, by the work that did it: whoever finds their row here already does nothing. The queue
-- promises that work is done at least once; that its effect comes once is for this row, in the effect's own
-- transaction.
create table job_effects (
    kind     text        not null,
    key      text        not null,
    done_at  timestamptz not null default now(),
    primary key (kind, key)
);
create index job_effects_done on job_effects (done_at);
grant select, insert, delete on job_effects to memory_copilot_worker;
