-- Events of the project :shop, and of the project :other, which must count in no figure of the shop.
-- fixture.md computes the figures by hand.
do $fixture$ begin
create function pg_temp.id(name text) returns uuid language sql immutable as $$
    select md5(name)::uuid
$$;

update projects set created_at = '2026-06-01 00:00Z';
insert into users (id, login, is_agent)
select pg_temp.id(n), n, n = 'bot' from unnest('{a,b,c,d,e,f,bot}'::text[]) n;
insert into project_members (project_id, user_id, role, added_at)
select p.id, u.id, 'member', '2026-06-02 00:00Z' from projects p, users u
where u.login in ('a', 'b', 'c', 'd', 'e', 'f', 'bot');
insert into provider_logins (user_id, host, login)
select u.id, 'git.example.com', 'dev-' || u.login from users u
where u.login in ('a', 'b', 'c', 'd', 'e', 'f');
insert into teams (id, key, name) values
    (pg_temp.id('core'), 'core', ''), (pg_temp.id('most'), 'most', '');
insert into team_members (team_id, user_id, role)
select pg_temp.id(team), pg_temp.id(n), 'member'
from (values ('core', '{a,b,c}'::text[]), ('most', '{a,b,c,d,e}')) as members (team, logins),
     unnest(logins) n;

-- Records and a document.
insert into memory_records (id, project_id, kind, title, content, created_at, updated_at, ttl, state,
    visibility, private_to, demotion, recall_count, skip_count, content_hash, simhash)
select pg_temp.id(name), :shop, 'fact', name, content, '2026-10-01 00:00Z', '2026-10-01 00:00Z',
       ttl, state, visibility, private_to, demotion, recalls, skips, sha256(name::bytea), 1
from (values
    ('used', 'Delays have units.', '9999-01-01Z'::timestamptz, 'active', 'team', null::uuid, null::jsonb, 5, 0),
    ('never', 'Of [secret:jwt] alone.', '9999-01-01Z', 'active', 'team', null, null, 0, 0),
    ('stale', 'Its code has changed.', '9999-01-01Z', 'stale', 'team', null, null, 2, 1),
    ('rejected', 'Nobody uses it.', '9999-01-01Z', 'active', 'team', null, null, 4, 3),
    ('deleted', 'Used and then deleted.', '9999-01-01Z', 'deleted', 'team', null, null, 3, 0),
    ('ended', 'It has expired.', '2026-11-01Z', 'active', 'team', null, null, 0, 0),
    ('private', 'Only c knows it.', '9999-01-01Z', 'active', 'private', pg_temp.id('c'), null, 1, 0),
    ('accepted', 'A proposal of c.', '9999-01-01Z', 'active', 'team', null, null, 1, 0),
    ('declined', 'Another one of c.', '9999-01-01Z', 'deleted', 'proposed', null, null, 0, 0),
    ('pending', 'It waits.', '9999-01-01Z', 'active', 'proposed', null, null, 0, 0),
    ('amended', 'It became another one.', '9999-01-01Z', 'superseded', 'proposed', null, null, 0, 0),
    ('expired', 'No one decided.', '2026-11-01Z', 'active', 'proposed', null, null, 0, 0),
    ('demoted', 'Nobody used it.', '9999-01-01Z', 'active', 'proposed', null, '{}', 0, 0)
) as r (name, content, ttl, state, visibility, private_to, demotion, recalls, skips);
insert into docs (id, project_id, source, doc_id, title, content)
values (pg_temp.id('doc'), :shop, 'wiki', '1', 'Delays', 'Delays have units.');
insert into duplicate_clusters (id, project_id, record_ids, content_hashes, similarity)
values (pg_temp.id('cluster'), :shop, array[pg_temp.id('used'), pg_temp.id('stale')],
        array['\x00', '\x01']::bytea[], 1);
insert into quarantine_items (id, project_id, kind, reasons, excerpt, ciphertext, expires_at)
values (pg_temp.id('item'), :shop, 'save', '{jwt}', 'x', '\x00', '9999-01-01Z');

