//! The task `quality`.

use mc_domain::{HygieneTask, RecordId};
use serde_json::{Value, json};

use crate::fixture::{Fixture, RETRY, passage_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unused_records_are_reported_or_deleted_by_policy() {
    let fixture = Fixture::new().await;
    let [old, used, skipped] = [
        fixture.record(RETRY).await,
        fixture.record("Carts expire at noon").await,
        fixture.record("Mail waits").await,
    ];
    fixture
        .execute(
            "update memory_records set updated_at = now() - interval '100 days', created_at \
                   = now() - interval '100 days'",
        )
        .await;
    fixture
        .execute(&format!(
            "update memory_records set recall_count = 3, last_recalled_at = now() where id in \
         ('{used}', '{skipped}')"
        ))
        .await;
    fixture
        .execute(&format!(
            "with shown as (
             insert into bundles (id, project_id, principal, request, confidence, token_count, \
             feedback_at)
             select gen_random_uuid(), '{}', 'ann', '{{}}', 1, 1, now() from generate_series(1, 10)
             returning id, project_id)
         insert into bundle_items (bundle_id, project_id, position, section, record_id, score, \
         is_used)
         select id, project_id, 0, 'facts', '{used}'::uuid, 1, true from shown
         union all select id, project_id, 1, 'facts', '{skipped}'::uuid, 1, null from shown",
            fixture.project
        ))
        .await;

    let dry_run = fixture.run(HygieneTask::Quality, true).await;
    assert_eq!((&dry_run.counts["records"], &dry_run.counts["unused"]), (&json!(3), &json!(2)));
    let reasons = |id: RecordId| {
        let findings = dry_run.findings.as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["record"] == json!(id)).unwrap();
        finding["reasons"][0].as_str().unwrap().to_owned()
    };
    assert_eq!(reasons(old), "neither recalled nor changed for 100 days");
    assert!(reasons(skipped).starts_with("never used in 10 recalls"), "{}", reasons(skipped));
    fixture.run(HygieneTask::Quality, false).await;
    assert_eq!(fixture.live_record_count().await, "3", "by default they are only reported");

    fixture.set_policy(json!({"hygiene": {"unused_records": "delete"}})).await;
    let applied = fixture.run(HygieneTask::Quality, false).await;
    assert_eq!(applied.counts["deleted"], 2);
    let left = fixture.text("select id::text from memory_records where state = 'active'").await;
    assert_eq!(left, used.to_string());
    let details = fixture
        .text("select details::text from audit_events where action = 'records.retired'")
        .await;
    assert!(details.contains(&old.to_string()), "{details}");
    assert!(details.contains("100 days"), "{details}");
    // A restored record is kept until there is a new reason.
    fixture
        .execute(
            "update memory_records set state = 'active', updated_at = now() where state = \
                   'deleted'",
        )
        .await;
    assert_eq!(fixture.run(HygieneTask::Quality, false).await.counts["unused"], 0);
    fixture.set_policy(json!({"hygiene": {"unused_records": "off", "unused_after_days": 1}})).await;
    assert!(fixture.run(HygieneTask::Quality, false).await.counts["unused"].is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unused_records_are_demoted_by_policy() {
    let fixture = Fixture::new().await;
    let [unused, amended, young] = [
        fixture.record(RETRY).await,
        fixture.record("Carts expire at noon").await,
        fixture.record("Mail waits").await,
    ];
    fixture
        .execute(&format!(
            "update memory_records set updated_at = now() - interval '100 days', ttl = now() + \
             interval '2 days'
             where id <> '{young}'"
        ))
        .await;
    // A proposal to change a record shows that the record is used.
    let proposal = fixture.record("Carts expire at midnight").await;
    fixture
        .execute(&format!(
            "update memory_records set visibility = 'proposed', trust = 'untrusted', \
             amends_record_id = '{amended}'
             where id = '{proposal}'"
        ))
        .await;
    fixture.execute(&passage_of(unused)).await;
    fixture.set_policy(json!({"hygiene": {"unused_records": "demote"}})).await;
    let demoted = "select coalesce(string_agg(id::text, ','), '') from memory_records where \
                   demotion is not null";

    let dry_run = fixture.run(HygieneTask::Quality, true).await;
    assert_eq!((&dry_run.counts["unused"], &dry_run.counts["demoted"]), (&json!(2), &Value::Null));
    let findings = dry_run.findings.as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["record"] == json!(unused)).unwrap();
    assert_eq!(finding["reasons"], json!(["neither recalled nor changed for 100 days"]));
    assert_eq!(finding["rank_factor"], finding["factors"]["recency"]);
    assert!(finding["rank_factor"].as_f64().unwrap() < 1.0, "{finding}");
    assert_eq!(fixture.text(demoted).await, "");

    let applied = fixture.run(HygieneTask::Quality, false).await;
    assert_eq!(
        (&applied.counts["demoted"], fixture.text(demoted).await),
        (&json!(1), unused.to_string())
    );
    let demotion = format!(
        "select (demotion -> 'reasons')::text || (demotion -> 'rank_factor')::text
         from memory_records where id = '{unused}'"
    );
    let expected = format!("{}{}", finding["reasons"], finding["rank_factor"]);
    assert_eq!(fixture.text(&demotion).await, expected);
    let state = format!(
        "select concat_ws(' ', visibility, state, ttl > now() + interval '29 days',
             (select count(*) from passages p where p.record_id = r.id))
         from memory_records r where id = '{unused}'"
    );
    assert_eq!(fixture.text(&state).await, "proposed active t 0");
    let event =
        "select target || ' ' || details from audit_events where action = 'records.retired'";
    let event = fixture.text(event).await;
    assert!(event.contains(r#""action":"demote""#), "{event}");
    assert!(
        event.contains(&unused.to_string()) && !event.contains(&amended.to_string()),
        "{event}"
    );
    let again = fixture.run(HygieneTask::Quality, false).await;
    assert_eq!((&again.counts["unused"], &again.counts["demoted"]), (&json!(1), &json!(0)));
}
