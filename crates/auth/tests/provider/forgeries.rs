//! ID tokens that a real provider was made to forge, most of them with its own key.

use mc_auth::login::Error;

use crate::server::Server;
use crate::support::{login, oidc};

/// Kind of forgery, and a word of the reason for which it must be refused.
const FORGERIES: [(&str, &str); 18] = [
    ("unsigned", "signature"),
    ("signed with the client secret", "signature"),
    ("signed with a key of its own", "signature"),
    ("with an unknown extension", "critical"),
    ("of another type", "JWT type"),
    ("another issuer", "issuer"),
    ("another audience", "audience"),
    ("a second audience", "audience"),
    ("another party", "another client"),
    ("expired", "expired"),
    ("issued long ago", "issued"),
    ("issued ahead", "issued"),
    ("another nonce", "nonce"),
    ("no nonce", "nonce"),
    ("another access token", "access token"),
    ("an empty subject", "subject"),
    ("without an ID token", "no ID token"),
    ("no subject", ""),
];

#[tokio::test]
async fn a_forged_statement_is_not_believed() {
    let server = Server::oidc().await;
    let provider = oidc(&server, "RS256").await;
    for (kind, word) in FORGERIES {
        server.forge(kind).await;
        let reason = match login(&provider, "1815").await {
            Err(Error::Identity { reason, .. }) => reason,
            // Not even the shape of an ID token.
            Err(Error::BadAnswer { reason, .. }) if kind == "no subject" => reason,
            other => panic!("{kind}: {other:?}"),
        };
        assert!(reason.to_lowercase().contains(&word.to_lowercase()), "{kind}: {reason}");
    }
    // The forger's own way of signing is right: what it leaves as it was is believed.
    server.forge("nothing at all").await;
    assert_eq!(login(&provider, "1815").await.expect("a person").subject, "1815");
}
