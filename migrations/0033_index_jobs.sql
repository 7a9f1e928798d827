-- Index runs are done by the queue of background work. A run is what people ask for and are told of; its job does
-- it, and runs of one project take turns: one that finds another at work lets go of its job, and is given a new one
-- when that one ends.
drop index ingest_runs_open;
alter table ingest_runs
    drop column heartbeat_at,
    drop column run_at,
    -- The job that does it, or did; null while it waits for its turn.
    add column job text;
create index ingest_runs_open on ingest_runs (project_id, queued_at) where status in ('QUEUED', 'RUNNING');

-- What was at work under the version before has no job: it gets its turn like the others.
update ingest_runs set status = 'QUEUED', worker = null where status = 'RUNNING';

-- Whether a job will be begun yet, or is at work.
create function mc.is_job_open(wanted text) returns boolean
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
    return exists (select from apalis.jobs j
                   where j.id = wanted and mc.job_state(j.status) in ('waiting', 'running'));
end $$;

-- Frees what the former processes of a node held, which has just begun anew: nobody else works in its folder. What
-- they had begun counts as begun; it comes back as what any process left that died.
create function mc.forget_workers(node text) returns void
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    -- Not longer ago than the library itself would wait, or it would take them up without counting.
    update apalis.workers w set last_seen = least(w.last_seen, now() - interval '1 day')
    where starts_with(w.id, node);
end $$;

-- Ends a start, as before; the one beyond the last, which is no start any more, ends as well.
create or replace function mc.end_job(wanted text, holder text, started int, reason text, pause float8) returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    update apalis.jobs j
    set status = case when reason is null then 'Done' when pause is null then 'Killed' else 'Pending' end,
        done_at = case when reason is null or pause is null then now() end,
        run_at = case when reason is null or pause is null then j.run_at
                 else now() + make_interval(secs => pause) end,
        last_result = case when reason is not null then jsonb_build_object('Err', reason) end
    where j.id = wanted and j.lock_by = holder and j.status = 'Running'
        and (j.metadata -> 'starts')::int = least(started, (j.metadata -> 'most')::int);
    return found;
end $$;

-- As before, but that what was at work comes back within minutes, however often it was begun: an index run has many
-- starts, and counts its attempts itself.
create or replace function mc.sweep_jobs(silence float8, apart float8, kept int)
returns table (freed bigint, killed bigint, pruned bigint)
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    with orphans as (
        select j.id, case when j.status = 'Running' then random() * apart * 2 ^ least((j.metadata -> 'starts')::int, 8)
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
    foreach function in array array['mc.is_job_open(text)', 'mc.forget_workers(text)']::regprocedure[] loop
        execute format('revoke execute on function %s from public', function);
        execute format('grant execute on function %s to memory_copilot_worker', function);
    end loop;
end $$;
