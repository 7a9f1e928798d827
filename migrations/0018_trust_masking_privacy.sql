-- Who vouches for a document: like what is imported as a rule; nobody, where its text addresses a model and
-- the project's policy takes it in all the same.
alter table docs
    add column trust text not null default 'imported' check (trust in ('imported', 'untrusted'));

-- Which rules a file was masked by (a fingerprint of the policy's): one that was masked by others is read
-- again. 0 for those of before this was kept.
alter table files add column masked_by bigint not null default 0;

-- What waits for a vector says whose it is, so that counting tells nobody what others keep to themselves.
alter table embedding_queue add column private_to uuid;
update embedding_queue q set private_to = p.private_to from passages p where p.id = q.passage_id;
create policy private on embedding_queue as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));
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
    perform pg_notify('passages', '');
    return null;
end $$;
create or replace function mc.passages_updated() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    insert into feed (passage_id) select id from changed;
    insert into embedding_queue (passage_id, project_id, private_to)
        select c.id, c.project_id, c.private_to from changed c join previous p using (id)
        where c.content_hash <> p.content_hash
        on conflict (passage_id) do update
            set attempts = 0, last_error = null, run_at = now(), private_to = excluded.private_to;
    if found then
        perform pg_notify('embedding_queue', '');
    end if;
    perform pg_notify('passages', '');
    return null;
end $$;

-- Who vouches for a piece of a repository's code, as for a document.
alter table code_chunks
    add column trust text not null default 'imported' check (trust in ('imported', 'untrusted'));
