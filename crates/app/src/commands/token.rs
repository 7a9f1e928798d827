//! `memory-copilot token`.

use anyhow::Result;
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::cli::TokenCommand;
use crate::output::{self, Format, list, text, time};

pub async fn run(command: TokenCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        TokenCommand::Create { name, scopes, expires_in_days, agent } => {
            let request = json!({
                "name": name, "scopes": scopes, "expires_in_days": expires_in_days,
                "agent_login": agent,
            });
            let made = remote.post("/tokens", request).await?;
            format.print(&made, |made: &Value| {
                format!(
                    "{}\nThis is shown once. It ends {}; revoke it with: memory-copilot token \
                     revoke {}",
                    text(made, "token"),
                    time(made, "expires_at", 10),
                    text(made, "id")
                )
            });
        }
        TokenCommand::List { user } => {
            let query: Vec<_> = user.iter().map(|login| ("user", login.as_str())).collect();
            let tokens = remote.get("/tokens", &query).await?;
            format.print(&tokens, table);
        }
        TokenCommand::Revoke { id } => {
            remote.delete(&format!("/tokens/{id}")).await?;
            output::line("Revoked.");
        }
    }
    Ok(())
}

fn table(tokens: &Value) -> String {
    let header = ["id", "name", "ends with", "scopes", "expires", "last used", "state"];
    output::table(header, list(tokens, "items"), |token| {
        let scopes: Vec<_> = list(token, "scopes").iter().filter_map(Value::as_str).collect();
        let state = if token["revoked_at"].is_null() { "" } else { "revoked" };
        [
            text(token, "id").to_owned(),
            text(token, "name").to_owned(),
            text(token, "hint").to_owned(),
            scopes.join(" "),
            time(token, "expires_at", 10),
            time(token, "last_used_at", 10),
            state.to_owned(),
        ]
    })
}
