-- Who did what. Each project has a chain of events, and the service one of its own (the nil id): each
-- event's mac covers all of it and the mac before, under a key that is not in the database, so that one
-- that was changed, removed or moved is found (crates/store/src/audit.rs). Nobody who serves may change
-- or delete one.
create table audit_events (
    -- The project; nil for what belongs to none. No reference: the audit outlives the project.
    chain    uuid        not null,
    -- From 1, without gaps.
    seq      bigint      not null,
    at       timestamptz not null,
    -- Null for strangers and for the service itself.
    actor    uuid,
    action   text        not null,
    -- What it was done to: an id, a key.
    subject  text        not null,
    -- JSON, kept as text: the mac is over these very bytes.
    detail   text        not null,
    key_id   bytea       not null,
    mac      bytea       not null,
    primary key (chain, seq)
);
create index audit_events_actor on audit_events (chain, actor, seq);
create index audit_events_action on audit_events (chain, action, seq);

-- Where a chain begins after its oldest events were dropped. The seal is by the same key: without it
-- nobody can pass off a shortened chain as a pruned one.
create table audit_checkpoints (
    chain   uuid        not null,
    -- The last event that was dropped, and its mac.
    seq     bigint      not null,
    mac     bytea       not null,
    at      timestamptz not null default now(),
    key_id  bytea       not null,
    seal    bytea       not null,
    primary key (chain, seq)
);

-- The service's own chain is for those who administer it.
create function mc.enter_service(principal uuid) returns boolean
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    administers constant boolean := exists (
        select from users u where u.id = enter_service.principal and u.is_admin and u.disabled_at is null);
begin
    perform set_config('memory_copilot.principal', principal::text, true),
            set_config('memory_copilot.curates',
                case when administers then '00000000-0000-0000-0000-000000000000' else '' end, true);
    return administers;
end $$;

do $$
declare
    name text;
begin
    foreach name in array array['audit_events', 'audit_checkpoints'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy read on %I for select to memory_copilot_service
            using (chain = (select mc.curates()))', name);
        execute format('create policy background_read on %I for select to memory_copilot_worker using (true)', name);
        execute format('create policy background_add on %I for insert to memory_copilot_worker with check (true)', name);
        execute format('create policy owner on %I to current_user using (true) with check (true)', name);
        execute format('grant select on %I to memory_copilot_service', name);
        execute format('grant select, insert on %I to memory_copilot_worker', name);
    end loop;
end $$;
create policy add on audit_events for insert to memory_copilot_service
    with check (chain = (select mc.reads()));
create policy add_for_the_service on audit_events for insert to memory_copilot_service
    with check (chain = '00000000-0000-0000-0000-000000000000');
grant insert on audit_events to memory_copilot_service;

-- The end of a chain, which nobody else can lengthen until the transaction ends, and the mac of the event
-- `known`, by which the caller sees whether it is still the chain that it knows. Only of the chain that the
-- caller may add to.
create function mc.audit_head(chain uuid, known bigint)
returns table (seq bigint, mac bytea, known_mac bytea, is_pruned boolean)
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if audit_head.chain is distinct from mc.reads()
        and audit_head.chain <> '00000000-0000-0000-0000-000000000000'
        and not pg_has_role(session_user, 'memory_copilot_worker', 'member') then
        raise insufficient_privilege using message = 'not a chain of this transaction';
    end if;
    perform pg_advisory_xact_lock(hashtext('audit'), hashtext(audit_head.chain::text));
    return query
        select ending.seq, ending.mac,
            (select k.mac from audit_events k where k.chain = audit_head.chain and k.seq = known),
            exists (select from audit_checkpoints c where c.chain = audit_head.chain and c.seq >= known)
        from (select e.seq, e.mac from audit_events e where e.chain = audit_head.chain
              union all
              select c.seq, c.mac from audit_checkpoints c where c.chain = audit_head.chain
              order by 1 desc limit 1) as ending;
end $$;
call mc.run_as_worker(array['mc.audit_head(uuid, bigint)', 'mc.enter_service(uuid)']::regprocedure[]);

-- Drops the events up to a checkpoint that are older than any policy may ask them to be gone; answers how
-- many. The tables' owner runs it, since nobody who serves may delete events.
create function mc.prune_audit(chain uuid, upto bigint) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    dropped bigint;
begin
    if not exists (select from audit_checkpoints c where c.chain = prune_audit.chain and c.seq = upto) then
        raise exception 'the audit is pruned up to a checkpoint only';
    end if;
    delete from audit_events e
    where e.chain = prune_audit.chain and e.seq <= upto and e.at < now() - interval '30 days';
    get diagnostics dropped = row_count;
    return dropped;
end $$;
revoke execute on function mc.prune_audit(uuid, bigint) from public;
grant execute on function mc.prune_audit(uuid, bigint) to memory_copilot_worker;