-- Sessions on Tuesday, 2026-11-17 (2026-W47).
insert into client_sessions (project_id, user_id, id, started_at)
select :shop, pg_temp.id(login), pg_temp.id(name), started_at::timestamptz
from (values
    ('s1', 'a', '2026-11-17 10:00:00Z'), ('s2', 'b', '2026-11-17 10:00:00Z'),
    ('s3', 'c', '2026-11-17 10:00:00Z'), ('s4', 'd', '2026-11-17 12:00:00Z'),
    ('s5', 'e', '2026-11-17 12:00:00Z'), ('s6', 'f', '2026-11-17 12:00:00Z'),
    ('s7', 'd', '2026-11-17 13:00:00Z'),
    -- The clock of this client is five seconds ahead.
    ('s8', 'a', '2026-11-17 11:00:05Z'),
    -- Without a recall.
    ('s9', 'a', '2026-11-17 20:00:00Z')
) as s (name, login, started_at);

insert into bundles (id, project_id, principal, user_id, session_id, request, confidence,
                     token_count, is_control, created_at)
select pg_temp.id(name), :shop, login, pg_temp.id(login), pg_temp.id(session),
       jsonb_build_object('task_external_id', task), 1, 1, is_control, created_at::timestamptz
from (values
    -- 2026-W46
    ('a0', 'a', null, null, false, '2026-11-11 09:00:00Z'),
    ('b0', 'b', null, null, false, '2026-11-11 09:00:00Z'),
    ('c0', 'c', null, null, false, '2026-11-11 09:00:00Z'),
    -- 2026-W47
    ('a1', 'a', 's1', null, false, '2026-11-17 10:00:30Z'),
    ('a2', 'a', 's1', null, false, '2026-11-17 10:01:00Z'),
    ('a3', 'a', 's1', null, false, '2026-11-17 10:02:00Z'),
    ('a4', 'a', 's8', null, false, '2026-11-17 11:00:00Z'),
    ('b1', 'b', 's2', null, false, '2026-11-17 10:02:00.5Z'),
    ('b2', 'b', 's2', null, false, '2026-11-17 10:03:00Z'),
    ('b3', 'b', 's2', null, false, '2026-11-17 10:04:00Z'),
    ('b4', 'b', 's2', null, false, '2026-11-17 10:05:00Z'),
    ('c1', 'c', 's3', null, false, '2026-11-17 10:01:00Z'),
    ('c2', 'c', 's3', null, false, '2026-11-17 10:02:00Z'),
    ('c3', 'c', 's3', null, false, '2026-11-17 10:03:00Z'),
    ('c4', 'c', 's3', null, false, '2026-11-17 10:04:00Z'),
    ('d1', 'd', 's4', null, false, '2026-11-17 12:00:30Z'),
    ('d2', 'd', 's7', null, false, '2026-11-17 13:01:30Z'),
    ('e1', 'e', 's5', null, false, '2026-11-17 12:05:00Z'),
    ('e2', 'e', 's5', null, false, '2026-11-17 12:06:00Z'),
    ('f1', 'f', 's6', null, false, '2026-11-17 12:01:00Z'),
    ('f2', 'f', 's6', null, false, '2026-11-17 12:02:00Z'),
    ('a5', 'a', null, null, false, '2026-11-22 23:59:59.999Z'),
    -- 2026-W48
    ('b5', 'b', null, null, false, '2026-11-23 00:00:00Z'),
    ('a6', 'a', null, null, false, '2026-11-24 09:00:00Z'),
    -- A control group and an agent, in 2026-W47.
    ('k1', 'a', 's1', null, true, '2026-11-17 10:00:10Z'),
    ('k2', 'b', 's2', null, true, '2026-11-17 10:00:10Z'),
    ('bot1', 'bot', null, null, false, '2026-11-17 10:00:10Z')
) as b (name, login, session, task, is_control, created_at);

