-- What hygiene deletes by the policy of each project, and what it sets aside for people.

-- Why a record of the team waits among the proposals: how it stood, of what that was made, and what spoke against it.
-- Null for what somebody proposed.
alter table memory_records
    add column set_aside jsonb,
    add constraint memory_records_set_aside check (set_aside is null or visibility = 'proposed');

-- Old rows are asked for project by project: what another project keeps for longer is not read.
drop index bundles_created;
drop index memory_records_removed;
create index memory_records_removed on memory_records (project_id, updated_at) where state in ('superseded', 'deleted');
drop index quarantine_expiry;
create index quarantine_expiry on quarantine (project_id, expires_at) where state = 'held';
create index quarantine_decided on quarantine (project_id, decided_at) where state <> 'held';
drop index deliveries_age;
create index deliveries_age on deliveries (project_id, received_at);
drop index hygiene_reports_age;
create index hygiene_reports_age on hygiene_reports (project_id, asked_at);
drop index changes_age;
create index changes_age on changes (project_id, said_at) where state <> 'open';
drop index pushed_commits_age;
create index pushed_commits_age on pushed_commits (project_id, pushed_at);
drop index ci_results_age;
create index ci_results_age on ci_results (project_id, said_at);
drop index told_texts_gone;
create index told_texts_gone on told_texts (project_id, said_at) where is_gone;
