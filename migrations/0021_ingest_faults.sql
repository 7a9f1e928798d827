-- Files that a run could not read or store, and what remains of a run whose repository is deleted.

alter table ingest_runs
    -- Files that could not be read or stored.
    add column failed_files int not null default 0,
    -- Path and cause of the first of them: [{"path": "...", "cause": "..."}].
    add column file_errors jsonb not null default '[]',
    -- Null for the runs of a repository that was deleted because its only runs failed: a misspelt
    -- URL leaves no repository behind, but its run still tells why it failed.
    alter column repository_id drop not null,
    -- Owner and name of that repository; null as long as there is one.
    add column deleted_repository text[],
    add constraint ingest_runs_repository_check
        check ((repository_id is null) = (deleted_repository is not null)),
    add constraint ingest_runs_deleted_repository_check
        check (array_length(deleted_repository, 1) = 2),
    -- The runs of a deleted repository are deleted with their project.
    add constraint ingest_runs_project_id_fkey
        foreign key (project_id) references projects on delete cascade;
