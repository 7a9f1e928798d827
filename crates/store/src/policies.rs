//! Policies of projects, with their versions.

use chrono::{DateTime, Utc};
use mc_domain::{FindingAction, Policy, ProjectId};
use mc_sanitizer::Class;
use sha2::{Digest, Sha256};

use crate::error::from_json;
use crate::row::read;
use crate::{Error, Result, Store, Tx};

/// A version of a policy.
#[derive(Debug, Clone)]
pub struct Version {
    /// Number, from 1.
    pub version: i32,
    /// The policy as it was set.
    pub policy: Policy,
    /// Login of the user who set it; `None` if that user was deleted.
    pub changed_by: Option<String>,
    /// Time of the change.
    pub changed_at: DateTime<Utc>,
}

/// Sets the policy of the project, if its version is `expected` (`None` replaces any version);
/// returns the new version, or `None` if another was set meanwhile.
pub async fn set(
    tx: &mut Tx,
    project: ProjectId,
    expected: Option<i32>,
    policy: &Policy,
) -> Result<Option<i32>> {
    let principal = tx.principal().map(|user| user.0);
    Ok(sqlx::query_scalar!(
        "select mc.set_policy($1, $2, $3, $4)",
        principal,
        project.0,
        expected,
        serde_json::to_value(policy)
            .map_err(|error| Error::UnknownStoredValue(error.to_string()))?
    )
    .fetch_one(&mut *tx.0)
    .await?)
}

/// Returns versions with the present one, newest first: those before a version, or all.
pub async fn versions(
    store: &Store,
    project: ProjectId,
    before: Option<i32>,
    limit: i64,
) -> Result<Vec<Version>> {
    let rows = sqlx::query!(
        r#"select v.version, v.policy, u.login as "login?", v.changed_at
           from policy_versions v left join users u on u.id = v.changed_by
           where v.project_id = $1 and v.version < $2 order by v.version desc limit $3"#,
        project.0,
        before.unwrap_or(i32::MAX),
        limit
    )
    .fetch_all(&mut *store.read().await?)
    .await?;
    read!(each row in rows => Version {
        version, policy: read(row.policy)?, changed_by: row.login, changed_at
    })
}

/// Returns the policy of a project, for the background.
pub async fn of(store: &Store, project: ProjectId) -> Result<Policy> {
    let document = sqlx::query_scalar!("select policy from projects where id = $1", project.0)
        .fetch_optional(&mut *store.read().await?)
        .await?;
    document.map_or_else(|| Ok(Policy::default()), read)
}

/// Parses a stored policy. One that this version can't read is an error, never the default: it may
/// be stricter.
pub(crate) fn read(document: serde_json::Value) -> Result<Policy> {
    from_json("projects.policy", document)
}

/// Returns the sanitizer's policy for a project's policy.
pub fn sanitizing(policy: &Policy) -> mc_sanitizer::Policy {
    let rules = &policy.sanitizer;
    let classes = mc_sanitizer::Policy::default()
        .with_class(Class::Secret, rules.secrets)
        .with_class(Class::Personal, rules.personal_data);
    // The sanitizer's default allows IP addresses; the project's policy decides.
    let strict = classes.with("ip-address", rules.personal_data);
    let each = rules.categories.iter();
    each.fold(strict, |policy, (category, action)| policy.with(category, *action))
}

/// Returns a number that changes with the rules for masking, allowing and trusting text. Rules that
/// only quarantine or reject don't count.
pub fn fingerprint(policy: &Policy) -> i64 {
    let is_allowed = |action: &FindingAction| *action == FindingAction::Allow;
    let rules = &policy.sanitizer;
    let personal = is_allowed(&rules.personal_data);
    let categories =
        rules.categories.iter().map(|(name, action)| (name.as_str(), is_allowed(action)));
    // Secrets are never allowed as a class: a category masked like its class needs no entry.
    let categories: Vec<_> = categories.filter(|(_, is_allowed)| *is_allowed || personal).collect();
    let rules = format!("{:?}", (personal, categories, is_allowed(&rules.prompt_injection)));
    let digest: [u8; 32] = Sha256::digest(rules).into();
    i64::from_be_bytes(digest[..8].try_into().expect("8 of 32 bytes"))
}
