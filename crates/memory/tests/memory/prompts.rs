//! System prompts: what a night decides, who gets which version, and changes by people.

use std::sync::Arc;

use mc_chat::{ChatModelSettings, ChatModels, ChatSettings};
use mc_domain::policy::Policy;
use mc_domain::{DialogOutcome, HygieneTask, PromptAction, PromptState, UserId};
use mc_memory::prompts::night::{self, Evaluator, Night, NightSettings};
use mc_memory::prompts::{self, Rollout};
use mc_memory::{
    Error, MemoryContext, ReviewStatus, SaveDialog, SaveDialogOutcome, recall, save_dialog,
};
use mc_optimizer::{CanaryDecision, Decision, Item, Section, Settings};
use mc_store::hygiene::HygieneTarget;
use mc_store::prompts::{self as stored, PromptVersion, VersionFilter};
use mc_store::testing;
use mc_testkit::{ModelProtocol, ModelServer, Reply};
use serde_json::{Value, json};

use crate::support::World;

/// A signal that developers report at each task of [`World::seed_cases`].
const SIGNAL: &str = "flaky-timer";
/// Cases of a project, of which about 40 % are held out.
const CASES: usize = 80;
/// Developers of a project, of whom a tenth gets a canary.
const DEVELOPERS: usize = 20;

