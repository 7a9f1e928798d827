-- Credentials: access tokens, logins by an identity provider or a device, and signing keys. Secrets
-- are stored as hashes; values that must be read again are encrypted with a key outside the
-- database. The rows belong to no project; the service checks access to them.

-- Personal access tokens.
create table access_tokens (
    id            uuid primary key,
    user_id       uuid        not null references users on delete cascade,
    name          text        not null,
    -- sha256 of the secret.
    hash          bytea       not null constraint access_tokens_hash_key unique,
    -- The secret's last characters, by which its owner recognizes it.
    hint          text        not null default '',
    scopes        text[]      not null,
    created_at    timestamptz not null default now(),
    expires_at    timestamptz,
    last_used_at  timestamptz,
    revoked_at    timestamptz
);
create index access_tokens_user_id_idx on access_tokens (user_id, id);

-- Accounts at an identity provider. The subject is the provider's own id, which it never reuses.
create table identities (
    provider    text        not null,
    subject     text        not null,
    user_id     uuid        not null references users on delete cascade,
    created_at  timestamptz not null default now(),
    primary key (provider, subject)
);
create index identities_user_id_idx on identities (user_id);

-- Keys that sign access tokens (crates/auth/src/keys).
create table signing_keys (
    -- Ed25519.
    public_key   bytea       primary key
                             constraint signing_keys_public_key_check
                             check (length(public_key) = 32),
    -- Encrypted.
    private_key  bytea       not null,
    -- The key signs from this time on, until the next one does.
    active_from  timestamptz not null,
    retired_at   timestamptz
);

-- Logins. A session has a chain of refresh tokens; each is exchanged once for the next.
create table sessions (
    id          uuid        primary key,
    user_id     uuid        not null references users on delete cascade,
    client      text        not null,
    scopes      text[]      not null,
    created_at  timestamptz not null default now(),
    expires_at  timestamptz not null,
    revoked_at  timestamptz
);
create index sessions_user_id_idx on sessions (user_id);
create index sessions_expires_at_idx on sessions (expires_at);

create table refresh_tokens (
    -- sha256 of the secret.
    hash        bytea       primary key,
    session_id  uuid        not null references sessions on delete cascade,
    expires_at  timestamptz not null,
    -- A token that comes back after this was stolen: its session is revoked.
    used_at     timestamptz
);
create index refresh_tokens_session_id_idx on refresh_tokens (session_id);

-- Browser logins that wait for the identity provider's redirect.
create table pending_logins (
    state_hash  bytea       primary key,
    provider    text        not null,
    ciphertext  bytea       not null,
    expires_at  timestamptz not null
);
create index pending_logins_expires_at_idx on pending_logins (expires_at);

-- Device logins (RFC 8628).
create table device_grants (
    device_code_hash  bytea       primary key,
    user_code_hash    bytea       not null constraint device_grants_user_code_hash_key unique,
    client            text        not null,
    requested_scopes  text[]      not null,
    expires_at        timestamptz not null,
    -- Seconds that the device must wait between two polls.
    interval_seconds  int         not null,
    last_polled_at    timestamptz,
    state             text        not null default 'pending'
                                  constraint device_grants_state_check
                                  check (state in ('pending', 'approved', 'denied', 'consumed')),
    -- Set by the approval: the user of the login, and its scopes of those requested.
    user_id           uuid        references users on delete cascade,
    scopes            text[]      not null default '{}',
    session_id        uuid        references sessions on delete set null
);
create index device_grants_expires_at_idx on device_grants (expires_at);

grant select, insert, update, delete
    on access_tokens, identities, signing_keys, sessions, refresh_tokens, pending_logins,
       device_grants
    to memory_copilot_service;
-- The cleanup job deletes expired ones.
grant select, delete on sessions, refresh_tokens, pending_logins, device_grants
    to memory_copilot_worker;
