//! `/save`: what was learnt.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use mc_domain::{DialogId, Permission, ProjectKey, RecordId, RecordKind, Role};
use mc_memory::{Contradicted, Decision, NewCitation, SaveOutcome};
use mc_store::projects::Project;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;

use super::records::{Citation, Record};
use crate::ApiState;
use crate::authenticate::Principal;
use crate::extract::ValidJson;
use crate::limits;
use crate::openapi::schemas;
use crate::problem::Problem;
use crate::validate::{self, Validate, ValidationError};
use crate::wire::{Kind, Trust, Visibility, rounded, whole};

/// Digits of a commit's or patch's hash, abbreviated or whole.
const COMMIT_DIGITS: std::ops::RangeInclusive<usize> = 4..=64;
/// Digits of a sha256.
const SHA256_DIGITS: std::ops::RangeInclusive<usize> = 64..=64;

/// Something worth remembering.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "project_key": "shop",
    "task_external_id": "CS-214",
    "kind": "fact",
    "content": "The delay is nil when delay_unit and trigger_delay_unit differ.",
    "scope": ["cart_sessions", "settings"],
    "tags": ["bugfix", "unit"],
    "quality": {"novelty": 0.74, "dup": 0.06, "usefulness": 0.81},
    "ttl": "2027-06-01",
    "meta": {"patch_sha": "abc123", "source_dialog_id": "dlg-7"},
    "citations": [{"file": "app/services/cart_sessions/setting.rb", "symbol": "CartSessions::Setting#trigger_delay_time_in_minutes"}]
}))]
pub struct SaveRequest {
    #[schema(value_type = schemas::ProjectKey)]
    project_key: String,
    kind: Kind,
    /// Kept as it is but for greetings and markup: in up to 4,000 characters, steps included, by the record; what is longer
    /// in a document behind it, and the record holds a statement of that. A private one has to fit.
    #[schema(value_type = schemas::ContentText)]
    content: String,
    #[schema(value_type = Option<schemas::Title>)]
    title: Option<String>,
    #[schema(value_type = Option<schemas::ExternalId>)]
    task_external_id: Option<String>,
    /// Parts of the system it is about.
    #[serde(default)]
    #[schema(value_type = schemas::Words)]
    scope: Vec<String>,
    #[serde(default)]
    #[schema(value_type = schemas::Words)]
    tags: Vec<String>,
    /// Who answers for it.
    #[schema(value_type = Option<schemas::Name>)]
    owner: Option<String>,
    quality: Option<QualityInput>,
    /// A date (through that day), an RFC 3339 time, or days or weeks from now (`30d`, `8w`); at most 10 years ahead.
    /// When absent, as the project's policy has it: facts and worked examples 180 days after the last recall, other
    /// kinds never.
    #[schema(value_type = Option<schemas::EndOfLife>)]
    ttl: Option<String>,
    /// `patch_sha`, `source_dialog_id` and whatever else belongs to it; at most 16 KiB of JSON.
    #[serde(default)]
    #[schema(value_type = schemas::Meta)]
    meta: Map<String, Value>,
    /// The places in the code that it is true of.
    #[serde(default)]
    #[schema(max_items = 32)]
    citations: Vec<CitationInput>,
    /// Of a worked example.
    #[serde(default)]
    #[schema(value_type = schemas::Steps)]
    steps: Vec<String>,
    /// The patch of a worked example.
    #[schema(value_type = Option<schemas::Reference>)]
    patch_ref: Option<String>,
    /// Where to read on.
    #[schema(value_type = Option<schemas::WebUrl>)]
    url: Option<String>,
    dialog_id: Option<Uuid>,
    /// It contradicts what is known: near duplicates are superseded instead of merged into.
    #[serde(default)]
    contradicts: bool,
    /// The record that it replaces.
    supersedes: Option<Uuid>,
    /// Who it is for: `team` when absent. From those who may not save for the team it is a proposal.
    visibility: Option<Visibility>,
    /// Who vouches for it; never more than the caller may: `team`, of an agent `untrusted`.
    trust: Option<Trust>,
    /// What it was taken from, such as a page's address: by that all of it can be found, and forgotten.
    #[schema(value_type = Option<schemas::Reference>)]
    source: Option<String>,
}

/// What the caller thinks of it; each from 0 to 1.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QualityInput {
    /// Taken and ignored: the service finds by itself what is new, and answers that in `scores`.
    #[schema(value_type = Option<schemas::Share>)]
    novelty: Option<f64>,
    /// Taken and ignored: the service finds by itself what says the same, and answers that in `scores`.
    #[schema(value_type = Option<schemas::Share>)]
    dup: Option<f64>,
    /// Used: the score that is kept is the mean of this and the service's own.
    #[schema(value_type = Option<schemas::Share>)]
    usefulness: Option<f64>,
}

