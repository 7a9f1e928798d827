//! Dialogs and links.

use mc_domain::SourceKind;
use mc_memory::consistency::repair_dialogs;
use mc_memory::{LinkIssue, SaveDialog, link_issue};
use mc_search::{Options, Query, search};
use mc_store::passages::PassageFilter;
use mc_store::{records, testing};

use crate::support::World;

fn dialog(world: &World, messages: &[(&str, &str)]) -> SaveDialog {
    let messages = messages.iter();
    SaveDialog {
        developer: Some("ann".into()),
        messages: messages.map(|(role, said)| ((*role).to_owned(), (*said).to_owned())).collect(),
        ..world.dialog(Some("CS-214"), "")
    }
}

async fn found(world: &World, text: &str) -> Vec<String> {
    let mut filter = PassageFilter::project(world.project);
    filter.sources = vec![SourceKind::Dialog];
    let options = Options { time_budget: std::time::Duration::from_secs(30), ..Options::default() };
    let outcome = search(&world.ctx.search, &Query::text(text, filter), &options).await.unwrap();
    outcome.hits.into_iter().map(|hit| hit.passage.indexed.text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dialog_is_found_by_its_summary() {
    let world = World::new().await;
    let request = dialog(
        &world,
        &[
            ("system", "You are a helpful zebra."),
            ("user", "Hi! Why is trigger_delay nil in cart sessions?"),
            (
                "assistant",
                "Sure! The units differ: delay_unit is hours, trigger_delay_unit is minutes. \
                    Hope this helps!",
            ),
        ],
    );
    let id = world.kept(&request).await;
    let texts = found(&world, "delay_unit trigger_delay_unit differ").await;
    assert_eq!(texts.len(), 1);
    assert!(
        texts[0].contains("The units differ")
            && !texts[0].contains("Sure")
            && !texts[0].contains("zebra"),
        "{texts:?}"
    );

    let replaced = SaveDialog { id: Some(id), ..dialog(&world, &[("user", "thanks!")]) };
    assert_eq!(world.kept(&replaced).await, id);
    assert!(found(&world, "delay_unit").await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn repair_restores_lost_passages_of_searchable_records_only() {
    let world = World::new().await;
    let said = [("user", "Which unit is trigger_delay in? The units of both delays differ.")];
    world.kept(&dialog(&world, &said)).await;
    world.kept(&SaveDialog { is_searchable: false, ..dialog(&world, &said) }).await;
    world.kept(&dialog(&world, &[("user", "thanks!")])).await;
    let passages = "select json_agg(row(dialog_id, title, location, tags, text, \
        content_hash))::text from passages";
    let before = testing::text(world.store(), passages).await.unwrap();
    testing::execute(world.url(), "delete from passages").await.unwrap();
    for expected in [1, 0] {
        let mut tx = world.store().begin().await.unwrap();
        let mended = repair_dialogs(&mut tx, world.project, 10).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(mended.len(), expected);
    }
    assert_eq!(testing::text(world.store(), passages).await.unwrap(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_result_is_replaced_by_its_length() {
    let world = World::new().await;
    let note = "(a tool's answer of 12 characters)";
    let answers = [
        "(a tool's answer of 12 characters) and then all that it said",
        "(a tool's answer of all that it said",
        "(a tool's answer of 012 characters)",
        "(a tool's answer of 1 and 2 characters)",
        "(a tool's answer of 99999999999999999999999 characters)",
        note,
    ];
    let messages: Vec<_> = answers.iter().map(|answer| ("tool", *answer)).collect();
    world.kept(&dialog(&world, &messages)).await;
    let kept = "select string_agg(m ->> 'content', '|' order by n)
                from dialogs, jsonb_array_elements(messages) with ordinality as all_of_them (m, n)";
    let kept = testing::text(world.store(), kept).await.unwrap();
    let note_of = |length| format!("(a tool's answer of {length} characters)");
    let mut expected: Vec<_> = answers.iter().map(|one| note_of(one.chars().count())).collect();
    // A note that replaced a tool result before, as in a dialog from quarantine, is kept.
    expected[5] = note.to_owned();
    assert_eq!(kept, expected.join("|"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn issue_is_linked_before_it_is_synced() {
    let world = World::new().await;
    let record =
        world.created(&world.note("The payments worker retries a failed charge 3 times")).await;
    let request = LinkIssue {
        project: world.project,
        task_external_id: "CS-215".into(),
        dialog: None,
        moves_any: true,
        records: vec![record],
    };
    let linked = link_issue(&world.ctx, &request).await.unwrap();
    assert_eq!(
        (linked.task.external_id.as_str(), linked.task.status.as_str(), &linked.records),
        ("CS-215", "unknown", &vec![record])
    );
    let dialog_count = "select count(*)::text from dialogs";
    let count = testing::text(world.store(), dialog_count).await.unwrap();
    assert_eq!((linked.dialog, count.as_str()), (None, "0"), "a link makes no dialog");
    let record = records::find(world.store(), record).await.unwrap().unwrap();
    assert_eq!(record.task, Some(linked.task.id));
    let spoken = world.kept(&dialog(&world, &[("user", "Why is a charge retried?")])).await;
    let again = LinkIssue { dialog: Some(spoken), records: vec![], ..request };
    assert_eq!(link_issue(&world.ctx, &again).await.unwrap().dialog, Some(spoken));
}
