//! Responses that do not belong to the login that this browser started.

use url::Url;

use super::browser::Browser;
use super::server::Server;
use super::world::{Answer, World};

/// A provider's response that no browser has returned to the service yet.
struct Login {
    back: Url,
}

impl Login {
    async fn of(world: &World, provider: &str, subject: &str) -> Self {
        Self { back: world.up_to_callback(&Browser::new(), provider, subject).await }
    }

    fn parameter(&self, name: &str) -> String {
        let mut pairs = self.back.query_pairs();
        pairs.find(|(key, _)| key == name).expect(name).1.into_owned()
    }

    /// The cookie of the browser that started the login.
    fn cookie(&self) -> String {
        format!("mc_login={}", self.parameter("state"))
    }

    /// Returns the URL with another value of one parameter.
    fn with(&self, name: &str, value: Option<&str>) -> Url {
        let others = self.back.query_pairs().into_owned().filter(|(key, _)| key != name);
        let others: Vec<_> = others.collect();
        let mut address = self.back.clone();
        let mut query = address.query_pairs_mut();
        query.clear().extend_pairs(others);
        query.extend_pairs(value.map(|value| (name, value)));
        drop(query);
        address
    }
}

fn assert_refused(answer: &Answer, status: u16, why: &str) {
    assert_eq!(answer.status, status, "{why}: {answer:?}");
    assert!(!answer.signs_in(), "{why}: {answer:?}");
}

#[tokio::test]
async fn login_is_finished_once_by_its_own_browser() {
    let world = World::new().await;
    world.invite("ada", "1815").await;
    let (login, another) =
        tokio::join!(Login::of(&world, "corp", "1815"), Login::of(&world, "corp", "1815"),);

    let answer = world.get(&login.back, "").await;
    assert_refused(&answer, 401, "a browser that began none");
    let answer = world.get(&login.back, &another.cookie()).await;
    assert_refused(&answer, 401, "a browser that began another");
    let made_up = login.with("state", Some(&"A".repeat(43)));
    assert_refused(&world.get(&made_up, &login.cookie()).await, 401, "a made-up state");
    let none = login.with("state", None);
    assert_refused(&world.get(&none, &login.cookie()).await, 400, "no state");
    let twice = Url::parse(&format!("{}&state={}", login.back, login.parameter("state"))).unwrap();
    assert_refused(&world.get(&twice, &login.cookie()).await, 400, "two states");

    let answer = world.get(&login.back, &login.cookie()).await;
    assert!(answer.status == 303 && answer.signs_in(), "the right one: {answer:?}");
    let again = world.get(&login.back, &login.cookie()).await;
    assert_refused(&again, 401, "the same once more");
}

#[tokio::test]
async fn code_is_bound_to_its_login_and_provider() {
    let world = World::with_another().await;
    for (login, subject) in [("ada", "1815"), ("mallory", "666")] {
        world.invite(login, subject).await;
    }
    // A link with another person's code: the login that was started here has another verifier.
    let (victims, attackers) =
        tokio::join!(Login::of(&world, "corp", "1815"), Login::of(&world, "corp", "666"),);
    let injected = victims.with("code", Some(&attackers.parameter("code")));
    assert_refused(&world.get(&injected, &victims.cookie()).await, 401, "a code of another login");

    // A provider responds in the name of another.
    let login = Login::of(&world, "corp", "1815").await;
    let mixed = login.with("iss", world.other.as_ref().map(Server::issuer));
    assert_refused(&world.get(&mixed, &login.cookie()).await, 401, "the other's name");
    let login = Login::of(&world, "corp", "1815").await;
    let nameless = login.with("iss", None);
    assert_refused(&world.get(&nameless, &login.cookie()).await, 401, "no name");
    let login = Login::of(&world, "corp", "1815").await;
    let mut elsewhere = login.back.clone();
    elsewhere.set_path("/auth/oauth/other/callback");
    assert_refused(&world.get(&elsewhere, &login.cookie()).await, 401, "at the other's door");
}

#[tokio::test]
async fn denied_or_forged_logins_are_rejected() {
    let world = World::new().await;
    world.invite("ada", "1815").await;
    let browser = Browser::new();
    let back = browser.cancel(&world.address("/auth/oauth/corp/start")).await;
    let login = Login { back };
    let answer = world.get(&login.back, &login.cookie()).await;
    assert_refused(&answer, 403, "the person changed their mind");
    assert!(answer.body["detail"].as_str().unwrap().contains("access_denied"), "{answer:?}");

    for lie in ["another audience", "another nonce", "unsigned", "expired"] {
        world.corp.forge(lie).await;
        let login = Login::of(&world, "corp", "1815").await;
        assert_refused(&world.get(&login.back, &login.cookie()).await, 401, lie);
    }
    world.corp.forge("nothing at all").await;
    let login = Login::of(&world, "corp", "1815").await;
    assert!(world.get(&login.back, &login.cookie()).await.signs_in(), "the truth");

    let unknown = world.get(&world.address("/auth/oauth/nobody/start"), "").await;
    assert_refused(&unknown, 404, "a provider that is not set up");
    let log = world.service.log();
    for secret in [login.parameter("code"), login.parameter("state")] {
        assert!(!log.contains(&secret), "the log has a parameter of a login");
    }
}
