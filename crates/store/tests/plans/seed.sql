-- Enough rows of everything that a plan which reads a whole table is slower than an index, and shows.
-- Project 1 holds half of it all, projects 2 to 20 share the rest. Ids are in the order of the rows,
-- as those of the service are in the order of time; `pg_temp.id(kind, n)` names them. Rows whose
-- numbers differ by a multiple of 38 are of the same project.
do $seed$
begin
create function pg_temp.id(kind int, n bigint) returns uuid language sql immutable as $$
    select ('00000000-0000-7000-8' || lpad(to_hex(kind), 3, '0') || '-' || lpad(to_hex(n), 12, '0'))::uuid
$$;
create function pg_temp.project(n bigint) returns uuid language sql immutable as $$
    select pg_temp.id(1, case when n % 2 = 0 then 1 else 2 + (n / 2) % 19 end)
$$;

-- Rows as wide as those of the service: how many fit on a page decides what a scan costs.
create function pg_temp.prose() returns text language sql immutable as $$
    select repeat(' words of a note', 30)
$$;

insert into projects (id, key, name)
select pg_temp.id(1, n), 'project-' || n, '' from generate_series(1, 20) n;

insert into tasks (id, project_id, external_id)
select pg_temp.id(2, n), pg_temp.project(n), 'CS-' || n from generate_series(1, 5000) n;

insert into dialogs (id, project_id, task_id)
select pg_temp.id(3, n), pg_temp.project(n), pg_temp.id(2, n) from generate_series(1, 5000) n;

insert into memory_records (id, project_id, task_id, kind, content, ttl, state, content_hash, simhash)
select pg_temp.id(4, n), pg_temp.project(n), pg_temp.id(2, 1 + (n - 1) % 4978),
       (array['fact', 'pattern', 'gotcha', 'rule'])[1 + n % 4], n || pg_temp.prose(), now() + interval '100 days',
       case when n % 10 = 0 then 'superseded' else 'active' end, sha256(n::text::bytea), n * 7919
from generate_series(1, 30000) n;
insert into record_contributions (project_id, record_id, version, source)
select project_id, id, version, 'https://wiki/' || id from memory_records;

insert into repositories (id, project_id, owner, name, location)
select pg_temp.id(5, n), pg_temp.id(1, n), 'local', 'repository', '/srv' from generate_series(1, 20) n;
-- A small repository of project 1.
insert into repositories (id, project_id, owner, name, location)
values (pg_temp.id(5, 21), pg_temp.id(1, 1), 'local', 'small', '/srv/small');

insert into files (id, repository_id, project_id, path, content_hash, size_bytes, language, line_count, chunker_version,
                   updated_at)
select pg_temp.id(6, n), r.id, r.project_id, 'src/file_' || n || '.rb', sha256(n::text::bytea), 1000,
       'ruby', 100, 1, now() - interval '1 day'
from generate_series(1, 15000) n
join repositories r on r.project_id = pg_temp.project(n) and (r.id = pg_temp.id(5, 21)) = (n % 200 = 0);

insert into docs (id, project_id, source, doc_id, title, url, content)
select pg_temp.id(7, n), pg_temp.project(n), 'wiki', 'page-' || n, 'Page ' || n, 'https://wiki/' || n, ''
from generate_series(1, 5000) n;

insert into embedding_models (name, dimensions, provider) values ('plans', 32, '{}');
insert into passages (id, project_id, record_id, record_kind, tags, text, content_hash)
select pg_temp.id(8, n), project_id, id, kind, array['tag-' || n % 10], content, sha256(n::text::bytea)
from memory_records, lateral (select ('x' || right(id::text, 8))::bit(32)::bigint as n) as number
where state = 'active';
insert into passages (id, project_id, file_id, repository_id, ordinal, location, language, text, content_hash)
select pg_temp.id(8, 100000 + n), project_id, id, repository_id, n % 2, path, 'ruby', 'code ' || n || pg_temp.prose(),
       sha256(n::text::bytea)
