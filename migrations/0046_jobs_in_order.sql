-- The id of a job is its place in the order of asking: lists are read by it, page by page. The library's ids say so by
-- the millisecond, in which several jobs can be asked for; here the next two digits are the microseconds.
create function mc.new_job_id() returns text
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
declare
    asked constant bigint := extract(epoch from clock_timestamp()) * 1000000;
    stamp constant bigint := asked / 1000 << 10 | asked % 1000;
begin
    return (select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (stamp >> 5 * place & 31)::int + 1, 1), ''
                              order by place desc)
            from generate_series(0, 11) place) || right(apalis.generate_ulid(), 14);
end $$;
call mc.run_as_worker(array['mc.new_job_id()']::regprocedure[]);

create or replace function mc.enqueue(kind text, key text, args jsonb, due timestamptz, most int) returns text
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    asked text;
begin
    if enqueue.most is null or enqueue.most not between 1 and 100 then
        raise exception 'a job is begun 1 to 100 times';
    end if;
    insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority, metadata,
                             idempotency_key)
    values (mc.new_job_id(), enqueue.kind, convert_to(enqueue.args::text, 'UTF8'), 'Pending', 0,
            2147483647, enqueue.due, 0, hstore(array['starts', 'most'], array['0', enqueue.most::text]),
            enqueue.key)
    on conflict (job_type, idempotency_key) do nothing
    returning id into asked;
    return asked;
end $$;
