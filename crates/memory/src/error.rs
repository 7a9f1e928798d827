//! Errors of the use-cases.

use mc_domain::{
    BundleId, Classified, DialogId, DuplicateClusterId, ErrorKind, QuarantineItemId, RecordId,
};

use crate::CONTENT_MAX_CHARS;

/// A failed use-case.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A recall without a query.
    #[error(
        "nothing to recall by; give a query, a task_external_id, a repo_path, symbols or signals"
    )]
    EmptyQuery,
    /// A requested TTL that is not after now.
    #[error("the ttl is in the past; send a later time, or omit it for the project's default")]
    TtlInThePast,
    /// A private note too long for its record, with its length in characters.
    #[error(
        "the note has {0} characters with its steps, and a private one may have \
            {max}; shorten it, save it in parts, or save it for the team, for whom a longer text \
            is kept as a document",
        max = CONTENT_MAX_CHARS
    )]
    PrivateNoteTooLong(usize),
    /// A reviewer's text that is too long for a record, with its length in characters.
    #[error(
        "the text has {0} characters once it is masked, and a record at most {max}; shorten it",
        max = CONTENT_MAX_CHARS
    )]
    TooLong(usize),
    /// A record to supersede that is not live in the project.
    #[error(
        "there is no live record {0} in this project; recall again and use an id from the bundle"
    )]
    UnknownRecord(RecordId),
    /// A dialog that the project does not have, or that the caller may not change.
    #[error(
        "there is no dialog {0} in this project, or another user owns it; save one first, or omit \
         `dialog_id`"
    )]
    UnknownDialog(DialogId),
    /// A bundle that was never handed out, or is no longer stored.
    #[error("there is no bundle {0}; use the bundle_id of an earlier recall")]
    UnknownBundle(BundleId),
    /// A handle of a caller who recalled nothing in the project yet.
    #[error("nothing was recalled for you in this project yet; call recall first, or give an id")]
    NoBundle,
    /// A record that does not exist or that the caller may not see.
    #[error("there is no live record {0}; GET /records lists those of a project")]
    NoRecord(RecordId),
    /// A record that is not an open proposal.
    #[error("record {0} is not an open proposal; GET /proposals lists those")]
    NotProposed(RecordId),
    /// A review without the version of the record that the proposal amends.
    #[error("the proposal amends record {0}; send that record's `version` as `amends_version`")]
    AmendmentUnseen(RecordId),
    /// A review with an `amends_version` of a proposal that amends no live record.
    #[error("the proposal amends no live record; read it again, and omit `amends_version`")]
    AmendsNothing,
    /// The record changed after it was read.
    #[error(
        "record {id} has changed since it was read; read it again, and send its current version"
    )]
    Changed {
        /// Id of the record.
        id: RecordId,
        /// The request field with its version.
        field: &'static str,
    },
    /// A record that the team sees already.
    #[error("record {0} is not private: the team sees it already")]
    NotPrivate(RecordId),
    /// A duplicate cluster that is decided or gone.
    #[error("there is no open cluster {0}; GET /projects/{{key}}/duplicates lists those")]
    NoCluster(DuplicateClusterId),
    /// A record of a duplicate cluster changed.
    #[error(
        "a record of cluster {0} has changed; find duplicates again: \
         POST /projects/{{key}}/hygiene-runs {{\"task\": \"duplicates\"}}"
    )]
    ClusterChanged(DuplicateClusterId),
    /// A record to keep that is not in the cluster.
    #[error("record {0} is not in the cluster; name one of its records, or omit `keep`")]
    NotInCluster(RecordId),
    /// A version that the record never had.
    #[error("the record has no earlier version {0}; GET /records/{{id}} lists those it has")]
    UnknownVersion(i32),
    /// A rollback of a live record without an earlier version.
    #[error("record {0} is live and has no earlier version; name another `version`")]
    NothingToRollBack(RecordId),
    /// The policy forbids the text.
    #[error("the project's policy forbids {0}; take it out of the text and send it again")]
    Forbidden(String),
    /// A quarantine item that is decided.
    #[error("quarantine item {0} is not pending: it was decided or has expired")]
    QuarantineItemNotPending(QuarantineItemId),
    /// A quarantine item older than the text that it would replace.
    #[error(
        "quarantine item {0} is older than the saved dialog or document; delete it \
         (DELETE /quarantine/{{id}})"
    )]
    QuarantineItemOutdated(QuarantineItemId),
    /// A released item was not stored, and is still pending.
    #[error("it was not stored, and is still in quarantine: {0}")]
    NotReleased(String),
    /// A record of another user, or of the team, that the user may not change.
    #[error("record {0} is not yours to change")]
    NotOwner(RecordId),
    /// An expiry that is past or too far ahead; the rule that it breaks.
    #[error("{0}")]
    InvalidTtl(String),
    /// An edit after which two records would have the same text.
    #[error("record {0} has the same text already; delete one of both, or change the text")]
    SameContent(RecordId),
    /// An edit that cites a place that no indexed repository has.
    #[error("{file} can't be cited: {reason}; correct the citation, or leave it out")]
    UnknownCitation {
        /// The file that was cited.
        file: String,
        /// Which part of the citation does not exist.
        reason: String,
    },
    /// A proposal of another user that waits for a decision.
    #[error(
        "record {0} is a proposal that waits for a decision; reject it with a reason: POST \
         /proposals/{0}/reject"
    )]
    StillProposed(RecordId),
    /// A record of which no model's verdict is wanted.
    #[error(
        "record {0} is not judged by a model: it is private, a proposal, untrusted, confirmed by a \
         person, or no longer live; GET /records/{0} shows its state"
    )]
    NotJudged(RecordId),
    /// A quarantine item cannot be encrypted or decrypted.
    #[error("encrypting or decrypting a quarantine item failed; the service's log has the cause")]
    Encryption,
    /// A reasoning schema that neither the project nor the program has.
    #[error("there is no reasoning schema {name:?}; use one of: {known}")]
    UnknownSchema {
        /// The name.
        name: String,
        /// The names that exist, separated by commas.
        known: String,
    },
    /// A file whose name of the schema differs from that of the request.
    #[error("the file has `schema: {file}`, and the path names {path}; make them equal")]
    MisnamedSchema {
        /// Name in the path.
        path: String,
        /// Name in the file.
        file: String,
    },
    /// A reasoning schema with a text that the policy forbids.
    #[error("the project's policy forbids {0}; take it out of the schema and send it again")]
    ForbiddenSchema(String),
    /// A reasoning schema that breaks a rule.
    #[error(transparent)]
    InvalidSchema(#[from] mc_sgr::InvalidSchema),
    /// A stored reasoning schema that this version of the program can't use.
    #[error(
        "the project's reasoning schema {schema} can't be used: {error}; set it again, or delete it"
    )]
    BrokenSchema {
        /// Its name.
        schema: String,
        /// The rule that it breaks.
        error: mc_sgr::InvalidSchema,
    },
    /// A change after which a schema that extends the changed one would be invalid.
    #[error("{child}, which extends the schema, would be invalid: {error}; change {child} first")]
    SchemaInUse {
        /// The other schema.
        child: String,
        /// The rule that it would break.
        error: mc_sgr::InvalidSchema,
    },
    /// More reasoning schemas than a project may have.
    #[error(
        "the project has {max} reasoning schemas already, and may have no more; delete one first",
        max = crate::sgr::SCHEMAS_MAX
    )]
    TooManySchemas,
    /// An answer that does not follow its reasoning schema.
    #[error(transparent)]
    InvalidAnswer(#[from] mc_sgr::InvalidAnswer),
    /// The name of a reasoning schema that a prompt of the service has.
    #[error("{0} is the name of the team's system prompt; give the schema another name")]
    ReservedSchema(String),
    /// A system prompt with a text that the policy forbids.
    #[error("the project's policy forbids {0}; take it out of the prompt and send it again")]
    ForbiddenPrompt(String),
    /// A system prompt that is in use already.
    #[error("this prompt is in use already, as version {0}")]
    SamePrompt(i32),
    /// A decision about a canary that does not run.
    #[error(
        "no new version of the system prompt is tried now; GET /prompts/{{key}}/versions lists \
             them"
    )]
    NoCanary,
    /// A rollback of a prompt that replaced none.
    #[error(
        "no other version of the system prompt was in use before; set one: PUT /prompts/{{key}}"
    )]
    NoFormerPrompt,
    /// A version of the system prompt that does not exist.
    #[error(
        "the system prompt has no stored version {0}; GET /prompts/{{key}}/versions lists them"
    )]
    UnknownPromptVersion(i32),
    /// An invalid system prompt, or an invalid setting of its optimization.
    #[error(transparent)]
    Prompt(#[from] mc_optimizer::Error),
    /// An export cannot be written or read.
    #[error("writing or reading the export failed: {0}")]
    Export(String),
    /// A panic while writing.
    #[error(
        "writing failed by a fault of the service and changed nothing; try again, and see the \
         service's log for the cause"
    )]
    Panicked,
    /// A chat model gave no answer, or may not be used.
    #[error(transparent)]
    Chat(#[from] crate::chat::Error),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
    /// The search failed.
    #[error(transparent)]
    Search(#[from] mc_search::Error),
}

impl Error {
    /// Returns the kind and the request field at fault, which is empty without one.
    fn class(&self) -> (ErrorKind, &'static str) {
        match self {
            Self::EmptyQuery => (ErrorKind::Invalid, "query"),
            Self::TtlInThePast | Self::InvalidTtl(_) => (ErrorKind::Invalid, "ttl"),
            Self::UnknownCitation { .. } => (ErrorKind::Invalid, "citations"),
            Self::SameContent(_) => (ErrorKind::Conflict, "content"),
            Self::PrivateNoteTooLong(_) | Self::TooLong(_) | Self::Forbidden(_) => {
                (ErrorKind::Invalid, "content")
            }
            Self::NotOwner(_) => (ErrorKind::Forbidden, "id"),
            Self::NotProposed(_)
            | Self::NotReleased(_)
            | Self::StillProposed(_)
            | Self::NotPrivate(_)
            | Self::NotJudged(_)
            | Self::QuarantineItemNotPending(_)
            | Self::QuarantineItemOutdated(_)
            | Self::ClusterChanged(_)
            | Self::NothingToRollBack(_) => (ErrorKind::Conflict, "id"),
            Self::Changed { field, .. } => (ErrorKind::Conflict, *field),
            Self::AmendmentUnseen(_) | Self::AmendsNothing => {
                (ErrorKind::Conflict, "amends_version")
            }
            Self::UnknownVersion(_) => (ErrorKind::Conflict, "version"),
            Self::NotInCluster(_) => (ErrorKind::Conflict, "keep"),
            Self::Encryption | Self::Export(_) | Self::Panicked => (ErrorKind::Internal, ""),
            Self::NoRecord(_) | Self::NoCluster(_) => (ErrorKind::NotFound, "id"),
            Self::UnknownRecord(_) => (ErrorKind::NotFound, "supersedes"),
            Self::UnknownDialog(_) => (ErrorKind::NotFound, "dialog_id"),
            Self::UnknownBundle(_) | Self::NoBundle => (ErrorKind::NotFound, "bundle_id"),
            Self::UnknownSchema { .. } => (ErrorKind::NotFound, "schema"),
            Self::MisnamedSchema { .. } | Self::ForbiddenSchema(_) => {
                (ErrorKind::Invalid, "source")
            }
            Self::InvalidSchema(error) => (error.kind(), "source"),
            Self::BrokenSchema { .. } | Self::SchemaInUse { .. } | Self::TooManySchemas => {
                (ErrorKind::Conflict, "schema")
            }
            Self::InvalidAnswer(_) => (ErrorKind::Invalid, "answer"),
            Self::ReservedSchema(_) => (ErrorKind::Conflict, "schema"),
            Self::ForbiddenPrompt(_) => (ErrorKind::Invalid, "instructions"),
            Self::Prompt(error) => (error.kind(), "instructions"),
            Self::SamePrompt(_) | Self::NoCanary | Self::NoFormerPrompt => {
                (ErrorKind::Conflict, "version")
            }
            Self::UnknownPromptVersion(_) => (ErrorKind::NotFound, "version"),
            Self::Chat(error) => (error.kind(), ""),
            Self::Store(error) => (error.kind(), ""),
            Self::Search(error) => (error.kind(), ""),
        }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        self.class().0
    }

    fn field(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.field(),
            Self::Search(error) => error.field(),
            Self::InvalidAnswer(error) => Some(match error.field() {
                Some(path) => format!("answer.{path}"),
                None => "answer".to_owned(),
            }),
            error => Some(error.class().1).filter(|field| !field.is_empty()).map(str::to_owned),
        }
    }
}
