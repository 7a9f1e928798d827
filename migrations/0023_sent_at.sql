-- When what a document or a dialog says was sent, which is not when it was taken in where it was held in
-- between: what was sent later stays.
alter table docs add column sent_at timestamptz not null default now();
update docs set sent_at = updated_at;
alter table dialogs add column sent_at timestamptz not null default now();
update dialogs set sent_at = updated_at;
