-- Who vouches for a document: like what is imported as a rule; nobody, where its text addresses a model and
-- the project's policy takes it in all the same.
alter table docs
    add column trust text not null default 'imported' check (trust in ('imported', 'untrusted'));

-- Which rules a file was masked by (a fingerprint of the policy's): one that was masked by others is read
-- again. 0 for those of before this was kept.
alter table files add column masked_by bigint not null default 0;
