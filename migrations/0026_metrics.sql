-- Figures about the use of the memory (docs/metrics.md). The functions read usage data of all users
-- of a project with the rights of the worker role, and return sums alone. A member sees no sum over
-- fewer than mc.figure_persons_min() persons, and no row of another user.

-- Measured by `mc-bench figures`: without them, each request would read these tables as a whole.
create index memory_records_private_idx on memory_records (project_id, id)
    where private_to is not null;
create index bundle_items_used_idx on bundle_items (project_id)
    where is_used and section in ('code', 'dialogs');

-- Returns the fewest persons whose events a figure sums up. Of two, each would know the other's.
create function mc.figure_persons_min() returns int
language sql immutable parallel safe as $$ select 3 $$;

-- Returns whether the transaction may read figures of the project.
create function mc.may_read_figures(project uuid) returns boolean
language plpgsql stable parallel restricted set search_path = pg_catalog, public, pg_temp as $$
begin
    -- Without a context, the comparison is null.
    return (project = mc.project_as_viewer()) is true
        or pg_has_role(session_user, 'memory_copilot_worker', 'member');
end $$;

-- Returns whether a label of a task says that the task is a bug: its last part, after a slash or a
-- colon, is one of these words, regardless of case (`bug`, `type: bug`, `kind/bug`).
create function mc.is_bug_label(label text) returns boolean
language sql immutable parallel safe as $$
    select lower(trim(regexp_replace(label, '^.*[/:]', ''))) in
        ('bug', 'bugs', 'bugfix', 'defect', 'regression', 'hotfix', 'баг', 'ошибка', 'дефект')
$$;

-- Returns the figures of weeks (Monday 00:00 UTC) from the first one, and in a last row, without a
-- week, those of the period. The period has only weeks of which the figure is shown, so that the
-- difference of two requests shows no other week. With a team, only its members count.
--
-- A figure is withheld (`*_withheld`, counts null) if it sums up events of too few persons, or if
-- the persons outside the team are too few: they are the difference from the whole project.
create function mc.usage_by_week(
    project uuid, team uuid, first_week timestamptz, week_count int)
returns table (
    week timestamptz,
    -- Recalls, and those of which an item was used within seven days.
    recalls_withheld boolean, recalls bigint, hits bigint,
    -- Sessions with a recall, those with a used item, and the median of the seconds until the first
    -- recall with a used item.
    sessions_withheld boolean, sessions bigint, relevant_sessions bigint, median_seconds float8,
    -- Saves by outcome.
    saves_withheld boolean, outcomes jsonb)
language plpgsql stable security definer
-- A plan for these weeks: a generic one expects rows of few days. Workers would take longer to
-- start than they save.
set plan_cache_mode = force_custom_plan set max_parallel_workers_per_gather = 0
set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
    persons_min constant int := mc.figure_persons_min();
    last_end constant timestamptz :=
        usage_by_week.first_week + make_interval(hours => 168 * usage_by_week.week_count);
    -- The starts of the weeks. A week has its number in this list, which takes less time than
    -- `date_trunc`.
    week_starts constant timestamptz[] := array(
        select usage_by_week.first_week + make_interval(hours => 168 * n)
        from generate_series(0, usage_by_week.week_count - 1) n);
    -- Null for all users.
    members constant uuid[] := case when usage_by_week.team is not null then array(
        select m.user_id from team_members m where m.team_id = usage_by_week.team) end;
    -- Items that a maintainer released; each release has an outcome of its own.
    released uuid[];
