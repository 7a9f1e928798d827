-- Governance: versions of each project's policy, the tamper-evident audit log, and quarantine.

-- Every policy that a project had; projects.policy is the one in force.
create table policy_versions (
    project_id  uuid        not null references projects on delete cascade,
    version     int         not null,
    policy      jsonb       not null,
    changed_by  uuid        references users on delete set null,
    changed_at  timestamptz not null default now(),
    primary key (project_id, version)
);
call mc.enable_project_rls('policy_versions', 'project_id', 'admin', 'admin');
-- Only mc.set_policy writes versions, and nothing changes one.
revoke insert, update, delete on policy_versions from memory_copilot_service;
revoke update on policy_versions from memory_copilot_worker;

-- Sets a project's policy, unless its version is no longer `expected_version` (null replaces any).
-- Returns the new version, or null if the policy was not set; below maintainer it never is.
create function mc.set_policy(principal uuid, project uuid, expected_version int, document jsonb)
returns int
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    set_version int;
    allowed_before text := (
        select p.allowed_embedding_models from projects p where p.id = set_policy.project);
begin
    if mc.effective_role(principal, project) >= 'maintainer' then
        update projects p
        set policy = document, policy_version = p.policy_version + 1, updated_at = now()
        where p.id = set_policy.project
            and (expected_version is null or p.policy_version = expected_version)
        returning p.policy_version into set_version;
        insert into policy_versions (project_id, version, policy, changed_by)
        select set_policy.project, set_version, document, principal where set_version is not null;
        -- Passages that the policy kept from the active model may be allowed now. Rows that another
        -- transaction has locked are skipped: they are due within the hour.
        if allowed_before <> (
            select p.allowed_embedding_models from projects p where p.id = set_policy.project) then
            update embedding_queue q set scheduled_at = now()
            where q.passage_id in (
                select w.passage_id from embedding_queue w
                where w.project_id = set_policy.project and w.scheduled_at > now()
                for update skip locked);
            perform pg_notify('embedding_queue', '');
        end if;
    end if;
    return set_version;
end $$;

-- The audit log: one chain of events for each project, and one for the service (the nil UUID). The
-- mac of an event covers the event and the mac before it, under a key outside the database. So an
-- event that was changed, deleted or moved is detected. The service and worker roles may neither
-- change nor delete one.
create table audit_events (
    -- The project, or the nil UUID. No reference: the audit log outlives the project.
    chain        uuid        not null,
    -- From 1, without gaps.
    seq          bigint      not null,
    occurred_at  timestamptz not null,
    -- The user; null for unauthenticated callers and for the service itself.
    actor        uuid,
    action       text        not null,
    -- An id or a key of the object of the action.
    target       text        not null,
    -- JSON, as text: the mac covers these bytes.
    details      text        not null,
    key_id       bytea       not null,
    mac          bytea       not null,
    primary key (chain, seq)
);
create index audit_events_actor_idx on audit_events (chain, actor, seq);
create index audit_events_action_idx on audit_events (chain, action, seq);
-- No statement selects events by these columns.
alter table audit_events
    alter details set statistics 0, alter key_id set statistics 0, alter mac set statistics 0;

-- Where a chain starts after its oldest events were deleted. The checkpoint has a mac under the
-- same key: without the key, a shortened chain can't be passed off as a pruned one.
create table audit_checkpoints (
    chain           uuid        not null,
    -- The last deleted event, and its mac.
    seq             bigint      not null,
    mac             bytea       not null,
    created_at      timestamptz not null default now(),
    key_id          bytea       not null,
    checkpoint_mac  bytea       not null,
    primary key (chain, seq)
);

-- Maintainers read their project's chain. Every transaction may add to the chains of its project
-- and of the service.
do $$
declare
    name text;
