-- The end of a chain is asked for with every save and feedback. As one sorted union it was found by sorting all of the
-- chain; each of the two tables has its end in an index.
create or replace function mc.audit_head(chain uuid, known bigint)
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
        from ((select e.seq, e.mac from audit_events e where e.chain = audit_head.chain
               order by e.seq desc limit 1)
              union all
              (select c.seq, c.mac from audit_checkpoints c where c.chain = audit_head.chain
               order by c.seq desc limit 1)
              order by 1 desc limit 1) as ending;
end $$;
