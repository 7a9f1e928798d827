-- Who makes vectors is only woken when there is one to make: beside what the functions did before, they
-- tell of new entries in the queue.
create or replace function passages_inserted() returns trigger language plpgsql as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id)
        select c.id from changed c
        where not exists (select 1 from embeddings e
                          where e.passage_id = c.id and e.text_hash = c.content_hash)
        on conflict do nothing;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    perform pg_notify('passages', '');
    return null;
end $$;

create or replace function passages_updated() returns trigger language plpgsql as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id)
        select c.id from changed c join previous p using (id)
        where c.content_hash <> p.content_hash
        on conflict (passage_id) do update set attempts = 0, last_error = null, run_at = now();
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    perform pg_notify('passages', '');
    return null;
end $$;
