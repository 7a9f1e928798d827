//! `memory-copilot users`.

use anyhow::{Result, ensure};
use mc_contract::text::Login;
use mc_domain::{Classified as _, ErrorKind};
use serde_json::{Value, json};

use crate::api_client::{self, ApiClient};
use crate::cli::{NewUserArgs, UsersCommand};
use crate::output::{self, Format, joined, number, one_line, text, time};
use crate::prompt;

pub async fn run(command: UsersCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        UsersCommand::List { page } => {
            format.print(&remote.page("/users", &[], &page).await?, table);
        }
        UsersCommand::Invite { user, expires_in_days, consent } => {
            let login = user.login.as_str();
            let path = format!("/users/{login}/invitation");
            let request = json!({ "expires_in_days": expires_in_days });
            if !create_if_missing(&user, remote).await? {
                let consequence = format!(
                    "The account {login} exists already. Who has the code takes it over, with its \
                     roles and private records, and all its sessions end."
                );
                prompt::require_consent(consent.yes, &consequence, login)?;
            }
            format.print(&remote.post(&path, request).await?, invitation);
        }
        UsersCommand::Create { user, agent } => {
            let user = remote.post("/users", new_user(&user, agent)).await?;
            format.print(&user, |user| format!("Created: {}", text(user, "login")));
        }
        UsersCommand::Update { login, name, admin, disabled } => {
            let is_empty = name.is_none() && admin.is_none() && disabled.is_none();
            ensure!(!is_empty, "nothing to change; name a field, such as --disabled true");
            let request = json!({ "name": name, "is_admin": admin, "is_disabled": disabled });
            let user = remote.patch(&format!("/users/{}", login.as_str()), request).await?;
            format.print(&user, |user| format!("Changed: {}", text(user, "login")));
        }
        UsersCommand::ProviderLogins { login } => {
            let logins = remote.get(&provider_logins(&login), &[]).await?;
            format.print(&logins, provider_logins_table);
        }
        UsersCommand::SetProviderLogin { login, host, provider_login } => {
            let path = format!("{}/{}", provider_logins(&login), host.as_str());
            remote.put(&path, json!({ "login": provider_login })).await?;
            let (login, host) = (login.as_str(), host.as_str());
            output::line(&format!("{login} is {provider_login} at {host}."));
        }
        UsersCommand::DeleteProviderLogin { login, host } => {
            remote.delete(&format!("{}/{}", provider_logins(&login), host.as_str())).await?;
            output::line("Deleted.");
        }
        UsersCommand::Offboard { login, successor, consent } => {
            let consequence = format!(
                "This ends all access of {0} permanently, and deletes the private records.",
                login.as_str()
            );
            prompt::require_consent(consent.yes, &consequence, login.as_str())?;
            let path = format!("/users/{}/offboard", login.as_str());
            let left = remote.post(&path, json!({ "successor_login": successor })).await?;
            format.print(&left, |left| offboarded(left, successor.as_ref()));
        }
    }
    Ok(())
}

fn provider_logins(login: &Login) -> String {
    format!("/users/{}/provider-logins", login.as_str())
}

fn new_user(user: &NewUserArgs, is_agent: bool) -> Value {
    json!({
        "login": user.login, "name": user.name, "email": user.email, "is_admin": user.admin,
        "is_agent": is_agent,
    })
}

/// Creates the account of an invitation; returns `false` if it exists. For an existing one, nothing
/// but the login may be named: the invitation would not change it.
async fn create_if_missing(user: &NewUserArgs, remote: &ApiClient) -> Result<bool> {
    let is_login_alone = user.name.is_none() && user.email.is_none() && !user.admin;
    match remote.try_post("/users", new_user(user, false)).await {
        Err(error) if error.kind() == ErrorKind::Conflict && is_login_alone => Ok(false),
        Err(error) => Err(api_client::to_anyhow(&error)),
        Ok(_) => Ok(true),
    }
}

fn invitation(invitation: &Value) -> String {
    format!(
        "Send {login} this code. Whoever has it takes over the account. It signs in once, until \
         {expires}:\n\n  {code}\n\n\
         {login} runs `memory-copilot login --invitation`, or opens {url}",
        login = text(invitation, "login"),
        expires = time(invitation, "expires_at", 10),
        code = text(invitation, "code"),
        url = text(invitation, "url"),
    )
}

fn offboarded(left: &Value, successor: Option<&Login>) -> String {
    let heir =
        successor.map_or("no owner".to_owned(), |heir| format!("the owner {}", heir.as_str()));
    let (projects, teams) = (joined(left, "projects"), joined(left, "teams"));
    let led = [("projects", projects), ("teams", teams)].map(|(kind, keys)| match successor {
        _ if keys.is_empty() => String::new(),
        Some(login) => {
            format!("\n{} is now the administrator of the {kind}: {keys}", login.as_str())
        }
        None => format!(
            "\nWithout an administrator of their own: the {kind} {keys}. Give them one with \
             `memory-copilot {} --help`.",
            if kind == "projects" { "members set" } else { "teams set-member" }
        ),
    });
    format!(
        "{}: the account is disabled. Revoked {} sessions and {} tokens, deleted {} private \
         records; records that now have {heir}: {}.{}",
        text(left, "login"),
        number(left, "sessions"),
        number(left, "tokens"),
        number(left, "private_records"),
        number(left, "owned_records"),
        led.concat(),
    )
}

fn table(page: &Value) -> String {
    let header = ["login", "name", "email", "kind", "created", "disabled"];
    output::page_table(page, header, |user| {
        let kind = match (user["is_admin"] == true, user["is_agent"] == true) {
            (true, _) => "administrator",
            (_, true) => "agent",
            _ => "person",
        };
        [
            text(user, "login").to_owned(),
            one_line(user, "name"),
            one_line(user, "email"),
            kind.to_owned(),
            time(user, "created_at", 10),
            time(user, "disabled_at", 10),
        ]
    })
}

fn provider_logins_table(page: &Value) -> String {
    output::page_table(page, ["host", "login", "from", "since"], |login| {
        let is_verified = login["is_verified"] == true;
        [
            one_line(login, "host"),
            one_line(login, "login"),
            if is_verified { "a sign-in" } else { "an administrator" }.to_owned(),
            time(login, "created_at", 10),
        ]
    })
}
