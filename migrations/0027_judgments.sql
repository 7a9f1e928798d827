-- Records that a chat model judges after their save: a user who may save for the team may enqueue
-- the job of a record of the project.
create or replace function mc.may_enqueue_job(kind text, unique_key text, args jsonb)
returns boolean
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
declare
    target uuid;
begin
    if pg_has_role(session_user, 'memory_copilot_worker', 'member') then
        return true;
    end if;
    target := args ->> case kind when 'index_repository' then 'run' when 'run_hygiene_task'
        then 'report' when 'post_task_comment' then 'task' else 'id' end;
    return (unique_key is null or starts_with(unique_key, target || ' '))
        and case kind
            when 'index_repository' then mc.project_as_agent()
                = (select r.project_id from ingest_runs r where r.id = target)
            when 'post_task_comment' then mc.project_as_member()
                = (select c.project_id from task_comments c where c.task_id = target)
            when 'run_hygiene_task' then mc.project_as_maintainer()
                = (select r.project_id from hygiene_runs r where r.id = target)
            when 'sync_integration' then mc.project_as_maintainer()
                = (select i.project_id from integrations i where i.id = target)
            when 'process_delivery' then mc.project_as_maintainer()
                = (select d.project_id from webhook_deliveries d where d.id = target)
            when 'judge_record' then mc.project_as_member()
                = (select r.project_id from memory_records r where r.id = target)
            end is true;
end $$;
