//! Request to the server, and its response.

use std::time::Duration;

use mc_model_server::{Key, endpoint, http_client, reason, retry_after};
use reqwest::{Client, Response, StatusCode};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::Error;

/// Maximum size of a response: 512 vectors of 4,096 numbers in decimal.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct Call {
    client: Client,
    url: Url,
    server: String,
    model: String,
    key: Key,
    dimensions: Option<usize>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Index of the text in the request. Servers may return another order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Call {
    pub(super) fn new(
        base_url: &Url,
        model: &str,
        key: Key,
        dimensions: Option<usize>,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let url = endpoint(base_url, "embeddings").ok_or_else(|| {
            let remedy = "use http(s)://host/v1 without a password";
            Error::Settings(format!("`base_url` is {base_url}; {remedy}"))
        })?;
        let client =
            http_client(&url, timeout).map_err(|error| Error::Settings(error.to_string()))?;
        let server = url[url::Position::BeforeHost..url::Position::AfterPort].to_owned();
        Ok(Self { client, url, server, model: model.to_owned(), key, dimensions })
    }

    /// Returns host and port, for messages.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Requests one vector for each of `texts`, in their order. The vectors are not validated.
    pub(super) async fn send(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let request = Request {
            model: &self.model,
            input: texts,
            encoding_format: "float",
            dimensions: self.dimensions,
        };
        let mut builder = self.client.post(self.url.clone()).json(&request);
        if let Some(key) = self.key.value() {
            builder = builder.bearer_auth(key);
        }
        let response = builder.send().await.map_err(|error| self.lost(error))?;
        let status = response.status();
        if status.is_success() {
            let body = self.body(response).await?;
            return self.vectors(texts.len(), &body);
        }
        let retry_after = retry_after(response.headers());
        let body = self.body(response).await.unwrap_or_default();
        Err(self.refusal(status, retry_after, &body))
    }

    pub(super) fn unavailable(&self, reason: String, retry_after: Option<Duration>) -> Error {
        Error::Unavailable { server: self.server.clone(), reason, retry_after }
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, Error> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(error))? {
            if body.len() + chunk.len() > MAX_ANSWER_BYTES {
                return Err(self.bad("more than 64 MiB".to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn vectors(&self, texts: usize, body: &[u8]) -> Result<Vec<Vec<f32>>, Error> {
        let answer: Answer = serde_json::from_slice(body)
            .map_err(|error| self.bad(format!("no list of embeddings: {error}")))?;
        if answer.data.len() != texts {
            return Err(self.bad(format!("{} vectors for {texts} texts", answer.data.len())));
        }
        let mut vectors = vec![None; texts];
        for (position, item) in answer.data.into_iter().enumerate() {
            let index = item.index.unwrap_or(position);
            match vectors.get_mut(index) {
                Some(place @ None) => *place = Some(item.embedding),
                _ => return Err(self.bad(format!("the index {index} twice or out of range"))),
            }
        }
        // As many items as texts, each with its own index: no vector is missing.
        Ok(vectors.into_iter().flatten().collect())
    }

    fn refusal(&self, status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Error {
        let server = self.server.clone();
        match status.as_u16() {
            401 | 403 => {
                Error::Credentials { server, status: status.as_u16(), remedy: self.key.remedy() }
            }
            429 => Error::RateLimited { server, retry_after },
            408 | 409 | 425 | 500..=599 => {
                self.unavailable(format!("it answered {status}"), retry_after)
            }
            status => Error::Refused { server, status, reason: reason(body) },
        }
    }

    /// Returns the error of a request or response that was lost.
    fn lost(&self, error: reqwest::Error) -> Error {
        let what = if error.is_timeout() {
            "it did not answer in time"
        } else if error.is_connect() {
            "can't connect"
        } else {
            "the connection broke"
        };
        tracing::debug!(embedding.server = self.server(), error = ?error.without_url(), "request \
            lost");
        self.unavailable(what.to_owned(), None)
    }

    fn bad(&self, reason: String) -> Error {
        Error::BadAnswer { model: self.model.clone(), reason }
    }
}
