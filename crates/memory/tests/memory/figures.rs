//! Figures of events that are computed by hand (`figures/fixture.md`), and what must not be shown.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use mc_contract::operations::kpi::{KpiResponse, KpiWeek, LeadTime, MissingReason, RecallHitRate};
use mc_contract::operations::usage_report::WeekChanges;
use mc_contract::text::TeamKey;
use mc_domain::{ProjectId, ProjectKey, TeamId, UserId};
use mc_memory::ProjectContext;
use mc_memory::figures::{self, FigureRequest};
use mc_store::figures::{FigureScope, usage_by_week};
use mc_store::{projects, testing};
use uuid::Uuid;

use crate::support::World;

/// Wednesday of 2026-W48.
const NOW: &str = "2026-11-25T12:00:00Z";

fn at(time: &str) -> DateTime<Utc> {
    time.parse().unwrap()
}

/// The project of a world as its member `a` sees it.
struct Shop {
    world: World,
    other: ProjectId,
}

impl Shop {
    /// Returns a project with the events of the fixture.
    async fn with_fixture() -> Self {
        let shop = Self::empty().await;
        shop.execute(include_str!("figures/fixture.sql")).await;
        shop
    }

    async fn empty() -> Self {
        let world = World::new().await;
        let key = ProjectKey::parse("other").unwrap();
        let other = projects::create(world.store(), UserId::LOCAL, &key, "").await.unwrap().0.id;
        Self { world, other }
    }

    /// Runs SQL with the ids of the projects.
    async fn execute(&self, sql: &str) {
        let sql = sql.replace(":shop", &format!("'{}'::uuid", self.world.project));
        let sql = sql.replace(":other", &format!("'{}'::uuid", self.other));
        testing::execute(self.world.url(), &sql).await.unwrap();
    }

    /// Adds members of the project without events.
    async fn add_members(&self, logins: &str) {
        self.execute(&format!(
            "with member as (
                 insert into users (id, login)
                 select md5(n)::uuid, n from unnest('{{{logins}}}'::text[]) n returning id)
             insert into project_members (project_id, user_id, role)
             select :shop, id, 'member' from member"
        ))
        .await;
    }

    /// Adds recalls, given as pairs of a login and a time.
    async fn add_recalls(&self, recalls: &[(&str, &str)]) {
        for (login, time) in recalls {
            self.execute(&format!(
                "insert into bundles (id, project_id, principal, user_id, request, confidence,
                                      token_count, created_at)
                 values (gen_random_uuid(), :shop, 'x', md5('{login}')::uuid, '{{}}', 1, 1,
                         '{time}')"
            ))
            .await;
        }
    }

    /// Returns the context of a member of the project.
    async fn as_member(&self, login: &str) -> ProjectContext {
        let user = UserId(self.id_of(login).await);
        let key = ProjectKey::parse("shop").unwrap();
        let project = projects::find(self.world.service(), user, &key).await.unwrap().unwrap();
        let store = self.world.service().for_project(user, project.id);
        let memory = self.world.ctx.with_store(store.clone(), project.policy.clone().into());
        ProjectContext { project, store, memory }
    }

    /// Returns the id that the fixture gives to a name.
    async fn id_of(&self, name: &str) -> Uuid {
        let sql = format!("select md5('{name}')::uuid::text");
        testing::text(self.world.store(), &sql).await.unwrap().parse().unwrap()
    }

    /// Returns a request for the figures of a team.
    async fn of_team(&self, team: &str) -> FigureRequest {
        let id = TeamId(self.id_of(team).await);
        FigureRequest { team: Some((TeamKey::parse(team).unwrap(), id)), ..weeks(3, NOW) }
    }

    async fn figures(&self, login: &str, request: FigureRequest) -> KpiResponse {
        figures::kpi(&self.as_member(login).await, request).await.unwrap()
    }
}

fn weeks(weeks: u16, now: &str) -> FigureRequest {
    FigureRequest { weeks, team: None, now: at(now) }
}

