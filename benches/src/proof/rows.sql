-- A row of each table that the benchmark reads, for project :project.
do $rows$ begin
insert into tasks (id, project_id, external_id, title)
values (gen_random_uuid(), :project, 'T-1', 'task');
insert into dialogs (id, project_id) values (gen_random_uuid(), :project);
insert into docs (id, project_id, source, doc_id, title, content)
values (gen_random_uuid(), :project, 'wiki', 'd', 'doc', 'text');
insert into repositories (id, project_id, owner, name, location)
values (gen_random_uuid(), :project, 'o', 'n', '/tmp/n');
insert into bundles (id, project_id, principal, request, confidence, token_count)
values (gen_random_uuid(), :project, 'x', '{}', 1, 1);
insert into pull_requests (id, project_id, external_id, title, state, source_updated_at)
values (gen_random_uuid(), :project, 'a/b!1', 'change', 'open', now());
insert into exports (id, project_id, record_count, size_bytes, document)
values (gen_random_uuid(), :project, 1, 1, '\x00');
insert into duplicate_clusters (id, project_id, record_ids, content_hashes, similarity)
values (gen_random_uuid(), :project, array[gen_random_uuid(), gen_random_uuid()],
        array['\x00', '\x01']::bytea[], 1);
end $rows$