begin
    if not mc.may_read_figures(usage_by_week.project) then
        return;
    end if;
    released := array(
        select o.quarantine_item_id from save_outcomes o
        where o.project_id = usage_by_week.project and o.saved_at >= usage_by_week.first_week
            and o.quarantine_item_id is not null and o.outcome <> 'quarantined');
    return query
    with private_record as (
        select r.id from memory_records r
        where r.project_id = usage_by_week.project and r.private_to is not null),
    first_use as (
        select single.bundle_id, min(single.used_at) as used_at
        from (
            -- Records that are not private, and documents; those of private records do not exist.
            select u.bundle_id, u.created_at as used_at from bundle_uses u
            where u.project_id = usage_by_week.project and u.kind <> 'merged'
                and not exists (select from private_record r where r.id = u.record_id)
            union all
            -- Places in the code and excerpts of dialogs, of which only feedback is known.
            select i.bundle_id, i.used_at from bundle_items i
            where i.project_id = usage_by_week.project and i.is_used
                and i.section in ('code', 'dialogs')) as single
        group by single.bundle_id),
    recall as materialized (
        select b.user_id, b.session_id, b.created_at,
               members is null or b.user_id = any (members) as is_counted,
               width_bucket(b.created_at, week_starts) as number,
               (first_use.used_at <= b.created_at + make_interval(hours => 168)) is true as is_hit
        from bundles b
        join users u on u.id = b.user_id and not u.is_agent
        left join first_use on first_use.bundle_id = b.id
        where b.project_id = usage_by_week.project and not b.is_control
            and b.created_at >= usage_by_week.first_week and b.created_at < last_end),
    recall_user as (
        select recall.number, recall.user_id, recall.is_counted, count(*) as recalls,
               count(*) filter (where is_hit) as hits
        from recall group by recall.number, recall.user_id, recall.is_counted),
    recall_week as (
        select r.number,
               sum(r.recalls) filter (where is_counted)::bigint as recalls,
               sum(r.hits) filter (where is_counted)::bigint as hits,
               count(*) filter (where is_counted) as persons,
               count(*) filter (where not is_counted) as others
        from recall_user r group by r.number),
    session as materialized (
        select s.user_id, r.is_counted, width_bucket(s.started_at, week_starts) as number,
               -- The clock of a client may be ahead. `greatest` would turn null into 0.
               case when r.hit_at is not null
                   then greatest(extract(epoch from r.hit_at - s.started_at), 0)::float8
               end as seconds
        from client_sessions s
        join (select user_id, session_id, is_counted,
                     min(created_at) filter (where is_hit) as hit_at
              from recall where session_id is not null
              group by user_id, session_id, is_counted) as r
            on r.user_id = s.user_id and r.session_id = s.id
        where s.project_id = usage_by_week.project
            and s.started_at >= usage_by_week.first_week and s.started_at < last_end),
    session_week as (
        select session.number,
               count(*) filter (where is_counted) as sessions,
               count(seconds) filter (where is_counted) as relevant_sessions,
               percentile_cont(0.5) within group (order by seconds)
                   filter (where is_counted and seconds is not null) as median_seconds,
               count(distinct user_id) filter (where is_counted) as persons,
               count(distinct user_id) filter (where not is_counted) as others
        from session group by session.number),
    save as (
        select o.user_id, members is null or o.user_id = any (members) as is_counted,
               width_bucket(o.saved_at, week_starts) as number,
               case
                   when o.outcome = 'rejected' and o.reason in ('invalid', 'forbidden')
                       then 'invalid'
                   when o.outcome <> 'proposed' then o.outcome
                   when r.id is null then 'unknown'
                   when r.visibility = 'team' or r.demotion is not null or r.state = 'superseded'
                       then 'accepted'
                   when r.state = 'deleted' then 'declined'
                   when r.ttl > now() then 'pending'
                   else 'expired'
               end as outcome
        from save_outcomes o
        join users u on u.id = o.user_id and not u.is_agent
        left join memory_records r
            on r.id = case when o.outcome = 'proposed' then o.record_id end
        where o.project_id = usage_by_week.project and o.visibility <> 'private'
            and o.saved_at >= usage_by_week.first_week and o.saved_at < last_end
            and not (o.outcome = 'quarantined' and o.quarantine_item_id = any (released))),
    save_outcome as (
        select save.number, save.outcome, count(*) as saves from save
        where is_counted group by save.number, save.outcome),
    save_week as (
        select save.number, count(distinct user_id) filter (where is_counted) as persons,
               count(distinct user_id) filter (where not is_counted) as others
        from save group by save.number),
    outcome_week as (
        select o.number, jsonb_object_agg(o.outcome, o.saves) as outcomes
        from save_outcome o group by o.number),
    shown as materialized (
        select w.number, w.week,
               coalesce(r.persons > 0 and (r.persons < persons_min
                   or r.others between 1 and persons_min - 1), false) as recalls_withheld,
               coalesce(r.recalls, 0) as recalls, coalesce(r.hits, 0) as hits,
               coalesce(s.persons > 0 and (s.persons < persons_min
                   or s.others between 1 and persons_min - 1), false) as sessions_withheld,
               coalesce(s.sessions, 0) as sessions,
               coalesce(s.relevant_sessions, 0) as relevant_sessions, s.median_seconds,
               coalesce(v.persons > 0 and (v.persons < persons_min
                   or v.others between 1 and persons_min - 1), false) as saves_withheld,
               coalesce(o.outcomes, '{}') as outcomes
        from unnest(week_starts) with ordinality as w (week, number)
        left join recall_week r on r.number = w.number
        left join session_week s on s.number = w.number
        left join save_week v on v.number = w.number
        left join outcome_week o on o.number = w.number)
    select s.week,
           s.recalls_withheld, case when not s.recalls_withheld then s.recalls end,
           case when not s.recalls_withheld then s.hits end,
           s.sessions_withheld, case when not s.sessions_withheld then s.sessions end,
           case when not s.sessions_withheld then s.relevant_sessions end,
           case when not s.sessions_withheld then s.median_seconds end,
           s.saves_withheld, case when not s.saves_withheld then s.outcomes end
    from shown s
    union all
    select null,
           bool_and(s.recalls_withheld),
           sum(s.recalls) filter (where not s.recalls_withheld)::bigint,
           sum(s.hits) filter (where not s.recalls_withheld)::bigint,
           bool_and(s.sessions_withheld),
           sum(s.sessions) filter (where not s.sessions_withheld)::bigint,
           sum(s.relevant_sessions) filter (where not s.sessions_withheld)::bigint,
           (select percentile_cont(0.5) within group (order by session.seconds)
            from session join shown on shown.number = session.number
            where session.is_counted and session.seconds is not null
                and not shown.sessions_withheld),
           bool_and(s.saves_withheld),
           case when not bool_and(s.saves_withheld) then coalesce(
               (select jsonb_object_agg(total.outcome, total.saves)
                from (select o.outcome, sum(o.saves) as saves
                      from save_outcome o join shown on shown.number = o.number
                      where not shown.saves_withheld group by o.outcome) as total), '{}') end
    from shown s;
