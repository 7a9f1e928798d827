-- Nothing that is saved is dropped, and nothing ends that does not age.

-- What is said in up to 4,000 characters a record holds whole.
alter table memory_records drop constraint memory_records_content_bounded;
alter table memory_records
    add constraint memory_records_content_bounded check (char_length(content) between 1 and 4000);

-- A longer text stands whole in a document behind its record, whose content is a statement of it. The document is found
-- while its record is, and goes with it.
alter table docs add column record_id uuid references memory_records on delete cascade;
create index docs_record on docs (record_id) where record_id is not null;

-- Whether a document is to be found: always, but for what stands behind a record that is not.
create function mc.is_found(record uuid) returns boolean
language sql stable parallel safe as $$
    select record is null or exists (
        select from memory_records r
        where r.id = record and r.state in ('active', 'stale') and r.ttl > now() and r.visibility <> 'proposed')
$$;
revoke execute on function mc.is_found(uuid) from public;
grant execute on function mc.is_found(uuid) to memory_copilot_service, memory_copilot_worker;

-- Rules, warnings, patterns and decisions end when somebody says so, or where the policy does. `no end` is a time that no
-- clock reaches, so that every comparison with now() holds as it is (`infinity` is one that the service can't read). Half a
-- year was what every policy said of every kind unless somebody changed it, and is taken for that here; what a person
-- named, days of the policy or the end of a record, stays.
update projects p
set policy = jsonb_set(p.policy, '{ttl_days}', (
    select coalesce(jsonb_object_agg(kind, days), '{}') from jsonb_each(p.policy -> 'ttl_days') as t (kind, days)
    where not (kind in ('pattern', 'adr_link', 'gotcha', 'rule') and days = '180')))
where jsonb_typeof(p.policy -> 'ttl_days') = 'object';
update policy_versions v set policy = p.policy
from projects p where p.id = v.project_id and p.policy_version = v.version and v.policy is distinct from p.policy;
update memory_records r set ttl = '9999-12-31 00:00:00+00'
from projects p
where p.id = r.project_id and r.kind in ('pattern', 'adr_link', 'gotcha', 'rule') and not r.ttl_given
    and r.state in ('active', 'stale') and r.visibility <> 'proposed'
    and p.policy #>> array['ttl_days', r.kind] is null;

-- Since when the end of a record waits for a person: too many of its project would have ended at once. Until somebody
-- decides, it has none.
alter table memory_records add column end_held_at timestamptz;
create index memory_records_end_held on memory_records (project_id) where end_held_at is not null;

-- What a maintainer would have become of those: they end, or live on as if they were saved now.
alter table hygiene_reports add column held_ends text
    constraint hygiene_reports_held_ends_known check (held_ends in ('confirm', 'extend'));
