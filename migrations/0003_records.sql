-- Memory: tasks, dialogs, and records with their versions, contributions and citations.

-- Issues of a tracker. A save may name one before the tracker does.
create table tasks (
    id                 uuid primary key,
    project_id         uuid        not null references projects on delete cascade,
    -- The tracker's own id.
    external_id        text        not null,
    title              text        not null default '',
    status             text        not null default 'unknown',
    assignee           text,
    labels             text[]      not null default '{}',
    links              jsonb       not null default '[]',
    -- The tracker's time of the stored state: an older one that arrives later changes nothing.
    source_updated_at  timestamptz,
    created_at         timestamptz not null default now(),
    updated_at         timestamptz not null default now(),
    constraint tasks_external_id_key unique (project_id, external_id)
);
call mc.enable_project_rls('tasks', 'project_id', 'agent', 'agent');

-- Conversations of developers with their assistants.
create table dialogs (
    id             uuid primary key,
    project_id     uuid        not null references projects on delete cascade,
    task_id        uuid        references tasks on delete set null,
    developer      text,
    messages       jsonb       not null default '[]',
    distilled      text        not null default '',
    saved_by       uuid        references users on delete set null,
    -- Whether search may find the dialog: not if its author may not save for the team, or if it
    -- has no content. Null if it is undecided; a repair then leaves the dialog as it is.
    is_searchable  boolean,
    -- When the dialog was submitted. Quarantine may store it later than one submitted after it;
    -- the later submission stays.
    sent_at        timestamptz not null default now(),
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now()
);
create index dialogs_project_id_idx on dialogs (project_id, created_at);
create index dialogs_task_id_idx on dialogs (task_id);
call mc.enable_project_rls('dialogs', 'project_id', 'agent', 'agent');

create table memory_records (
    id                   uuid primary key,
    project_id           uuid        not null references projects on delete cascade,
    task_id              uuid        references tasks on delete set null,
    dialog_id            uuid        references dialogs on delete set null,
    kind                 text        not null,
    title                text        not null default '',
    content              text        not null,
    scope                text[]      not null default '{}',
    tags                 text[]      not null default '{}',
    owner                text,
    -- When the record expires. A record without an end has the year 9999, which no clock reaches:
    -- comparisons with now() hold unchanged, and the service can read it, unlike `infinity`.
    ttl                  timestamptz not null,
    -- Whether a person set `ttl`; otherwise each recall moves it.
    is_ttl_explicit      boolean     not null default false,
    -- Since when the end of the record awaits a decision, because too many records of the project
    -- would have ended at once. Until then the record has no end.
    expiry_suspended_at  timestamptz,
    quality              jsonb       not null default '{}',
    meta                 jsonb       not null default '{}',
    -- The commit that the record is about, if its meta names one in full.
    patch_sha            text        generated always as (
        case when meta ->> 'patch_sha' ~ '^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$'
             then lower(meta ->> 'patch_sha') end) stored,
    state                text        not null default 'active',
    superseded_by        uuid        references memory_records on delete set null,

    -- Audience and trust.
    visibility           text        not null default 'team',
    -- The only user who may see a private record.
    private_to           uuid        references users on delete cascade,
    trust                text        not null default 'team',
    -- For a proposal to change a record: that record.
    amends_record_id     uuid        references memory_records on delete set null,
    -- Why a record of the team was returned to the proposals: how it ranked, from which values,
    -- and the reasons. Null for a proposal of a user.
    demotion             jsonb,

    -- Duplicates. sha256 of the normalized content: equal content never makes a second live record
    -- of the same kind and audience.
    content_hash         bytea       not null,
    -- 64-bit simhash of the content's words, for near duplicates.
    simhash              bigint      not null,

    -- Use, as far as the ranking reads it. `bundle_uses` has the single events; a recall
    -- alone is no evidence that a record helped.
    recall_count         int         not null default 0,
    -- Bundles after which feedback named the record as used.
    use_count            int         not null default 0,
    -- Bundles after which the record was opened.
    open_count           int         not null default 0,
    -- Bundles after which a save of the same caller cited the record.
    cite_count           int         not null default 0,
    -- Bundles after which a pull request was merged that touched a cited file.
    pull_request_count   int         not null default 0,
    -- Bundles with feedback that did not name the record.
    skip_count           int         not null default 0,
    -- A recall keeps a record from expiring.
    last_recalled_at     timestamptz,
    -- A use also keeps it from fading in the ranking.
    last_used_at         timestamptz,

    version              int         not null default 1,
    created_at           timestamptz not null default now(),
    updated_at           timestamptz not null default now(),
    constraint memory_records_kind_check
        check (kind in ('fact', 'fewshot', 'pattern', 'adr_link', 'gotcha', 'rule')),
    constraint memory_records_state_check
        check (state in ('active', 'stale', 'superseded', 'deleted')),
    -- A longer text is stored as a document of its record (docs.record_id).
    constraint memory_records_content_check check (char_length(content) between 1 and 4000),
    constraint memory_records_visibility_check
        check (visibility in ('private', 'proposed', 'team')),
    constraint memory_records_trust_check
        check (trust in ('untrusted', 'imported', 'team', 'confirmed')),
    constraint memory_records_private_check
        check ((visibility = 'private') = (private_to is not null)),
    constraint memory_records_amends_check
        check (amends_record_id is null or visibility = 'proposed'),
    constraint memory_records_demotion_check check (demotion is null or visibility = 'proposed')
)
-- Each recall updates counters: free space on a page keeps that out of the indexes.
with (fillfactor = 85);
create unique index memory_records_live_content_key
    on memory_records (project_id, kind, content_hash, visibility,
                       (coalesce(private_to, '00000000-0000-0000-0000-000000000000')))
    where state in ('active', 'stale');