end $$;

-- Returns the host of a page's URL, as provider_logins has it; empty if there is none.
create function mc.url_host(url text) returns text
language sql immutable parallel safe as $$ select lower(split_part(url, '/', 3)) $$;

-- Returns the merged pull requests of a project that mention a task with a bug's label, each with
-- the task: for each task the first one that was merged after it was opened.
create function mc.list_bug_fixes(project uuid)
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
        and p.state = 'merged' and p.merged_at >= t.opened_at
        and exists (select from unnest(t.labels) label where mc.is_bug_label(label))
    order by t.id, p.merged_at, p.id
$$;

-- Returns the times from the opening of a bug's task until the merge of its pull request, in
-- seconds, for tasks of which it was merged in a period: sorted, and in groups by the recalls that
-- name the task before the merge:
--
-- * `with_memory`: a recall of a person.
-- * `control`: recalls of a control group alone.
-- * `without_memory`: none.
-- * `before`: the pull request was merged before the project existed here; within as long a period.
--
-- In no group are tasks that only an agent recalled, tasks opened before the project or before
-- `kept_since`, since when bundles are kept, and with a team, pull requests of other authors. A
-- group of too few authors is withheld.
create function mc.bugfix_lead_times(
    project uuid, team uuid, period_start timestamptz, period_end timestamptz,
    kept_since timestamptz)
