-- Indexes for statements that read whole tables to answer with a few rows; the plans are tested in
-- crates/store/tests/plans.rs.

-- Pages of a project's records and documents, by id.
create index memory_records_page on memory_records (project_id, id) where state in ('active', 'stale');
create index docs_page on docs (project_id, id);

-- After a change of the model every passage waits with the same run_at: without the second column
-- each batch would sort them all.
drop index embedding_queue_due;
create index embedding_queue_due on embedding_queue (run_at, passage_id);

-- The hourly sweep asks for old bundles of all projects.
create index bundles_created on bundles (created_at);
