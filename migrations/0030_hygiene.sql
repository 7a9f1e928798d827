-- What came of keeping a project's memory in order: each task that was asked for, by the clock or by a person. The
-- row is there before its job begins, which finds by it what to do.
create table hygiene_reports (
    id          uuid primary key,
    project_id  uuid        not null references projects on delete cascade,
    task        text        not null,
    -- Whether it only looks, and says what it would do.
    is_dry_run  boolean     not null,
    -- Who asked; null for the clock.
    asked_by    uuid        references users on delete set null,
    asked_at    timestamptz not null default now(),
    started_at  timestamptz,
    ended_at    timestamptz,
    -- What -> how many.
    counts      jsonb       not null default '{}',
    -- The first of what was found, each with ids and reasons, never with what a record says.
    findings    jsonb       not null default '[]',
    -- Why the last start failed.
    error       text
);
create index hygiene_reports_project on hygiene_reports (project_id, id);
create index hygiene_reports_age on hygiene_reports (asked_at);
create index hygiene_reports_open on hygiene_reports (started_at) where ended_at is null;
call mc.protect('hygiene_reports', 'project_id', 'curates', 'curates');
drop policy read on hygiene_reports;
create policy read on hygiene_reports for select to memory_copilot_service using (project_id = (select mc.curates()));

-- Records of the team that say the same, for a person to decide about. `contents` are the hashes of what the members
-- said: two that were decided about are not put together again as long as both say that.
create table duplicate_clusters (
    id          uuid primary key,
    project_id  uuid        not null references projects on delete cascade,
    -- The first is the one that would stay.
    members     uuid[]      not null,
    contents    bytea[]     not null,
    -- Words that each shares with the first, of all that both have: the least of them, 0 to 1.
    similarity  real        not null,
    state       text        not null default 'open'
                            constraint duplicate_clusters_state_known check (state in ('open', 'merged', 'dismissed')),
    found_at    timestamptz not null default now(),
    -- Who decided; null for the policy.
    decided_by  uuid        references users on delete set null,
    decided_at  timestamptz,
    constraint duplicate_clusters_several check (cardinality(members) >= 2),
    constraint duplicate_clusters_parallel check (cardinality(members) = cardinality(contents)),
    constraint duplicate_clusters_decided check ((state = 'open') = (decided_at is null))
);
create index duplicate_clusters_project on duplicate_clusters (project_id, state, id);
call mc.protect('duplicate_clusters', 'project_id', 'decides', 'decides');
revoke insert, delete on duplicate_clusters from memory_copilot_service;

-- What the team knew, as documents (gzip of YAML) that a person may read and have imported. The background makes
-- them; nothing that is one user's alone is in one.
create table exports (
    id          uuid primary key,
    project_id  uuid        not null references projects on delete cascade,
    made_at     timestamptz not null default now(),
    records     int         not null,
    -- Of the document, not of what is kept of it.
    bytes       bigint      not null,
    document    bytea       not null
);
create index exports_project on exports (project_id, id);
call mc.protect('exports', 'project_id', 'manages', 'manages');
revoke insert, update, delete on exports from memory_copilot_service;
