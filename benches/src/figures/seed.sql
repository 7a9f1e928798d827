-- A year of usage of :projects projects, to now: in each project ten users, and in each week 200
-- recalls of five items, 40 sessions and 60 saves. A quarter of the recalls has a used item. 2,000
-- records and 1,000 bugs' tasks, each with its merged pull request; half of them were recalled.
do $seed$ begin
insert into users (id, login)
select gen_random_uuid(), 'user-' || p || '-' || n
from generate_series(1, :projects) p, generate_series(0, 9) n;
insert into provider_logins (user_id, host, login)
select id, 'git.example.com', login from users where login like 'user-%';
insert into projects (id, key, name, created_at)
select gen_random_uuid(), 'figures-' || p, '', now() - interval '1 year'
from generate_series(1, :projects) p;
create temporary table numbered on commit drop as
select p.id, split_part(p.key, '-', 2)::int as number from projects p where p.key like 'figures-%';
create temporary table person on commit drop as
select u.id, split_part(u.login, '-', 2)::int as number, split_part(u.login, '-', 3)::int as n
from users u where u.login like 'user-%';
insert into project_members (project_id, user_id, role, added_at)
select p.id, u.id, 'member', now() - interval '300 days' from numbered p join person u using (number);

insert into memory_records (id, project_id, kind, content, ttl, content_hash, simhash)
select gen_random_uuid(), p.id, 'fact', n || repeat(' words of a note', 30),
       now() + interval '100 days', sha256(n::text::bytea), n
from numbered p, generate_series(1, 2000) n;
create temporary table record on commit drop as
select id, project_id, row_number() over (partition by project_id order by id) as n
from memory_records;

insert into client_sessions (project_id, user_id, id, started_at)
select p.id, u.id, gen_random_uuid(), now() - interval '1 year' + i * interval '252 minutes'
from numbered p cross join generate_series(1, 52 * 40) i
join person u on u.number = p.number and u.n = i % 10;
create temporary table session on commit drop as
select s.*, row_number() over (partition by project_id order by started_at) as n
from client_sessions s;

insert into bundles (id, project_id, principal, user_id, session_id, request, confidence,
                     token_count, is_control, created_at)
select gen_random_uuid(), s.project_id, 'user', s.user_id, s.id,
       jsonb_build_object('query', repeat('why is the delay nil ', 5), 'limit_tokens', 2000,
           'task_external_id', case when i = 5 and s.n % 2 = 0
               then 'BUG-' || 1 + s.n * 252 / 480 end),
       0.5, 900, s.n % 20 = 19, s.started_at + i * interval '3 minutes'
from session s, generate_series(1, 5) i;
create temporary table recalled on commit drop as
select b.id, b.project_id, b.created_at,
       row_number() over (partition by project_id order by created_at, id) as n
from bundles b;
insert into bundle_items (bundle_id, project_id, position, section, record_id, score)
select b.id, b.project_id, i, 'facts', r.id, 0.5
from recalled b cross join generate_series(0, 4) i
join record r on r.project_id = b.project_id and r.n = 1 + (b.n * 5 + i) % 2000;
update bundle_items set is_used = true, used_at = now() from recalled b
where b.id = bundle_id and b.n % 8 = 0 and position = 0;
insert into bundle_uses (project_id, bundle_id, record_id, kind, created_at)
select b.project_id, b.id, i.record_id, case when b.n % 8 = 0 then 'feedback' else 'opened' end,
       b.created_at + interval '10 minutes'
from recalled b join bundle_items i on i.bundle_id = b.id and i.position = 0 where b.n % 4 = 0;

insert into save_outcomes (project_id, user_id, kind, visibility, outcome, record_id, saved_at)
select p.id, u.id, 'fact', 'team',
       (array['created', 'created', 'merged', 'rejected', 'proposed', 'failed'])[1 + i % 6], r.id,
       now() - interval '1 year' + i * interval '168 minutes'
from numbered p cross join generate_series(1, 52 * 60) i
join person u on u.number = p.number and u.n = i % 10
join record r on r.project_id = p.id and r.n = 1 + i % 2000;

insert into tasks (id, project_id, external_id, labels, opened_at)
select gen_random_uuid(), p.id, 'BUG-' || n, '{bug}',
       now() - interval '1 year' + n * interval '8 hours'
from numbered p, generate_series(1, 1000) n;
insert into pull_requests (id, project_id, external_id, title, state, author, url,
                           source_updated_at, merged_at)
select gen_random_uuid(), t.project_id, 'a/b!' || t.external_id, '', 'merged',
       'user-' || p.number || '-' || substring(t.external_id from 5)::int % 10,
       'https://git.example.com/a/b/1', now(), t.opened_at + interval '2 days'
from tasks t join numbered p on p.id = t.project_id;
insert into pull_request_tasks (project_id, external_id, pull_request_id)
select project_id, substring(external_id from 5), id from pull_requests;
end $seed$