impl World {
    /// Adds dialogs that succeeded, at tasks whose recalls report [`SIGNAL`]. Their ids are always
    /// the same, and by these the held-out ones are chosen.
    async fn seed_cases(&self, count: usize) {
        let project = self.project;
        let messages = json!([
            {"role": "user", "content": "Why does the reminder of the cart come late?"},
            {"role": "assistant", "content": "The timer is never reset. Reset it in Cart#total."},
        ]);
        let sql = format!(
            "with person as (
                 insert into users (id, login)
                 select gen_random_uuid(), 'reporter ' || gen_random_uuid()
                 from generate_series(1, 3) returning id),
             task as (
                 insert into tasks (id, project_id, external_id)
                 select gen_random_uuid(), '{project}', 'SHOP-' || n
                 from generate_series(1, {count}) n returning id, external_id),
             recalled as (
                 insert into bundles (id, project_id, principal, user_id, request, confidence,
                     token_count)
                 select gen_random_uuid(), '{project}', 'ann', person.id, jsonb_build_object(
                     'task_external_id', external_id, 'signals', jsonb_build_array('{SIGNAL}')),
                     0.5, 10
                 from task, person)
             insert into dialogs (id, project_id, task_id, messages, outcome, is_searchable)
             select md5(external_id)::uuid, '{project}', id, '{messages}', 'succeeded', true
             from task"
        );
        testing::execute(self.url(), &sql).await.unwrap();
    }

    /// Adds members of the project who recalled something today.
    async fn developers(&self, count: usize) -> Vec<UserId> {
        let users: Vec<UserId> = (0..count).map(|_| UserId::generate()).collect();
        for user in &users {
            let project = self.project;
            let sql = format!(
                "with joined as (insert into users (id, login) values ('{user}', 'dev {user}')),
                 member as (insert into project_members (project_id, user_id, role)
                     values ('{project}', '{user}', 'maintainer'))
                 insert into bundles (id, project_id, principal, user_id, request, confidence,
                     token_count)
                 values (gen_random_uuid(), '{project}', 'dev', '{user}', '{{}}', 0.5, 10)"
            );
            testing::execute(self.url(), &sql).await.unwrap();
        }
        users
    }

    /// Returns the context of a user of the project.
    fn context_of(&self, user: UserId) -> MemoryContext {
        let store = self.service().for_project(user, self.project);
        self.ctx.with_store(store, Arc::default())
    }

    fn target(&self, is_dry_run: bool) -> HygieneTarget {
        HygieneTarget {
            project: self.project,
            task: HygieneTask::Prompt,
            is_dry_run,
            expiry_decision: None,
            policy: Policy::default(),
        }
    }

    async fn night(&self) -> Night {
        self.night_with(&Arc::default(), &settings()).await
    }

    async fn night_with(&self, models: &Arc<ChatModels>, settings: &NightSettings) -> Night {
        night::run(self.store(), models, settings, &self.target(false)).await.unwrap()
    }

    async fn versions(&self) -> Vec<PromptVersion> {
        stored::list(self.store(), self.project, VersionFilter::default()).await.unwrap()
    }

    /// Runs nights until one succeeds. The first one fails at its first write, the second one at
    /// its second write, and so on; each must leave the versions as they were. Returns the number
    /// of failures.
    async fn nights_that_fail_at_each_write(&self) -> (usize, Night) {
        for sql in [
            "create sequence writes",
            "create table fault (at int)",
            "create function fail() returns trigger language plpgsql security definer as $$ begin
                 if nextval('writes') = (select at from fault) then
                     raise exception 'the process ends here';
                 end if;
                 return new;
             end $$",
            "create trigger fail before insert or update on prompt_versions
                 for each row execute function fail()",
            "create trigger fail before insert on audit_events
                 for each row execute function fail()",
        ] {
            testing::execute(self.url(), sql).await.unwrap();
        }
        let before = self.states().await;
        for failures in 0..20 {
            let at = failures + 1;
            let sql = format!(
                "with at as (delete from fault), restarted as (select setval('writes', 1, false))
                 insert into fault select {at} from restarted"
            );
            testing::execute(self.url(), &sql).await.unwrap();
            let models = Arc::default();
            match night::run(self.store(), &models, &settings(), &self.target(false)).await {
                Ok(night) => return (failures, night),
                Err(_) => assert_eq!(self.states().await, before, "failure {at}"),
            }
        }
        panic!("a night has few writes")
    }

    async fn states(&self) -> Vec<(i32, PromptState)> {
        self.versions().await.iter().map(|version| (version.version, version.state)).collect()
    }

    /// Moves the start of the canary into the past.
    async fn let_nights_pass(&self, nights: usize) {
        let sql = format!(
            "update prompt_versions set created_at = now() - interval '{nights} days'
             where state = 'canary'"
        );
        testing::execute(self.url(), &sql).await.unwrap();
    }

    /// Adds the outcomes of ten dialogs of each developer and night with the version that they get:
    /// `canary` and `parent` of ten succeed.
    async fn report_outcomes(&self, users: &[UserId], nights: usize, canary: usize, parent: usize) {
        let rollout = Rollout::read(self.store(), self.project).await.unwrap();
        let tried = rollout.canary.as_ref().expect("a canary").0.version;
        for (index, user) in users.iter().enumerate() {
            let served = prompts::served(self.store(), self.project, Some(*user)).await.unwrap();
            let rate = if served.version == tried { canary } else { parent };
            for number in 0..10 * nights {
                let outcome = if (number + index) % 10 < rate { "succeeded" } else { "failed" };
                let sql = format!(
                    "with dialog as (
                         insert into dialogs (id, project_id, saved_by, outcome, prompt_version)
                         values (gen_random_uuid(), '{project}', '{user}', '{outcome}', '{version}')
                         returning id)
                     insert into dialog_outcomes (project_id, dialog_id, user_id, prompt_version,
                         outcome, reported_at)
                     select '{project}', id, '{user}', {version}, '{outcome}',
                            now() - interval '1 day' * {day} - interval '1 hour' from dialog",
                    project = self.project,
                    version = served.version,
                    day = number % nights,
                );
                testing::execute(self.url(), &sql).await.unwrap();
            }
        }
    }
}

/// Settings of a search that takes a second.
fn settings() -> NightSettings {
    let search = Settings { width: 2, depth: 3, children: 4, budget: 900, ..Settings::default() };
    NightSettings { search, ..NightSettings::default() }
}

