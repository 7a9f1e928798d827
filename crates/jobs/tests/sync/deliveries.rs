//! Processing of webhook deliveries.

use mc_connectors::client::{Limits, Provider};
use mc_connectors::{Event, Issue};
use mc_domain::{DeliveryId, Policy, WebhookId};
use mc_jobs::{BackgroundJob as _, ProcessDelivery};
use mc_store::webhooks::{self, NewWebhookDelivery, WebhookCredentials};
use serde_json::json;

use crate::fixture::{Fixture, redmine};

/// Stores deliveries of one webhook, each of a new issue. Returns the last one.
async fn receive_issues(fixture: &Fixture, count: u32) -> DeliveryId {
    let webhook = WebhookCredentials {
        id: WebhookId::generate(),
        project: fixture.project,
        policy: Policy::default(),
        provider: Provider::Redmine,
        ciphertext: Vec::new(),
    };
    let mut tx = fixture.project_store().begin().await.unwrap();
    webhooks::create(&mut tx, webhook.project, webhook.id, webhook.provider, b"secret")
        .await
        .unwrap();
    tx.commit().await.unwrap();
    let ids: Vec<_> = (0..count).map(|_| DeliveryId::generate()).collect();
    let mut tx = fixture.db.store().begin().await.unwrap();
    for (number, id) in ids.iter().enumerate() {
        let external_id = format!("CS-{number:02}");
        let delivery = NewWebhookDelivery {
            id: *id,
            external_id: &external_id,
            event_type: "issue.created",
            body_mac: None,
            event: Event::Issue(issue(&external_id)).encode(),
            ignored: None,
        };
        webhooks::insert_delivery(&mut tx, &webhook, &delivery).await.unwrap();
    }
    tx.commit().await.unwrap();
    ids[ids.len() - 1]
}

fn issue(external_id: &str) -> Issue {
    Issue {
        external_id: external_id.to_owned(),
        title: "Carts hang".to_owned(),
        status: None,
        assignee: None,
        labels: Vec::new(),
        links: Vec::new(),
        opened_at: None,
        closed_at: None,
        updated_at: None,
        is_whole: true,
        comment: None,
    }
}

/// Has the first insertion of a task fail as in a deadlock. A sequence counts in failed
/// transactions, too.
async fn fail_first_insertion(fixture: &Fixture) {
    fixture.execute("create sequence public.insertions").await;
    fixture
        .execute(
            "create function public.fail_once() returns trigger language plpgsql security definer
             as $$ begin
                 if nextval('public.insertions') = 1 then
                     raise 'deadlock' using errcode = '40P01';
                 end if;
                 return new;
             end $$",
        )
        .await;
    fixture
        .execute(
            "create trigger fail_once before insert on tasks for each row
             execute function public.fail_once()",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_grow_again_after_a_transient_error() {
    let fixture = Fixture::start(Provider::Redmine, redmine).await;
    let last = receive_issues(&fixture, 20).await;
    fail_first_insertion(&fixture).await;
    let job: ProcessDelivery = serde_json::from_value(json!({ "id": last })).unwrap();
    job.run(&fixture.job_context(Limits::default())).await.unwrap();
    let batches = "select string_agg(size::text, ' ' order by lowest)
                   from (select count(*) as size, min(external_id) as lowest from tasks
                         group by xmin::text) batches";
    assert_eq!(fixture.text(batches).await, "1 2 4 8 5");
}
