-- What a save and a recall touch, with less work for each.

-- A passage that is written together with its vector, in one statement, need not wait for one, and
-- who makes vectors is only woken when there is one to make.
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

-- The fingerprints of a project's records, read without the records.
drop index memory_records_page;
create index memory_records_page on memory_records (project_id, id) include (simhash)
    where state in ('active', 'stale');

-- Every recall counts its hits: room on the page keeps that out of the indexes.
alter table memory_records set (fillfactor = 85);

-- Records that cite a symbol of a file that changed.
create index memory_citations_symbol on memory_citations (project_id, symbol)
    where symbol is not null;
