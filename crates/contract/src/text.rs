//! Validated texts: one type a rule, which is its deserialization, its error and its schema.

mod rule;

use mc_domain::ProjectKey as Key;

use self::rule::TextRule;
use crate::{limits, rules};

/// The names of projects, teams and users.
const SHORT_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
/// Hosts with an optional port.
const HOST: &str = r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$";
/// Names of accounts at providers, of programs as well.
const PROVIDER_USER: &str = r"^[A-Za-z0-9._-]+(\[bot\])?$";
/// Names of reasoning schemas.
const SCHEMA_NAME: &str = "^[a-z][a-z0-9_-]{0,39}$";
/// Longest text of a file that a tool of a workspace writes.
const FILE_TEXT: usize = 2_000_000;
/// Longest text of a patch. The configuration has a limit in bytes (`coding.max_diff_bytes`).
const DIFF_TEXT: usize = 1_000_000;
/// Ids of jobs.
const JOB_ID: &str = "^[0-9A-Za-z]+$";

macro_rules! texts {
    ($($(#[doc = $doc:literal])+ $name:ident = $rule:expr;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            const RULE: TextRule = $rule;

            /// Accepts a text that keeps the rule.
            pub fn parse(text: &str) -> Result<Self, $crate::Violation> {
                Self::RULE.accept(text).map(Self)
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                Self::parse(&text).map_err(serde::de::Error::custom)
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let schema = Self::RULE.schema();
                utoipa::openapi::RefOr::T($crate::schema::described(schema, &[$($doc.trim()),+]))
            }
        }

        impl utoipa::ToSchema for $name {}
    )+};
}

