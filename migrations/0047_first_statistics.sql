-- Until a table is analyzed for the first time the planner takes each project to have a two hundredth of its rows, of
-- which it supposes a few hundred: the index by project then looks as good as one by id, and a plan that is kept reads a
-- whole project for each row that it looks up. A new installation holds a few projects; analyzing replaces this.
-- Servers before PostgreSQL 18 can't be told.
do $$
declare
    tenant record;
begin
    if current_setting('server_version_num')::int < 180000 then
        return;
    end if;
    for tenant in
        select n.nspname, c.relname, a.attlen
        from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
        where a.attname = 'project_id' and not a.attisdropped and c.relkind = 'r' and n.nspname = 'public'
            and c.reltuples < 0
    loop
        perform pg_restore_attribute_stats(
            'schemaname', tenant.nspname::text, 'relname', tenant.relname::text, 'attname', 'project_id', 'inherited', false,
            'null_frac', 0::real, 'avg_width', tenant.attlen::int, 'n_distinct', 4::real);
    end loop;
end $$;
