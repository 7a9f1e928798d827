-- Each request calls these functions several times. PL/pgSQL initializes their expressions again in
-- each transaction, so functions with fewer expressions are faster.

-- Returns the role of a user on a project; null if there is none. Two short statements take half
-- the time of one that joins all tables.
create or replace function mc.effective_role(principal uuid, project uuid) returns mc.role
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    is_admin boolean;
    is_agent boolean;
    granted mc.role;
begin
    select u.is_admin, u.is_agent into is_admin, is_agent
    from users u where u.id = effective_role.principal and u.disabled_at is null;
    if is_admin then
        select 'admin' into granted from projects p where p.id = effective_role.project;
    elsif found then
        select max(roles.role) into granted from (
            select m.role from project_members m
            where m.project_id = effective_role.project and m.user_id = effective_role.principal
            union all
            select least(t.role, m.role) from project_teams t
            join team_members m on m.team_id = t.team_id and m.user_id = effective_role.principal
            where t.project_id = effective_role.project) as roles;
    end if;
    return case when is_agent and granted > 'agent' then 'agent' else granted end;
end $$;

-- These leave the search path as it is, since PostgreSQL would set and restore it for each call.
-- The service role can't call them; each function that it can call sets the path. All set the same
-- one: plans are made again if the path has changed.
alter function mc.mac(name, bytea) reset search_path;
alter function mc.is_proved(text, uuid, uuid, text) reset search_path;
alter function mc.set_context(text, text, text, uuid, uuid) reset search_path;
alter function mc.set_user_context(uuid, uuid, text) set search_path = pg_catalog, public, pg_temp;
alter function mc.has_user_context(uuid) set search_path = pg_catalog, public, pg_temp;

-- As in 0013_project_proof.sql, with one expression in place of three.
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
                inner_pad bytea;
                outer_pad bytea;
            begin
                select k.inner_pad, k.outer_pad into inner_pad, outer_pad
                from mc.mac_keys k where k.login = '';
                return case
                    when split_part(context, ' ', 1) = any (%L)
                        and right(context, 64) = encode(sha256(outer_pad || sha256(inner_pad
                            || int4send(pg_backend_pid()) || timestamptz_send(now())
                            || convert_to(left(context, -65), 'UTF8'))), 'hex')
                    then split_part(context, ' ', %s)::uuid end;
            end $body$ $function$, replaced.name, replaced.levels, replaced.field);
    end loop;
end $$;

-- As in 0007_policy_audit_quarantine.sql, with the rights of the worker role: mc.lock_audit_head
-- checks that the transaction may add to the chain, so the policies need not check it again.
create or replace function mc.append_audit_events(
    chain uuid, known_seq bigint, known_mac bytea, seqs bigint[], times timestamptz[],
    actors uuid[], actions text[], targets text[], details text[], key_ids bytea[], macs bytea[])
returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    head record;
begin
    select h.seq, h.mac into head from mc.lock_audit_head(chain, known_seq) h;
    if known_seq is not null and (head.seq, head.mac) is distinct from (known_seq, known_mac) then
        return false;
    end if;
    insert into audit_events (chain, seq, occurred_at, actor, action, target, details, key_id, mac)
    select append_audit_events.chain, e.*
    from unnest(seqs, times, actors, actions, targets, details, key_ids, macs) e;
    return true;
end $$;
call mc.set_worker_owner(array[
    'mc.append_audit_events(uuid, bigint, bytea, bigint[], timestamptz[], uuid[], text[], text[],
    text[], bytea[], bytea[])']::regprocedure[]);
