-- How far a round of asking a system has come, and what the last one brought, for people to see. A round goes from the
-- first page that is asked for to the last one, or to where it fails, over as many jobs as that takes. What follows the
-- background writes.
alter table connections
    -- Since when one is not over; null when there is none.
    add column round_begun_at timestamptz,
    -- Pages that it has read, and what it took in of them.
    add column round_pages    bigint not null default 0,
    add column round_things   bigint not null default 0,
    -- The same of the last one that is over, well or not.
    add column last_ended_at  timestamptz,
    add column last_pages     bigint not null default 0,
    add column last_things    bigint not null default 0;
