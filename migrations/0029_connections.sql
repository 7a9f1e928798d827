-- What a project hears of other systems by asking them. Where a system is, and with which credential it is asked,
-- is the operator's configuration to say; a row has its name alone, so that whoever may connect a project can have
-- the service go nowhere else.
create table connections (
    id             uuid primary key,
    project_id     uuid        not null references projects on delete cascade,
    -- The operator's name for it.
    system         text        not null,
    -- What of it: a repository (owner/name), a project's key, a space's key.
    what           text        not null,
    ability        text        not null
                               constraint connections_ability_known check (ability in ('issues', 'pages', 'heads')),
    every_minutes  int         not null
                               constraint connections_pace check (every_minutes between 5 and 1440),
    with_comments  boolean     not null,
    is_paused      boolean     not null default false,
    created_by     uuid        references users on delete set null,
    created_at     timestamptz not null default now(),
    -- What follows the background writes. Where the next sync begins: the system's own words, and ours.
    progress       jsonb,
    -- When it is asked next.
    due_at         timestamptz not null default now(),
    -- The job that was asked for last: as long as it waits, people can't ask for another.
    job            text,
    -- When what is known was last compared with all that is there, to find what is gone.
    compared_at    timestamptz not null default now(),
    -- When a sync last came to its end, why the last one did not, and how many have failed since.
    ok_at          timestamptz,
    error          text,
    failures       int         not null default 0,
    constraint connections_once unique (project_id, system, what, ability)
);
create index connections_due on connections (due_at) where not is_paused;
call mc.protect('connections', 'project_id', 'curates', 'curates');
drop policy read on connections;
create policy read on connections for select to memory_copilot_service using (project_id = (select mc.curates()));

-- Whether a job could be begun by now and is not: it will see all that was so before. One at work may have passed
-- something already. Volatile, to see what was committed while its caller waited for a row.
create function mc.is_job_due(wanted text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    return exists (select from apalis.jobs j
                   where j.id = wanted and j.status in ('Pending', 'Failed', 'Queued')
                       and j.run_at <= clock_timestamp());
end $$;
call mc.run_as_worker(array['mc.is_job_due(text)']::regprocedure[]);

-- By which connection something came last: what is gone there is known by this.
alter table tasks add column connection_id uuid references connections on delete set null;
create index tasks_connection on tasks (connection_id) where connection_id is not null;
alter table docs add column connection_id uuid references connections on delete set null;
create index docs_connection on docs (connection_id) where connection_id is not null;