returns table (task_group text, is_withheld boolean, seconds float8[])
language plpgsql stable security definer
set plan_cache_mode = force_custom_plan set max_parallel_workers_per_gather = 0
set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
    persons_min constant int := mc.figure_persons_min();
    project_start constant timestamptz := (
        select p.created_at from projects p where p.id = bugfix_lead_times.project);
begin
    if not mc.may_read_figures(bugfix_lead_times.project) then
        return;
    end if;
    return query
    with fix as materialized (
        select f.*, bugfix_lead_times.team is null or exists (
            select from team_members m
            where m.team_id = bugfix_lead_times.team and m.user_id = f.author_id) as is_counted
        from mc.list_bug_fixes(bugfix_lead_times.project) f),
    -- Groups are of tasks that were merged in the period and opened before.
    recalled as (
        select b.request ->> 'task_external_id' as external_id, b.created_at, b.is_control,
               u.is_agent
        from bundles b join users u on u.id = b.user_id
        where b.project_id = bugfix_lead_times.project
            and b.created_at >= (select min(f.opened_at) from fix f
                                 where f.merged_at >= period_start and f.merged_at < period_end)
            and b.created_at < period_end),
    evidence as (
        select fix.task_id, bool_or(not r.is_control and not r.is_agent) as by_person,
               bool_or(r.is_control and not r.is_agent) as by_control_group,
               bool_or(r.is_agent) as by_agent
        from fix join recalled r
            on r.external_id = fix.external_id and r.created_at < fix.merged_at
        group by fix.task_id),
    grouped as (
        select fix.author, fix.is_counted,
               extract(epoch from fix.merged_at - fix.opened_at)::float8 as seconds,
               case
                   when fix.merged_at < project_start then
                       case when fix.merged_at >= project_start - (period_end - period_start)
                           then 'before' end
                   when fix.opened_at < greatest(project_start, kept_since)
                       or fix.merged_at < period_start or fix.merged_at >= period_end then null
                   when e.by_person then 'with_memory'
                   when e.by_control_group then 'control'
                   when e.by_agent then null
                   else 'without_memory'
               end as task_group
        from fix left join evidence e on e.task_id = fix.task_id),
    counted as (
        select g.task_group, count(distinct g.author) filter (where g.is_counted) as persons,
               count(distinct g.author) filter (where not g.is_counted) as others,
               array_agg(g.seconds order by g.seconds) filter (where g.is_counted) as seconds
        from grouped g where g.task_group is not null group by g.task_group),
    shown as (
        select c.task_group, c.seconds, c.seconds is not null and (c.persons < persons_min
                   or c.others between 1 and persons_min - 1) as is_withheld
        from counted c)
    select s.task_group, s.is_withheld, case when not s.is_withheld then s.seconds end
    from shown s;
end $$;

-- Returns the number of newcomers whose first own bug fix was merged in a period, and the median of
-- the seconds from their start to that merge: their first role on the project or first session in
-- it. A newcomer is a person without a merged pull request before the start. With a team, only its
-- members count. The median is one person's time, so it needs five persons, and none is returned
-- for fewer.
create function mc.onboarding_time(
    project uuid, team uuid, period_start timestamptz, period_end timestamptz)
returns table (is_withheld boolean, persons bigint, median_seconds float8)
language plpgsql stable security definer
set plan_cache_mode = force_custom_plan set max_parallel_workers_per_gather = 0
set search_path = pg_catalog, public, pg_temp as $$
#variable_conflict use_column
declare
    newcomers_min constant int := 5;