-- Uses of records and documents.
insert into bundle_uses (project_id, bundle_id, record_id, doc_id, kind, created_at)
select :shop, pg_temp.id(bundle), pg_temp.id(record), pg_temp.id(doc), kind, used_at::timestamptz
from (values
    ('b0', 'used', null, 'opened', '2026-11-11 09:05:00Z'),
    ('a2', 'used', null, 'feedback', '2026-11-17 10:10:00Z'),
    ('a4', 'used', null, 'opened', '2026-11-17 11:10:00Z'),
    -- Twice is once.
    ('a4', 'used', null, 'cited', '2026-11-17 11:20:00Z'),
    ('b1', 'used', null, 'cited', '2026-11-17 10:10:00Z'),
    -- A private record, a use after seven days and a microsecond, and a merge: no hits.
    ('c1', 'private', null, 'opened', '2026-11-17 10:10:00Z'),
    ('c2', 'used', null, 'opened', '2026-11-24 10:02:00.000001Z'),
    ('c3', 'used', null, 'merged', '2026-11-18 10:00:00Z'),
    ('d1', null, 'doc', 'opened', '2026-11-17 12:10:00Z'),
    -- After seven days, and of a record that was deleted later.
    ('d2', 'deleted', null, 'feedback', '2026-11-24 13:01:30Z'),
    ('k1', 'used', null, 'feedback', '2026-11-17 10:10:00Z'),
    ('bot1', 'used', null, 'opened', '2026-11-17 10:10:00Z')
) as u (bundle, record, doc, kind, used_at);
-- A used place in the code, and one that was not used.
insert into bundle_items (bundle_id, project_id, position, section, passage_id, score, is_used,
                          used_at)
values (pg_temp.id('e1'), :shop, 0, 'code', pg_temp.id('p1'), 1, true, '2026-11-17 12:10:00Z'),
       (pg_temp.id('f1'), :shop, 0, 'code', pg_temp.id('p2'), 1, null, null);

-- Saves in 2026-W47.
insert into save_outcomes (project_id, user_id, kind, visibility, outcome, reason, record_id,
                           quarantine_item_id, saved_at)
select :shop, pg_temp.id(login), 'fact', visibility, outcome, reason, pg_temp.id(record),
       pg_temp.id(item), '2026-11-18 10:00:00Z'
from (values
    ('a', 'team', 'created', null, 'used', null), ('a', 'team', 'created', null, 'used', null),
    ('a', 'team', 'created', null, 'used', null), ('a', 'team', 'merged', null, 'used', null),
    ('a', 'team', 'duplicate', null, 'pending', null),
    ('b', 'team', 'created', null, 'used', null), ('b', 'team', 'created', null, 'used', null),
    ('b', 'team', 'rejected', 'too_short', null, null), ('b', 'team', 'failed', 'not_found', null, null),
    ('c', 'team', 'superseded', null, 'used', null), ('c', 'team', 'proposed', null, 'accepted', null),
    ('c', 'team', 'proposed', null, 'declined', null), ('c', 'team', 'proposed', null, 'pending', null),
    ('d', 'team', 'quarantined', 'policy', null, 'item'),
    ('d', 'team', 'quarantined', 'policy', null, 'released'),
    ('d', 'team', 'created', null, 'used', 'released'),
    ('e', 'private', 'created', null, null, null),
    ('e', 'team', 'rejected', 'forbidden', null, null),
    ('f', 'team', 'proposed', null, 'purged', null), ('f', 'team', 'proposed', null, 'amended', null),
    ('f', 'team', 'proposed', null, 'expired', null),
    ('bot', 'team', 'created', null, 'used', null), ('bot', 'team', 'created', null, 'used', null)
) as s (login, visibility, outcome, reason, record, item);

