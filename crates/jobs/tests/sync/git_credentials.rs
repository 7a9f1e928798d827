//! Credentials of git for private repositories.

use std::sync::Arc;

use mc_connectors::ConnectorRegistry;
use mc_connectors::client::{Connector, ConnectorConfig, Limits, Provider};
use mc_domain::Capability;
use mc_indexer::index::GitCredentials as _;
use mc_integrations::git_credentials::ConnectorCredentials;
use secrecy::ExposeSecret as _;

use crate::fixture::{Fixture, TOKEN, redmine};

#[tokio::test(flavor = "multi_thread")]
async fn only_repositories_of_integrations_get_a_credential() {
    let fixture = Fixture::start(Provider::Github, redmine).await;
    let id = fixture.create_integration_for("acme/shop", Capability::Refs).await;
    let other = fixture.db.project("other").await.id;
    let mut connectors = ConnectorRegistry::default();
    let config = ConnectorConfig {
        name: "ours".to_owned(),
        kind: Provider::Github,
        url: "https://git.example.org".parse().unwrap(),
        user: None,
        token: Some(TOKEN.to_owned().into()),
        limits: Limits::default(),
    };
    connectors.add(Connector::new(config).unwrap(), Vec::new());
    let store = fixture.db.store().clone();
    let credentials = ConnectorCredentials::new(store, Arc::new(connectors));
    let found = async |project, url: &str| {
        let origin = mc_git::parse(url).unwrap();
        let found = credentials.find(project, &origin).await.unwrap();
        found.map(|found| (found.user, found.secret.expose_secret().to_owned()))
    };
    let expected = Some(("x-access-token".to_owned(), TOKEN.to_owned()));
    for url in ["https://git.example.org/acme/shop", "https://git.example.org/Acme/shop.git"] {
        assert_eq!(found(fixture.project, url).await, expected, "{url}");
    }
    for url in [
        "https://git.example.org/acme/billing",
        "https://git.example.org.evil.test/acme/shop",
        "https://other.example.org/acme/shop",
        "ssh://git@git.example.org/acme/shop",
    ] {
        assert_eq!(found(fixture.project, url).await, None, "{url}");
    }
    let url = "https://git.example.org/acme/shop";
    assert_eq!(found(other, url).await, None, "the integration is of another project");
    let pause = format!("update integrations set is_paused = true where id = '{id}'");
    fixture.execute(&pause).await;
    assert_eq!(found(fixture.project, url).await, None, "it is paused");
}
