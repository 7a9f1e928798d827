//! `memory-copilot webhooks`.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use url::Url;

use crate::api_client::ApiClient;
use crate::cli::{SecretArg, WebhooksCommand};
use crate::config::Config;
use crate::input;
use crate::output::{self, Format, text, time};

pub async fn run(
    command: WebhooksCommand,
    remote: &ApiClient,
    config: &Config,
    format: Format,
) -> Result<()> {
    match command {
        WebhooksCommand::Create { provider, project, secret } => {
            let path = project.path("webhooks")?;
            let request = json!({ "provider": provider });
            let webhook = set_secret(remote, config, &path, request, &secret).await?;
            format.print(&webhook, provider_settings);
        }
        WebhooksCommand::List { project } => {
            let mut webhooks = remote.get(&project.path("webhooks")?, &[]).await?;
            let service = config.public_url()?;
            for webhook in webhooks["items"].as_array_mut().into_iter().flatten() {
                add_address(webhook, &service)?;
            }
            format.print(&webhooks, webhooks_table);
        }
        WebhooksCommand::RotateSecret { id, project, previous_secret_ttl_hours, secret } => {
            let path = project.path(&format!("webhooks/{id}/rotate-secret"))?;
            let request = json!({ "previous_secret_ttl_hours": previous_secret_ttl_hours });
            let webhook = set_secret(remote, config, &path, request, &secret).await?;
            format.print(&webhook, |webhook: &Value| {
                format!(
                    "{}\n{}",
                    provider_settings(webhook),
                    previous_secret(previous_secret_ttl_hours)
                )
            });
        }
        WebhooksCommand::Delete { id, project } => {
            remote.delete(&project.path(&format!("webhooks/{id}"))?).await?;
            output::line("Deleted.");
        }
        WebhooksCommand::Deliveries { project, webhook, state, page } => {
            let webhook = webhook.map(|id| id.to_string());
            let mut query = Vec::new();
            query.extend(webhook.as_deref().map(|id| ("webhook_id", id)));
            query.extend(state.map(|state| ("state", state.as_str())));
            let path = project.path("webhook-deliveries")?;
            format.print(&remote.page(&path, &query, &page).await?, deliveries_table);
        }
        WebhooksCommand::Replay { id, project } => {
            let path = project.path(&format!("webhook-deliveries/{id}/replay"))?;
            let delivery = remote.post(&path, json!({})).await?;
            format.print(&delivery, |delivery: &Value| {
                format!("The delivery is queued: {} {id}", text(delivery, "event_type"))
            });
        }
    }
    Ok(())
}

/// Creates a webhook, or rotates its secret. Returns the response without a secret that the caller
/// provided.
async fn set_secret(
    remote: &ApiClient,
    config: &Config,
    path: &str,
    mut request: Value,
    secret: &SecretArg,
) -> Result<Value> {
    let service = config.public_url()?;
    let file = secret.secret_file.as_deref();
    if let Some(file) = file {
        request["secret"] = secret_in(file)?.into();
    }
    let mut webhook = remote.post(path, request).await?;
    if file.is_some() {
        webhook["secret"] = Value::Null;
    }
    add_address(&mut webhook, &service)?;
    Ok(webhook)
}

/// Reads the secret in the file, without surrounding white space.
fn secret_in(file: &Path) -> Result<String> {
    Ok(input::text(file)?.trim().to_owned())
}

/// Adds the URL of a webhook. The service's response has only its path.
fn add_address(webhook: &mut Value, service: &Url) -> Result<()> {
    let address =
        service.join(text(webhook, "url_path")).context("the path of the webhook is not valid")?;
    webhook["address"] = address.as_str().into();
    Ok(())
}

fn provider_settings(webhook: &Value) -> String {
    let address = text(webhook, "address");
    match webhook["secret"].as_str() {
        Some(secret) => format!(
            "URL     {address}\nSecret  {secret}\nGive both to the provider. The secret is shown \
             only once."
        ),
        None => format!("URL     {address}\nGive it to the provider, with the secret of the file."),
    }
}

/// Describes how long the previous secret stays valid.
fn previous_secret(previous_secret_ttl_hours: u32) -> String {
    match previous_secret_ttl_hours {
        0 => "The previous secret is no longer accepted.".to_owned(),
        hours => format!("The previous secret is accepted for {hours} more hours."),
    }
}

fn webhooks_table(page: &Value) -> String {
    let header =
        ["id", "provider", "created", "by", "last delivery", "previous secret until", "url"];
    output::page_table(page, header, |webhook| {
        [
            text(webhook, "id").to_owned(),
            text(webhook, "provider").to_owned(),
            time(webhook, "created_at", 10),
            text(webhook, "created_by").to_owned(),
            time(webhook, "last_delivery_at", 19),
            time(webhook, "previous_secret_expires_at", 19),
            text(webhook, "address").to_owned(),
        ]
    })
}

fn deliveries_table(page: &Value) -> String {
    let header = ["id", "received", "provider", "event", "state", "outcome"];
    output::page_table(page, header, |delivery| {
        [
            text(delivery, "id").to_owned(),
            time(delivery, "received_at", 19),
            text(delivery, "provider").to_owned(),
            text(delivery, "event_type").to_owned(),
            text(delivery, "state").to_owned(),
            text(delivery, "outcome").to_owned(),
        ]
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn provider_must_be_a_known_value() {
        let read = |source| {
            Cli::try_parse_from(["memory-copilot", "webhooks", "create", "-p", "shop", source])
        };
        let command = read("youtrack").expect("a command").command;
        assert!(matches!(
            command,
            Command::Webhooks(WebhooksCommand::Create {
                provider: mc_domain::Provider::Youtrack,
                ..
            })
        ));
        let said = read("bitbucket").expect_err("no such sender").to_string();
        assert!(said.contains("gitlab") && said.contains("confluence"), "{said}");
    }

    #[test]
    fn secret_is_read_without_surrounding_white_space() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "of-at-least-16-characters\r\n").expect("written");
        assert_eq!(secret_in(file.path()).expect("read"), "of-at-least-16-characters");
    }

    #[test]
    fn webhook_url_is_the_service_url_with_its_path() {
        let service = Url::parse("https://memory.example.com:8443").expect("a URL");
        let mut webhook = json!({ "url_path": "/ingest/git?webhook_id=01" });
        add_address(&mut webhook, &service).expect("an address");
        assert_eq!(webhook["address"], "https://memory.example.com:8443/ingest/git?webhook_id=01");
    }
}
