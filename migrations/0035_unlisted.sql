-- What came by a connection and was not seen yet on the list of all that its system has. The list is read page by page,
-- over as many jobs as that takes, so what is still missing from it is kept here and not in a process. What is left
-- when the list was read to its end, twice, is gone.
create table unlisted (
    project_id    uuid not null references projects on delete cascade,
    connection_id uuid not null references connections on delete cascade,
    -- The system's own id: that of a task, or of a document.
    external_id   text not null,
    primary key (connection_id, external_id)
);
create index unlisted_project on unlisted (project_id);
call mc.protect('unlisted', 'project_id', 'curates', 'curates');
drop policy read on unlisted;
create policy read on unlisted for select to memory_copilot_service using (project_id = (select mc.curates()));
revoke insert, update, delete on unlisted from memory_copilot_service;
