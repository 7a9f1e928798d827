-- What the passages of dialogs and conversations were made of, so that lost ones can be made again as they were.

-- Whether search is to find a dialog: one of somebody who may not save for the team is kept and not found, and so is
-- one that says nothing. Null where nobody said: those of before, and what an older node saves, are as they are.
alter table dialogs add column is_found boolean;
update dialogs d set is_found = true where exists (select from passages p where p.dialog_id = d.id);

-- Of a document that is a conversation: who said each part of its text, when, and of how many lines it is
-- (mc_store::docs::Turn). Absent for other documents, and for conversations of before, whose text is all that is known.
alter table docs add column turns jsonb;

-- A connection that is gone takes its job with it, unless that is at work: then it finds nothing to do. However often
-- one is made and removed, no more jobs are left than there are connections.
grant create on schema mc to memory_copilot_worker;
set local role memory_copilot_worker;
create function mc.connections_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    delete from apalis.jobs j using gone g
    where j.id = g.job and j.status not in ('Queued', 'Running');
    return null;
end $$;
reset role;
revoke create on schema mc from memory_copilot_worker;
create trigger connections_deleted after delete on connections
    referencing old table as gone for each statement execute function mc.connections_deleted();
revoke execute on function mc.connections_deleted() from public;
