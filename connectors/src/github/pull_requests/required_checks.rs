//! The checks that a branch requires: by rulesets, and by its protection.

use mc_domain::UntrustedText;
use serde::Deserialize;

use super::RepositoryPullRequests;
use crate::error::Error;
use crate::http::encode_segment;
use crate::resource_name;
use crate::traits::{RequiredCheck, RequiredChecks};

/// A rule of a ruleset. Other types have other parameters.
#[derive(Deserialize)]
struct Rule {
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    #[serde(default)]
    required_status_checks: Vec<Check>,
}

#[derive(Deserialize)]
struct Branch {
    #[serde(rename = "protected")]
    is_protected: bool,
    protection: Option<Protection>,
}

#[derive(Deserialize)]
struct Protection {
    required_status_checks: Option<ProtectionChecks>,
}

#[derive(Deserialize)]
struct ProtectionChecks {
    #[serde(default)]
    contexts: Vec<String>,
    /// Absent in older versions of Enterprise Server, which have the contexts only.
    checks: Option<Vec<Check>>,
}

#[derive(Deserialize)]
struct Check {
    context: String,
    /// A rule names the app so, and a protection as `app_id`, where -1 is any app.
    integration_id: Option<i64>,
    app_id: Option<i64>,
}

impl RepositoryPullRequests {
    pub(super) async fn read_required_checks(&self, branch: &str) -> Result<RequiredChecks, Error> {
        let branch = encode_segment(resource_name::branch(self.http(), branch)?);
        let found: Branch =
            self.client.get(&self.route(&format!("/branches/{branch}")), &()).await?;
        let by_rules = self.checks_of_rules(&branch).await?;
        let by_protection = found.checks();
        let is_complete = by_rules.is_some() && by_protection.is_some();
        let mut checks = Vec::new();
        for check in by_rules.into_iter().chain(by_protection).flatten() {
            if !checks.contains(&check) {
                checks.push(check);
            }
        }
        Ok(RequiredChecks { checks, is_complete })
    }

    /// Returns the checks of rulesets; `None` if they are hidden from the credential. Older
    /// versions of Enterprise Server have no rulesets.
    async fn checks_of_rules(&self, branch: &str) -> Result<Option<Vec<RequiredCheck>>, Error> {
        let rest = format!("/rules/branches/{branch}");
        let rules = match self.read_all(&rest, |page: Vec<Rule>| page).await {
            Ok(rules) => rules,
            Err(Error::NotFound { .. }) => return Ok(Some(Vec::new())),
            Err(Error::Denied { status: 403, .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let parameters = rules.into_iter().filter_map(|rule| rule.parameters);
        let checks = parameters.flat_map(|parameters| parameters.required_status_checks);
        Ok(Some(checks.map(Check::convert).collect()))
    }
}

impl Branch {
    /// Returns the checks of the protection; `None` if it is hidden from the credential.
    fn checks(self) -> Option<Vec<RequiredCheck>> {
        let Some(protection) = self.protection else {
            return (!self.is_protected).then(Vec::new);
        };
        let Some(required) = protection.required_status_checks else { return Some(Vec::new()) };
        let of_any_app = |context| Check { context, integration_id: None, app_id: None };
        let checks = required
            .checks
            .unwrap_or_else(|| required.contexts.into_iter().map(of_any_app).collect());
        Some(checks.into_iter().map(Check::convert).collect())
    }
}

impl Check {
    fn convert(self) -> RequiredCheck {
        let app_id = self.integration_id.or(self.app_id).and_then(|id| u64::try_from(id).ok());
        RequiredCheck { context: UntrustedText::new(self.context), app_id }
    }
}