from generate_series(0, 29999) n join files on id = pg_temp.id(6, 1 + n / 2);
insert into passages (id, project_id, doc_id, text, content_hash)
select pg_temp.id(8, 200000 + n), project_id, id, 'page' || pg_temp.prose(), sha256(n::text::bytea)
from generate_series(1, 5000) n join docs on id = pg_temp.id(7, n);
insert into passages (id, project_id, dialog_id, text, content_hash)
select pg_temp.id(8, 300000 + n), project_id, id, 'talk' || pg_temp.prose(), sha256(n::text::bytea)
from generate_series(1, 5000) n join dialogs on id = pg_temp.id(3, n);
insert into history_commits (id, project_id, repository_id, sha, subject, committed_at, trust)
select pg_temp.id(12, n), project_id, id, lpad(to_hex(n), 40, '0'), 'commit ' || n, now(), 'imported'
from generate_series(1, 10000) n join repositories on project_id = pg_temp.project(n) and name = 'repository';
insert into passages (id, project_id, commit_id, repository_id, text, content_hash)
select pg_temp.id(8, 400000 + n), project_id, id, repository_id, 'commit' || pg_temp.prose(), sha256(n::text::bytea)
from generate_series(1, 10000) n join history_commits on id = pg_temp.id(12, n);

insert into code_chunks (passage_id, project_id, repository_id, file_id, chunk_index, line_start, line_end,
                         chunk_hash, span_hash)
select p.id, p.project_id, f.repository_id, f.id, p.ordinal, 1, 10, '', ''
from passages p join files f on f.id = p.file_id;
insert into code_symbols (file_id, project_id, name, kind, line_start, line_end, span_hash)
select p.file_id, p.project_id, 'Shop::Cart#code_' || substring(p.text from '\d+'), 'method', 1 + 10 * p.ordinal, 9 + 10 * p.ordinal, ''
from passages p where p.file_id is not null;
insert into record_citations (id, record_id, project_id, file_path, symbol, verdict)
select pg_temp.id(9, n), pg_temp.id(4, n), pg_temp.project(n), 'src/file_' || 1 + n % 15000 || '.rb',
       'Shop::Cart#code_' || n, 'fresh'
from generate_series(1, 30000) n;

insert into embeddings (model_id, passage_id, project_id, source_kind, repository_id, text_hash, embedding, in_hnsw)
select 1, id, project_id, source_kind, repository_id, content_hash,
       (select array_agg(random() - 0.5)::vector from generate_series(1, 32) where p.id is not null),
       project_id = pg_temp.id(1, 1)
from passages p;
perform mc.create_hnsw_index(1::smallint, pg_temp.id(1, 1), source)
from unnest(array['memory', 'dialog', 'doc', 'code', 'change']) as source;
delete from embedding_queue where passage_id < pg_temp.id(8, 120000);

insert into bundles (id, project_id, principal, request, confidence, token_count, created_at)
select pg_temp.id(10, n), pg_temp.project(n), 'dev', '{}', 0.5, 100,
       now() - interval '1 hour' * (20000 - n)
from generate_series(1, 20000) n;
insert into bundle_items (bundle_id, project_id, position, section, record_id, score)
select id, project_id, position, 'facts', pg_temp.id(4, 38 * (random() * 788)::int + 1 + (n - 1) % 38), 1
from generate_series(1, 20000) n join bundles on id = pg_temp.id(10, n), generate_series(0, 3) position;

insert into ingest_runs (id, project_id, repository_id, status, queued_at)
select pg_temp.id(11, n), project_id, id, case when n > 4980 then 'QUEUED' else 'SUCCEEDED' end,
       now() - interval '1 hour' * (5000 - n)
from generate_series(1, 5000) n join repositories on id = pg_temp.id(5, 1 + n % 20);
end $seed$
