-- That something is recalled says nothing of whether it helps. What does is kept once for each bundle, by its kind: that
-- it was said (`feedback`), that it was opened, that a later save of the same caller cites it, that a merged change
-- touches what it cites.
create table uses (
    project_id  uuid        not null references projects on delete cascade,
    -- The bundle that had handed it out.
    bundle_id   uuid        not null references bundles on delete cascade,
    record_id   uuid        references memory_records on delete cascade,
    doc_id      uuid        references docs on delete cascade,
    kind        text        not null
                            constraint uses_kind_known check (kind in ('feedback', 'opened', 'cited', 'merged')),
    seen_at     timestamptz not null default now(),
    constraint uses_one_item check (num_nonnulls(record_id, doc_id) = 1)
);
create unique index uses_once on uses (bundle_id, coalesce(record_id, doc_id), kind);
create index uses_project on uses (project_id);
create index uses_record on uses (record_id) where record_id is not null;
create index uses_doc on uses (doc_id) where doc_id is not null;
call mc.protect('uses', 'project_id', 'writes', 'writes');

-- Since when it is known what of a bundle was used: from then on the rest of it was passed over.
alter table bundles add column judged_at timestamptz;
update bundles b set judged_at = i.at
from (select bundle_id, min(used_at) as at from bundle_items where used group by bundle_id) i where i.bundle_id = b.id;

-- What the ranking reads of a record, counted as it is seen. `used` is feedback's, as before; `hits` counts recalls, and
-- is for people to see.
alter table memory_records
    add column opened int not null default 0,
    add column cited int not null default 0,
    add column merged int not null default 0,
    -- Bundles of which it is known what was used, and this was not.
    add column passed_over int not null default 0,
    -- When it was last of use: what is in use does not fade. A recall alone keeps a record from expiring, and no more.
    add column last_used_at timestamptz;
insert into uses (project_id, bundle_id, record_id, doc_id, kind, seen_at)
select project_id, bundle_id, record_id, case when record_id is null then doc_id end, 'feedback', coalesce(used_at, now())
from bundle_items where used and coalesce(record_id, doc_id) is not null
on conflict do nothing;
update memory_records r set passed_over = o.bundles
from (select i.record_id, count(*) as bundles from bundle_items i join bundles b on b.id = i.bundle_id
      where b.judged_at is not null and i.used is not true and i.record_id is not null group by i.record_id) o
where o.record_id = r.id;
update memory_records r set last_used_at = u.at
from (select record_id, max(seen_at) as at from uses group by record_id) u where u.record_id = r.id;
