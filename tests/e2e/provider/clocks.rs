//! Nodes with different clocks: tokens from a node ahead, and tokens that have just expired.

use chrono::{TimeDelta, Utc};
use mc_auth::jwt::{self, Grant, LEEWAY, LIFETIME, TokenAudience};
use mc_auth::keys::SigningKey;
use mc_crypto::{EncryptionKey, Encryptor};
use mc_domain::{SessionId, UserId};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::world::World;

#[tokio::test]
async fn service_accepts_clock_skew_up_to_the_leeway() {
    let world = World::new().await;
    let key = signing_key(&world).await;
    let made = json!({ "name": "node", "scopes": ["memory:read"] });
    let made = world.call(Method::POST, "/tokens", &world.service.token(), made).await.ok();
    let address = world.service.url.clone();
    let party = TokenAudience { issuer: address.clone(), audience: address };
    let grant = Grant {
        user: UserId::LOCAL,
        client: "node".parse().unwrap(),
        session: SessionId(made["id"].as_str().unwrap().parse().unwrap()),
        scopes: "memory:read".parse().unwrap(),
        session_ends_at: None,
    };
    let issued = |ahead: TimeDelta| {
        let issued = jwt::issue(&party, &key, &grant, Utc::now() + ahead).unwrap();
        issued.token.expose_secret().to_owned()
    };
    // Ten seconds from the limit, for a busy machine.
    let within = LEEWAY - TimeDelta::seconds(10);
    let beyond = LEEWAY + TimeDelta::seconds(10);
    for (ahead, is_taken, what) in [
        (TimeDelta::zero(), true, "issued now"),
        (within, true, "issued by a clock that is ahead"),
        (beyond, false, "issued in the future"),
        (-LIFETIME - within, true, "expired by a clock that is ahead"),
        (-LIFETIME - beyond, false, "expired"),
    ] {
        assert_eq!(world.whoami(&issued(ahead)).await.is_some(), is_taken, "{what}");
    }
    // A token expires with its session, however new.
    let token = issued(TimeDelta::zero());
    let revoke = format!("/tokens/{}", made["id"].as_str().unwrap());
    world.call(Method::DELETE, &revoke, &world.service.token(), Value::Null).await;
    assert!(world.whoami(&token).await.is_none());
}

/// Decrypts the key that signs tokens, as another node does.
async fn signing_key(world: &World) -> SigningKey {
    let file = world.service.data_dir.join("encryption.key");
    let bytes = hex::decode(std::fs::read_to_string(file).unwrap().trim()).unwrap();
    let sealer = Encryptor::new(EncryptionKey::from_bytes(&bytes).unwrap(), Vec::new());
    let keys = mc_store::sessions::keys(world.database.service()).await.unwrap();
    SigningKey::decrypt(&sealer, &keys[0].public, &keys[0].private).unwrap()
}
