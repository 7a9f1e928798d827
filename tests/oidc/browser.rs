//! A browser that follows redirects, keeps cookies and fills in forms.
#![allow(dead_code, reason = "not every test that includes it needs all of it")]

use reqwest::{Client, Response, header, redirect};
use url::Url;

/// A browser with its own cookies.
pub struct Browser {
    client: Client,
}

/// A page, or the URL of the final redirect.
enum Place {
    Page { address: Url, html: String },
    Left(Url),
}

struct Form {
    page: Url,
    action: Url,
    fields: Vec<(String, String)>,
}

impl Browser {
    pub fn new() -> Self {
        // The last request would go to the service, which may not run, or whose response the test
        // checks.
        let until_callback = redirect::Policy::custom(|attempt| {
            if is_callback(attempt.url()) { attempt.stop() } else { attempt.follow() }
        });
        let client = Client::builder().cookie_store(true).redirect(until_callback).no_proxy();
        Self { client: client.build().expect("a client") }
    }

    /// Opens `url`, signs in as `login` and grants everything; returns the redirect URL.
    pub async fn sign_in(&self, url: &Url, login: &str) -> Url {
        let mut place = self.open(url.clone()).await;
        for _ in 0..10 {
            match place {
                Place::Left(url) => return url,
                Place::Page { address, html } => {
                    let form = Form::of(&address, &html).expect("a form");
                    place = self.submit(form, login).await;
                }
            }
        }
        panic!("too many forms");
    }

    /// Opens `url`, signs in and grants until there is no form left; returns the last page.
    pub async fn agree(&self, url: &Url, login: &str) -> String {
        let mut place = self.open(url.clone()).await;
        for _ in 0..10 {
            let Place::Page { address, html } = place else { panic!("the browser was sent away") };
            match Form::of(&address, &html) {
                None => return html,
                Some(form) => place = self.submit(form, login).await,
            }
        }
        panic!("too many forms");
    }

    /// Opens `url` and cancels at the first page.
    pub async fn cancel(&self, url: &Url) -> Url {
        let Place::Page { address, html } = self.open(url.clone()).await else {
            panic!("the browser was sent away")
        };
        let links = html.split("<a ").filter(|link| link.contains("[ Cancel ]"));
        let link = links.last().and_then(|link| attribute(link, "href")).expect("a link");
        match self.open(address.join(&link).expect("an address")).await {
            Place::Left(url) => url,
            Place::Page { html, .. } => panic!("another page: {html}"),
        }
    }

    /// Opens the page of the device flow, types the code and presses the button that aborts.
    pub async fn abort(&self, url: &Url) -> String {
        let Place::Page { address, html } = self.open(url.clone()).await else {
            panic!("the browser was sent away")
        };
        let mut form = Form::of(&address, &html).expect("the form for the code");
        if !form.has("confirm") {
            let Place::Page { address, html } = self.submit(form, "").await else {
                panic!("the browser was sent away")
            };
            form = Form::of(&address, &html).expect("the form to confirm");
        }
        form.fields.retain(|(name, _)| name != "confirm");
        form.fields.push(("abort".to_owned(), "yes".to_owned()));
        match self.submit(form, "").await {
            Place::Page { html, .. } => html,
            Place::Left(url) => panic!("sent to {url}"),
        }
    }

    /// Opens `url`; returns the page and its URL.
    pub async fn visit(&self, url: &Url) -> (Url, String) {
        match self.open(url.clone()).await {
            Place::Page { address, html } => (address, html),
            Place::Left(url) => panic!("sent to {url}"),
        }
    }

    /// Presses a button of the first form of a page; returns the next page.
    pub async fn press(&self, (address, html): &(Url, String), name: &str, value: &str) -> String {
        let mut form = Form::of(address, html).expect("a form");
        form.fields.push((name.to_owned(), value.to_owned()));
        match self.submit(form, "").await {
            Place::Page { html, .. } => html,
            Place::Left(url) => panic!("sent to {url}"),
        }
    }

    async fn open(&self, url: Url) -> Place {
        Place::of(self.client.get(url).send().await.expect("an answer")).await
    }

    async fn submit(&self, mut form: Form, login: &str) -> Place {
        for (name, value) in &mut form.fields {
            match name.as_str() {
                "login" => login.clone_into(value),
                "password" => "any".clone_into(value),
                _ => {}
            }
        }
        let origin = form.page.origin().ascii_serialization();
        let post = self.client.post(form.action).header(header::ORIGIN, origin);
        let answer = post.form(&form.fields).send().await;
        Place::of(answer.expect("an answer")).await
    }
}

impl Place {
    async fn of(answer: Response) -> Self {
        let address = answer.url().clone();
        if let Some(target) = answer.headers().get(header::LOCATION) {
            let target = target.to_str().expect("text");
            return Self::Left(address.join(target).expect("an address"));
        }
        let status = answer.status();
        let html = answer.text().await.expect("a page");
        // An aborted login shows a page with status 400.
        assert!(
            status.is_success() || html.contains("interrupted"),
            "{status} at {address}: {html}"
        );
        Self::Page { address, html }
    }
}

impl Form {
    /// Returns the first form of a page, unless it follows a cancellation.
    fn of(address: &Url, html: &str) -> Option<Self> {
        let (_, rest) = html.split_once("<form")?;
        let (form, _) = rest.split_once("</form>")?;
        let (head, inputs) = form.split_once('>')?;
        let action = address.join(&attribute(head, "action")?).ok()?;
        let fields = inputs.split("<input").skip(1).filter_map(|input| {
            Some((attribute(input, "name")?, attribute(input, "value").unwrap_or_default()))
        });
        Some(Self { page: address.clone(), action, fields: fields.collect() })
    }

    fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|(name, _)| name == field)
    }
}

/// Returns the target of the first link whose tag contains `mark`.
pub fn link((address, html): &(Url, String), mark: &str) -> Option<Url> {
    let tag = html.split("<a ").skip(1).find(|tag| tag.contains(mark))?;
    address.join(&attribute(tag, "href")?).ok()
}

/// Returns an attribute of a tag in double quotes, as this provider and the service write them.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}

fn is_callback(url: &Url) -> bool {
    url.path().starts_with("/callback") || url.path().ends_with("/callback")
}
