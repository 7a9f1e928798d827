//! `memory-copilot login`, `logout` and `whoami`.

mod decision;

use anyhow::{Context, Result, bail};
use mc_auth::device_client::Tokens;
use mc_domain::Scopes;
use secrecy::ExposeSecret;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::api_client::ApiClient;
use crate::cli::{LoginArgs, LogoutArgs};
use crate::config::Config;
use crate::credentials::Logins;
use crate::output::{self, Format, text};
use crate::prompt;

/// Signs in, or approves or denies a login in another terminal. `on_signals` returns a token that
/// signals cancel: while a person is asked to confirm, a signal ends the program at once.
pub async fn run(
    args: LoginArgs,
    remote: &ApiClient,
    config: &Config,
    on_signals: impl FnOnce() -> Result<CancellationToken>,
) -> Result<()> {
    if let Some(code) = args.approve {
        return decision::approve(&code, &args.scopes, remote).await;
    }
    if let Some(code) = args.deny {
        return decision::deny(&code, remote).await;
    }
    if args.invitation {
        return accept_invitation(&args.scopes, remote, config).await;
    }
    let stop = on_signals()?;
    let scopes =
        if args.scopes.is_empty() { Scopes::ALL } else { Scopes::parse(&args.scopes.join(" "))? };
    let logins = Logins::new(config)?;
    let client = logins.device_flow()?;
    let invitation = client.begin(scopes).await?;
    output::line(&format!("Open     {}", invitation.address));
    output::line(&format!("and type {}", invitation.user_code));
    if let Some(address) = &invitation.complete_address {
        output::line(&format!("or open  {address}"));
    }
    let minutes = invitation.expires_in.as_secs() / 60;
    output::line(&format!("Waiting; the code is valid for {minutes} minutes. Ctrl-C cancels."));
    let waiting = client.wait(invitation, tokio::time::sleep);
    let Some(tokens) = stop.run_until_cancelled(waiting).await else {
        bail!("the login was cancelled")
    };
    store(&logins, &tokens?, remote).await
}

/// Signs in with the code of an invitation. The code is no argument, because other users of the
/// machine can read those.
async fn accept_invitation(scopes: &[String], remote: &ApiClient, config: &Config) -> Result<()> {
    let scopes = if scopes.is_empty() { None } else { Some(Scopes::parse(&scopes.join(" "))?) };
    let code = prompt::ask("Type the code of the invitation:")?;
    let logins = Logins::new(config)?;
    let tokens = logins.device_flow()?.accept_invitation(&code.into(), scopes).await?;
    store(&logins, &tokens, remote).await
}

/// Stores a login, and prints who signed in.
async fn store(logins: &Logins, tokens: &Tokens, remote: &ApiClient) -> Result<()> {
    logins.store(tokens)?;
    let me = remote.get("/whoami", &[]).await?;
    output::line(&format!("Signed in as {}.", text(&me, "login")));
    Ok(())
}

/// Signs out: on this machine, or everywhere.
pub async fn out(args: &LogoutArgs, remote: &ApiClient, config: &Config) -> Result<()> {
    if args.all_sessions { out_everywhere(remote, config).await } else { out_locally(config).await }
}

/// Ends every login of the caller, then removes that of this machine if the request used it.
async fn out_everywhere(remote: &ApiClient, config: &Config) -> Result<()> {
    let me = remote.get("/whoami", &[]).await?;
    let login = text(&me, "login");
    remote.delete(&format!("/users/{login}/sessions")).await?;
    let is_login_left = Logins::new(config)?.remove_if_used()?;
    output::line(&format!(
        "Signed out everywhere as {login}. Personal access tokens stay: `memory-copilot token \
         list` shows them."
    ));
    if is_login_left {
        output::line(
            "The login stored on this machine was not removed, because MEMORY_COPILOT_TOKEN was \
            used instead. To end that login, unset the variable and run `memory-copilot logout`.",
        );
    }
    Ok(())
}

/// Removes the login of this machine and revokes it at the service.
async fn out_locally(config: &Config) -> Result<()> {
    let Some(token) = Logins::new(config)?.remove()? else {
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
            "the login was removed from this machine, but the service could not be reached to \
            revoke it; the login expires within 30 days, or ends with \
            `memory-copilot logout --all-sessions` on another machine, or when an administrator \
            signs the user out",
        )?;
    output::line("Signed out.");
    Ok(())
}

/// Prints the user and the scopes of the token.
pub async fn whoami(remote: &ApiClient, format: Format) -> Result<()> {
    let me = remote.get("/whoami", &[]).await?;
    format.print(&me, |me: &Value| {
        let scopes: Vec<_> = output::list(me, "scopes").iter().filter_map(Value::as_str).collect();
        let role = if me["is_admin"] == true { ", administrator of the service" } else { "" };
        format!("{}{role}; the token may be used for {}", text(me, "login"), scopes.join(" "))
    });
    Ok(())
}