begin
    foreach name in array array['audit_events', 'audit_checkpoints'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy project_select on %I for select to memory_copilot_service
            using (chain = (select mc.project_as_maintainer()))', name);
        execute format('create policy worker_select on %I for select to memory_copilot_worker
            using (true)', name);
        execute format('create policy worker_insert on %I for insert to memory_copilot_worker
            with check (true)', name);
        execute format('create policy owner_all on %I to current_user
            using (true) with check (true)', name);
        execute format('grant select on %I to memory_copilot_service', name);
        execute format('grant select, insert on %I to memory_copilot_worker', name);
    end loop;
end $$;
create policy project_insert on audit_events for insert to memory_copilot_service
    with check (chain = (select mc.project_as_viewer()));
create policy service_chain_insert on audit_events for insert to memory_copilot_service
    with check (chain = '00000000-0000-0000-0000-000000000000');
grant insert on audit_events to memory_copilot_service;

-- Lets the transaction of a service administrator read the service's chain, or that of a deleted
-- project. Returns whether it may. The chain of a live project is for its own maintainers.
create function mc.set_audit_context(principal uuid, chain uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    is_allowed constant boolean := exists (
            select from users u
            where u.id = set_audit_context.principal and u.is_admin and u.disabled_at is null)
        and not exists (select from projects p where p.id = set_audit_context.chain);
begin
    perform set_config('memory_copilot.principal', principal::text, true),
            set_config('memory_copilot.project_as_maintainer',
                case when is_allowed then set_audit_context.chain::text else '' end, true);
    return is_allowed;
end $$;

-- Locks the head of a chain until the transaction ends, so that no other can append. Returns the
-- head, and for event `known_seq` its mac and whether it was pruned: from these the caller sees
-- whether the chain is still the one it knows. Only for a chain to which the caller may add.
create function mc.lock_audit_head(chain uuid, known_seq bigint)
returns table (seq bigint, mac bytea, known_mac bytea, is_pruned boolean)
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if lock_audit_head.chain is distinct from mc.project_as_viewer()
        and lock_audit_head.chain <> '00000000-0000-0000-0000-000000000000'
        and not pg_has_role(session_user, 'memory_copilot_worker', 'member') then
        raise insufficient_privilege
            using message = 'the transaction may not add to this audit chain';
    end if;
    perform pg_advisory_xact_lock(hashtext('audit'), hashtext(lock_audit_head.chain::text));
    -- Each table has its head in an index; ordering their union would sort all of the chain.
    return query
        select head.seq, head.mac,
            (select k.mac from audit_events k
             where k.chain = lock_audit_head.chain and k.seq = known_seq),
            exists (select from audit_checkpoints c
                    where c.chain = lock_audit_head.chain and c.seq >= known_seq)
        from ((select e.seq, e.mac from audit_events e where e.chain = lock_audit_head.chain
               order by e.seq desc limit 1)
              union all
              (select c.seq, c.mac from audit_checkpoints c where c.chain = lock_audit_head.chain
               order by c.seq desc limit 1)
              order by 1 desc limit 1) as head;
end $$;

-- Appends events if the chain's head is still `known_seq` with `known_mac`; returns whether it was.
-- So the process that appended last needs one statement. If `known_seq` is null it appends in any
-- case: the caller has locked the head by mc.lock_audit_head.
create function mc.append_audit_events(
    chain uuid, known_seq bigint, known_mac bytea, seqs bigint[], times timestamptz[],
    actors uuid[], actions text[], targets text[], details text[], key_ids bytea[], macs bytea[])
returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    if known_seq is not null
        and not exists (select from mc.lock_audit_head(chain, known_seq) h
                        where h.seq = known_seq and h.mac = append_audit_events.known_mac) then
        return false;
    end if;
    insert into audit_events (chain, seq, occurred_at, actor, action, target, details, key_id, mac)
    select append_audit_events.chain, e.*
    from unnest(seqs, times, actors, actions, targets, details, key_ids, macs) e;
    return true;
end $$;

-- Deletes events up to a checkpoint, and none that is younger than the shortest retention of a
-- policy. Returns how many. It runs as the tables' owner: no other role may delete events.
create function mc.prune_audit(chain uuid, last_seq bigint) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dropped bigint;
begin
    if not exists (select from audit_checkpoints c
                   where c.chain = prune_audit.chain and c.seq = last_seq) then
        raise exception 'audit events can only be pruned up to a checkpoint';
    end if;
    delete from audit_events e
    where e.chain = prune_audit.chain and e.seq <= last_seq
        and e.occurred_at < now() - interval '30 days';
    get diagnostics dropped = row_count;
    return dropped;
end $$;

-- Requests that a policy quarantines, until a maintainer decides or they expire.
create table quarantine_items (
    id            uuid primary key,
    project_id    uuid        not null references projects on delete cascade,
    -- Kind of the request: save, dialog, document.
    kind          text        not null,
    -- Categories of the sanitizer and detections of the prompt guard.
    reasons       text[]      not null,
    -- Start of the text, masked; empty once it is decided.
    excerpt       text        not null,
    -- The request, encrypted with a key outside the database; empty once it is decided.
    ciphertext    bytea       not null,
    submitted_by  uuid        references users on delete set null,
    state         text        not null default 'pending'
                              constraint quarantine_items_state_check
                              check (state in ('pending', 'released', 'deleted', 'expired')),
    created_at    timestamptz not null default now(),
    expires_at    timestamptz not null,
    decided_by    uuid        references users on delete set null,
    decided_at    timestamptz,
    -- When to send the notification that the policy asks for; null if there is none to send.
    notify_at     timestamptz,
    -- Attempts to send it.
    attempts      int         not null default 0,
    constraint quarantine_items_decided_check
        check (state = 'pending' or length(ciphertext) = 0 and excerpt = '')
);
create index quarantine_items_project_id_idx on quarantine_items (project_id, id);
create index quarantine_items_expires_at_idx on quarantine_items (project_id, expires_at)
    where state = 'pending';
create index quarantine_items_decided_at_idx on quarantine_items (project_id, decided_at)
    where state <> 'pending';
create index quarantine_items_notify_at_idx on quarantine_items (notify_at)
    where notify_at is not null;
call mc.enable_project_rls('quarantine_items', 'project_id', 'agent', 'maintainer');
-- Every writer may add an item; only maintainers read them.
alter policy project_select on quarantine_items
    using (project_id = (select mc.project_as_maintainer()));

-- Finds the project of a quarantine item, for maintainers.
create function mc.find_project_of_quarantine_item(principal uuid, item uuid)
returns table (id uuid, key text, name text, created_at timestamptz, role mc.role, policy jsonb,
               policy_version int)
language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select p.*
    from quarantine_items q,
         lateral mc.find_project(find_project_of_quarantine_item.principal, q.project_id) p
    where q.id = find_project_of_quarantine_item.item and p.role >= 'maintainer'
$$;

revoke execute on function mc.prune_audit(uuid, bigint),
    mc.append_audit_events(uuid, bigint, bytea, bigint[], timestamptz[], uuid[], text[], text[],
                           text[], bytea[], bytea[])
    from public;
grant execute on function mc.prune_audit(uuid, bigint) to memory_copilot_worker;
grant execute on function
    mc.append_audit_events(uuid, bigint, bytea, bigint[], timestamptz[], uuid[], text[], text[],
                           text[], bytea[], bytea[])
    to memory_copilot_service, memory_copilot_worker;
call mc.set_worker_owner(array[
    'mc.set_policy(uuid, uuid, int, jsonb)', 'mc.set_audit_context(uuid, uuid)',
    'mc.lock_audit_head(uuid, bigint)',
    'mc.find_project_of_quarantine_item(uuid, uuid)']::regprocedure[]);
