-- The proof of the project context of a transaction. SQL that runs as the service role can set
-- every setting and call every function with the ids of others. So a code that the service computes
-- outside the database proves that it sets the context, and the setting that the policies read has
-- a MAC. All of this also works in read-only transactions and on a standby.

-- Keys of HMAC-SHA256, each as its two padded blocks. The service writes them at its start. Only
-- the worker role, and functions that it owns, can read them.
create table mc.mac_keys (
    -- The login role whose codes the key verifies; empty for the MAC of settings.
    login      name  primary key,
    inner_pad  bytea not null constraint mac_keys_inner_pad_check check (length(inner_pad) = 64),
    outer_pad  bytea not null constraint mac_keys_outer_pad_check check (length(outer_pad) = 64)
);
grant select on mc.mac_keys to memory_copilot_worker;

-- In these functions, an assignment takes half the time of a `perform` or of a sub-select.

-- Returns the HMAC-SHA256 in hexadecimal, or null if there is no key for the login.
create function mc.mac(key_login name, content bytea) returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    inner_pad bytea;
    outer_pad bytea;
begin
    select k.inner_pad, k.outer_pad into inner_pad, outer_pad
    from mc.mac_keys k where k.login = key_login;
    return encode(sha256(outer_pad || sha256(inner_pad || content)), 'hex');
end $$;

-- Returns whether the client's message ends with this call, with a code that the service computed
-- for the message and this session. The code covers all of the message before it: a statement with
-- injected SQL is another message, so a code that it has read elsewhere is of no use. Logins of the
-- worker role see all rows anyway and need no code.
create function mc.is_proved(called text, principal uuid, target uuid, code text) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    message constant text := current_query();
    call constant text := format('select mc.%s(''%s'', ''%s'', ''%s'')',
                                 called, principal, target, code);
    before_code constant text := left(message, -length(code || ''')'));
begin
    return pg_has_role(session_user, 'memory_copilot_worker', 'member')
        or (right(message, length(call)) = call
            and code = mc.mac(session_user,
                              convert_to(pg_backend_pid() || ' ' || before_code, 'UTF8'))) is true;
end $$;

-- Sets the context to a target at a level, if the code proves it: at a role on a project, at
-- `audit` for an audit chain, or at `none`. The MAC binds the setting to this session and
-- transaction. Returns the setting.
create function mc.set_context(called text, code text, level text, target uuid, principal uuid)
returns text
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    context constant text := concat_ws(' ', level, target, principal);
begin
    if not mc.is_proved(called, principal, target, code) then
        raise insufficient_privilege
            using message = 'the code does not prove that the service sets this context',
                hint = 'Only the service can compute codes. If the service gets this error, '
                    'restart it: it stores its key again at each start.';
    end if;
    return set_config('memory_copilot.context', context || ' ' || mc.mac('', int4send(
        pg_backend_pid()) || timestamptz_send(now()) || convert_to(context, 'UTF8')), true);
end $$;

-- Replaces the functions of the policies. Each returns an id of the setting if its level suffices
-- and its MAC is valid: the key is read first and the MAC of mc.set_context computed here, which
-- takes half the time of a call of mc.mac. They are restricted to the leader of a parallel query,
-- whose process id the MAC covers.
do $$
declare
    replaced record;
begin
    for replaced in
        select * from (values
            ('principal', 3, '{none,viewer,agent,member,maintainer,admin,audit}'),
            ('project_as_viewer', 2, '{viewer,agent,member,maintainer,admin}'),
            ('project_as_agent', 2, '{agent,member,maintainer,admin}'),
            ('project_as_member', 2, '{member,maintainer,admin}'),
            ('project_as_maintainer', 2, '{maintainer,admin,audit}'),
            ('project_as_admin', 2, '{admin}')) as names (name, field, levels)
    loop
        execute format($function$
            create or replace function mc.%I() returns uuid
            language plpgsql stable security definer parallel restricted
            set search_path = pg_catalog, pg_temp as $body$
            declare
                context constant text := current_setting('memory_copilot.context', true);
                levels constant text[] := %L;
                inner_pad bytea;
                outer_pad bytea;
            begin
                if split_part(context, ' ', 1) = any (levels) then
                    select k.inner_pad, k.outer_pad into inner_pad, outer_pad
                    from mc.mac_keys k where k.login = '';
                    if right(context, 64) = encode(sha256(outer_pad || sha256(inner_pad
                        || int4send(pg_backend_pid()) || timestamptz_send(now())
                        || convert_to(left(context, -65), 'UTF8'))), 'hex')
                    then
                        return split_part(context, ' ', %s)::uuid;
                    end if;
                end if;
                return null;
            end $body$ $function$, replaced.name, replaced.levels, replaced.field);
    end loop;
end $$;

-- These read tables with policies, so they can't run in other processes either.
alter function mc.is_doc_searchable(uuid) parallel restricted;
alter function mc.commit_ci_status(uuid, text) parallel restricted;
alter function mc.commit_pull_requests(uuid, text) parallel restricted;
alter function mc.patch_ci_status(uuid, text) parallel restricted;

drop function mc.set_project_context(uuid, uuid);
-- Lets the transaction act in a project on behalf of a user, as far as the user's role allows.
-- Returns the role; if it is null, the policies hide every row.
create function mc.set_project_context(principal uuid, project uuid, code text) returns mc.role
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    role constant mc.role := mc.effective_role(principal, project);
    context constant text := mc.set_context(
        'set_project_context', code, coalesce(role::text, 'none'), project, principal);
begin
    return role;
end $$;

drop function mc.set_audit_context(uuid, uuid);
-- Lets the transaction of a service administrator read the service's chain, or that of a deleted
-- project. Returns whether it may. The chain of a live project is for its own maintainers.
create function mc.set_audit_context(principal uuid, chain uuid, code text) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    is_allowed constant boolean := exists (
            select from users u
            where u.id = set_audit_context.principal and u.is_admin and u.disabled_at is null)
        and not exists (select from projects p where p.id = set_audit_context.chain);
    context constant text := mc.set_context(
        'set_audit_context', code, case when is_allowed then 'audit' else 'none' end, chain,
        principal);
begin
    return is_allowed;
end $$;

call mc.set_worker_owner(array[
    'mc.set_project_context(uuid, uuid, text)', 'mc.set_audit_context(uuid, uuid, text)',
    'mc.mac(name, bytea)', 'mc.is_proved(text, uuid, uuid, text)',
    'mc.set_context(text, text, text, uuid, uuid)',
    'mc.principal()', 'mc.project_as_viewer()', 'mc.project_as_agent()', 'mc.project_as_member()',
    'mc.project_as_maintainer()', 'mc.project_as_admin()']::regprocedure[]);
-- Only the functions above call these, with the rights of the worker role.
revoke execute on function mc.mac(name, bytea), mc.is_proved(text, uuid, uuid, text),
    mc.set_context(text, text, text, uuid, uuid) from memory_copilot_service;
