-- What git hosts and trackers tell besides pushes and issues. All of it is written by the background alone.

-- Pull and merge requests as their host has them.
create table changes (
    id          uuid primary key,
    project_id  uuid        not null references projects on delete cascade,
    -- The host's own id: octocat/hello!12.
    external_id text        not null,
    title       text        not null,
    state       text        not null constraint changes_state_known check (state in ('open', 'closed', 'merged')),
    author      text,
    -- The last commit of it, and the one that it became part of its base by.
    head_sha    text,
    merge_sha   text,
    base        text,
    url         text        not null default '',
    -- What each reviewer said last: {"vera": {"state": "approved", "at": "2026-01-02T03:04:05Z"}}.
    reviews     jsonb       not null default '{}',
    -- When the host said so: what it said earlier and comes later changes nothing.
    said_at     timestamptz not null,
    updated_at  timestamptz not null default now(),
    constraint changes_external_id_unique unique (project_id, external_id)
);
create index changes_page on changes (project_id, id);
create index changes_age on changes (said_at) where state <> 'open';

-- The commits that a change had as its last or was merged by; none is ever taken away, so that they may be told
-- in any order.
create table change_commits (
    project_id uuid not null references projects on delete cascade,
    sha        text not null,
    change_id  uuid not null references changes on delete cascade,
    primary key (project_id, sha, change_id)
);
create index change_commits_change on change_commits (change_id);

-- The tasks that a change speaks of, by the tracker's ids; whether the project knows them or not.
create table change_tasks (
    project_id  uuid not null references projects on delete cascade,
    external_id text not null,
    change_id   uuid not null references changes on delete cascade,
    primary key (project_id, external_id, change_id)
);
create index change_tasks_change on change_tasks (change_id);

-- The commits that came with a push, by what the ref pointed to then.
create table pushed_commits (
    project_id uuid        not null references projects on delete cascade,
    sha        text        not null,
    head       text        not null,
    pushed_at  timestamptz not null default now(),
    primary key (project_id, sha, head)
);
create index pushed_commits_head on pushed_commits (project_id, head);
create index pushed_commits_age on pushed_commits (pushed_at);

-- How the runs of CI on a commit ended, the newest of each name.
create table ci_results (
    project_id  uuid        not null references projects on delete cascade,
    -- The repository at its host: octocat/hello.
    repository  text        not null,
    sha         text        not null,
    name        text        not null,
    conclusion  text        not null constraint ci_results_conclusion_known
                            check (conclusion in ('success', 'failure', 'neutral', 'cancelled', 'pending')),
    url         text        not null default '',
    finished_at timestamptz,
    said_at     timestamptz not null,
    primary key (project_id, sha, repository, name)
);
create index ci_results_age on ci_results (said_at);

-- Texts that documents are made of: comments of an issue or a change, the notes of a release. Where one is gone,
-- that it is stays here, so that what was said of it before and comes later does not bring it back.
create table told_texts (
    project_id uuid        not null references projects on delete cascade,
    -- Those of the document.
    source     text        not null,
    doc_id     text        not null,
    -- Its id among the document's.
    part       text        not null,
    author     text        not null default '',
    text       text        not null default '',
    sent_at    timestamptz,
    is_gone    boolean     not null default false,
    said_at    timestamptz not null,
    primary key (project_id, source, doc_id, part)
);
create index told_texts_gone on told_texts (said_at) where is_gone;

call mc.protect('changes', 'project_id', 'writes', 'writes');
call mc.protect('change_commits', 'project_id', 'writes', 'writes');
call mc.protect('change_tasks', 'project_id', 'writes', 'writes');
call mc.protect('pushed_commits', 'project_id', 'writes', 'writes');
call mc.protect('ci_results', 'project_id', 'writes', 'writes');
call mc.protect('told_texts', 'project_id', 'writes', 'writes');
revoke insert, update, delete on changes, change_commits, change_tasks, pushed_commits, ci_results, told_texts
    from memory_copilot_service;

-- Whoever takes a document out takes out what it was made of: nobody's next word brings it back.
grant create on schema mc to memory_copilot_worker;
set local role memory_copilot_worker;
create function mc.docs_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    update told_texts t set author = '', text = '', is_gone = true, said_at = greatest(t.said_at, now())
    from gone g
    where g.file_id is null and t.project_id = g.project_id and t.source = g.source and t.doc_id = g.doc_id
        and not t.is_gone;
    return null;
end $$;
reset role;
revoke create on schema mc from memory_copilot_worker;
create trigger docs_deleted after delete on docs
    referencing old table as gone for each statement execute function mc.docs_deleted();
revoke execute on function mc.docs_deleted() from public;

-- A delivery that is signed is known by what was signed as well: the sender's id of it may stand beside that, where
-- whoever caught it could write another.
alter table deliveries add column body_mac bytea;
alter table deliveries add constraint deliveries_body_once unique (hook_id, body_mac);

-- The commit that a record is about, where its meta names one in full.
alter table memory_records add column patch_sha text generated always as (
    case when meta ->> 'patch_sha' ~ '^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$' then lower(meta ->> 'patch_sha') end) stored;
create index memory_records_patch on memory_records (project_id, patch_sha) where patch_sha is not null;

-- What CI says of a commit. What has not ended says nothing yet.
create function mc.ci_of_commit(project uuid, commit text) returns text language sql stable parallel safe as $$
    select case when bool_or(r.conclusion = 'failure') then 'disproven'
                when bool_or(r.conclusion = 'success') then 'proven' end
    from public.ci_results r where r.project_id = $1 and r.sha = $2
$$;

-- The changes that a commit is of: those that have it as theirs; where none has, those that it was pushed with a
-- commit of, which may be others' that took it over.
create function mc.changes_of_commit(project uuid, commit text) returns setof uuid
language sql stable parallel safe as $$
    with own as (
        select k.change_id from public.change_commits k where k.project_id = $1 and k.sha = $2)
    select own.change_id from own
    union all
    select k.change_id from public.change_commits k
    where k.project_id = $1 and not exists (select from own) and k.sha = any (array(
        select p.head from public.pushed_commits p where p.project_id = $1 and p.sha = $2))
$$;

-- What CI says of a patch, the one place where that is decided: of the commit that its change was merged by, else of
-- the change's last one, else of the commit itself. What a patch has become counts, not what it was on its way. Of
-- several changes the one counts that was merged, and then the first that was heard of: later ones took the patch over.
create function mc.ci_of_patch(project uuid, patch text) returns text language sql stable parallel safe as $$
    select coalesce((
        select told.verdict from (
            select c.id, c.state, coalesce(mc.ci_of_commit($1, c.merge_sha), mc.ci_of_commit($1, c.head_sha)) as verdict
            from public.changes c where c.id in (select mc.changes_of_commit($1, $2))) told
        where told.verdict is not null order by told.state = 'merged' desc, told.id limit 1),
        mc.ci_of_commit($1, $2))
$$;
revoke execute on function mc.ci_of_commit(uuid, text), mc.changes_of_commit(uuid, text),
    mc.ci_of_patch(uuid, text) from public;
grant execute on function mc.ci_of_commit(uuid, text), mc.changes_of_commit(uuid, text), mc.ci_of_patch(uuid, text)
    to memory_copilot_service, memory_copilot_worker;
