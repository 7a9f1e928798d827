//! Decisions about logins at other terminals.

use anyhow::{Result, bail, ensure};
use mc_auth::secret::UserCode;
use mc_domain::{Scope, Scopes};
use serde_json::{Value, json};

use crate::api_client::ApiClient;
use crate::output::{self, list, text};
use crate::prompt;

const PATH: &str = "/auth/device/decision";

/// Signs the terminal that shows `code` in as the user. Shows which program asks, and asks for a
/// confirmation; without a terminal, `named` has to name the scopes to grant.
pub async fn approve(code: &str, named: &[String], remote: &ApiClient) -> Result<()> {
    let code = UserCode::parse(code)?.to_string();
    let login = remote.get(PATH, &[("user_code", code.as_str())]).await?;
    let granted = granted_scopes(&login, named)?;
    output::line(&describe(&login, granted));
    if prompt::is_possible() {
        if !is_confirmed()? {
            output::line(&format!("Not approved. To deny it: memory-copilot login --deny {code}"));
            return Ok(());
        }
    } else if named.is_empty() {
        bail!(
            "this is not confirmed, because standard input is not a terminal; name the scopes to \
             grant: memory-copilot login --approve {code} --scope memory:read"
        );
    }
    let scopes: Vec<_> = granted.iter().map(Scope::as_str).collect();
    let decision = json!({ "user_code": code, "approve": true, "scopes": scopes });
    remote.post(PATH, decision).await?;
    output::line("The other terminal is signed in as you.");
    Ok(())
}

/// Denies the login at the terminal that shows `code`.
pub async fn deny(code: &str, remote: &ApiClient) -> Result<()> {
    remote.post(PATH, json!({ "user_code": code, "approve": false })).await?;
    output::line("Denied.");
    Ok(())
}

/// Returns the scopes to grant: those that are named, or all that the user can grant except
/// [`Scopes::BY_NAME_ONLY`].
fn granted_scopes(login: &Value, named: &[String]) -> Result<Scopes> {
    let grantable = scopes_in(login, "grantable_scopes");
    let requested = scopes_in(login, "requested_scopes");
    ensure!(
        !grantable.is_empty(),
        "you have none of the scopes that the program requests ([{requested}]); deny the login: \
         memory-copilot login --deny {}",
        text(login, "user_code")
    );
    if named.is_empty() {
        let granted = grantable.without(Scopes::BY_NAME_ONLY);
        ensure!(
            !granted.is_empty(),
            "{}\nthe program requests only scopes that you must list: [{grantable}]; repeat the \
             command with --scope and one of them",
            describe(login, granted)
        );
        return Ok(granted);
    }
    let named = Scopes::parse(&named.join(" "))?;
    ensure!(
        named.is_subset_of(grantable),
        "the scopes [{named}] can't all be granted: the program asks for [{requested}], and of \
         these you can grant [{grantable}]; name only these with --scope"
    );
    Ok(named)
}

/// Returns the scopes in a field. Those that this version does not know are left out.
fn scopes_in(login: &Value, field: &str) -> Scopes {
    let names = list(login, field).iter().filter_map(Value::as_str);
    names.filter_map(|name| name.parse::<Scope>().ok()).collect()
}

fn describe(login: &Value, granted: Scopes) -> String {
    format!(
        "program    {}\ncode       {}\nasks for   {}\nyou grant  {granted}",
        text(login, "client"),
        text(login, "user_code"),
        scopes_in(login, "requested_scopes")
    )
}

fn is_confirmed() -> Result<bool> {
    let answer = prompt::ask(
        "The program signs in as you, with the scopes that you grant.\n\
         Approve only if you have just started this login, and its terminal shows this code.\n\
         Type yes to approve:",
    )?;
    Ok(answer.eq_ignore_ascii_case("yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(grantable: &[&str]) -> Value {
        json!({
            "user_code": "BCDF-GHJK", "client": "memory-copilot-cli",
            "requested_scopes": ["memory:read", "ingest", "ingest:local", "admin"],
            "grantable_scopes": grantable
        })
    }

    fn granted(grantable: &[&str], named: &[&str]) -> Result<String, String> {
        let named: Vec<_> = named.iter().map(|&name| name.to_owned()).collect();
        let granted = granted_scopes(&login(grantable), &named);
        granted.map(|scopes| scopes.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn scopes_beyond_daily_work_are_granted_only_by_name() {
        let all = ["memory:read", "ingest", "ingest:local", "admin"];
        assert_eq!(granted(&all, &[]).as_deref(), Ok("memory:read ingest"));
        assert_eq!(granted(&all, &["memory:read"]).as_deref(), Ok("memory:read"));
        assert_eq!(granted(&all, &["ingest", "admin"]).as_deref(), Ok("ingest admin"));
        assert_eq!(granted(&all, &["ingest:local"]).as_deref(), Ok("ingest:local"));
        for name in ["ingest:local", "admin"] {
            let error = granted(&[name], &[]).expect_err("nothing to grant");
            let grantable = format!("that you must list: [{name}]");
            assert!(error.contains(&grantable) && error.contains("--scope"), "{error}");
        }
    }

    #[test]
    fn scopes_that_cannot_be_granted_are_rejected() {
        for named in ["coding", "admin"] {
            let error = granted(&["memory:read", "ingest"], &[named]).expect_err("too much");
            assert!(error.contains(&format!("[{named}]")), "{error}");
            assert!(error.contains("you can grant [memory:read ingest]"), "{error}");
        }
        assert!(granted(&["memory:read"], &["root"]).is_err());
    }

    #[test]
    fn a_login_without_a_grantable_scope_is_to_be_denied() {
        for named in [&[] as &[&str], &["memory:read"]] {
            let error = granted(&[], named).expect_err("nothing to grant");
            let requested = "requests ([memory:read ingest ingest:local admin])";
            assert!(error.contains(requested), "{error}");
            assert!(error.ends_with("memory-copilot login --deny BCDF-GHJK"), "{error}");
        }
    }

    #[test]
    fn program_code_and_scopes_are_shown() {
        let shown = describe(&login(&[]), Scopes::parse("ingest").expect("scopes"));
        for part in [
            "memory-copilot-cli",
            "BCDF-GHJK",
            "memory:read ingest ingest:local admin",
            "grant  ingest",
        ] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}
