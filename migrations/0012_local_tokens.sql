-- Marks the local tokens. Operations that require a login session accept them. The name does not
-- identify them: the owner of any token chooses its name.
alter table access_tokens add column is_local boolean not null default false;

-- Only local tokens never expire. The service also marks its own at each start.
update access_tokens set is_local = true
where user_id = '00000000-0000-7000-8000-000000000001' and expires_at is null
    and name like 'local token of %';