-- Bugs and their pull requests: the opening of the task, the hours until the merge, and the author.
create temporary table bug on commit drop as
select * from (values
    -- Recalled by persons.
    ('M-1', 'bug', '2026-06-10 00:00Z'::timestamptz, 1, 'a', 'person'),
    ('M-2', 'Type: Bug', '2026-06-11 00:00Z', 2, 'b', 'person'),
    ('M-3', 'kind/bug', '2026-06-12 00:00Z', 3, 'c', 'person'),
    ('M-4', 'defect', '2026-06-13 00:00Z', 4, 'd', 'person'),
    ('M-5', 'bug', '2026-06-14 00:00Z', 5, 'e', 'person'),
    ('M-6', 'bug', '2026-06-15 00:00Z', 6, 'a', 'person'),
    ('M-7', 'bug', '2026-06-16 00:00Z', 70, 'b', 'person'),
    -- Not recalled.
    ('W-1', 'bug', '2026-07-01 00:00Z', 2, 'a', null),
    ('W-2', 'bug', '2026-07-02 00:00Z', 4, 'b', null),
    ('W-3', 'bug', '2026-07-03 00:00Z', 6, 'c', null),
    ('W-4', 'bug', '2026-07-04 00:00Z', 8, 'd', null),
    ('W-5', 'bug', '2026-07-05 00:00Z', 10, 'e', null),
    ('W-6', 'bug', '2026-07-06 00:00Z', 12, 'a', null),
    -- Recalled by a control group, of two authors.
    ('K-1', 'bug', '2026-08-01 00:00Z', 9, 'a', 'control'),
    ('K-2', 'bug', '2026-08-02 00:00Z', 9, 'b', 'control'),
    -- Recalled by an agent alone, no bug, and opened before the project.
    ('X-1', 'bug', '2026-08-03 00:00Z', 9, 'c', 'bot'),
    ('X-2', 'feature', '2026-08-04 00:00Z', 9, 'c', null),
    ('X-3', 'bug', '2026-05-31 23:00Z', 9, 'f', null)
) as b (external_id, label, opened_at, hours, author, recalled_by);
insert into tasks (id, project_id, external_id, labels, opened_at)
select pg_temp.id(external_id), :shop, external_id, array['ui', label], opened_at from bug;
insert into pull_requests (id, project_id, external_id, title, state, author, url,
                           source_updated_at, merged_at)
select pg_temp.id('p-' || external_id), :shop, 'a/b!' || external_id, '', 'merged',
       'Dev-' || upper(author), 'https://git.example.com/a/b/pull/1', now(),
       opened_at + make_interval(hours => hours)
from bug
-- A later one of the same bug, one that is open, and an earlier one of f, who is no newcomer.
union all
select pg_temp.id('p-later'), :shop, 'a/b!later', '', 'merged', 'Dev-F',
       'https://git.example.com/a/b/pull/2', now(), '2026-09-01 00:00Z'
union all
select pg_temp.id('p-open'), :shop, 'a/b!open', '', 'open', 'Dev-F',
       'https://git.example.com/a/b/pull/3', now(), null
union all
select pg_temp.id('p-early'), :shop, 'a/b!early', '', 'merged', 'Dev-F',
       'https://git.example.com/a/b/pull/4', now(), '2026-06-01 12:00Z';
insert into pull_request_tasks (project_id, external_id, pull_request_id)
select :shop, external_id, pg_temp.id('p-' || external_id) from bug
union all
select :shop, 'M-1', pg_temp.id('p-later')
union all
select :shop, 'W-1', pg_temp.id('p-open');
insert into bundles (id, project_id, principal, user_id, request, confidence, token_count,
                     is_control, created_at)
select pg_temp.id('r-' || external_id), :shop, 'x',
       pg_temp.id(case when recalled_by = 'bot' then 'bot' else author end),
       jsonb_build_object('task_external_id', external_id), 1, 1, recalled_by = 'control',
       opened_at + interval '10 minutes'
from bug where recalled_by is not null
union all
-- After the merge.
select pg_temp.id('r-late'), :shop, 'x', pg_temp.id('a'),
       jsonb_build_object('task_external_id', 'W-1'), 1, 1, false, '2026-07-01 02:00:00Z';

-- The other project: the same users, in the same weeks.
insert into bundles (id, project_id, principal, user_id, request, confidence, token_count,
                     created_at)
select pg_temp.id('other' || login || n), :other, 'x', pg_temp.id(login), '{}', 1, 1,
       '2026-11-17 10:00:00Z'
from unnest('{a,b,c}'::text[]) login, generate_series(1, 5) n;
insert into save_outcomes (project_id, user_id, kind, visibility, outcome, saved_at)
select :other, pg_temp.id(login), 'fact', 'team', 'rejected', '2026-11-18 10:00:00Z'
from unnest('{a,b,c}'::text[]) login, generate_series(1, 5);
end $fixture$
