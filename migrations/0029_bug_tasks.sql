-- Stores whether a task is a bug, so that figures (0026_metrics.sql) read no labels.

-- Returns whether one of the labels of a task says that the task is a bug: its last part, after a
-- slash or a colon, is one of these words, regardless of case (`bug`, `type: bug`, `kind/bug`). A
-- change of it does not change the stored column below, which has to be made again.
create function mc.has_bug_label(labels text[]) returns boolean
language sql immutable parallel safe set search_path = pg_catalog, public, pg_temp as $$
    select exists (
        select from unnest(labels) label
        where lower(trim(regexp_replace(label, '^.*[/:]', ''))) in
            ('bug', 'bugs', 'bugfix', 'defect', 'regression', 'hotfix', 'баг', 'ошибка', 'дефект'))
$$;
alter table tasks
    add column is_bug boolean not null generated always as (mc.has_bug_label(labels)) stored;
-- The bugs of a project without reading their tasks, which have texts and lie apart.
create index tasks_is_bug_idx on tasks (project_id) include (id, external_id, opened_at)
    where is_bug;

-- Returns the merged pull requests of a project that mention a task with a bug's label, each with
-- the task: for each task the first one that was merged after it was opened.
create or replace function mc.list_bug_fixes(project uuid)
returns table (task_id uuid, external_id text, opened_at timestamptz, merged_at timestamptz,
               author text, author_id uuid)
language sql stable set search_path = pg_catalog, public, pg_temp as $$
    select distinct on (t.id) t.id, t.external_id, t.opened_at, p.merged_at,
           mc.url_host(p.url) || ' ' || lower(p.author), l.user_id
    from tasks t
    join pull_request_tasks m on m.project_id = t.project_id and m.external_id = t.external_id
    join pull_requests p on p.id = m.pull_request_id
    left join provider_logins l
        on l.host = mc.url_host(p.url) and lower(l.login) = lower(p.author)
    where t.project_id = list_bug_fixes.project and p.project_id = list_bug_fixes.project
        and t.is_bug and p.state = 'merged' and p.merged_at >= t.opened_at
    order by t.id, p.merged_at, p.id
$$;

-- Counts the tasks of bugs, those with the time at which they were opened, their merged pull
-- requests, and those of authors who are users. It says why a figure has no value.
create or replace function mc.count_bug_fixes(project uuid)
returns table (bugs bigint, opened_bugs bigint, fixes bigint, fixes_of_users bigint)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if not mc.may_read_figures(count_bug_fixes.project) then
        return;
    end if;
    return query
    with bug as (
        select count(*) as bugs, count(t.opened_at) as opened_bugs from tasks t
        where t.project_id = count_bug_fixes.project and t.is_bug),
    fix as (
        select count(*) as fixes, count(f.author_id) as fixes_of_users
        from mc.list_bug_fixes(count_bug_fixes.project) f)
    select bug.bugs, bug.opened_bugs, fix.fixes, fix.fixes_of_users from bug, fix;
end $$;

drop function mc.is_bug_label(text);
