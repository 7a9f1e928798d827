-- System prompts of projects (docs/prompts.md): their versions, and the outcomes of dialogs that
-- decide about a new one.

create table prompt_versions (
    project_id      uuid        not null references projects on delete cascade,
    -- 0 is the built-in prompt, which is stored when the project gets another one.
    version         int         not null
                                constraint prompt_versions_version_check check (version >= 0),
    -- Instructions and examples (mc_optimizer::Prompt), masked.
    prompt          jsonb       not null,
    -- The version in use when this one was made.
    parent_version  int,
    state           text        not null
                                constraint prompt_versions_state_check check (state in
                                    ('canary', 'current', 'superseded', 'rolled_back')),
    -- What is known about its effect (mc_optimizer::prompt::Quality).
    quality         jsonb       not null,
    -- The changes from the parent, as a unified diff.
    diff            text        not null default '',
    -- Of a canary: the assignment of developers, and the settings, which stay as they were when it
    -- started (mc_optimizer::Arms, CanarySettings); and its figures of the last night.
    arms            jsonb,
    settings        jsonb,
    report          jsonb,
    -- Null for the optimizer.
    created_by      uuid        references users on delete set null,
    created_at      timestamptz not null default now(),
    -- Who promoted it or rolled it back; null for the rule.
    decided_by      uuid        references users on delete set null,
    decided_at      timestamptz,
    -- The commit of its file in the configured checkout.
    git_commit      text        constraint prompt_versions_git_commit_check
                                check (git_commit ~ '^([0-9a-f]{40}|[0-9a-f]{64})$'),
    primary key (project_id, version),
    constraint prompt_versions_parent_version_fkey foreign key (project_id, parent_version)
        references prompt_versions (project_id, version),
    constraint prompt_versions_canary_check
        check (state <> 'canary' or (arms is not null and settings is not null))
);
-- One version is in use, and at most one is tried.
create unique index prompt_versions_current_key on prompt_versions (project_id)
    where state = 'current';
create unique index prompt_versions_canary_key on prompt_versions (project_id)
    where state = 'canary';
create index prompt_versions_parent_version_idx on prompt_versions (project_id, parent_version);
create index prompt_versions_created_by_idx on prompt_versions (created_by)
    where created_by is not null;
create index prompt_versions_decided_by_idx on prompt_versions (decided_by)
    where decided_by is not null;
-- They instruct the models of the whole team.
call mc.enable_project_rls('prompt_versions', 'project_id', 'maintainer', 'maintainer');
drop policy project_delete on prompt_versions;
revoke delete on prompt_versions from memory_copilot_service;

-- Outcomes of dialogs that state a version of the prompt, each different one once: a dialog with
-- several is contradictory. Rows stay when the dialog changes.
create table dialog_outcomes (
    project_id      uuid        not null,
    dialog_id       uuid        not null,
    -- Who reported it. No reference, as in save_outcomes.
    user_id         uuid        not null,
    prompt_version  int         not null,
    outcome         text        not null
                                constraint dialog_outcomes_outcome_check
                                check (outcome in ('succeeded', 'failed', 'abandoned')),
    reported_at     timestamptz not null default now(),
    primary key (dialog_id, user_id, prompt_version, outcome),
    constraint dialog_outcomes_dialog_id_fkey foreign key (project_id, dialog_id)
        references dialogs (project_id, id) on delete cascade
);
create index dialog_outcomes_project_id_idx on dialog_outcomes (project_id, reported_at);
create index dialog_outcomes_dialog_id_idx on dialog_outcomes (project_id, dialog_id);
call mc.enable_project_rls('dialog_outcomes', 'project_id', 'agent', 'maintainer');
alter policy project_select on dialog_outcomes using (
    project_id = (select mc.project_as_maintainer())
    or project_id = (select mc.project_as_viewer()) and user_id = (select mc.principal()));
alter policy project_insert on dialog_outcomes with check (
    project_id = (select mc.project_as_agent()) and user_id = (select mc.principal()));
drop policy project_update on dialog_outcomes;
revoke update on dialog_outcomes from memory_copilot_service;

-- The version of the system prompt that the caller has; null without one.
alter table bundles add column prompt_version int;
