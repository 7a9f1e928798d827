-- What a save and a recall touch, with less work for each.

-- A passage that is written together with its vector, in one statement, need not wait for one.
create or replace function passages_inserted() returns trigger language plpgsql as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id)
        select c.id from changed c
        where not exists (select 1 from embeddings e
                          where e.passage_id = c.id and e.text_hash = c.content_hash)
        on conflict do nothing;
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
