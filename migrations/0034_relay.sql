-- Where there is a Redis, it hands work out: a relay puts the ids of due jobs there, and whoever gets one claims its
-- row. The row stays what it was, so workers that look here may take it as well, and an id that is lost in Redis, or
-- is there twice, changes nothing: one claim finds the row waiting.

-- Due jobs of some kinds that were not relayed since they are due, as many of each as there is room for. Their rows
-- say so from now on.
create function mc.relay_jobs(kinds text[], rooms int[]) returns table (id text, kind text)
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    -- What a crash of the server forgets is relayed once more.
    perform set_config('synchronous_commit', 'off', true);
    return query
    with due as materialized (
        select waiting.id
        from unnest(kinds, rooms) as wanted (kind, room)
        cross join lateral (
            select j.id from apalis.jobs j
            where j.job_type = wanted.kind and j.status = 'Pending' and j.run_at <= now()
                and (j.metadata -> 'relayed') is distinct from extract(epoch from j.run_at)::text
            order by j.priority desc, j.run_at limit wanted.room
            for update skip locked) waiting)
    update apalis.jobs j
    set metadata = j.metadata || hstore('relayed', extract(epoch from j.run_at)::text)
    from due where j.id = due.id
    returning j.id, j.job_type;
end $$;

-- Takes a job that waits and is due, for a worker that is known: what it was told, or null where there is none such, or
-- somebody else is just taking it.
create function mc.claim_job(wanted text, holder text) returns jsonb
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
    told jsonb;
begin
    -- What a crash of the server forgets has not begun.
    perform set_config('synchronous_commit', 'off', true);
    update apalis.jobs j
    set status = 'Queued', lock_by = holder, lock_at = now()
    where j.id = (select waiting.id from apalis.jobs waiting
                  where waiting.id = wanted and waiting.status = 'Pending' and waiting.run_at <= now()
                  for update skip locked)
    returning convert_from(j.job, 'UTF8')::jsonb into told;
    return told;
end $$;

-- Gives back one job that a worker took and has not begun. It is relayed anew, since others may be free.
create function mc.return_job(wanted text, holder text) returns void
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    update apalis.jobs j
    set status = 'Pending', lock_by = null, lock_at = null, metadata = delete(j.metadata, 'relayed')
    where j.id = wanted and j.lock_by = holder and j.status = 'Queued';
end $$;

do $$
declare
    function regprocedure;
begin
    foreach function in array array['mc.relay_jobs(text[], int[])', 'mc.claim_job(text, text)',
        'mc.return_job(text, text)']::regprocedure[] loop
        execute format('revoke execute on function %s from public', function);
        execute format('grant execute on function %s to memory_copilot_worker', function);
    end loop;
end $$;
