-- Where in its document a passage stands; code has its lines in code_chunks, and records and dialogs
-- have none.
alter table passages add column line_start int, add column line_end int;