/// A place in the code.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CitationInput {
    /// Relative to the repository's root.
    #[schema(value_type = schemas::RepositoryPath)]
    file: String,
    /// Qualified name of a definition.
    #[schema(value_type = Option<schemas::Symbol>)]
    symbol: Option<String>,
    /// First line, from 1.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::LineNumber>)]
    line_start: Option<i64>,
    /// Last line, inclusive.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = Option<schemas::LineNumber>)]
    line_end: Option<i64>,
    /// The commit at which it was true.
    #[schema(value_type = Option<schemas::CommitHash>)]
    commit: Option<String>,
    /// sha256 of the cited lines, in hexadecimal.
    #[schema(value_type = Option<schemas::Sha256>)]
    content_hash: Option<String>,
}

/// A [`SaveRequest`] as checked; not yet masked, which is the memory's own first step.
#[derive(Debug)]
pub struct ValidatedSave {
    project: ProjectKey,
    kind: RecordKind,
    content: String,
    title: Option<String>,
    task: Option<String>,
    scope: Vec<String>,
    tags: Vec<String>,
    owner: Option<String>,
    usefulness: Option<f32>,
    ttl: Option<DateTime<Utc>>,
    meta: Map<String, Value>,
    citations: Vec<NewCitation>,
    steps: Vec<String>,
    patch_ref: Option<String>,
    url: Option<String>,
    dialog: Option<DialogId>,
    contradicts: bool,
    supersedes: Option<RecordId>,
    visibility: mc_domain::Visibility,
    trust: mc_domain::Trust,
    source: String,
}

impl Validate for SaveRequest {
    type Checked = ValidatedSave;

    fn check(self) -> Result<ValidatedSave, ValidationError> {
        let now = Utc::now();
        let task = self.task_external_id;
        Ok(ValidatedSave {
            project: validate::project_key("project_key", &self.project_key)?,
            kind: self.kind.into(),
            content: validate::text("content", &self.content, limits::CONTENT)?,
            title: validate::optional_line("title", self.title, limits::TITLE)?,
            task: validate::optional_identifier("task_external_id", task, limits::EXTERNAL_ID)?,
            scope: validate::words("scope", self.scope)?,
            tags: validate::words("tags", self.tags)?,
            owner: validate::optional_line("owner", self.owner, limits::NAME)?,
            usefulness: validate::nested("quality", self.quality)?.flatten(),
            ttl: validate::optional("ttl", self.ttl, |field, ttl| validate::ttl(field, &ttl, now))?,
            meta: check_meta("meta", self.meta)?,
            citations: validate::records("citations", self.citations, limits::CITATIONS)?,
            steps: validate::list("steps", self.steps, limits::STEPS, |field, step| {
                validate::text(field, &step, limits::REMARK)
            })?,
            patch_ref: validate::optional_line("patch_ref", self.patch_ref, limits::URL)?,
            url: validate::optional("url", self.url, |field, url| validate::http_url(field, &url))?,
            dialog: self.dialog_id.map(DialogId),
            contradicts: self.contradicts,
            supersedes: self.supersedes.map(RecordId),
            visibility: self.visibility.map_or(mc_domain::Visibility::Team, Into::into),
            trust: self.trust.map_or(mc_domain::Trust::Team, Into::into),
            source: validate::optional_line("source", self.source, limits::URL)?
                .unwrap_or_default(),
        })
    }
}

impl Validate for QualityInput {
    /// The judge finds novelty and duplication by itself; how useful it is, the caller knows best.
    type Checked = Option<f32>;

    fn check(self) -> Result<Option<f32>, ValidationError> {
        validate::optional("novelty", self.novelty, validate::share)?;
        validate::optional("dup", self.dup, validate::share)?;
        validate::optional("usefulness", self.usefulness, validate::share)
    }
}

impl Validate for CitationInput {
    type Checked = NewCitation;

    fn check(self) -> Result<NewCitation, ValidationError> {
        let hash = |field: &str, hash: String| {
            let digits = validate::hex(field, &hash, &SHA256_DIGITS)?;
            hex::decode(digits).map_err(|error| ValidationError::new(field, error))
        };
        Ok(NewCitation {
            file: validate::relative_path("file", &self.file)?,
            symbol: validate::optional_line("symbol", self.symbol, limits::SYMBOL)?,
            lines: lines(self.line_start, self.line_end)?,
            commit: validate::optional("commit", self.commit, |field, commit| {
                validate::hex(field, &commit, &COMMIT_DIGITS)
            })?,
            content_hash: validate::optional("content_hash", self.content_hash, hash)?,
        })
    }
}

