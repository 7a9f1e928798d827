-- No statement chooses rows by these, so the planner needs no statistics of them; they are most of what an analysis of
-- their tables reads and sorts, and tables that grow are analyzed often.
alter table memory_records
    alter title set statistics 0, alter content set statistics 0, alter quality set statistics 0,
    alter meta set statistics 0;
alter table passages
    alter title set statistics 0, alter symbols set statistics 0, alter context set statistics 0,
    alter author set statistics 0, alter text set statistics 0;
alter table embeddings alter embedding set statistics 0;
alter table audit_events
    alter detail set statistics 0, alter key_id set statistics 0, alter mac set statistics 0;
alter table bundles alter request set statistics 0;
