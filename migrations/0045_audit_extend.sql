-- Events are added to a chain with every save and recall. A process that knows where the chain ends, since it was the
-- last to add to it, does so in one statement: answers whether that was still the end, and adds nothing where it was not.
-- Without a known end it adds; who calls has asked for the end before, and holds it.
create function mc.audit_extend(
    chain uuid, known bigint, known_mac bytea, seqs bigint[], times timestamptz[], actors uuid[],
    actions text[], subjects text[], details text[], key_ids bytea[], macs bytea[])
returns boolean
language plpgsql volatile set search_path = pg_catalog, public, pg_temp as $$
begin
    if known is not null
        and not exists (select from mc.audit_head(chain, known) h where h.seq = known and h.mac = audit_extend.known_mac) then
        return false;
    end if;
    insert into audit_events (chain, seq, at, actor, action, subject, detail, key_id, mac)
    select audit_extend.chain, e.*
    from unnest(seqs, times, actors, actions, subjects, details, key_ids, macs) e;
    return true;
end $$;
revoke execute on function mc.audit_extend(uuid, bigint, bytea, bigint[], timestamptz[], uuid[], text[], text[], text[], bytea[], bytea[]) from public;
grant execute on function mc.audit_extend(uuid, bigint, bytea, bigint[], timestamptz[], uuid[], text[], text[], text[], bytea[], bytea[])
    to memory_copilot_service, memory_copilot_worker;