-- Pages of a project's records, and their fingerprints without reading the records.
create index memory_records_project_id_idx
    on memory_records (project_id, id) include (simhash, visibility, private_to)
    where state in ('active', 'stale');
create index memory_records_proposed_idx on memory_records (project_id, id)
    where visibility = 'proposed' and state in ('active', 'stale');
create index memory_records_patch_sha_idx on memory_records (project_id, patch_sha)
    where patch_sha is not null;
-- Retention deletes project by project, so that it reads no rows that another project keeps.
create index memory_records_retention_idx on memory_records (project_id, updated_at)
    where state in ('superseded', 'deleted');
create index memory_records_ttl_idx on memory_records (ttl) where state in ('active', 'stale');
create index memory_records_expiry_suspended_idx on memory_records (project_id)
    where expiry_suspended_at is not null;
-- The foreign keys, for deletions.
create index memory_records_task_id_idx on memory_records (task_id);
create index memory_records_dialog_id_idx on memory_records (dialog_id)
    where dialog_id is not null;
create index memory_records_superseded_by_idx on memory_records (superseded_by)
    where superseded_by is not null;
create index memory_records_amends_record_id_idx on memory_records (amends_record_id)
    where amends_record_id is not null;
-- No statement selects rows by these columns, and an analysis would spend most of its time on them.
alter table memory_records
    alter title set statistics 0, alter content set statistics 0, alter quality set statistics 0,
    alter meta set statistics 0;
call mc.enable_project_rls('memory_records', 'project_id', 'agent', 'agent');
create policy private_all on memory_records as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));

-- Rejects changes to a record that counts for the team, unless the transaction acts for a member
-- of the project or runs as worker. This holds even if the service forgets to check.
create function mc.require_member_for_team_records() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    if mc.project_as_member() is distinct from coalesce(new.project_id, old.project_id)
        and not pg_has_role(current_user, 'memory_copilot_worker', 'member') then
        raise insufficient_privilege
            using message = 'records of the team can only be changed for a project member';
    end if;
    return coalesce(new, old);
end $$;
create trigger memory_records_before_insert before insert on memory_records
    for each row when (new.visibility = 'team' or new.trust <> 'untrusted')
    execute function mc.require_member_for_team_records();
create trigger memory_records_before_update before update on memory_records
    for each row when (
        (old.visibility = 'team' or new.visibility = 'team')
        and (old.visibility, old.trust, old.kind, old.title, old.content, old.meta, old.scope,
             old.tags, old.superseded_by, old.state in ('active', 'stale'))
            is distinct from
            (new.visibility, new.trust, new.kind, new.title, new.content, new.meta, new.scope,
             new.tags, new.superseded_by, new.state in ('active', 'stale')))
    execute function mc.require_member_for_team_records();
create trigger memory_records_before_delete before delete on memory_records
    for each row when (old.visibility = 'team')
    execute function mc.require_member_for_team_records();

-- Rows that belong to a record are as private as the record. Each row stores its user: a look-up of
-- the record would cost every recall, which reads citations.
create function mc.copy_private_to() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    new.private_to := coalesce(nullif(new.private_to, '00000000-0000-0000-0000-000000000000'),
        (select r.private_to from memory_records r where r.id = new.record_id));
    return new;
end $$;

