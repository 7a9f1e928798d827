-- Hygiene: scheduled care for each project's memory, its findings, and exports. The last statement
-- gives the planner first statistics of all tables.

-- Runs of hygiene tasks. The row exists before its job, which has nothing but the id.
create table hygiene_runs (
    id               uuid primary key,
    project_id       uuid        not null references projects on delete cascade,
    task             text        not null,
    -- A dry run changes nothing and reports the changes it would make.
    is_dry_run       boolean     not null,
    -- For the task `expiry`, a maintainer's decision about records that await one
    -- (memory_records.expiry_suspended_at): they end, or they live as if saved now.
    expiry_decision  text        constraint hygiene_runs_expiry_decision_check
                             check (expiry_decision in ('confirm', 'extend')),
    -- Null for the schedule.
    requested_by     uuid        references users on delete set null,
    requested_at     timestamptz not null default now(),
    started_at       timestamptz,
    completed_at     timestamptz,
    -- Name -> count.
    counts           jsonb       not null default '{}',
    -- The first findings, each with ids and reasons, never with content of records.
    findings         jsonb       not null default '[]',
    -- Why the latest attempt failed.
    last_error       text
);
create index hygiene_runs_project_id_idx on hygiene_runs (project_id, id);
create index hygiene_runs_requested_at_idx on hygiene_runs (project_id, requested_at);
create index hygiene_runs_started_at_idx on hygiene_runs (started_at) where completed_at is null;
call mc.enable_project_rls('hygiene_runs', 'project_id', 'maintainer', 'maintainer');
alter policy project_select on hygiene_runs
    using (project_id = (select mc.project_as_maintainer()));

-- Duplicate records of the team, for a person to decide about.
create table duplicate_clusters (
    id              uuid primary key,
    project_id      uuid        not null references projects on delete cascade,
    -- The first is the one to keep.
    record_ids      uuid[]      not null,
    -- The content hash of each. Records that were decided about form no new cluster until one of
    -- them changes.
    content_hashes  bytea[]     not null,
    -- Share of words in common with the first, 0 to 1; the lowest of the cluster.
    similarity      real        not null,
    state           text        not null default 'open'
                                constraint duplicate_clusters_state_check
                                check (state in ('open', 'merged', 'dismissed')),
    detected_at     timestamptz not null default now(),
    -- Null if the policy decided.
    decided_by      uuid        references users on delete set null,
    decided_at      timestamptz,
    constraint duplicate_clusters_record_ids_check check (cardinality(record_ids) >= 2),
    constraint duplicate_clusters_content_hashes_check
        check (cardinality(record_ids) = cardinality(content_hashes)),
    constraint duplicate_clusters_decided_check check ((state = 'open') = (decided_at is null))
);
create index duplicate_clusters_project_id_idx on duplicate_clusters (project_id, state, id);
call mc.enable_project_rls('duplicate_clusters', 'project_id', 'member', 'member');
revoke insert, delete on duplicate_clusters from memory_copilot_service;

-- The team's memory as YAML, compressed with gzip: people can read it and import it again. Workers
-- create exports; private records are in none.
create table exports (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    created_at    timestamptz not null default now(),
    record_count  int         not null,
    -- Size of the document before compression.
    size_bytes    bigint      not null,
    document      bytea       not null
);
create index exports_project_id_idx on exports (project_id, id);
call mc.enable_project_rls('exports', 'project_id', 'admin', 'admin');
revoke insert, update, delete on exports from memory_copilot_service;

-- Statistics for tables that were never analyzed. Without them the planner assumes 200 projects and
-- a few hundred rows: the index by project then looks as good as one by id, and a cached plan reads
-- a whole project for each row that it looks up. A new installation has a few projects; the first
-- analysis replaces this. Servers before PostgreSQL 18 lack the function.
do $$
declare
    tenant record;
begin
    if current_setting('server_version_num')::int < 180000 then
        return;
    end if;
    for tenant in
        select n.nspname, c.relname, a.attlen
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        join pg_namespace n on n.oid = c.relnamespace
        where a.attname = 'project_id' and not a.attisdropped and c.relkind = 'r'
            and n.nspname = 'public' and c.reltuples < 0
    loop
        perform pg_restore_attribute_stats(
            'schemaname', tenant.nspname::text, 'relname', tenant.relname::text,
            'attname', 'project_id', 'inherited', false,
            'null_frac', 0::real, 'avg_width', tenant.attlen::int, 'n_distinct', 4::real);
    end loop;
end $$;
