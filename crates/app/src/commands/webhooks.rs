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
            let hook = set_secret(remote, config, &path, request, &secret).await?;
            format.print(&hook, provider_settings);
        }
        WebhooksCommand::List { project } => {
            let mut hooks = remote.get(&project.path("webhooks")?, &[]).await?;
            let service = config.public_url()?;
            for hook in hooks["items"].as_array_mut().into_iter().flatten() {
                add_address(hook, &service)?;
            }
            format.print(&hooks, hooks_table);
        }
        WebhooksCommand::RotateSecret { id, project, previous_secret_ttl_hours, secret } => {
            let path = project.path(&format!("webhooks/{id}/rotate-secret"))?;
            let request = json!({ "previous_secret_ttl_hours": previous_secret_ttl_hours });
            let hook = set_secret(remote, config, &path, request, &secret).await?;
            format.print(&hook, |hook: &Value| {
                format!(
                    "{}\n{}",
                    provider_settings(hook),
                    previous_secret(previous_secret_ttl_hours)
                )
            });
        }
        WebhooksCommand::Delete { id, project } => {
            remote.delete(&project.path(&format!("webhooks/{id}"))?).await?;
            output::line("Deleted.");
        }
        WebhooksCommand::Deliveries { project, webhook, state, limit } => {
            let (limit, webhook) = (limit.to_string(), webhook.map(|id| id.to_string()));
            let mut query = vec![("limit", limit.as_str())];
            query.extend(webhook.as_deref().map(|id| ("webhook_id", id)));
            query.extend(state.map(|state| ("state", state.as_str())));
            let page = remote.get(&project.path("webhook-deliveries")?, &query).await?;
            format.print(&page, deliveries_table);
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
    let mut hook = remote.post(path, request).await?;
    if file.is_some() {
        hook["secret"] = Value::Null;
    }
    add_address(&mut hook, &service)?;
    Ok(hook)
}

/// Reads the secret in the file, without surrounding white space.
fn secret_in(file: &Path) -> Result<String> {
    Ok(input::text(file)?.trim().to_owned())
}

/// Adds the URL of a webhook. The service's response has only its path.
fn add_address(hook: &mut Value, service: &Url) -> Result<()> {
    let address =
        service.join(text(hook, "url_path")).context("the path of the webhook is not valid")?;
    hook["address"] = address.as_str().into();
    Ok(())
}

fn provider_settings(hook: &Value) -> String {
    let address = text(hook, "address");
    match hook["secret"].as_str() {
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

fn hooks_table(page: &Value) -> String {
    let header =
        ["id", "provider", "created", "by", "last delivery", "previous secret until", "url"];
    output::page_table(page, header, |hook| {
        [
            text(hook, "id").to_owned(),
            text(hook, "provider").to_owned(),
            time(hook, "created_at", 10),
            text(hook, "created_by").to_owned(),
            time(hook, "last_delivery_at", 19),
            time(hook, "previous_secret_expires_at", 19),
            text(hook, "address").to_owned(),
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
        let mut hook = json!({ "url_path": "/ingest/git?webhook_id=01" });
        add_address(&mut hook, &service).expect("an address");
        assert_eq!(hook["address"], "https://memory.example.com:8443/ingest/git?webhook_id=01");
    }
}
