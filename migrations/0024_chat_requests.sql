-- Requests to chat models: their tokens count toward the project's daily budget, and their cost is
-- recorded. A row has neither texts nor users.
create table chat_requests (
    id                 uuid        primary key,
    project_id         uuid        not null references projects on delete cascade,
    -- Name of the model in the configuration.
    model              text        not null
                                   constraint chat_requests_model_check
                                   check (char_length(model) between 1 and 200),
    -- What the model was used for, such as judge.
    role               text        not null
                                   constraint chat_requests_role_check
                                   check (char_length(role) between 1 and 64),
    -- The most tokens that one attempt may use. They count until it is completed, and on that
    -- day if it never is: the provider may have charged for them.
    reserved_tokens    bigint      not null
                                   constraint chat_requests_reserved_tokens_check
                                   check (reserved_tokens > 0),
    -- Of all attempts, also of those that failed.
    prompt_tokens      bigint,
    completion_tokens  bigint,
    -- By the configured price, in its currency.
    cost               double precision,
    -- Kind of the error; null if the model answered.
    error              text        constraint chat_requests_error_check
                                   check (char_length(error) between 1 and 64),
    started_at         timestamptz not null default now(),
    completed_at       timestamptz,
    constraint chat_requests_completed_check check (
        (completed_at is null) = (prompt_tokens is null)
        and (completed_at is null) = (completion_tokens is null)
        and (completed_at is null) = (cost is null))
);
create index chat_requests_project_id_idx on chat_requests (project_id, started_at);

call mc.enable_project_rls('chat_requests', 'project_id', 'agent', 'agent');
-- Retention deletes them. A request that counts toward the budget stays.
drop policy project_delete on chat_requests;
revoke delete on chat_requests from memory_copilot_service;
