//! The page at `/docs` loads what its policy allows: files of this service, no inline scripts.

use mc_api::{ApiSettings, IngressConfig};
use url::Url;

use super::limits::served;
use crate::client::TestApi;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn api_page_loads_nothing_that_its_csp_forbids() {
    let api = TestApi::start().await;
    let service = served(&api, ApiSettings::default(), IngressConfig::default()).await;
    let page = service.get("/docs/").await;
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self';"), "{policy}");
    assert!(!policy.contains("http"), "{policy}");
    assert!(policy.contains("connect-src 'self';"), "{policy}");

    let scripts: Vec<&str> = page.body.split("<script").skip(1).collect();
    assert!(!scripts.is_empty(), "{}", page.body);
    for script in &scripts {
        let (tag, rest) = script.split_once('>').unwrap();
        assert!(tag.contains("src="), "an inline script: <script{script}");
        assert!(rest.trim_start().starts_with("</script>"), "an inline script: <script{script}");
    }
    assert!(!page.body.contains(" on"), "an inline handler of events: {}", page.body);
    let base = Url::parse("http://localhost/docs/").unwrap();
    let loaded = attributes(&page.body, "src").chain(attributes(&page.body, "href"));
    for path in loaded.filter(|path| !path.starts_with('#')) {
        let loaded = base.join(path).unwrap();
        assert_eq!(loaded.origin(), base.origin(), "{path} is not of this service");
        let answer = service.get(loaded.path()).await;
        assert_eq!(answer.status, 200, "{path}");
    }
    let start = service.get("/docs/swagger-initializer.js").await;
    assert!(start.body.contains("/openapi.json"), "{}", start.body);
    assert!(!start.body.contains("://"), "{}", start.body);
}

fn attributes<'a>(page: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {name}=\"");
    let values: Vec<_> = page.split(&start).skip(1).map(|rest| rest.split('"').next()).collect();
    values.into_iter().flatten()
}
