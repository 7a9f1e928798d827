-- Drops the keys to projects of rows that belong to another row of the same project: since
-- 0015_project_foreign_keys.sql, the key to that row includes project_id, and rows without a parent
-- still refer to their project. PostgreSQL checks each key for each row that is written.
do $$
declare
    redundant record;
begin
    for redundant in
        select k.conname as name, k.conrelid::regclass as referencing
        from pg_constraint k
        where k.contype = 'f' and k.confrelid = 'projects'::regclass
            and (k.conrelid = 'passages'::regclass  -- passages_source_check requires one parent.
                or exists (
                    select from pg_constraint other
                    where other.contype = 'f' and other.conrelid = k.conrelid
                        and other.confdeltype = 'c' and k.conkey <@ other.conkey
                        and cardinality(other.conkey) = 2
                        and (select bool_and(a.attnotnull) from pg_attribute a
                             where a.attrelid = k.conrelid and a.attnum = any(other.conkey))))
    loop
        execute format('alter table %s drop constraint %I', redundant.referencing, redundant.name);
    end loop;
end $$;
