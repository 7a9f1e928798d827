-- What a policy forbids to be taken in, until a person has decided about it or its time is over. The
-- text itself is sealed by a key that is not in the database.
create table quarantine (
    id           uuid primary key,
    project_id   uuid        not null references projects on delete cascade,
    -- What was sent: save, dialog, document.
    kind         text        not null,
    -- Why it is here: categories of the sanitizer, families of the guard.
    reasons      text[]      not null,
    -- Its beginning, masked; empty once it was decided.
    summary      text        not null,
    -- The request; empty once it was decided.
    sealed       bytea       not null,
    sent_by      uuid        references users on delete set null,
    state        text        not null default 'held'
                             constraint quarantine_state_known
                             check (state in ('held', 'released', 'destroyed', 'expired')),
    created_at   timestamptz not null default now(),
    expires_at   timestamptz not null,
    decided_by   uuid        references users on delete set null,
    decided_at   timestamptz,
    -- The notice to whom the policy names: when it is tried next, null when there is nothing to send.
    notify_at    timestamptz,
    attempts     int         not null default 0,
    constraint quarantine_forgets check (state = 'held' or length(sealed) = 0 and summary = '')
);
create index quarantine_project on quarantine (project_id, id);
create index quarantine_expiry on quarantine (expires_at) where state = 'held';
create index quarantine_notices on quarantine (notify_at) where notify_at is not null;
call mc.protect('quarantine', 'project_id', 'writes', 'curates');
-- Whoever sends may put something in; only maintainers look.
drop policy read on quarantine;
create policy read on quarantine for select to memory_copilot_service using (project_id = (select mc.curates()));

-- The project of something in quarantine, for those who may decide about it.
create function mc.project_of_hold(principal uuid, hold uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb, policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.* from quarantine q, lateral mc.project_of(project_of_hold.principal, q.project_id) p
    where q.id = project_of_hold.hold and p.role >= 'maintainer'
$$;
call mc.run_as_worker(array['mc.project_of_hold(uuid, uuid)']::regprocedure[]);