-- A record before it was merged into, superseded or edited: everything that a rollback or an
-- erasure restores. Scores and links to a task or a dialog belong to the record, not to a version.
create table record_versions (
    record_id        uuid        not null references memory_records on delete cascade,
    version          int         not null,
    project_id       uuid        not null,
    private_to       uuid,
    kind             text        not null,
    title            text        not null,
    content          text        not null,
    scope            text[]      not null,
    tags             text[]      not null,
    owner            text,
    ttl              timestamptz not null,
    is_ttl_explicit  boolean     not null,
    meta             jsonb       not null,
    trust            text        not null,
    -- The record's rows of record_citations, without record_id, project_id and private_to.
    citations        jsonb       not null,
    reason           text        not null,
    changed_by       text,
    changed_at       timestamptz not null default now(),
    primary key (record_id, version)
);
call mc.enable_project_rls('record_versions', 'project_id', 'agent', 'agent');
create policy private_all on record_versions as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));
create trigger record_versions_before_insert before insert on record_versions
    for each row execute function mc.copy_private_to();

-- The saves that went into a record, each with its author and source.
create table record_contributions (
    id          bigint      generated always as identity primary key,
    project_id  uuid        not null references projects on delete cascade,
    record_id   uuid        not null references memory_records on delete cascade,
    -- The nil UUID stands for "not stated" and makes the trigger look the record up. The service
    -- states it in every save, so that none pays for a look-up, and because the statement that
    -- creates a record does not see it yet.
    private_to  uuid        default '00000000-0000-0000-0000-000000000000',
    -- The version of the record that the save made.
    version     int         not null,
    saved_by    uuid        references users on delete set null,
    -- The source as the author named it; empty if there is none.
    source      text        not null default '',
    saved_at    timestamptz not null default now()
);
create index record_contributions_record_id_idx on record_contributions (record_id);
create index record_contributions_saved_by_idx on record_contributions (project_id, saved_by);
create index record_contributions_source_idx on record_contributions (project_id, source);
call mc.enable_project_rls('record_contributions', 'project_id', 'agent', 'agent');
create policy private_all on record_contributions as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));
create trigger record_contributions_before_insert before insert on record_contributions
    for each row when (new.private_to = '00000000-0000-0000-0000-000000000000')
    execute function mc.copy_private_to();

-- Locations in the code that a record is about. The record is stale if one of them changed.
create table record_citations (
    id            uuid primary key,
    record_id     uuid        not null references memory_records on delete cascade,
    project_id    uuid        not null references projects on delete cascade,
    private_to    uuid,
    file_path     text        not null,
    symbol        text,
    line_start    int,
    line_end      int,
    commit_sha    text,
    -- sha256 of the cited lines when the record was saved; null until the file is indexed.
    content_hash  bytea,
    verdict       text        not null default 'unchecked',
    checked_at    timestamptz not null default now(),
    constraint record_citations_verdict_check
        check (verdict in ('fresh', 'drifted', 'orphaned', 'unchecked'))
);
create index record_citations_record_id_idx on record_citations (record_id);
create index record_citations_file_path_idx on record_citations (project_id, file_path);
create index record_citations_symbol_idx on record_citations (project_id, symbol)
    where symbol is not null;
call mc.enable_project_rls('record_citations', 'project_id', 'agent', 'agent');
create policy private_all on record_citations as restrictive to memory_copilot_service
    using (private_to is null or private_to = (select mc.principal()))
    with check (private_to is null or private_to = (select mc.principal()));
create trigger record_citations_before_insert before insert on record_citations
    for each row execute function mc.copy_private_to();

-- Returns whether search may find a document of this record, or of none (null).
create function mc.is_doc_searchable(record uuid) returns boolean
language sql stable parallel safe as $$
    select record is null or exists (
        select from memory_records r
        where r.id = record and r.state in ('active', 'stale') and r.ttl > now()
            and r.visibility <> 'proposed')
$$;

-- Finds the project of a record. A private record of another user has none, as if it did not exist.
create function mc.find_project_of_record(principal uuid, record uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.*
    from memory_records r,
         lateral mc.find_project(find_project_of_record.principal, r.project_id) p
    where r.id = find_project_of_record.record
        and (r.private_to is null or r.private_to = find_project_of_record.principal)
$$;

revoke execute on function mc.require_member_for_team_records(), mc.copy_private_to(),
    mc.is_doc_searchable(uuid) from public;
grant execute on function mc.require_member_for_team_records(), mc.copy_private_to(),
    mc.is_doc_searchable(uuid) to memory_copilot_service, memory_copilot_worker;
call mc.set_worker_owner(array['mc.find_project_of_record(uuid, uuid)']::regprocedure[]);
