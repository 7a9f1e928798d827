//! The main statements read few more rows than they need, by the plans that PostgreSQL makes for
//! the calls of the service. A missing index shows here as thousands of rows read.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "plans/watched.rs"]
mod watched;

use chrono::Utc;
use mc_domain::policy::RetentionDays;
use mc_domain::{
    BundleId, BundleSection, ClientSession, ClientSessionId, DialogId, DocId, FileId, Handle,
    HandleKind, IngestRunId, PassageId, ProjectId, RecordId, RecordKind, RepositoryId, SourceKind,
    TaskId,
};
use mc_sanitizer::{Sanitized, mask};
use mc_store::bundles::{BundleItem, NewBundle};
use mc_store::change_feed::FeedCursor;
use mc_store::hygiene::retention::{self, RetentionCategory};
use mc_store::passages::{NewPassage, PassageFilter, PassageSource};
use mc_store::records::{Fingerprint, Nearness, NewRecord, RecordBody, RecordFilter, RecordSource};
use mc_store::vectors::ScanWidth::Wide;
use mc_store::vectors::{FlatVectors, Model, VectorPlacement};
use mc_store::{
    Store, Tx, bundles, change_feed, citations, cleanup, dialogs, docs, files, ingest_runs,
    passages, projects, records, repositories, tasks, vectors,
};
use uuid::Uuid;
use watched::{CALLS, Watched};

/// Project 1 of the seed, with half of all rows.
const LARGE: ProjectId = ProjectId(id(1, 1));
/// One of the other nineteen.
const SMALL: ProjectId = ProjectId(id(1, 2));
/// More than any kind of row of a small project: half of 30,000 rows are shared by nineteen.
const SMALL_PROJECT: f64 = 1_000.0;
/// All passages of the large project, twice: the filter's columns have no index.
const LARGE_PROJECT: f64 = 70_000.0;
/// All vectors of code of the small repository in the large project.
const SMALL_REPOSITORY: f64 = 200.0;
/// All vectors of a small project.
const SMALL_VECTORS: f64 = 2_000.0;
/// Extra rows of a look-up by key: dead versions of rows that earlier calls wrote.
const A_FEW: f64 = 40.0;

/// Returns the id of row `n` of a kind, as the seed makes it.
const fn id(kind: u128, n: u128) -> Uuid {
    Uuid::from_u128(0x7000_8000_0000_0000_0000 | kind << 48 | n)
}

#[tokio::test]
async fn main_statements_read_few_more_rows_than_they_return() {
    let mut db = Watched::seeded(include_str!("plans/seed.sql")).await;
    search(&mut db).await;
    recall(&mut db).await;
    save(&mut db).await;
    lists(&mut db).await;
    index_runs(&mut db).await;
    sweeps(&mut db).await;
    db.assert_no_excess();
}

/// Counts the scans of the HNSW index of code and notes, without those only planned.
fn hnsw_scans(plans: &str) -> usize {
    scans_of("embeddings", plans)
}

