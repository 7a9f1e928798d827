-- What keeps the memory in shape over years: records that are recalled live on, what is no longer
-- needed can be deleted, and what is deleted is found without reading whole tables.

-- Whether a person named the day on which the record ends; otherwise every recall moves it.
alter table memory_records add column ttl_given boolean not null default false;

-- When the change was noted, and up to where the feed was shortened: an index that has not read
-- that far is to be built anew.
alter table feed add column noted_at timestamptz not null default now();
create index feed_noted on feed (noted_at);
create table feed_pruned (
    only_row  boolean primary key default true constraint feed_pruned_one_row check (only_row),
    txid      xid8    not null
);
insert into feed_pruned (txid) values ('0');

create index memory_records_dialog on memory_records (dialog_id) where dialog_id is not null;
create index memory_records_successor on memory_records (superseded_by)
    where superseded_by is not null;
create index memory_records_ttl on memory_records (ttl) where state in ('active', 'stale');
create index bundle_items_doc on bundle_items (doc_id) where doc_id is not null;
create index code_chunks_repository on code_chunks (repository_id);
