-- Stores the repository of each passage of code, of a document and of a commit, so that a search of
-- one repository reads no others of the project.

-- Derived from the source, whose foreign key deletes the passage with its repository.
alter table passages add column repository_id uuid;

-- Returns the repository of a document or a file that passages are made from; null if it is of none.
create function mc.repository_of(doc uuid, file uuid) returns uuid
language sql stable set search_path = pg_catalog, public, pg_temp as $$
    select f.repository_id from files f
    where f.id = coalesce(
        repository_of.file, (select d.file_id from docs d where d.id = repository_of.doc))
$$;

-- Without the triggers: the text of no passage changes, and each node rebuilds its keyword index
-- because the format of the index has changed.
alter table passages disable trigger user;
update passages p set repository_id = c.repository_id from code_chunks c where c.passage_id = p.id;
update passages p set repository_id = f.repository_id
from docs d join files f on f.id = d.file_id
where d.id = p.doc_id;
update passages p set repository_id = c.repository_id from history_commits c where c.id = p.commit_id;
alter table passages enable trigger user;

create index passages_repository_id_idx on passages (repository_id, source_kind)
    where repository_id is not null;