texts! {
    /// A team's key; stored in lower case.
    TeamKey = TextRule::pattern(SHORT_NAME, Key::MAX_LEN, |text, _| {
        rules::short_name(text).map(|key| key.to_ascii_lowercase())
    });
    /// A user's login; unique whatever the case.
    Login = TextRule::pattern(SHORT_NAME, Key::MAX_LEN, |text, _| rules::short_name(text));
    /// The host of a provider, optionally with a port; stored in lower case.
    ProviderHost = TextRule::pattern(HOST, 255, rules::host);
    /// The name of an account at a provider.
    ProviderUser = TextRule::pattern(PROVIDER_USER, 128, rules::provider_user);
    /// The id of a job.
    JobId = TextRule::pattern(JOB_ID, 64, rules::job_id);

    /// The name of a reasoning schema.
    SchemaName = TextRule::pattern(SCHEMA_NAME, 0, |text, _| rules::schema_name(text));
    /// The YAML file of a reasoning schema.
    SchemaFile = TextRule::prose(mc_sgr::limits::FILE_MAX_BYTES);

    /// A title, in one line; surrounding blanks are dropped.
    Title = TextRule::line(limits::TITLE);
    /// A title in one line, or nothing.
    OptionalTitle = TextRule::optional_line(limits::TITLE);
    /// A name, in one line; surrounding blanks are dropped.
    Name = TextRule::line(limits::NAME);
    /// The version of a prompt: a name that must not hold a secret or personal data.
    PromptVersion = TextRule::identifier(limits::SHORT_TEXT);
    /// A name that must not hold a secret or personal data.
    Identifier = TextRule::identifier(limits::NAME);
    /// A name to display, in one line; secrets in it are masked.
    DisplayName = TextRule::masked_line(limits::NAME);
    /// A person's name, in one line; secrets in it are masked.
    PersonName = TextRule::masked_line(limits::NAME);
    /// An e-mail address, in one line; surrounding blanks are dropped.
    Email = TextRule::line(254);
    /// An id that a provider gave, in one line; surrounding blanks are dropped.
    ExternalId = TextRule::line(limits::EXTERNAL_ID);
    /// A tracker's id of an issue, in one line; surrounding blanks are dropped.
    IssueId = TextRule::identifier(limits::EXTERNAL_ID);
    /// A qualified name, in one line; surrounding blanks are dropped.
    Symbol = TextRule::line(512);
    /// A word or a few, in one line; surrounding blanks are dropped.
    ShortText = TextRule::line(limits::SHORT_TEXT);
    /// An error message, a line of a log or a stack trace.
    ErrorSignal = TextRule::prose(2_000);
    /// A language by its name, an alias (`golang`, `c++`, `ts`) or an extension (`.rs`).
    Language = TextRule::special("language", limits::SHORT_TEXT, rules::line);
    /// An address, path or id, in one line; surrounding blanks are dropped.
    SourceReference = TextRule::line(limits::URL);

    /// Words to search for.
    QueryText = TextRule::prose(4_000);
    /// The text to remember.
    ContentText = TextRule::prose(32_000);
    /// The text of a record, or the result of a dialog.
    StatementText = TextRule::prose(limits::STATEMENT);
    /// A comment or a step, of one or several lines.
    FreeText = TextRule::prose(4_000);
    /// The text of a message.
    MessageText = TextRule::prose(200_000);
    /// The text of a document.
    DocumentText = TextRule::prose(1_000_000);

    /// A file or directory, relative to the repository's root, without `..`.
    RepositoryPath = TextRule::special("relative-path", limits::PATH, rules::relative_path);
    /// A path from the root of a machine's file system, such as `/home/me/shop/app/cart.rb`.
    AbsolutePath = TextRule::special("absolute-path", limits::PATH, rules::absolute_path);
    /// A glob over paths, such as `app/**/*.rb`.
    Glob = TextRule::special("glob", limits::PATH, rules::line);
    /// A pattern of paths in the syntax of `.gitignore`, such as `docs/**` or `*.snap`.
    PathPattern = TextRule::line(limits::SHORT_TEXT);
    /// An `http` or `https` URL.
    WebUrl = TextRule::special("web-url", limits::URL, rules::web_url);
    /// The whole or the beginning of a commit's hash.
    CommitHash = TextRule::pattern("^[0-9A-Fa-f]{4,64}$", 0, |text, _| rules::hex(text, &(4..=64)));
    /// The absolute path of a directory, or the https, ssh or file URL of a git repository.
    RepositoryLocation = TextRule::special("repository-location", limits::URL, rules::location);
    /// A branch, tag or commit.
    GitRef = TextRule::special("git-ref", limits::NAME, rules::identifier);
    /// The owner or the name of a repository: letters, digits, `.`, `_` and `-`, beginning with
    /// neither `.` nor `-`.
    RepositoryPart = TextRule::special("repository-part", limits::NAME, rules::repository_part);
    /// The source of documents. Files of repositories are indexed, and not sent.
    DocumentSource =
        TextRule::special("document-source", limits::SHORT_TEXT, rules::document_source);
    /// The operator's name for a connector.
    ConnectorName = TextRule::identifier(limits::SHORT_TEXT);
    /// A path in a workspace: relative to the current directory, or below `/workspace`.
    WorkspacePath = TextRule::special("workspace-path", 4_096, rules::workspace_path);
    /// Text of a file with any characters, or nothing.
    FileText = TextRule::any(FILE_TEXT);
    /// A unified diff or search/replace blocks.
    DiffText = TextRule::any(DIFF_TEXT);
    /// A regular expression or a glob; blanks count.
    SearchPattern = TextRule::prose(1_000);
    /// A `JSONPath` (RFC 9535), such as `$.scripts.test` or `$.list[0]`.
    JsonPath = TextRule::line(512);
    /// A key of a JSON object, with any characters, or nothing.
    JsonKey = TextRule::any(512);
    /// A command of a dry run: a program and its arguments, with spaces between them.
    CommandLine = TextRule::line(1_000);
    /// A command of bash, of one or several lines.
    ShellCommand = TextRule::prose(16 * 1024);
    /// A SHA-256 in hexadecimal digits.
    Sha256 = TextRule::pattern("^[0-9A-Fa-f]{64}$", 0, |text, _| rules::hex(text, &(64..=64)));
}

impl Sha256 {
    /// The 32 bytes of the sum.
    pub fn to_bytes(&self) -> Vec<u8> {
        hex::decode(&self.0).unwrap_or_default()
    }
}

#[expect(clippy::derivable_impls, reason = "the macro derives the same traits for all texts")]
impl Default for OptionalTitle {
    fn default() -> Self {
        Self(String::new())
    }
}
