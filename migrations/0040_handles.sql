-- What a model calls an item of a bundle (m1, d1, t1, c1): a handle counts within its bundle.
alter table bundle_items add column handle text;

-- Whose bundle it is, for handles that come without a bundle: those of the caller's newest. Unlike `principal`, which
-- says who asked in the caller's own words, nobody can name another here. Null before this, and for the background.
-- No reference to users: every recall would lock its user's row for it, and without the user nobody asks for the row.
alter table bundles add column user_id uuid;
create index bundles_caller on bundles (project_id, user_id, id) where user_id is not null;