fn rate(value: Option<f64>, recalls: u64, hits: u64) -> RecallHitRate {
    let reason = value.is_none().then_some(MissingReason::TooFewEvents);
    RecallHitRate { value, recalls: Some(recalls), hits: Some(hits), reason }
}

fn withheld() -> RecallHitRate {
    let reason = Some(MissingReason::TooFewPersons);
    RecallHitRate { value: None, recalls: None, hits: None, reason }
}

fn hit_rates(kpi: &KpiResponse) -> Vec<(&str, RecallHitRate)> {
    let rate = |week: &KpiWeek| week.figures.recall_hit_rate.clone();
    kpi.weeks.iter().map(|week| (week.week.as_str(), rate(week))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_equal_those_computed_by_hand() {
    let shop = Shop::with_fixture().await;
    let kpi = shop.figures("a", weeks(3, NOW)).await;

    let expected = [
        ("2026-W48", withheld()),
        ("2026-W47", rate(Some(0.3158), 19, 6)),
        ("2026-W46", rate(None, 3, 1)),
    ];
    assert_eq!(hit_rates(&kpi), expected);
    assert_eq!(kpi.period.recall_hit_rate, rate(Some(0.3182), 22, 7));
    let is_final: Vec<_> = kpi.weeks.iter().map(|week| week.is_final).collect();
    assert_eq!(is_final, [false, false, true]);

    for figures in [&kpi.weeks[1].figures, &kpi.period] {
        let time = &figures.time_to_first_relevant;
        assert_eq!((time.median_seconds, time.reason), (Some(75.0), None));
        assert_eq!((time.sessions, time.relevant_sessions), (Some(8), Some(6)));
        let saves = &figures.save_acceptance;
        assert_eq!((saves.value, saves.reason), (Some(0.7692), None));
        assert_eq!((saves.accepted, saves.judged), (Some(10), Some(13)));
        let outcomes = [
            ("accepted", 2),
            ("created", 6),
            ("declined", 1),
            ("duplicate", 1),
            ("expired", 1),
            ("failed", 1),
            ("invalid", 1),
            ("merged", 1),
            ("pending", 1),
            ("quarantined", 1),
            ("rejected", 1),
            ("superseded", 1),
            ("unknown", 1),
        ];
        let outcomes = outcomes.map(|(name, count)| (name.to_owned(), count));
        assert_eq!(saves.outcomes, Some(BTreeMap::from(outcomes)));
    }
    let time = &kpi.weeks[2].figures.time_to_first_relevant;
    assert_eq!((time.sessions, time.reason), (Some(0), Some(MissingReason::NoEvents)));

    let lead = |median, low, high, tasks| LeadTime {
        median_seconds: Some(median),
        low_seconds: Some(low),
        high_seconds: Some(high),
        tasks: Some(tasks),
        reason: None,
    };
    let times = &kpi.bugfix_lead_time;
    assert_eq!(times.starts_at, at("2026-05-27T12:00:00Z"));
    assert_eq!(times.with_memory, lead(14_400.0, 3_600.0, 252_000.0, 7));
    assert_eq!(times.without_memory, lead(25_200.0, 7_200.0, 43_200.0, 6));
    assert_eq!(times.control.reason, Some(MissingReason::TooFewPersons));
    assert_eq!(times.control.tasks, None);
    assert_eq!(times.before.reason, Some(MissingReason::NoEvents));
    let onboarding = &kpi.onboarding_time;
    assert_eq!((onboarding.median_seconds, onboarding.persons), (Some(874_800.0), Some(5)));

    let health = &kpi.health;
    assert_eq!((health.records, health.stale, health.masked), (5, 1, 1));
    assert_eq!((health.junk, health.never_recalled, health.always_rejected), (2, 1, 1));
    assert_eq!((health.duplicate_clusters, health.duplicates), (1, 2));
    assert_eq!(health.quarantined, None, "for maintainers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_members_of_the_team_count() {
    let shop = Shop::with_fixture().await;
    let kpi = shop.figures("a", shop.of_team("core").await).await;
    let expected = [
        ("2026-W48", withheld()),
        ("2026-W47", rate(Some(0.2308), 13, 3)),
        ("2026-W46", rate(None, 3, 1)),
    ];
    assert_eq!(hit_rates(&kpi), expected);
    assert_eq!(kpi.period.recall_hit_rate, rate(Some(0.25), 16, 4));
    let time = &kpi.period.time_to_first_relevant;
    assert_eq!((time.sessions, time.relevant_sessions), (Some(4), Some(3)));
    assert_eq!((time.median_seconds, time.reason), (None, Some(MissingReason::TooFewEvents)));
    // Two authors with the memory are outside.
    assert_eq!(kpi.bugfix_lead_time.with_memory.reason, Some(MissingReason::TooFewPersons));
    assert_eq!(kpi.onboarding_time.reason, Some(MissingReason::TooFewPersons));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn difference_from_the_project_shows_no_single_person() {
    let shop = Shop::with_fixture().await;
    let kpi = shop.figures("a", shop.of_team("most").await).await;
    // Only `f` is outside of the team in this week.
    assert_eq!(hit_rates(&kpi)[1], ("2026-W47", withheld()));
    assert_eq!(kpi.period.recall_hit_rate, rate(None, 3, 1), "the week is not in the period");
    assert_eq!(kpi.weeks[1].figures.save_acceptance.outcomes, None);
    assert_eq!(kpi.weeks[1].figures.time_to_first_relevant.sessions, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn empty_project_has_reasons_in_place_of_values() {
    let shop = Shop::empty().await;
    shop.add_members("a").await;
    let kpi = shop.figures("a", weeks(2, NOW)).await;
    let none = RecallHitRate { reason: Some(MissingReason::NoEvents), ..rate(None, 0, 0) };
    assert_eq!(hit_rates(&kpi), [("2026-W48", none.clone()), ("2026-W47", none.clone())]);
    assert_eq!(kpi.period.recall_hit_rate, none);
    assert_eq!(kpi.period.save_acceptance.reason, Some(MissingReason::NoEvents));
    assert_eq!(kpi.bugfix_lead_time.with_memory.reason, Some(MissingReason::NoBugLabels));
    assert_eq!(kpi.onboarding_time.reason, Some(MissingReason::NoBugLabels));
    assert_eq!(kpi.health.records, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_need_three_persons() {
    let shop = Shop::empty().await;
    shop.add_members("a,b,c").await;
    shop.add_recalls(&[("a", NOW)]).await;
    let one = shop.figures("b", weeks(1, NOW)).await;
    assert_eq!(one.period.recall_hit_rate, withheld());
    let later = "2026-11-25T12:00:01Z";
    shop.add_recalls(&[("b", NOW), ("b", NOW), ("a", NOW)]).await;
    assert_eq!(shop.figures("b", weeks(1, later)).await.period.recall_hit_rate, withheld());
    shop.add_recalls(&[("c", NOW)]).await;
    assert_eq!(shop.figures("b", weeks(1, later)).await.period.recall_hit_rate, rate(None, 5, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn iso_week_of_new_year_ends_on_sunday() {
    let shop = Shop::empty().await;
    shop.add_members("a,b,c").await;
    let sunday = "2027-01-03T23:59:59.999999Z";
    let monday = "2027-01-04T00:00:00Z";
    let recalls = ["a", "b", "c"].map(|login| [(login, sunday), (login, monday), (login, sunday)]);
    shop.add_recalls(&recalls.concat()).await;
    let kpi = shop.figures("a", weeks(2, "2027-01-05T08:00:00Z")).await;
    let expected = [("2027-W01", rate(None, 3, 0)), ("2026-W53", rate(None, 6, 0))];
    assert_eq!(hit_rates(&kpi), expected);
    assert_eq!(kpi.weeks[1].starts_at, at("2026-12-28T00:00:00Z"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purged_record_takes_its_uses_along() {
    let shop = Shop::with_fixture().await;
    shop.execute("delete from memory_records where title = 'deleted'").await;
    let kpi = shop.figures("a", weeks(3, NOW)).await;
    assert_eq!(hit_rates(&kpi)[1].1, rate(Some(0.2632), 19, 5), "5 / 19 = 0.26315...");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_another_project_are_invisible() {
    let shop = Shop::with_fixture().await;
    let user = UserId(shop.id_of("a").await);
    let scope = FigureScope { project: shop.other, team: None };
    let read = async |user, entered| {
        let store = shop.world.service().for_project(user, entered);
        usage_by_week(&store, scope, at("2026-11-16T00:00:00Z"), 1).await.unwrap()
    };
    assert_eq!(read(user, shop.other).await[0].recalls.unwrap().recalls, 15);
    // A member of both, who has entered the shop.
    assert_eq!(read(user, shop.world.project).await, []);
    let stranger = UserId::generate();
    shop.execute(&format!("insert into users (id, login) values ('{stranger}', 'stranger')")).await;
    assert_eq!(read(stranger, shop.other).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn report_shows_changes_uses_and_decisions() {
    let shop = Shop::with_fixture().await;
    shop.execute(
        "do $$ begin
             update memory_records set created_at = '2026-11-22 23:59:59.999Z'
             where title = 'stale';
             update memory_records set created_at = '2026-11-23 00:00Z' where title = 'accepted';
             update memory_records set updated_at = '2026-11-24 10:00Z', state = 'deleted'
             where title = 'rejected';
             update memory_records set ttl = '2026-11-25 11:59Z' where title = 'ended';
             insert into record_versions (record_id, version, project_id, kind, title, content,
                 scope, tags, ttl, is_ttl_explicit, meta, trust, citations, reason, changed_at)
             select id, n, project_id, kind, title, content, scope, tags, ttl, false, meta, trust,
                    '[]', 'edited', '2026-11-24 09:00Z'
             from memory_records, generate_series(1, 2) n where title = 'used';
             insert into bundle_uses (project_id, bundle_id, record_id, kind, created_at)
             select :shop, md5(bundle)::uuid, md5(record)::uuid, 'opened', '2026-11-24 09:00Z'
             from (values ('a6', 'stale'), ('b5', 'stale'), ('b0', 'stale'), ('a5', 'private'))
                 as use (bundle, record);
         end $$",
    )
    .await;
    let report = figures::report(&shop.as_member("a").await, weeks(2, NOW)).await.unwrap();
    let [this, last] = &report.changes[..] else { panic!("two weeks: {:?}", report.changes) };
    assert_eq!((this.week.as_str(), last.week.as_str()), ("2026-W48", "2026-W47"));
    let counts =
        |one: &WeekChanges| [one.created, one.changed, one.superseded, one.deleted, one.expired];
    assert_eq!((counts(this), counts(last)), ([1, 1, 0, 1, 1], [1, 0, 0, 0, 0]));
    let used: Vec<_> = report.most_used.iter().map(|one| (one.title.as_str(), one.uses)).collect();
    assert_eq!(used, [("stale", 3), ("used", 1)]);
    let pending = &report.pending;
    assert_eq!((pending.proposals, pending.demoted, pending.duplicate_clusters), (1, 1, 1));
    assert_eq!(pending.oldest_proposal_at, Some(at("2026-10-01T00:00:00Z")));
    assert_eq!(pending.quarantined, None, "for maintainers");
    shop.execute("update project_members set role = 'maintainer' where user_id = md5('b')::uuid")
        .await;
    let report = figures::report(&shop.as_member("b").await, weeks(2, NOW)).await.unwrap();
    assert_eq!(report.pending.quarantined, Some(1));
    assert_eq!(report.kpi.health.quarantined, Some(1));
}
