-- Ten vectors of ours, in a graph with three thousand of theirs that are all nearer to the query.
do $vectors$
begin
perform mc.create_hnsw_index(:model::smallint, :ours, 'dialog'), mc.create_hnsw_index(:model::smallint, :theirs, 'dialog');
insert into passages (id, project_id, dialog_id, text, content_hash)
select gen_random_uuid(), d.project_id, d.id, n::text, sha256(n::text::bytea)
from generate_series(1, 3000) n, dialogs d
where d.project_id = :theirs or (d.project_id = :ours and n <= 10);
insert into embeddings (model_id, passage_id, project_id, source_kind, text_hash, embedding, in_hnsw)
select :model, p.id, p.project_id, p.source_kind, p.content_hash,
       case when p.project_id = :ours then array[0.1, 1, p.text::real / 100, 0, 0, 0, 0, 0]
            else array[1, p.text::real / 100000, 0, 0, 0, 0, 0, 0] end::vector, true
from passages p where p.dialog_id is not null;
end $vectors$
