-- Where other systems tell of what happens there: each hook is of one project, and what comes through it can
-- change that one alone.
create table hooks (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    -- Who sends: github, gitlab, jira, youtrack, redmine, confluence.
    source        text        not null,
    -- What its deliveries are signed with, sealed.
    secret        bytea       not null,
    -- The one before it, which counts until then: senders and this service change it one after the other.
    former_secret bytea,
    former_until  timestamptz,
    created_by    uuid        references users on delete set null,
    created_at    timestamptz not null default now(),
    constraint hooks_former check ((former_secret is null) = (former_until is null))
);
create index hooks_project on hooks (project_id, id);
call mc.protect('hooks', 'project_id', 'curates', 'curates');
drop policy read on hooks;
create policy read on hooks for select to memory_copilot_service using (project_id = (select mc.curates()));

-- What came through them: what is of use of it, masked, never the whole. The background puts it here, for
-- senders are nobody's accounts.
create table deliveries (
    id          uuid primary key,
    project_id  uuid        not null references projects on delete cascade,
    hook_id     uuid        not null references hooks on delete cascade,
    -- The sender's own id, by which a delivery that is sent again is known.
    sender_id   text        not null,
    -- What it is, in the sender's word.
    name        text        not null,
    event       jsonb       not null,
    state       text        not null default 'waiting'
                            constraint deliveries_state_known check (state in ('waiting', 'done', 'ignored')),
    -- What came of it, for people.
    outcome     text,
    received_at timestamptz not null default now(),
    handled_at  timestamptz,
    constraint deliveries_once unique (hook_id, sender_id)
);
create index deliveries_project on deliveries (project_id, id);
create index deliveries_hook on deliveries (hook_id, id);
-- A hook's are gone through in the order in which they came, however many of them were.
create index deliveries_waiting on deliveries (hook_id, id) where state = 'waiting';
create index deliveries_age on deliveries (received_at);
call mc.protect('deliveries', 'project_id', 'curates', 'curates');
drop policy read on deliveries;
create policy read on deliveries for select to memory_copilot_service using (project_id = (select mc.curates()));
revoke insert, delete on deliveries from memory_copilot_service;

-- When the tracker said what is known of a task: what it said earlier and comes later changes nothing.
alter table tasks add column said_at timestamptz;
