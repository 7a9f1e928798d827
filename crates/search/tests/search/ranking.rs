//! Order and filters of hits.

use std::collections::BTreeSet;

use mc_domain::SourceKind;
use mc_search::glob;
use mc_store::passages::{self, NewPassage};
use mc_store::vectors;

use crate::support::{Fixture, code, embed_backlog, passage};

const SYMBOL: &str = "CartSessions::Setting#trigger_delay_time_in_minutes";

async fn shop() -> Fixture {
    let fixture = Fixture::new().await;
    let chatter = "trigger delay time in minutes: the setting of trigger delay time, in minutes. ";
    let noise = (0..20).map(|n| {
        passage(&format!("docs/noise{n}.md"), &format!("{} number {n}", chatter.repeat(n + 3)))
    });
    let mut passages: Vec<NewPassage> = noise.collect();
    passages.push(code("app/models/cart_sessions/setting.rb", SYMBOL, "def read = self[:t]"));
    passages.push(code("app/models/other.rb", "Other#delay", "def delay = 5"));
    passages.push(code("lib/setting.rb", "Setting", "class Setting; end"));
    fixture.write("shop", &passages).await;
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn exact_symbol_ranks_first_in_any_spelling() {
    let fixture = shop().await;
    let node = fixture.node().await.ready().await;
    for text in [
        SYMBOL,
        "trigger_delay_time_in_minutes",
        "Setting#trigger_delay_time_in_minutes",
        "cartsessions.setting.trigger_delay_time_in_minutes",
        "`Setting.trigger_delay_time_in_minutes()`",
    ] {
        let places = node.places(&fixture.query(text)).await;
        assert_eq!(places[0], "app/models/cart_sessions/setting.rb", "{text}: {places:?}");
    }
    let mut query = fixture.query("trigger delay time in minutes");
    query.symbols.push(SYMBOL.into());
    assert_eq!(node.places(&query).await[0], "app/models/cart_sessions/setting.rb");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exact_path_ranks_first() {
    let fixture = shop().await;
    let node = fixture.node().await.ready().await;
    for (text, expected) in [
        ("app/models/other.rb", "app/models/other.rb"),
        ("models/other.rb", "app/models/other.rb"),
        ("other.rb", "app/models/other.rb"),
        ("./app/models/other.rb:12:3", "app/models/other.rb"),
        ("lib/setting.rb", "lib/setting.rb"),
    ] {
        assert_eq!(node.places(&fixture.query(text)).await[0], expected, "{text}");
    }
    let mut query = fixture.query("trigger delay time in minutes");
    query.paths.push("lib/setting.rb".into());
    assert_eq!(node.places(&query).await[0], "lib/setting.rb");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_exclude_other_passages() {
    let fixture = Fixture::new().await;
    let tagged = NewPassage {
        tags: vec!["billing".into()],
        scope: vec!["checkout".into()],
        ..code("app/a.rb", "A", "the kestrel bills")
    };
    fixture.write("a", &[tagged, passage("docs/b.md", "the kestrel reads")]).await;
    let node = fixture.node().await.ready().await;
    let places = async |change: &dyn Fn(&mut passages::PassageFilter)| {
        let mut query = fixture.query("kestrel");
        change(&mut query.filter);
        node.places(&query).await
    };
    assert_eq!(places(&|_| ()).await.len(), 2);
    assert_eq!(places(&|f| f.tags = vec!["billing".into(), "x".into()]).await, ["app/a.rb"]);
    assert_eq!(places(&|f| f.scope = vec!["checkout".into()]).await, ["app/a.rb"]);
    assert_eq!(places(&|f| f.languages = vec!["ruby".into()]).await, ["app/a.rb"]);
    assert!(places(&|f| f.sources = vec![SourceKind::Memory]).await.is_empty());
    assert_eq!(places(&|f| f.sources = vec![SourceKind::Doc]).await.len(), 2);
    let glob = glob::to_regex("docs/**/*.md").expect("a glob");
    assert_eq!(places(&|f| f.path_regex = Some(glob.clone())).await, ["docs/b.md"]);
    let elsewhere = fixture.database.project("other").await.id;
    assert!(places(&|f| f.project = elsewhere).await.is_empty(), "projects are separate");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn glob_matches_equally_in_the_index_and_postgresql() {
    const PLACES: [&str; 10] = [
        "app/a.rb",
        "app/models/b.rb",
        "app/models/deep/c-1.rb",
        "lib/a.py",
        "docs/план.md",
        "docs/a(b)+|c$.md",
        "docs/a^b.md",
        "a.rb",
        "src/[x].rs",
        "src/{y}&~z.rs",
    ];
    let fixture = Fixture::new().await;
    let passages: Vec<_> =
        PLACES.iter().map(|place| passage(place, &format!("the kestrel of {place}"))).collect();
    fixture.write("a", &passages).await;
    let node = fixture.node().await.ready().await;
    embed_backlog(&node, |_| vec![1.0, 0.0, 0.0]).await;
    let model = node.context.models.current().model;
    for (pattern, count) in [
        ("*.rb", 4),
        ("app/**", 3),
        ("app/*", 1),
        ("**/models/**/*.rb", 2),
        ("/", 10),
        ("?.rb", 3),
        ("{app,lib}/a.{rb,py}", 2),
        ("app/**/[b-c]{,-1}.rb", 2),
        ("docs/[!a]*", 1),
        ("a(b)+|c$.md", 1),
        ("docs/a^b.md", 1),
        ("docs/a[\\^]b.md", 1),
        ("src/\\[x\\].rs", 1),
        ("src/\\{y\\}&~z.rs", 1),
        ("*план*", 1),
        ("[a-zа-я]*.rb", 4),
        ("nothing", 0),
    ] {
        let mut query = fixture.query("kestrel");
        query.filter.path_regex = Some(glob::to_regex(pattern).expect(pattern));
        let by_index: BTreeSet<String> = node.places(&query).await.into_iter().collect();
        let nearest =
            vectors::nearest(fixture.store(), &model, &[1.0, 0.0, 0.0], &query.filter, 100).await;
        let ids: Vec<_> = nearest.expect(pattern).into_iter().map(|(id, _)| id).collect();
        let loaded = passages::indexed(fixture.store(), &ids).await.expect("passages");
        let by_postgresql: BTreeSet<String> = loaded.into_iter().map(|p| p.location).collect();
        assert_eq!(by_index, by_postgresql, "{pattern}");
        assert_eq!(by_index.len(), count, "{pattern}: {by_index:?}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn free_text_is_not_parsed_as_query_syntax() {
    let fixture = Fixture::new().await;
    fixture.write("a", &[passage("a.md", "the kestrel hovers")]).await;
    let node = fixture.node().await.ready().await;
    for text in [
        "title:kestrel AND (",
        "kestrel^1000 -the",
        "\"kestrel",
        "*",
        "kestrel~2 [a TO z]",
        "\\",
        "id:0",
    ] {
        let hits = node.find(&fixture.query(text)).await.hits;
        assert_eq!(hits.len(), usize::from(text.contains("kestrel")), "{text}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn russian_words_are_found_in_every_case() {
    let fixture = Fixture::new().await;
    fixture
        .write(
            "a",
            &[
                passage("a.md", "Возвраты платежей обрабатывает PaymentWorker ночью"),
                passage("b.md", "Скидки считаются в корзине"),
            ],
        )
        .await;
    let node = fixture.node().await.ready().await;
    for text in ["как обработать возврат платежа", "payment worker", "возврата"]
    {
        assert_eq!(node.places(&fixture.query(text)).await, ["a.md"], "{text}");
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hit_explains_its_score() {
    let fixture = shop().await;
    let node = fixture.node().await.ready().await;
    let hit = node.find(&fixture.query(SYMBOL)).await.hits.into_iter().next().expect("a hit");
    let explain = hit.explain.expect("an explanation");
    let ranks: Vec<_> =
        explain.retrievers.iter().map(|found| (found.retriever.as_str(), found.rank)).collect();
    assert_eq!(ranks[0], ("exact", 1));
    assert!(
        explain
            .adjustments
            .iter()
            .any(|a| a.step == mc_search::Step::ExactSymbol && a.factor > 1.0)
    );
    let product: f32 = explain.adjustments.iter().map(|a| a.factor).product();
    assert!((explain.fused_score * product - explain.adjusted_score).abs() < 1e-2);
    assert!(hit.score > 0.9 && hit.score < 1.0);
    node.stop().await;
}