/// A project with cases and developers, in which a night has started a canary.
async fn with_canary() -> (World, Vec<UserId>) {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    let users = world.developers(DEVELOPERS).await;
    let night = world.night().await;
    assert_eq!(night.started, Some(1), "{night:?}");
    (world, users)
}

async fn of_arm(world: &World, users: &[UserId], version: i32) -> Vec<UserId> {
    let mut found = Vec::new();
    for user in users {
        let served = prompts::served(world.store(), world.project, Some(*user)).await.unwrap();
        found.extend((served.version == version).then_some(*user));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn better_prompt_is_tried_by_a_tenth_and_promoted() {
    let (world, users) = with_canary().await;
    assert_eq!(of_arm(&world, &users, 1).await.len(), DEVELOPERS / 10);
    let tried = prompts::find(world.store(), world.project, 1).await.unwrap();
    assert!(tried.diff.contains(SIGNAL), "{}", tried.diff);
    assert_eq!((tried.parent_version, tried.state), (Some(0), PromptState::Canary));

    world.let_nights_pass(7).await;
    world.report_outcomes(&users, 7, 9, 4).await;
    let night = world.night().await;
    let (version, report) = night.canary.expect("figures");
    assert_eq!(version, 1);
    assert!(matches!(report.decision, CanaryDecision::Promote { night: 7, .. }), "{report:?}");
    assert_eq!((report.canary.dialogs, report.parent.dialogs), (140, 1260));
    let states: Vec<_> = world.versions().await.iter().map(|v| (v.version, v.state)).collect();
    assert_eq!(states, [(1, PromptState::Current), (0, PromptState::Superseded)]);
    let promoted = prompts::find(world.store(), world.project, 1).await.unwrap();
    assert_eq!(promoted.quality["label"], "better_in_canary");
    assert_eq!(of_arm(&world, &users, 1).await.len(), DEVELOPERS);
    let uncommitted = stored::uncommitted(world.store()).await.unwrap();
    assert_eq!(uncommitted.iter().map(|prompt| prompt.version).collect::<Vec<_>>(), [1]);
    let pause = world.night().await;
    assert!(pause.search.is_none() && pause.reason.is_some(), "{pause:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn worse_prompt_is_rolled_back_and_not_tried_again() {
    let (world, users) = with_canary().await;
    world.let_nights_pass(3).await;
    world.report_outcomes(&users, 3, 1, 8).await;
    let night = world.night().await;
    let report = night.canary.expect("figures").1;
    assert!(matches!(report.decision, CanaryDecision::RollBack { .. }), "{report:?}");
    assert!(of_arm(&world, &users, 1).await.is_empty());
    let state = prompts::find(world.store(), world.project, 1).await.unwrap().state;
    assert_eq!(state, PromptState::RolledBack);

    let later = "update prompt_versions set decided_at = now() - interval '8 days'";
    testing::execute(world.url(), later).await.unwrap();
    let again = world.night().await;
    assert!(again.search.is_some(), "{again:?}");
    // The search of the same day proposes the same prompt.
    let former = prompts::find(world.store(), world.project, 1).await.unwrap();
    for version in world.versions().await.iter().filter(|version| version.version > 1) {
        assert_ne!(version.prompt, former.prompt);
    }
    if again.started.is_none() {
        let reason = again.reason.unwrap_or_default();
        assert!(reason.contains("version 1, which was rolled back"), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn night_that_ends_at_any_write_starts_no_half_canary() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    world.developers(DEVELOPERS).await;
    let (failures, night) = world.nights_that_fail_at_each_write().await;
    assert!(failures >= 2, "{failures} writes");
    assert_eq!(night.started, Some(1), "{night:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn night_that_ends_at_any_write_promotes_nothing_by_half() {
    let (world, users) = with_canary().await;
    world.let_nights_pass(7).await;
    world.report_outcomes(&users, 7, 9, 4).await;
    let (failures, _) = world.nights_that_fail_at_each_write().await;
    assert!(failures >= 3, "{failures} writes");
    let promoted = [(1, PromptState::Current), (0, PromptState::Superseded)];
    assert_eq!(world.states().await, promoted);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_at_once_start_one_canary() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    world.developers(DEVELOPERS).await;
    let (first, second) = tokio::join!(world.night(), world.night());
    let started: Vec<_> = [first.started, second.started].into_iter().flatten().collect();
    assert_eq!(started, [1]);
    assert_eq!(world.versions().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_of_a_person_and_of_the_rule_at_once_are_one() {
    let (world, users) = with_canary().await;
    world.let_nights_pass(3).await;
    world.report_outcomes(&users, 3, 1, 8).await;
    let ctx = world.context_of(users[0]);
    let (night, promoted) = tokio::join!(world.night(), prompts::promote(&ctx, world.project));
    let current: Vec<_> = world
        .versions()
        .await
        .into_iter()
        .filter(|version| version.state == PromptState::Current)
        .map(|version| version.version)
        .collect();
    // Whoever came first has decided.
    assert_eq!(current, [i32::from(promoted.is_ok())], "{night:?} {promoted:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn project_with_few_dialogs_keeps_its_prompt() {
    let world = World::new().await;
    world.developers(2).await;
    for (dialogs, expected) in [(0, "no cases"), (1, "held-out cases")] {
        world.seed_cases(dialogs).await;
        let search = world.night().await.search.expect("a search");
        let Decision::Keep { reason } = &search.decision else { panic!("{search:?}") };
        assert!(reason.to_string().contains(expected), "{reason}");
    }
    assert!(world.versions().await.is_empty());
    let served = prompts::served(world.store(), world.project, None).await.unwrap();
    assert_eq!((served.version, served.arm), (0, None));
    assert_eq!(served.prompt, prompts::built_in());
}

#[tokio::test(flavor = "multi_thread")]
async fn policy_without_trials_lets_the_rule_end_one_and_promote_none() {
    let (world, users) = with_canary().await;
    world.let_nights_pass(7).await;
    world.report_outcomes(&users, 7, 9, 4).await;
    let mut target = world.target(false);
    target.policy.hygiene.prompt = PromptAction::Off;
    let night = night::run(world.store(), &Arc::default(), &settings(), &target).await.unwrap();
    let report = night.canary.expect("figures").1;
    assert!(matches!(report.decision, CanaryDecision::Promote { .. }), "{report:?}");
    let state = prompts::find(world.store(), world.project, 1).await.unwrap().state;
    assert_eq!(state, PromptState::Canary);
    let worse = "update dialog_outcomes set outcome = 'abandoned' where prompt_version = 1
                 and outcome = 'succeeded'";
    testing::execute(world.url(), worse).await.unwrap();
    night::run(world.store(), &Arc::default(), &settings(), &target).await.unwrap();
    let state = prompts::find(world.store(), world.project, 1).await.unwrap().state;
    assert_eq!(state, PromptState::RolledBack);
}

#[tokio::test(flavor = "multi_thread")]
async fn signal_of_one_person_or_of_agents_makes_no_instruction() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    let count = async || {
        let night = world.night().await;
        night.material.0
    };
    assert_eq!(count().await, 1);
    testing::execute(world.url(), "update users set is_agent = true where login like 'reporter%'")
        .await
        .unwrap();
    assert_eq!(count().await, 0);
    let persons = "update users set is_agent = false where login like 'reporter%'";
    testing::execute(world.url(), persons).await.unwrap();
    let one = "update bundles set user_id =
                   (select id from users where login like 'reporter%' order by id limit 1)";
    testing::execute(world.url(), one).await.unwrap();
    assert_eq!(count().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn example_whose_record_is_gone_is_not_served() {
    let world = World::new().await;
    let ctx = world.context_of(world.developers(1).await[0]);
    let record = world.created(&world.note("Prices of the cart are rounded in Cart#total.")).await;
    let example = item(&format!("record-{record}"), "Round prices once.");
    let own = vec![item("own", "Run the tests.")];
    prompts::set(&ctx, world.project, own, vec![example, item("other", "Kept.")]).await.unwrap();
    let served = async || {
        let served = prompts::served(world.store(), world.project, None).await.unwrap();
        served.prompt.items(Section::Examples).len()
    };
    assert_eq!(served().await, 2);
    let gone = format!("update memory_records set state = 'deleted' where id = '{record}'");
    testing::execute(world.url(), &gone).await.unwrap();
    assert_eq!(served().await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn project_without_developers_gets_no_canary() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    let night = world.night().await;
    assert!(night.search.expect("a search").proposed().is_some());
    assert!(night.reason.unwrap_or_default().contains("a canary needs 3 developers: 0 used"));
    assert!(world.versions().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn dry_run_changes_nothing() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    let users = world.developers(DEVELOPERS).await;
    let models = Arc::default();
    let dry = world.target(true);
    let night = night::run(world.store(), &models, &settings(), &dry).await.unwrap();
    assert!(night.search.expect("a search").proposed().is_some());
    assert!(world.versions().await.is_empty());

    assert_eq!(world.night().await.started, Some(1));
    world.let_nights_pass(3).await;
    world.report_outcomes(&users, 3, 1, 8).await;
    let night = night::run(world.store(), &models, &settings(), &dry).await.unwrap();
    let report = night.canary.expect("figures").1;
    assert!(matches!(report.decision, CanaryDecision::RollBack { .. }), "{report:?}");
    let tried = prompts::find(world.store(), world.project, 1).await.unwrap();
    assert_eq!((tried.state, tried.report), (PromptState::Canary, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn same_day_and_seed_search_the_same() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    let models = Arc::default();
    let dry = world.target(true);
    let first = night::run(world.store(), &models, &settings(), &dry).await.unwrap();
    let second = night::run(world.store(), &models, &settings(), &dry).await.unwrap();
    let (first, second) = (first.search.expect("a search"), second.search.expect("a search"));
    assert!(first.proposed().is_some());
    // The day may have changed between the two.
    if first.settings.seed == second.settings.seed {
        assert_eq!(json!(first).to_string(), json!(second).to_string());
    }
    let other = Settings { seed: 2, ..settings().search };
    let other = NightSettings { search: other, ..settings() };
    let third = night::run(world.store(), &models, &other, &dry).await.unwrap();
    assert_ne!(third.search.expect("a search").settings.seed, first.settings.seed);
}

fn with_outcome(world: &World, outcome: DialogOutcome, version: &str) -> SaveDialog {
    SaveDialog {
        outcome: Some(outcome),
        prompt_version: Some(version.to_owned()),
        ..world.dialog(None, "The reminder timer is reset in Cart#total before each charge.")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dialog_counts_once_and_not_with_contradictory_outcomes() {
    let (world, users) = with_canary().await;
    let canary = of_arm(&world, &users, 1).await;
    let ctx = world.context_of(canary[0]);
    let dialog = with_outcome(&world, DialogOutcome::Succeeded, "1");
    let saved = |dialog: SaveDialog| {
        let ctx = ctx.clone();
        async move { save_dialog(&ctx, &dialog, ReviewStatus::Unreviewed).await.unwrap() }
    };
    let SaveDialogOutcome::Kept { id, .. } = saved(dialog.clone()).await else { panic!("kept") };
    // Reported again, and of the other arm: neither is another dialog of the canary.
    saved(SaveDialog { id: Some(id), ..dialog.clone() }).await;
    saved(with_outcome(&world, DialogOutcome::Succeeded, "0")).await;
    let contradictory = saved(dialog.clone()).await;
    let SaveDialogOutcome::Kept { id, .. } = contradictory else { panic!("kept") };
    saved(SaveDialog { id: Some(id), outcome: Some(DialogOutcome::Failed), ..dialog.clone() })
        .await;
    // Versions that are no numbers are kept as texts, and count for no arm.
    saved(with_outcome(&world, DialogOutcome::Failed, "bugfix-7")).await;
    world.let_nights_pass(1).await;
    let past = "update dialog_outcomes set reported_at = now() - interval '1 hour'";
    testing::execute(world.url(), past).await.unwrap();
    let (_, report) = world.night().await.canary.expect("figures");
    assert_eq!((report.canary.dialogs, report.canary.succeeded), (1, 1), "{report:?}");
    assert_eq!((report.ignored.other_arm, report.ignored.contradictory), (1, 1), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn bundle_carries_the_version_of_its_caller() {
    let (world, users) = with_canary().await;
    world.save(&world.note("The reminder timer is reset in Cart#total.")).await;
    for (version, users) in
        [(1, of_arm(&world, &users, 1).await), (0, of_arm(&world, &users, 0).await)]
    {
        let ctx = world.context_of(users[0]);
        let bundle = recall(&ctx, &world.question("reminder timer")).await.unwrap();
        assert_eq!(bundle.prompt_version, Some(version));
        ctx.finish().await;
        let sql = format!("select prompt_version::text from bundles where id = '{}'", bundle.id);
        assert_eq!(testing::text(world.store(), &sql).await.unwrap(), version.to_string());
    }
}

fn item(id: &str, text: &str) -> Item {
    Item::new(id, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn people_set_promote_and_take_back() {
    let (world, users) = with_canary().await;
    let (ctx, project) = (world.context_of(users[0]), world.project);
    let promoted = prompts::promote(&ctx, project).await.unwrap();
    assert_eq!((promoted.version, promoted.state), (1, PromptState::Current));
    assert!(promoted.decided_by.is_some());
    assert!(matches!(prompts::promote(&ctx, project).await, Err(Error::NoCanary)));

    let secret = ["ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    let own = vec![item("own", &format!("Never log {secret}."))];
    let set = prompts::set(&ctx, project, own.clone(), vec![]).await.unwrap();
    assert_eq!((set.version, set.parent_version), (2, Some(1)));
    assert!(!set.prompt.to_string().contains(&secret), "{}", set.prompt);
    let same = prompts::set(&ctx, project, own, vec![]).await;
    assert!(matches!(same, Err(Error::SamePrompt(2))), "{same:?}");

    let taken_back = prompts::roll_back(&ctx, project).await.unwrap();
    assert_eq!((taken_back.version, taken_back.state), (2, PromptState::RolledBack));
    prompts::roll_back(&ctx, project).await.unwrap();
    assert!(matches!(prompts::roll_back(&ctx, project).await, Err(Error::NoFormerPrompt)));
    let served = prompts::served(world.store(), project, Some(users[0])).await.unwrap();
    assert_eq!(served.version, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_prompt_is_refused_with_its_rule() {
    let world = World::new().await;
    let ctx = world.context_of(world.developers(1).await[0]);
    let long = (0..99).map(|n| item(&format!("i{n}"), &format!("{n} {}", "word ".repeat(400))));
    for (items, expected) in [
        (long.collect(), "tokens and"),
        (vec![item("a b", "x")], "`a b` is no id"),
        (vec![item("a", "x"), item("a", "y")], "`a` is in the prompt twice"),
        (vec![item("a", " ")], "is empty"),
    ] {
        let error = prompts::set(&ctx, world.project, items, vec![]).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(world.versions().await.is_empty());
}

fn models(server: &ModelServer) -> Arc<ChatModels> {
    let settings: ChatModelSettings = serde_json::from_value(json!({
        "provider": "openai_compatible", "model": "scripted",
        "roles": ["writer", "judge", "rewrite"],
        "base_url": server.base_url(ModelProtocol::OpenAi), "max_concurrent": 8,
    }))
    .unwrap();
    let settings = ChatSettings { models: [("small".to_owned(), settings)].into() };
    Arc::new(ChatModels::open(&settings).unwrap())
}

/// Text of an instruction with which the scripted model succeeds.
const GOOD: &str = "Name the function that resets a timer.";

/// Answers as a writer that succeeds under [`GOOD`] only, as its judge, and as the model that
/// proposes it.
fn scripted(body: &Value) -> Reply {
    let message = |at: usize| body["messages"][at]["content"].as_str().unwrap_or_default();
    let (system, user) = (message(0), message(1));
    if system.starts_with("You score") {
        let data: Value = serde_json::from_str(user).expect("JSON");
        let score = f64::from(u8::from(data["answer"] == "solved"));
        return Reply::text(json!({"score": score, "feedback": "names no function"}).to_string());
    }
    if system.starts_with("You improve") {
        let secret = ["AKIA", "IOSFODNN7EXAMPLQ"].concat();
        let edits = json!([
            {"kind": "add", "id": "", "text": GOOD},
            {"kind": "drop", "id": "no-such-instruction", "text": ""},
            {"kind": "add", "id": "", "text": format!("Log in with {secret}.")},
        ]);
        return Reply::text(json!({ "edits": edits }).to_string());
    }
    Reply::text(if system.contains(GOOD) { "solved" } else { "something else" })
}

fn by_model() -> NightSettings {
    NightSettings { evaluator: Evaluator::Model, model_budget: 900, ..settings() }
}

#[tokio::test(flavor = "multi_thread")]
async fn model_proposes_and_evaluates_within_the_budget() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    world.developers(DEVELOPERS).await;
    let raise = "update projects set policy = '{\"tokens\": {\"chat_per_day\": 1000000000}}'";
    testing::execute(world.url(), raise).await.unwrap();
    let server = ModelServer::start(|request| scripted(&request.body)).await;
    let mut target = world.target(false);
    target.policy.tokens.chat_per_day = 1_000_000_000;
    let night = night::run(world.store(), &models(&server), &by_model(), &target).await.unwrap();
    assert_eq!(night.started, Some(1), "{night:?}");
    let tried = prompts::find(world.store(), world.project, 1).await.unwrap();
    assert!(tried.diff.contains(GOOD) && !tried.diff.contains("AKIA"), "{}", tried.diff);
    let roles = "select string_agg(distinct role, ' ' order by role) from chat_requests";
    assert_eq!(testing::text(world.store(), roles).await.unwrap(), "judge rewrite writer");
}

#[tokio::test(flavor = "multi_thread")]
async fn budget_of_tokens_limits_a_night_and_leaves_half_to_saves() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    let server = ModelServer::start(|request| scripted(&request.body)).await;
    // The default policy.
    let target = world.target(false);
    let night = night::run(world.store(), &models(&server), &by_model(), &target).await.unwrap();
    let reason = night.reason.expect("a reason");
    assert!(reason.contains("of the 500000 chat tokens of a day pays for 50"), "{reason}");
    assert!(server.requests().is_empty() && world.versions().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn night_whose_model_fails_says_why() {
    let world = World::new().await;
    world.seed_cases(CASES).await;
    let server = ModelServer::start(|_| Reply::text("I can't help with that.")).await;
    let mut target = world.target(false);
    target.policy.tokens.chat_per_day = 1_000_000_000;
    let night = night::run(world.store(), &models(&server), &by_model(), &target).await.unwrap();
    let search = night.search.expect("a search");
    let Decision::Keep { reason } = &search.decision else { panic!("{search:?}") };
    assert!(reason.to_string().contains("evaluations failed"), "{reason}");
    let reason = night.reason.expect("the error of the model");
    assert!(reason.contains("small"), "{reason}");
    assert!(world.versions().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn night_without_its_models_says_which_role_is_missing() {
    let world = World::new().await;
    let target = world.target(false);
    let night = night::run(world.store(), &Arc::default(), &by_model(), &target).await;
    let error = night.unwrap_err().to_string();
    assert!(error.contains("writer"), "{error}");
}
