-- The one comment of ours at the tracker of a task, which names the records and dialogs that belong to it: what a
-- person agreed to have written there, what became of that, and which comment it is.
create table task_comments (
    task_id        uuid        primary key references tasks on delete cascade,
    project_id     uuid        not null references projects on delete cascade,
    -- The sum of the text that was agreed to last and of where it goes; the text is made anew when it is written.
    digest         text        not null,
    asked_by       uuid        references users on delete set null,
    asked_at       timestamptz not null default now(),
    state          text        not null default 'waiting'
                               constraint task_comments_state_known check (state in ('waiting', 'written', 'failed')),
    -- Why it was not written, or not yet.
    reason         text        not null default '',
    -- The job that writes it: once that is over and the comment still waits, it was given up.
    job            text,
    -- Since when a worker has been at it: no other writes beside it.
    begun_at       timestamptz,
    -- The comment, as the connection's system knows it.
    comment_id     text,
    connection_id  uuid        references connections on delete set null,
    written_digest text,
    written_at     timestamptz
);
create index task_comments_project on task_comments (project_id);
create index task_comments_connection on task_comments (connection_id);
create index task_comments_asker on task_comments (asked_by);
-- Whoever may agree to what leaves the service is a member at least; the policy may ask for more.
call mc.protect('task_comments', 'project_id', 'decides', 'decides');

-- By which connection a task came that is not paused, for those who may have something written at its tracker:
-- connections themselves are for maintainers to see.
create function mc.connection_of_task(wanted uuid)
returns table (id uuid, system text, what text)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select c.id, c.system, c.what from tasks t join connections c on c.id = t.connection_id
    where t.id = connection_of_task.wanted and t.project_id = (select mc.decides()) and c.ability = 'issues'
        and not c.is_paused
$$;

-- Whether nobody will take a job up any more: it has ended, was given up or discarded, or there never was one.
create function mc.is_job_over(wanted text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    return not exists (select from apalis.jobs j where j.id = wanted and j.status not in ('Done', 'Killed'));
end $$;
call mc.run_as_worker(array['mc.connection_of_task(uuid)', 'mc.is_job_over(text)']::regprocedure[]);
