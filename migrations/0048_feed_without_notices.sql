-- The index of each node looks at the feed by itself, once a second and at each search. That a commit is told besides made
-- all commits of the database wait for each other, woke a process for each, and told nothing that was not found anyway.
grant create on schema mc to memory_copilot_worker;
set local role memory_copilot_worker;
create or replace function mc.passages_inserted() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id, project_id, private_to)
        select c.id, c.project_id, c.private_to from changed c
        where not exists (select 1 from embeddings e
                          where e.passage_id = c.id and e.text_hash = c.content_hash)
        on conflict do nothing;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    return null;
end $$;

create or replace function mc.passages_updated() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    update embedding_queue q set private_to = c.private_to from changed c
    where q.passage_id = c.id and q.private_to is distinct from c.private_to;
    insert into embedding_queue (passage_id, project_id, private_to)
        select c.id, c.project_id, c.private_to from changed c join previous p using (id)
        where c.content_hash <> p.content_hash
        on conflict (passage_id) do update
            set attempts = 0, last_error = null, run_at = now(), private_to = excluded.private_to;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    return null;
end $$;

create or replace function mc.passages_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    return null;
end $$;
reset role;
revoke create on schema mc from memory_copilot_worker;
