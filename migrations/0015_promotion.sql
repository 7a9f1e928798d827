-- Who a record is for, who vouches for it and where it came from.
alter table memory_records
    add column visibility text not null default 'team'
        constraint memory_records_visibility_known check (visibility in ('private', 'proposed', 'team')),
    -- Who alone may see it.
    add column private_to uuid references users on delete cascade,
    add column trust text not null default 'team'
        constraint memory_records_trust_known check (trust in ('untrusted', 'imported', 'team', 'confirmed')),
    -- The record that this one would change, where it is a proposal for one.
    add column amends uuid references memory_records on delete set null,
    add constraint memory_records_private check ((visibility = 'private') = (private_to is not null)),
    add constraint memory_records_amends check (amends is null or visibility = 'proposed');
create index memory_records_amends on memory_records (amends) where amends is not null;
create index memory_records_proposed on memory_records (project_id, id)
    where visibility = 'proposed' and state in ('active', 'stale');

-- What is forgotten when its time is over.
create index memory_records_removed on memory_records (updated_at) where state in ('superseded', 'deleted');

-- Equal text never makes a second live row of the same sort.
drop index memory_records_live_content;
create unique index memory_records_live_content
    on memory_records (project_id, kind, content_hash, visibility, (coalesce(private_to, '00000000-0000-0000-0000-000000000000')))
    where state in ('active', 'stale');
-- The fingerprints of a project's records, read without the records.
drop index memory_records_page;
create index memory_records_page on memory_records (project_id, id) include (simhash, visibility, private_to)
    where state in ('active', 'stale');

alter table passages add column private_to uuid;
alter table embeddings add column private_to uuid;

-- Who brought what is not a record.
alter table dialogs add column saved_by uuid references users on delete set null;
alter table docs add column saved_by uuid references users on delete set null;

-- What each record was made of: one row for each save that went into it. `version` is the record's that
-- the save made.
create table record_sources (
    id          bigint      generated always as identity primary key,
    project_id  uuid        not null references projects on delete cascade,
    record_id   uuid        not null references memory_records on delete cascade,
    version     int         not null,
    saved_by    uuid        references users on delete set null,
    -- What it was taken from, in the words of who saved it; empty for what somebody just said.
    source      text        not null default '',
    saved_at    timestamptz not null default now()
);
create index record_sources_record on record_sources (record_id);
create index record_sources_saver on record_sources (project_id, saved_by);
create index record_sources_source on record_sources (project_id, source);
call mc.protect('record_sources', 'project_id', 'writes', 'writes');
insert into record_sources (project_id, record_id, version)
select project_id, id, version from memory_records;

-- Who may see and who may make what: on top of what lets a project's rows through.
do $$
declare
    name text;
begin
    foreach name in array array['memory_records', 'passages', 'embeddings'] loop
        execute format('create policy private on %I as restrictive to memory_copilot_service
            using (private_to is null or private_to = (select mc.principal()))
            with check (private_to is null or private_to = (select mc.principal()))', name);
    end loop;
end $$;

-- What counts for the team only a person changes, whatever the program above forgets.
create function mc.only_people_decide() returns trigger
language plpgsql set search_path = pg_catalog, public, pg_temp as $$
begin
    if mc.decides() is distinct from coalesce(new.project_id, old.project_id)
        and not pg_has_role(current_user, 'memory_copilot_worker', 'member') then
        raise insufficient_privilege using message = 'what counts for the team is for members to decide';
    end if;
    return coalesce(new, old);
end $$;
create trigger memory_records_made before insert on memory_records
    for each row when (new.visibility = 'team' or new.trust <> 'untrusted')
    execute function mc.only_people_decide();
create trigger memory_records_changed before update on memory_records
    for each row when (
        (old.visibility = 'team' or new.visibility = 'team')
        and (old.visibility, old.trust, old.kind, old.title, old.content, old.meta, old.scope, old.tags,
             old.superseded_by, old.state in ('active', 'stale'))
            is distinct from
            (new.visibility, new.trust, new.kind, new.title, new.content, new.meta, new.scope, new.tags,
             new.superseded_by, new.state in ('active', 'stale')))
    execute function mc.only_people_decide();
create trigger memory_records_erased before delete on memory_records
    for each row when (old.visibility = 'team') execute function mc.only_people_decide();
revoke execute on function mc.only_people_decide() from public;
grant execute on function mc.only_people_decide() to memory_copilot_service, memory_copilot_worker;
