-- How people come in by an account that they have elsewhere, and what they get for it. Secrets are kept
-- as hashes, what has to be read again is sealed with a key that is not in the database.

-- Who is who at a login provider. The subject is the provider's own id, which is never given to another.
create table identities (
    provider    text        not null,
    subject     text        not null,
    user_id     uuid        not null references users on delete cascade,
    created_at  timestamptz not null default now(),
    primary key (provider, subject)
);
create index identities_user on identities (user_id);
create index users_email on users (lower(email)) where email is not null;

-- The keys that sign access tokens (crates/auth/src/keys).
create table signing_keys (
    public_key  bytea       primary key constraint signing_keys_ed25519 check (length(public_key) = 32),
    private_key bytea       not null,
    -- When it begins to sign; it does until the next begins.
    since       timestamptz not null,
    retired_at  timestamptz
);

-- Logins: what refresh tokens are exchanged in, one after the other.
create table sessions (
    id          uuid        primary key,
    user_id     uuid        not null references users on delete cascade,
    client      text        not null,
    scopes      text[]      not null,
    created_at  timestamptz not null default now(),
    ends_at     timestamptz not null,
    revoked_at  timestamptz
);
create index sessions_user on sessions (user_id);
create index sessions_end on sessions (ends_at);

create table refresh_tokens (
    hash        bytea       primary key,
    session_id  uuid        not null references sessions on delete cascade,
    expires_at  timestamptz not null,
    spent_at    timestamptz
);
create index refresh_tokens_session on refresh_tokens (session_id);

-- Logins that were begun in a browser and have not come back yet.
create table pending_logins (
    state_hash  bytea       primary key,
    provider    text        not null,
    sealed      bytea       not null,
    expires_at  timestamptz not null
);
create index pending_logins_expiry on pending_logins (expires_at);

-- Logins that were begun at a terminal (RFC 8628).
create table device_grants (
    device_hash     bytea       primary key,
    user_code_hash  bytea       not null constraint device_grants_user_code_unique unique,
    client          text        not null,
    requested       text[]      not null,
    expires_at      timestamptz not null,
    poll_interval   int         not null,
    polled_at       timestamptz,
    state           text        not null default 'pending'
                                constraint device_grants_state_known
                                check (state in ('pending', 'approved', 'denied', 'consumed')),
    user_id         uuid        references users on delete cascade,
    scopes          text[]      not null default '{}',
    session_id      uuid        references sessions on delete set null
);
create index device_grants_expiry on device_grants (expires_at);

grant select, insert, update, delete
    on identities, signing_keys, sessions, refresh_tokens, pending_logins, device_grants
    to memory_copilot_service;
grant select, delete on sessions, pending_logins, device_grants, refresh_tokens to memory_copilot_worker;