/// A span needs its first line; the last one is the first one when absent.
fn lines(start: Option<i64>, end: Option<i64>) -> Result<Option<(i32, i32)>, ValidationError> {
    let Some(start) = start else {
        return match end {
            None => Ok(None),
            Some(_) => Err(ValidationError::new("line_start", "is needed beside line_end")),
        };
    };
    let end = end.unwrap_or(start);
    let span = (
        validate::range("line_start", start, &limits::LINE_NUMBER)?,
        validate::range("line_end", end, &limits::LINE_NUMBER)?,
    );
    if end < start {
        return Err(ValidationError::new("line_end", "must not be before line_start"));
    }
    Ok(Some(span))
}

/// Free-form, but the two names that seed and tools know hold texts, and what has a field of its
/// own is checked there.
fn check_meta(
    field: &str,
    meta: Map<String, Value>,
) -> Result<Map<String, Value>, ValidationError> {
    for name in ["patch_sha", "source_dialog_id"] {
        if meta.get(name).is_some_and(|value| !value.is_string() && !value.is_null()) {
            return Err(ValidationError::new(format!("{field}.{name}"), "must be a text"));
        }
    }
    for name in ["url", "steps", "patch_ref"] {
        if meta.contains_key(name) {
            let rule = format!("is a field of its own; send `{name}` beside `{field}`, not in it");
            return Err(ValidationError::new(format!("{field}.{name}"), rule));
        }
    }
    validate::object(field, meta)
}

/// What became of a save.
#[derive(Debug, Serialize, ToSchema)]
pub struct SaveResponse {
    /// `created`, `merged`, `superseded`, `proposed` (a person of the team decides), `duplicate` (the team
    /// has it already), `quarantined` (a maintainer decides) or `rejected`.
    outcome: &'static str,
    /// The record that holds it; absent when it was rejected or put into quarantine.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Uuid>,
    /// What was done: `merged into <id>`.
    message: String,
    /// Why.
    reason: String,
    scores: JudgeScores,
    /// Records that it replaced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    superseded: Vec<Uuid>,
    /// What was masked before anything was stored.
    redactions: Vec<Redaction>,
    /// In which ways the text addresses a model, for all that it may be harmless.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    injection_flags: Vec<&'static str>,
    /// The places that the record cites, with verdicts.
    citations: Vec<Citation>,
    /// Those that it was to cite and does not: they are in no indexed repository.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    citations_left_out: Vec<UnknownCitation>,
    /// What became of the text: the record says `whole` of it; a `document` behind the record does, of which the record
    /// holds a statement; the `existing` text of the record that says the same stays; or `nothing` of it is in memory.
    kept: &'static str,
    /// The document that holds the whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    document_id: Option<Uuid>,
    /// What of the text is kept nowhere: greetings, thanks, comments that nobody is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// What else of the request was not taken as it came, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The known record that it seems to contradict, where it replaces none.
    #[serde(skip_serializing_if = "Option::is_none")]
    contradicts: Option<ContradictedRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Record>,
    /// Why it can't be found by meaning yet; by its words it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_pending_reason: Option<&'static str>,
}

/// The judge's scores, each from 0 to 1.
#[derive(Debug, Serialize, ToSchema)]
pub struct JudgeScores {
    novelty: f64,
    dup: f64,
    usefulness: f64,
}

/// A citation that was left out.
#[derive(Debug, Serialize, ToSchema)]
pub struct UnknownCitation {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_start: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_end: Option<i32>,
    /// What there is not.
    reason: String,
    /// What may have been meant: paths, or `path#name`; the nearest first.
    near: Vec<String>,
}

/// A record that a note seems to contradict.
#[derive(Debug, Serialize, ToSchema)]
pub struct ContradictedRecord {
    id: Uuid,
    /// What it says, or the beginning of that.
    text: String,
    /// What sets the two apart.
    difference: String,
    /// How to say which of them holds.
    hint: String,
}

/// A kind of secret that was masked.
#[derive(Debug, Serialize, ToSchema)]
pub struct Redaction {
    category: &'static str,
    count: usize,
}

