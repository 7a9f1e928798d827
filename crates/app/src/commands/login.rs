//! `memory-copilot login`, `logout` and `whoami`.

use anyhow::{Context, Result, bail};
use mc_domain::Scopes;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::api_client::ApiClient;
use crate::cli::{LoginArgs, LogoutArgs};
use crate::config::Config;
use crate::credentials::Logins;
use crate::output::{self, Format, text};

/// Signs in, or decides about a login at another terminal.
pub async fn run(
    args: LoginArgs,
    remote: &ApiClient,
    config: &Config,
    stop: CancellationToken,
) -> Result<()> {
    if let Some((code, approve)) =
        args.approve.map(|code| (code, true)).or(args.deny.map(|code| (code, false)))
    {
        let decision = json!({ "user_code": code, "approve": approve });
        remote.post("/auth/device/decision", decision).await?;
        output::line(if approve { "The other terminal is signed in as you." } else { "Refused." });
        return Ok(());
    }
    let scopes =
        if args.scopes.is_empty() { Scopes::ALL } else { Scopes::parse(&args.scopes.join(" "))? };
    let logins = Logins::of(config)?;
    let terminal = logins.terminal()?;
    let invitation = terminal.begin(scopes).await?;
    output::line(&format!("Open     {}", invitation.address));
    output::line(&format!("and type {}", invitation.user_code));
    if let Some(address) = &invitation.complete_address {
        output::line(&format!("or open  {address}"));
    }
    let minutes = invitation.expires_in.as_secs() / 60;
    output::line(&format!("Waiting; the code is good for {minutes} minutes. Ctrl-C gives up."));
    let waiting = terminal.wait(invitation, tokio::time::sleep);
    let Some(tokens) = stop.run_until_cancelled(waiting).await else { bail!("given up") };
    logins.keep(&tokens?)?;
    let me = remote.get("/whoami", &[]).await?;
    output::line(&format!("Signed in as {}.", text(&me, "login")));
    Ok(())
}

/// Signs out: on this machine, or everywhere.
pub async fn out(args: &LogoutArgs, remote: &ApiClient, config: &Config) -> Result<()> {
    if args.all_sessions { out_everywhere(remote, config).await } else { out_here(config).await }
}

/// Ends every login of the caller, then forgets that of this machine, if it is what the service was
/// asked with.
async fn out_everywhere(remote: &ApiClient, config: &Config) -> Result<()> {
    let me = remote.get("/whoami", &[]).await?;
    let login = text(&me, "login");
    remote.delete(&format!("/users/{login}/sessions")).await?;
    let one_stays = Logins::of(config)?.forget_used()?;
    output::line(&format!(
        "Signed out everywhere as {login}. Personal access tokens stay: `memory-copilot token \
         list` shows them."
    ));
    if one_stays {
        output::line(
            "The login that is stored on this machine was left alone, for MEMORY_COPILOT_TOKEN was \
             used in its place. Without it, `memory-copilot logout` ends that one.",
        );
    }
    Ok(())
}

/// Forgets the login of this machine and ends it at the service.
async fn out_here(config: &Config) -> Result<()> {
    let Some(token) = Logins::of(config)?.forget()? else {
        output::line("You were not signed in.");
        return Ok(());
    };
    let mut client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    if let Some(pem) = config.ca_pem()? {
        for certificate in reqwest::Certificate::from_pem_bundle(&pem)? {
            client = client.add_root_certificate(certificate);
        }
    }
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("token", token.expose_secret())
        .finish();
    client
        .build()?
        .post(format!("{}/auth/revoke", config.base_url()))
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
        .send()
        .await
        .and_then(reqwest::Response::error_for_status)
        .map_err(reqwest::Error::without_url)
        .context(
            "this machine has forgotten the login, but the service could not be told; it ends by \
             itself within 30 days, with `memory-copilot logout --all-sessions` elsewhere, or when \
             an administrator signs the user out",
        )?;
    output::line("Signed out.");
    Ok(())
}

/// Says who the service takes this program for.
pub async fn whoami(remote: &ApiClient, format: Format) -> Result<()> {
    let me = remote.get("/whoami", &[]).await?;
    format.print(&me, |me: &Value| {
        let scopes: Vec<_> = output::list(me, "scopes").iter().filter_map(Value::as_str).collect();
        let what = if me["is_admin"] == true { ", administrator of the service" } else { "" };
        format!("{}{what}; the token may be used for {}", text(me, "login"), scopes.join(" "))
    });
    Ok(())
}
