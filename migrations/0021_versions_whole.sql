-- A version keeps, beside what a record said, its kind, who answered for it, when it was to end, who vouched
-- for it and what it cited, so that rolling back and forgetting restore these, too. Scores and the links to a
-- task and a dialog are of the record, of no version. Of versions from before nothing else is known than what
-- their records are now.
alter table memory_versions
    add column kind text,
    add column owner text,
    add column ttl timestamptz,
    add column ttl_given boolean,
    add column trust text,
    -- The rows of memory_citations as they were; whose they are this row says.
    add column citations jsonb;
update memory_versions v
set kind = r.kind, owner = r.owner, ttl = r.ttl, ttl_given = r.ttl_given, trust = r.trust,
    citations = (
        select coalesce(jsonb_agg(to_jsonb(c) - '{record_id,project_id,private_to}'::text[] order by c.id), '[]')
        from memory_citations c where c.record_id = r.id)
from memory_records r where r.id = v.record_id;
alter table memory_versions
    alter column kind set not null,
    alter column ttl set not null,
    alter column ttl_given set not null,
    alter column trust set not null,
    alter column citations set not null;
