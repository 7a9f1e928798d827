-- Reasoning schemas (SGR) of projects, which add to the built-in ones and override those of the
-- same name.
create table sgr_schemas (
    project_id  uuid        not null references projects on delete cascade,
    name        text        not null
                            constraint sgr_schemas_name_check
                            check (name ~ '^[a-z][a-z0-9_-]{0,39}$'),
    -- The YAML file, masked.
    source      text        not null
                            constraint sgr_schemas_source_check
                            check (octet_length(source) between 1 and 65536),
    updated_by  uuid        references users on delete set null,
    updated_at  timestamptz not null default now(),
    primary key (project_id, name)
);
create index sgr_schemas_updated_by_idx on sgr_schemas (updated_by) where updated_by is not null;
-- They instruct the models of the whole team.
call mc.enable_project_rls('sgr_schemas', 'project_id', 'maintainer', 'maintainer');

-- The reasoning schema that a dialog followed, and its answer: a text or a list of texts for each
-- field, masked. Both are null for other dialogs.
alter table dialogs
    add column sgr_schema text constraint dialogs_sgr_schema_check
        check (char_length(sgr_schema) between 1 and 40),
    add column sgr_answer jsonb constraint dialogs_sgr_answer_check
        check (jsonb_typeof(sgr_answer) = 'object'),
    add constraint dialogs_sgr_check check ((sgr_schema is null) = (sgr_answer is null));