/// Counts the scans of an HNSW index.
fn scans_of(prefix: &str, plans: &str) -> usize {
    let hnsw = format!(r#""{prefix}_hnsw_1_{}_idx","Index Searches":"#, LARGE.0.simple());
    let searches = plans.split(&hnsw).skip(1);
    searches.filter(|number| !number.starts_with('0')).count()
}

/// The retrievers of a search and the look-ups after them.
async fn search(db: &mut Watched) {
    let model = vectors::models(&db.store).await.unwrap().remove(0);
    let query = vec![0.3; 32];
    let nearest = async |store: &Store, project, tag: Option<&str>| {
        let mut filter = PassageFilter::project(project);
        filter.sources = vec![SourceKind::Memory];
        filter.tags = tag.map(str::to_owned).into_iter().collect();
        let found = vectors::nearest(store, &model, &query, &filter, 10).await;
        assert_eq!(found.unwrap().len(), 10);
    };
    db.enter(SMALL);
    let flat = async |store: &Store| nearest(store, SMALL, None).await;
    db.reads_at_most("vectors::nearest, flat", SMALL_VECTORS, flat).await;
    let filtered = async |store: &Store| nearest(store, SMALL, Some("tag-3")).await;
    db.reads_at_most("vectors::nearest, flat, by tag", SMALL_VECTORS, filtered).await;
    db.enter(LARGE);
    let hnsw = async |store: &Store| nearest(store, LARGE, None).await;
    let plans = db.reads_at_most("vectors::nearest, HNSW", SMALL_VECTORS, hnsw).await;
    assert_eq!(hnsw_scans(&plans), CALLS, "{plans}");
    assert!(!plans.contains("Merge Append"), "what comes out of the graph is not sorted: {plans}");
    let few = async |store: &Store| nearest(store, LARGE, Some("tag-4")).await;
    let plans = db.reads_at_most("vectors::nearest, few of many", LARGE_PROJECT, few).await;
    assert_eq!(hnsw_scans(&plans), 0, "{plans}");
    let all_of = |sources: &[SourceKind]| PassageFilter {
        sources: sources.to_vec(),
        path_regex: Some(".*".to_owned()),
        ..PassageFilter::project(LARGE)
    };
    let found_in = async |store: &Store, sources: &[SourceKind]| {
        vectors::nearest(store, &model, &query, &all_of(sources), 10).await.unwrap()
    };
    let many = async |store: &Store| found_in(store, &[]).await;
    let plans = db.reads_at_most("vectors::nearest, many of many", LARGE_PROJECT, many).await;
    assert_eq!(hnsw_scans(&plans), CALLS, "{plans}");
    let known = async |store: &Store| {
        let many = VectorPlacement::HnswOfMany;
        vectors::nearest_in(store, &model, &query, &all_of(&[]), 10, many, Wide).await.unwrap()
    };
    let plans = db.reads_at_most("vectors::nearest_in, known many", LARGE_PROJECT, known).await;
    assert_eq!(hnsw_scans(&plans), CALLS, "{plans}");
    let found = many(&db.store).await;
    assert!(found.is_sorted_by(|a, b| a.1 >= b.1 && a.0 != b.0), "{found:?}");
    // Both parts are compared exactly.
    let [memory, others] =
        [&[SourceKind::Memory][..], &[SourceKind::Dialog, SourceKind::Doc, SourceKind::Code]];
    let mut exact = found_in(&db.store, memory).await;
    exact.extend(found_in(&db.store, others).await);
    exact.sort_by(|a, b| b.1.total_cmp(&a.1));
    let near = found.iter().filter(|(_, similarity)| *similarity >= exact[9].1 - 1e-6).count();
    assert!(near >= 9, "{found:?} in place of {exact:?}");
    let ids: Vec<_> = exact.iter().map(|(id, _)| *id).collect();
    let named = async |store: &Store| {
        assert_eq!(vectors::nearest_of(store, &model, &query, &ids, 100).await.unwrap(), exact);
    };
    db.reads_at_most("vectors::nearest_of", A_FEW, named).await;
    let of_repository = async |store: &Store, source, repository, placement| {
        let filter = PassageFilter {
            sources: vec![source],
            repositories: vec![RepositoryId(id(5, repository))],
            ..PassageFilter::project(LARGE)
        };
        let found = vectors::nearest_in(store, &model, &query, &filter, 10, placement, Wide).await;
        assert_eq!(found.unwrap().len(), 10);
    };
    let small = async |store: &Store| {
        of_repository(store, SourceKind::Code, 21, VectorPlacement::Flat).await;
    };
    let plans = db.reads_at_most("vectors::nearest_in, repository", SMALL_REPOSITORY, small).await;
    assert_eq!(hnsw_scans(&plans), 0, "{plans}");
    let commits = async |store: &Store| {
        of_repository(store, SourceKind::Change, 1, VectorPlacement::HnswOfMany).await;
    };
    let plans = db.reads_at_most("vectors::nearest_in, commits", SMALL_VECTORS, commits).await;
    assert_eq!((scans_of("changes", &plans), hnsw_scans(&plans)), (CALLS, 0), "{plans}");
    // The plan of a large project must not be used.
    db.enter(SMALL);
    db.reads_at_most("vectors::nearest, flat, by tag again", SMALL_VECTORS, filtered).await;
    db.leave();
    let flat = FlatVectors { project: SMALL, source: SourceKind::Code, vectors: 0 };
    let step =
        async |store: &Store| vectors::move_into_hnsw(store, &model, &flat, 5).await.unwrap();
    db.reads_at_most("vectors::move_into_hnsw", A_FEW, step).await;

    let hits: Vec<_> = (1..=40).map(|n| PassageId(id(8, 1 + 38 * n))).collect();
    db.enter(SMALL);
    let load = async |store: &Store| passages::load(store, SMALL, &hits).await.unwrap();
    db.reads_at_most("passages::load", A_FEW, load).await;
    let near =
        async |store: &Store| vectors::near_to(store, hits[0], &hits[1..], 0.5).await.unwrap();
    db.reads_at_most("vectors::near_to", A_FEW, near).await;
    db.leave();
    let indexed = async |store: &Store| passages::indexed(store, &hits).await.unwrap();
    db.reads_at_most("passages::indexed", A_FEW, indexed).await;
    let after = async |store: &Store| {
        passages::indexed_after(store, Some(PassageId(id(8, 9_000))), 100).await.unwrap()
    };
    db.reads_at_most("passages::indexed_after", 100.0, after).await;
    let cursor = change_feed::read_after(&db.store, FeedCursor::default(), 20_000).await.unwrap();
    let last = cursor.entries.last().unwrap();
    let cursor = FeedCursor { txid: last.txid, seq: last.seq };
    let since = async |store: &Store| change_feed::read_after(store, cursor, 100).await.unwrap();
    db.reads_at_most("change_feed::read_after", 100.0, since).await;
}

/// The look-ups of a recall, and the bundle that it stores.
async fn recall(db: &mut Watched) {
    db.enter(SMALL);
    let found: Vec<_> = (1..=20).map(|n| RecordId(id(4, 1 + 38 * n))).collect();
    let task = async |store: &Store| tasks::find(store, SMALL, "CS-77").await.unwrap();
    db.reads_at_most("tasks::find", A_FEW, task).await;
    let cited = async |store: &Store| citations::of_records(store, &found).await.unwrap();
    db.reads_at_most("citations::of_records", A_FEW, cited).await;
    let path = "src/file_39.rb";
    let lines = async |store: &Store| citations::file_lines(store, SMALL, path).await.unwrap();
    db.reads_at_most("citations::file_lines", A_FEW, lines).await;
    let name = "Shop::Cart#code_77";
    let spans = async |store: &Store| {
        citations::symbol_spans(store, SMALL, name, path, None).await.unwrap()
    };
    db.reads_at_most("citations::symbol_spans", A_FEW, spans).await;

    let bundle = NewBundle {
        id: BundleId(id(10, 1)),
        project: SMALL,
        principal: "dev".into(),
        session: Some(ClientSession { id: ClientSessionId::generate(), started_at: Utc::now() }),
        is_control: false,
        prompt_version: None,
        request: serde_json::json!({}),
        confidence: 0.5,
        token_count: 100,
        degraded: vec![],
        items: found.iter().map(|record| item(*record)).collect(),
        handles: (1..).take(found.len()).map(handle).collect(),
    };
    let keep = async |store: &Store| {
        let bundle = NewBundle { id: BundleId::generate(), ..bundle.clone() };
        let mut tx = store.begin().await.unwrap();
        bundles::insert(&mut tx, bundle.project, &[&bundle]).await.unwrap();
        tx.commit().await.unwrap();
    };
    db.reads_at_most("bundles::insert", A_FEW, keep).await;
    let used = async |store: &Store| {
        bundles::mark_used(store, BundleId(id(10, 77)), &[id(4, 39)]).await.unwrap()
    };
    db.reads_at_most("bundles::mark_used", A_FEW, used).await;
}

fn handle(number: u16) -> Handle {
    Handle { kind: HandleKind::Memory, number }
}

fn item(record: RecordId) -> BundleItem {
    let passage = PassageId(record.0);
    BundleItem {
        section: BundleSection::Facts,
        record: Some(record),
        doc: None,
        passage,
        score: 1.0,
    }
}

/// The transaction of a save, and that of an embedded batch.
async fn save(db: &mut Watched) {
    db.enter(SMALL);
    let model = vectors::models(&db.store).await.unwrap().remove(0);
    let vector = [0.3; 32];
    let candidates = async |store: &Store, project, extent| {
        let mut tx = store.begin_with_memory_lock(project).await.unwrap();
        let text = Fingerprint { content_hash: b"none", simhash: 7_919, vector: Some(&vector) };
        let nearness = Nearness { max_distance: 10, limit: 30 };
        let model = Some((&model, extent));
        records::candidates(&mut tx, project, None, model, &[text; 3], nearness).await.unwrap()
    };
    let few = async |store: &Store| candidates(store, SMALL, VectorPlacement::Flat).await;
    db.reads_at_most("records::candidates of three", 3.0 * SMALL_PROJECT, few).await;
    db.enter(LARGE);
    let many = async |store: &Store| candidates(store, LARGE, VectorPlacement::Hnsw).await;
    let plans = db.reads_at_most("records::candidates of many", 3.0 * LARGE_PROJECT, many).await;
    assert_eq!(hnsw_scans(&plans), CALLS, "{plans}");
    db.enter(SMALL);
    let found = async |store: &Store| records::find(store, RecordId(id(4, 39))).await.unwrap();
    db.reads_at_most("records::find", A_FEW, found).await;
    let create = async |store: &Store| {
        let mut tx = store.begin_with_memory_lock(SMALL).await.unwrap();
        create_record(&mut tx, &model).await;
        tx.commit().await.unwrap();
    };
    db.reads_at_most("records::create", A_FEW, create).await;
    let write = async |store: &Store| {
        let mut tx = store.begin_with_memory_lock(SMALL).await.unwrap();
        write_record(&mut tx, &model).await;
        tx.commit().await.unwrap();
    };
    db.reads_at_most("the writes of a save", A_FEW, write).await;
    let remove = async |store: &Store| {
        let mut tx = store.begin().await.unwrap();
        passages::remove(&mut tx, PassageSource::Record(RecordId(id(4, 77)))).await.unwrap();
    };
    db.reads_at_most("passages::remove", A_FEW, remove).await;

    db.leave();
    let batch = async |store: &Store| {
        let backlog = vectors::take_backlog(store, &model, 32, false).await.unwrap();
        assert_eq!(backlog.len(), 32);
        let batch: Vec<_> = backlog.into_iter().map(|item| (item, vector.to_vec())).collect();
        vectors::store_batch(store, &model, &batch).await.unwrap();
    };
    // Passages that earlier calls removed from the queue are dead, and still in its index.
    db.reads_at_most("a batch of vectors", 32.0 + A_FEW, batch).await;
}

async fn create_record(tx: &mut Tx, model: &Model) {
    let passage = passage();
    let body = RecordBody {
        kind: RecordKind::Fact,
        title: Sanitized::default(),
        content: passage.text.clone(),
        scope: vec![],
        tags: vec![],
        owner: None,
        ttl: chrono::Utc::now() + chrono::TimeDelta::days(1),
        is_ttl_explicit: false,
        quality: serde_json::json!({}),
        meta: mc_domain::RecordMeta::default(),
        task: None,
        dialog: None,
        content_hash: passage.text.as_str().as_bytes().to_vec(),
        simhash: 7_919,
    };
    let (origin, vector) = (RecordSource::default(), Some((model, [0.3; 32].as_slice())));
    let new = NewRecord::of_the_team(&body, &origin, &passage, vector);
    records::create(tx, SMALL, new).await.unwrap();
}

async fn write_record(tx: &mut Tx, model: &Model) {
    let record = RecordId(id(4, 39));
    let passage = passage();
    citations::replace(tx, SMALL, record, &[]).await.unwrap();
    let source = PassageSource::Record(record);
    let written = passages::put_only(tx, SMALL, source, &passage).await.unwrap();
    let hash = vectors::text_hash(&passage);
    vectors::put(tx, model, written, &hash, &[0.3; 32]).await.unwrap();
    citations::derive_states(tx, &[record]).await.unwrap();
    records::lock(tx, &[record]).await.unwrap();
}

/// Returns a passage of a record with a unique text.
fn passage() -> NewPassage {
    NewPassage {
        record_kind: Some(RecordKind::Fact),
        text: mask(&Uuid::now_v7().to_string()).text,
        ..NewPassage::default()
    }
}

/// Pages of lists, and look-ups by name.
async fn lists(db: &mut Watched) {
    db.enter(SMALL);
    let after = RecordId(id(4, 9_000));
    let page = async |store: &Store| {
        let every = RecordFilter::default();
        assert_eq!(records::list(store, SMALL, &every, Some(after), 50).await.unwrap().len(), 50);
    };
    db.reads_at_most("records::list", 50.0, page).await;
    let page = async |store: &Store| {
        let rules = RecordFilter { kind: Some(RecordKind::Rule), ..RecordFilter::default() };
        records::list(store, SMALL, &rules, Some(after), 50).await.unwrap()
    };
    db.reads_at_most("records::list of a kind", SMALL_PROJECT, page).await;
    db.enter(LARGE);
    let page =
        async |store: &Store| docs::list(store, LARGE, Some(DocId(id(7, 900))), 50).await.unwrap();
    db.reads_at_most("docs::list", 50.0, page).await;
    db.enter(SMALL);
    let by_url = async |store: &Store| docs::by_url(store, SMALL, "https://wiki/39").await.unwrap();
    db.reads_at_most("docs::by_url", SMALL_PROJECT, by_url).await;
    let by_title = async |store: &Store| docs::by_title(store, SMALL, "page 39").await.unwrap();
    db.reads_at_most("docs::by_title", SMALL_PROJECT, by_title).await;
    let linked = async |store: &Store| tasks::linked(store, TaskId(id(2, 39))).await.unwrap();
    db.reads_at_most("tasks::linked", A_FEW, linked).await;
    let talk = DialogId(id(3, 39));
    let exists = async |store: &Store| dialogs::exists(store, SMALL, talk).await.unwrap();
    db.reads_at_most("dialogs::exists", A_FEW, exists).await;
    let overview = async |store: &Store| projects::overview(store, SMALL).await.unwrap();
    db.reads_at_most("projects::overview", 20_000.0, overview).await;
}

/// The queue of index runs, and the statements of a run.
async fn index_runs(db: &mut Watched) {
    db.leave();
    let run = IngestRunId(id(11, 39));
    let begin = async |store: &Store| ingest_runs::begin(store, run, "w").await.unwrap();
    db.reads_at_most("ingest_runs::begin", A_FEW, begin).await;
    let succeed = async |store: &Store| ingest_runs::succeed(store, run, "w").await.unwrap();
    db.reads_at_most("ingest_runs::succeed", A_FEW, succeed).await;
    let adopt = async |store: &Store| ingest_runs::rescue_orphans(store).await.unwrap();
    db.reads_at_most("ingest_runs::rescue_orphans", A_FEW, adopt).await;
    db.enter(SMALL);
    let find =
        async |store: &Store| ingest_runs::find(store, IngestRunId(id(11, 39))).await.unwrap();
    db.reads_at_most("ingest_runs::find", A_FEW, find).await;
    let repository = repositories::list(&db.store, SMALL).await.unwrap().remove(0);
    assert_eq!(repository.id, RepositoryId(id(5, 2)));
    let newest =
        async |store: &Store| ingest_runs::of_repository(store, repository.id, 5).await.unwrap();
    db.reads_at_most("ingest_runs::of_repository", A_FEW, newest).await;
    let enqueue = async |store: &Store| {
        let mut tx = store.begin().await.unwrap();
        ingest_runs::enqueue(&mut tx, &repository, "").await.unwrap();
        tx.commit().await.unwrap();
    };
    db.reads_at_most("ingest_runs::enqueue", A_FEW, enqueue).await;

    db.leave();
    let known = async |store: &Store| files::known(store, repository.id).await.unwrap();
    db.reads_at_most("files::known", SMALL_PROJECT, known).await;
    let wanted = [(FileId(id(6, 39)), "Shop::Cart#code_77")];
    db.enter(SMALL);
    let definitions = async |store: &Store| files::definitions(store, &wanted).await.unwrap();
    db.reads_at_most("files::definitions", A_FEW, definitions).await;
    let paths = ["src/file_39.rb".to_owned(), "src/file_77.rb".to_owned()];
    db.leave();
    let citing = async |store: &Store| {
        citations::records_citing(store, SMALL, &paths).await.unwrap();
    };
    // All citations of the project: locations and symbols are in one condition.
    db.reads_at_most("citations::records_citing", SMALL_PROJECT, citing).await;
    let delete = async |store: &Store| {
        let mut tx = store.begin().await.unwrap();
        files::delete(&mut tx, &[FileId(id(6, 77))]).await.unwrap();
    };
    db.reads_at_most("files::delete", A_FEW, delete).await;
}

/// Hourly cleanup and nightly retention, on tables that grew for a year.
async fn sweeps(db: &mut Watched) {
    let sweep = async |store: &Store| cleanup::sweep(store).await.unwrap();
    db.reads_at_most("cleanup::sweep, all", 200_000.0, sweep).await;
    db.reads_at_most("cleanup::sweep, nothing left", A_FEW, sweep).await;
    let purge = async |store: &Store, project| {
        let mut tx = store.begin().await.unwrap();
        for what in RetentionCategory::ALL {
            retention::purge(&mut tx, project, *what, &RetentionDays::default()).await.unwrap();
        }
        tx.commit().await.unwrap();
    };
    let large = async |store: &Store| purge(store, LARGE).await;
    db.reads_at_most("hygiene::retention, all", 200_000.0, large).await;
    let small = async |store: &Store| purge(store, SMALL).await;
    db.reads_at_most("hygiene::retention, of a small one", SMALL_PROJECT, small).await;
}
