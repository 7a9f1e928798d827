-- A row of every table for project :project, which is the :n-th.
do $rows$ begin
insert into tasks (id, project_id, external_id, title) values (gen_random_uuid(), :project, 'T-1', 'secret task');
insert into dialogs (id, project_id) values (gen_random_uuid(), :project);
insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
values (gen_random_uuid(), :project, 'fact', 'secret fact', now() + interval '1 day', '\x:n0', 1);
insert into record_versions (record_id, project_id, version, kind, title, content, scope, tags, ttl, is_ttl_explicit, trust, meta, citations, reason)
select id, project_id, 1, kind, '', 'older fact', '{}', '{}', ttl, false, trust, '{}', '[]', 'merged' from memory_records where project_id = :project;
insert into record_citations (id, record_id, project_id, file_path)
select gen_random_uuid(), id, project_id, 'a.rs' from memory_records where project_id = :project;
insert into repositories (id, project_id, owner, name, location)
values (gen_random_uuid(), :project, 'o', 'n', '/tmp/n');
insert into files (id, repository_id, project_id, path, content_hash, size_bytes, language, line_count, chunker_version)
select gen_random_uuid(), id, project_id, 'a.rs', '\x00', 1, 'rust', 1, 1 from repositories where project_id = :project;
insert into history_commits (id, project_id, repository_id, sha, subject, committed_at)
select gen_random_uuid(), project_id, id, 'a', 'secret commit', now() from repositories where project_id = :project;
insert into history_commit_files (commit_id, file_id, project_id)
select c.id, f.id, f.project_id from history_commits c join files f using (repository_id) where f.project_id = :project;
insert into docs (id, project_id, source, doc_id, title, content)
values (gen_random_uuid(), :project, 'wiki', 'd', 'secret doc', 'text');
insert into embedding_models (name, dimensions, provider) values ('rows', 2, '{}') on conflict do nothing;
insert into passages (id, project_id, file_id, text, content_hash)
select gen_random_uuid(), project_id, id, 'secret code', '\x:n1' from files where project_id = :project;
insert into code_chunks (passage_id, project_id, repository_id, file_id, chunk_index, line_start, line_end, chunk_hash, span_hash)
select p.id, p.project_id, f.repository_id, f.id, 0, 1, 1, '\x00', '\x00'
from passages p join files f on f.id = p.file_id where p.project_id = :project;
insert into code_symbols (file_id, project_id, name, kind, line_start, line_end, span_hash)
select id, project_id, 'main', 'function', 1, 1, '\x00' from files where project_id = :project;
insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, embedding)
select m.id, p.id, p.project_id, p.source_kind, p.content_hash, '[1,0]'
from passages p, embedding_models m where p.project_id = :project and m.name = 'rows';
insert into hnsw_sources (model_id, project_id, source_kind)
select distinct model_id, project_id, source_kind from embeddings where project_id = :project;
insert into bundles (id, project_id, principal, request, confidence, token_count)
values (gen_random_uuid(), :project, 'x', '{}', 1, 1);
insert into bundle_items (bundle_id, project_id, position, section, score)
select id, project_id, 0, 'facts', 1 from bundles where project_id = :project;
insert into bundle_uses (project_id, bundle_id, record_id, kind)
select b.project_id, b.id, r.id, 'opened' from bundles b join memory_records r using (project_id)
where b.project_id = :project limit 1;
insert into ingest_runs (id, project_id, repository_id) select gen_random_uuid(), project_id, id
from repositories where project_id = :project;
insert into workspaces (id, project_id, owner_id, repository_id, repo_owner, repo_name, kind, is_editable, state, ingest_run_id, expires_at)
select gen_random_uuid(), project_id, u.id, repository_id, 'o', 'n', 'clone', true, 'queued', r.id, now() + interval '1 day'
from ingest_runs r, users u where project_id = :project and u.login = 'local';
insert into navigations (id, project_id, workspace_id, user_id)
select gen_random_uuid(), project_id, id, owner_id from workspaces where project_id = :project;
insert into patches (id, project_id, workspace_id, author_id, requires_manual_review, instructions, diff, grade, summary, annotations, expires_at)
select gen_random_uuid(), project_id, id, owner_id, false, 'secret task', '+secret', 'exact', '{secret}', '{}', now() + interval '1 day'
from workspaces where project_id = :project;
insert into policy_versions (project_id, version, policy) values (:project, 1, '{}');
insert into quarantine_items (id, project_id, kind, reasons, excerpt, ciphertext, expires_at)
values (gen_random_uuid(), :project, 'save', '{jwt}', 'secret', '\x00', now() + interval '1 day');
insert into webhooks (id, project_id, provider, secret) values (gen_random_uuid(), :project, 'github', '\x00');
insert into webhook_deliveries (id, project_id, webhook_id, external_id, event_type, event)
select gen_random_uuid(), project_id, id, 'd', 'ping', '{}' from webhooks where project_id = :project;
insert into integrations (id, project_id, connector, resource, capability, interval_minutes, include_comments)
values (gen_random_uuid(), :project, 'our-jira', 'CS', 'issues', 15, true);
insert into task_comments (task_id, project_id, digest) select id, project_id, 'secret sum' from tasks
where project_id = :project;
insert into deletion_candidates (project_id, integration_id, external_id)
select project_id, id, 'CS-1' from integrations where project_id = :project;
insert into pull_requests (id, project_id, external_id, title, state, source_updated_at)
values (gen_random_uuid(), :project, 'a/b!1', 'secret change', 'open', now());
insert into pull_request_commits (project_id, sha, pull_request_id) select project_id, 'a', id from pull_requests where project_id = :project;
insert into pull_request_tasks (project_id, external_id, pull_request_id) select project_id, 'T-1', id from pull_requests where project_id = :project;
insert into pushed_commits (project_id, sha, head_sha) values (:project, 'b', 'a');
insert into ci_results (project_id, repository, sha, name, conclusion, source_updated_at)
values (:project, 'a/b', 'a', 'secret check', 'success', now());
insert into doc_parts (project_id, source, doc_id, part_id, text, source_updated_at)
values (:project, 'tracker:github', 'a/b#1', '1', 'secret comment', now());
insert into hygiene_runs (id, project_id, task, is_dry_run)
values (gen_random_uuid(), :project, 'duplicates', false);
insert into duplicate_clusters (id, project_id, record_ids, content_hashes, similarity)
values (gen_random_uuid(), :project, array[gen_random_uuid(), gen_random_uuid()], array['\x00', '\x01']::bytea[], 1);
insert into exports (id, project_id, record_count, size_bytes, document) values (gen_random_uuid(), :project, 1, 1, '\x00');
insert into save_outcomes (project_id, user_id, kind, visibility, outcome)
values (:project, gen_random_uuid(), 'fact', 'team', 'created');
insert into client_sessions (project_id, user_id, id, started_at)
values (:project, gen_random_uuid(), gen_random_uuid(), now());
insert into read_counts (project_id, user_id, kind, hour, count)
values (:project, gen_random_uuid(), 'search', now(), 1);
insert into chat_requests (id, project_id, model, role, reserved_tokens)
values (gen_random_uuid(), :project, 'm', 'judge', 1);
insert into sgr_schemas (project_id, name, source) values (:project, 'bugfix', 'secret: step');
insert into prompt_versions (project_id, version, prompt, state, quality)
values (:project, :n, '{"instructions": [{"id": "a", "text": "secret"}], "examples": []}', 'current',
    '{"label": "unmeasured"}');
insert into dialog_outcomes (project_id, dialog_id, user_id, prompt_version, outcome)
select project_id, id, gen_random_uuid(), 1, 'succeeded' from dialogs where project_id = :project;
insert into pull_request_file_lists (pull_request_id, project_id, head_sha)
select id, project_id, 'a' from pull_requests where project_id = :project;
insert into pull_request_files (pull_request_id, project_id, path, status, diff)
select pull_request_id, project_id, 'a.rs', 'modified', '+secret' from pull_request_file_lists where project_id = :project;
insert into record_contributions (project_id, record_id, version) select project_id, id, 1
from memory_records where project_id = :project;
insert into teams (id, key, name) values (gen_random_uuid(), 'team-:n', '');
insert into project_teams (project_id, team_id, role) select :project, id, 'viewer' from teams where key = 'team-:n';
end $rows$