/// Save what was learnt.
#[utoipa::path(
    post, path = "/save", tag = "memory", request_body = SaveRequest,
    responses((status = 200, description = "What was done with it, and why", body = SaveResponse))
)]
pub async fn save(
    State(api): State<ApiState>,
    caller: Principal,
    ValidJson(request): ValidJson<SaveRequest>,
) -> Result<Json<SaveResponse>, Problem> {
    let here = api.authorize(&caller, &request.project, Permission::Propose).await?;
    let decides = here.project.role >= here.project.policy.min_roles.save;
    let replaces = request.contradicts || request.supersedes.is_some();
    if replaces && !decides {
        let needed = here.project.policy.min_roles.save;
        let field = if request.contradicts { "contradicts" } else { "supersedes" };
        let detail = format!("takes the role {needed}: who may only propose does not replace");
        return Err(Problem::forbidden(detail).field(field));
    }
    if replaces && request.visibility != mc_domain::Visibility::Team {
        let field = if request.contradicts { "contradicts" } else { "supersedes" };
        return Err(ValidationError::new(field, "is for records of the team").into());
    }
    let request = request.into_domain(&here.project, &caller, decides);
    Ok(Json(mc_memory::save(&here.memory, &request).await?.into()))
}

/// Who vouches for what is saved: the caller may say less than their role, never more.
fn trust(asked: mc_domain::Trust, role: Role) -> mc_domain::Trust {
    let most =
        if role >= Role::Member { mc_domain::Trust::Team } else { mc_domain::Trust::Untrusted };
    asked.min(most)
}

impl ValidatedSave {
    /// What somebody saves who may, or may not, decide that it counts for the team.
    fn into_domain(
        self,
        project: &Project,
        caller: &Principal,
        decides: bool,
    ) -> mc_memory::SaveRequest {
        let visibility = match self.visibility {
            mc_domain::Visibility::Team if !decides => mc_domain::Visibility::Proposed,
            asked => asked,
        };
        mc_memory::SaveRequest {
            project: project.id,
            principal: caller.name().to_owned(),
            saved_by: Some(caller.user),
            visibility,
            trust: trust(self.trust, project.role),
            source: self.source,
            kind: self.kind,
            content: self.content,
            title: self.title,
            task_external_id: self.task,
            scope: self.scope,
            tags: self.tags,
            owner: self.owner,
            usefulness: self.usefulness,
            ttl: self.ttl,
            meta: self.meta,
            citations: self.citations,
            steps: self.steps,
            patch_ref: self.patch_ref,
            url: self.url,
            dialog: self.dialog,
            contradicts: self.contradicts,
            supersedes: self.supersedes,
        }
    }
}

impl From<SaveOutcome> for SaveResponse {
    fn from(saved: SaveOutcome) -> Self {
        let superseded = match &saved.decision {
            Decision::Superseded { replaced, .. } => replaced.iter().map(|id| id.0).collect(),
            _ => Vec::new(),
        };
        Self {
            outcome: saved.decision.as_str(),
            id: saved.decision.record().map(Into::into),
            message: saved.message,
            reason: saved.reason,
            scores: JudgeScores {
                novelty: rounded(saved.scores.novelty),
                dup: rounded(saved.scores.dup),
                usefulness: rounded(saved.scores.usefulness),
            },
            superseded,
            injection_flags: saved.injection_flags,
            redactions: saved
                .redactions
                .into_iter()
                .map(|masked| Redaction { category: masked.category, count: masked.count })
                .collect(),
            citations: saved.citations.into_iter().map(Into::into).collect(),
            citations_left_out: saved.unknown_citations.into_iter().map(Into::into).collect(),
            kept: saved.kept.as_str(),
            document_id: saved.document.map(Into::into),
            left_out: saved.left_out,
            notes: saved.notes,
            contradicts: saved.contradicts.map(Into::into),
            record: saved.record.map(Into::into),
            vector_pending_reason: saved.vector_pending_reason,
        }
    }
}

impl From<mc_memory::UnknownCitation> for UnknownCitation {
    fn from(unknown: mc_memory::UnknownCitation) -> Self {
        Self {
            file: unknown.file,
            symbol: unknown.symbol,
            line_start: unknown.lines.map(|(start, _)| start),
            line_end: unknown.lines.map(|(_, end)| end),
            reason: unknown.reason,
            near: unknown.near,
        }
    }
}

impl From<Contradicted> for ContradictedRecord {
    fn from(contradicted: Contradicted) -> Self {
        let id = contradicted.id;
        Self {
            id: id.into(),
            text: contradicted.text,
            difference: contradicted.difference,
            hint: format!(
                "both are kept; if yours replaces it, save yours again with \"supersedes\": \"{id}\""
            ),
        }
    }
}
