//! `memory-copilot policy`.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Map, Value};

use crate::api_client::ApiClient;
use crate::cli::{PolicyCommand, ProjectArg};
use crate::input;
use crate::output::{self, Format, list, number, one_line, text, time};

pub async fn run(command: PolicyCommand, remote: &ApiClient, format: Format) -> Result<()> {
    match command {
        PolicyCommand::Show { project } => {
            let policy = remote.get(&project.path("policy")?, &[]).await?;
            format.print(&policy, yaml);
        }
        PolicyCommand::Set { settings, project } => {
            let settings = settings.iter().map(|setting| parse(setting));
            let settings = settings.collect::<Result<Vec<_>>>()?;
            let changed = change(&project, remote, |policy| {
                settings
                    .iter()
                    .try_for_each(|(field, value)| set(policy, field, Some(value.clone())))
            });
            format.print(&changed.await?, in_force);
        }
        PolicyCommand::Reset { fields, project } => {
            let changed = change(&project, remote, |policy| {
                fields.iter().try_for_each(|field| set(policy, field, None))
            });
            format.print(&changed.await?, in_force);
        }
        PolicyCommand::Apply { file, project, policy_version } => {
            let policy: Value = serde_norway::from_str(&input::text(&file)?)
                .with_context(|| format!("{} is not YAML", file.display()))?;
            let version = policy_version.map_or("*".to_owned(), |version| format!("\"{version}\""));
            let changed = remote.put_if_match(&project.path("policy")?, policy, &version).await?;
            format.print(&changed, in_force);
        }
        PolicyCommand::Versions { project, page } => {
            let versions = remote.page(&project.path("policy/versions")?, &[], &page).await?;
            format.print(&versions, versions_text);
        }
    }
    Ok(())
}

/// Changes the present policy; fails if another caller changes it meanwhile.
async fn change(
    project: &ProjectArg,
    remote: &ApiClient,
    change: impl FnOnce(&mut Value) -> Result<()>,
) -> Result<Value> {
    let path = project.path("policy")?;
    let mut present = remote.get(&path, &[]).await?;
    let version = format!("\"{}\"", number(&present, "version"));
    change(&mut present["policy"])?;
    remote.put_if_match(&path, present["policy"].take(), &version).await
}

/// Parses `field=value`; the value is YAML, so that `8000`, `true` and `[a, b]` have their types.
fn parse(setting: &str) -> Result<(String, Value)> {
    let Some((field, value)) = setting.split_once('=') else {
        bail!("{setting} has no value; write FIELD=VALUE, such as tokens.recall=8000")
    };
    let value = serde_norway::from_str(value)
        .with_context(|| format!("the value of {field} is not YAML; quote it"))?;
    Ok((field.trim().to_owned(), value))
}

/// Sets a field of the policy, by its dotted path, or removes it, which gives it its default.
fn set(policy: &mut Value, field: &str, value: Option<Value>) -> Result<()> {
    let (groups, name) = match field.rsplit_once('.') {
        Some((groups, name)) => (groups.split('.').collect(), name),
        None => (Vec::new(), field),
    };
    let mut group = policy;
    for part in groups {
        group = fields_of(group, field)?.get_mut(part).with_context(|| unknown(field))?;
    }
    let fields = fields_of(group, field)?;
    // A map without fixed names: the categories of the sanitizer.
    let is_known = fields.contains_key(name) || field.starts_with("sanitizer.categories.");
    ensure!(is_known, unknown(field));
    match value {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    };
    Ok(())
}

fn fields_of<'a>(value: &'a mut Value, field: &str) -> Result<&'a mut Map<String, Value>> {
    value.as_object_mut().with_context(|| unknown(field))
}

fn unknown(field: &str) -> String {
    format!("the policy has no setting \"{field}\"; `memory-copilot policy show` lists them all")
}

/// Returns the policy as YAML that `policy apply` reads.
fn yaml(policy: &Value) -> String {
    let settings = serde_norway::to_string(&policy["policy"]).unwrap_or_default();
    format!("# Version {} of the policy\n{settings}", number(policy, "version"))
}

fn in_force(policy: &Value) -> String {
    format!("Version {} of the policy is in force.", number(policy, "version"))
}

fn versions_text(page: &Value) -> String {
    output::page_blocks(page, |version| {
        let changes = list(version, "changes").iter().map(|change| {
            format!("  {}: {} -> {}", text(change, "field"), change["before"], change["after"])
        });
        let head = format!(
            "Version {}  {}  {}",
            number(version, "version"),
            time(version, "changed_at", 19),
            one_line(version, "changed_by")
        );
        std::iter::once(head).chain(changes).collect::<Vec<_>>().join("\n")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy() -> Value {
        serde_json::to_value(mc_domain::Policy::default()).expect("JSON")
    }

    #[test]
    fn settings_are_changed_by_their_path_and_have_their_types() {
        let mut changed = policy();
        for setting in
            ["tokens.recall=8000", "sanitizer.categories.jwt=reject", "allowed_commands=[make]"]
        {
            let (field, value) = parse(setting).expect("a setting");
            set(&mut changed, &field, Some(value)).expect(setting);
        }
        assert_eq!(changed["tokens"]["recall"], 8000);
        assert_eq!(changed["sanitizer"]["categories"]["jwt"], "reject");
        assert_eq!(changed["allowed_commands"], json!(["make"]));
        set(&mut changed, "tokens", None).expect("a group");
        assert!(changed.get("tokens").is_none());
        serde_json::from_value::<mc_domain::Policy>(changed).expect("a policy");
    }

    #[test]
    fn unknown_setting_and_missing_value_are_rejected() {
        for field in ["tokens.recal", "token.recall", "tokens.recall.x", ""] {
            let error = set(&mut policy(), field, Some(json!(1))).expect_err(field).to_string();
            assert!(error.contains("policy show"), "{error}");
        }
        assert!(parse("tokens.recall").is_err());
    }

    #[test]
    fn shown_policy_can_be_applied() {
        let shown = yaml(&json!({"version": 3, "policy": policy()}));
        assert!(shown.starts_with("# Version 3"), "{shown}");
        let read: mc_domain::Policy = serde_norway::from_str(&shown).expect("a policy");
        assert_eq!(read, mc_domain::Policy::default());
    }
}