begin
    if not mc.may_read_figures(onboarding_time.project) then
        return;
    end if;
    return query
    with author as materialized (
        select l.user_id, min(p.merged_at) as first_merge
        from pull_requests p
        join provider_logins l
            on l.host = mc.url_host(p.url) and lower(l.login) = lower(p.author)
        join users u on u.id = l.user_id and not u.is_agent
        where p.project_id = onboarding_time.project and p.merged_at is not null
        group by l.user_id),
    started as materialized (
        select a.user_id, a.first_merge, least(
                   (select m.added_at from project_members m
                    where m.project_id = onboarding_time.project and m.user_id = a.user_id),
                   (select min(greatest(t.added_at, m.added_at)) from project_teams t
                    join team_members m on m.team_id = t.team_id
                    where t.project_id = onboarding_time.project and m.user_id = a.user_id),
                   (select min(s.started_at) from client_sessions s
                    where s.project_id = onboarding_time.project and s.user_id = a.user_id)
               ) as started_at
        from author a),
    newcomer as (
        select s.user_id, extract(epoch from min(f.merged_at) - s.started_at)::float8 as seconds,
               onboarding_time.team is null or exists (
                   select from team_members m
                   where m.team_id = onboarding_time.team and m.user_id = s.user_id) as is_counted
        from started s join mc.list_bug_fixes(onboarding_time.project) f on f.author_id = s.user_id
        where s.first_merge >= s.started_at
        group by s.user_id, s.started_at
        having min(f.merged_at) >= period_start and min(f.merged_at) < period_end),
    counted as (
        select count(*) filter (where is_counted) as persons,
               count(*) filter (where not is_counted) as others,
               percentile_cont(0.5) within group (order by seconds) filter (where is_counted)
                   as median_seconds
        from newcomer),
    shown as (
        select c.*, c.persons > 0 and (c.persons < newcomers_min
                   or c.others between 1 and newcomers_min - 1) as is_withheld
        from counted c)
    select s.is_withheld, case when not s.is_withheld then s.persons end,
           case when not s.is_withheld then s.median_seconds end
    from shown s;
end $$;

-- Counts the tasks of bugs, those with the time at which they were opened, their merged pull
-- requests, and those of authors who are users. It says why a figure has no value.
create function mc.count_bug_fixes(project uuid)
returns table (bugs bigint, opened_bugs bigint, fixes bigint, fixes_of_users bigint)
language plpgsql stable security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    if not mc.may_read_figures(count_bug_fixes.project) then
        return;
    end if;
    return query
    with bug as (
        select count(*) as bugs, count(t.opened_at) as opened_bugs from tasks t
        where t.project_id = count_bug_fixes.project
            and exists (select from unnest(t.labels) label where mc.is_bug_label(label))),
    fix as (
        select count(*) as fixes, count(f.author_id) as fixes_of_users
        from mc.list_bug_fixes(count_bug_fixes.project) f)
    select bug.bugs, bug.opened_bugs, fix.fixes, fix.fixes_of_users from bug, fix;
end $$;

call mc.set_worker_owner(array[
    'mc.count_bug_fixes(uuid)',
    'mc.usage_by_week(uuid, uuid, timestamptz, int)',
    'mc.bugfix_lead_times(uuid, uuid, timestamptz, timestamptz, timestamptz)',
    'mc.onboarding_time(uuid, uuid, timestamptz, timestamptz)']::regprocedure[]);
-- Only the functions above call these, with the rights of the worker role.
revoke execute on function mc.figure_persons_min(), mc.may_read_figures(uuid),
    mc.is_bug_label(text), mc.url_host(text), mc.list_bug_fixes(uuid) from public;
grant execute on function mc.figure_persons_min(), mc.may_read_figures(uuid),
    mc.is_bug_label(text), mc.url_host(text), mc.list_bug_fixes(uuid) to memory_copilot_worker;

-- Counts jobs by kind and state, and those that are due, for the metrics of a node.
create function mc.count_jobs()
returns table (kind text, state text, jobs bigint, due_jobs bigint)
language plpgsql stable set search_path = pg_catalog, public, pg_temp as $$
begin
    return query
    select j.job_type, mc.job_state(j.status), count(*),
           count(*) filter (where mc.job_state(j.status) = 'pending' and j.run_at <= now())
    from apalis.jobs j group by j.job_type, mc.job_state(j.status);
end $$;
revoke execute on function mc.count_jobs() from public;
grant execute on function mc.count_jobs() to memory_copilot_worker;
