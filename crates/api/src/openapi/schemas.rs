//! What the OpenAPI document says about fields: the rules of [`check`](crate::check) and of the crates
//! behind it, as JSON Schema. Each is a type without values, named in `#[schema(value_type = ...)]`.
//!
//! What a schema promises, the service takes. Where JSON Schema can't say a rule (a glob that parses, a
//! day that is still to come), a `format` names it and the description tells it.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use mc_auth::client::ClientId;
use mc_domain::{AuditAction, FindingAction, ProjectKey as Key, Role, Scope};
use mc_sanitizer::Sanitizer;
use utoipa::openapi::schema::{
    AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::limits;

/// Letters that stand for nothing at the ends of a line: those that [`str::trim`] takes away.
const BLANK: &str = r"\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
/// Control characters.
const CONTROL: &str = r"\u0000-\u001f\u007f-\u009f";
/// Control characters but tab, line feed and carriage return.
const CONTROL_IN_TEXT: &str = r"\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f";
/// The names of projects, teams and users.
const SHORT_NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]*$";

macro_rules! shapes {
    ($($(#[doc = $doc:literal])+ $name:ident = $schema:expr;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let lines = [$($doc.trim()),+];
                RefOr::T(described($schema, &lines.join(" ")))
            }
        }

        impl ToSchema for $name {}
    )+};
}

shapes! {
    /// A project's key; kept in lower case.
    ProjectKey = text(Key::MAX_LEN).pattern(Some(SHORT_NAME));
    /// A team's key; kept in lower case.
    TeamKey = text(Key::MAX_LEN).pattern(Some(SHORT_NAME));
    /// A user's login; unique whatever the case.
    Login = text(Key::MAX_LEN).pattern(Some(SHORT_NAME));
    /// The id of a piece of background work.
    JobId = text(limits::JOB_ID).pattern(Some("^[0-9A-Za-z]+$"));
    /// A system that delivers to `/webhooks`.
    Tracker = word_of(["jira", "youtrack", "redmine", "confluence"].into_iter());
    /// What deliveries are signed with: visible ASCII characters without blanks.
    WebhookSecret = ObjectBuilder::new().schema_type(Type::String)
        .pattern(Some(format!(
            "^[!-~]{{{},{}}}$", limits::WEBHOOK_SECRET.start(), limits::WEBHOOK_SECRET.end()
        )));
    /// Hours for which a secret counts beside the one that replaced it.
    KeepHours = number(&limits::KEEP_HOURS);
    /// Minutes after which another system is asked again.
    EveryMinutes = number(&limits::EVERY_MINUTES);
    /// What a member may do.
    MemberRole = word_of(Role::ALL.iter().map(|role| role.as_str()));
    /// What a token may be used for.
    ScopeName = word_of(Scope::ALL.iter().map(|scope| scope.as_str()));
    /// Names of scopes with spaces between.
    ScopeNames = ObjectBuilder::new().schema_type(Type::String).pattern(Some(scope_names()));
    /// Which program asks.
    ClientName = text(ClientId::MAX_LEN).pattern(Some("^(?!browser$)[a-z0-9._-]+$"));
    /// Eight letters as a terminal shows them, in any case, with spaces and hyphens anywhere.
    UserCode = ObjectBuilder::new().schema_type(Type::String)
        .pattern(Some("^[ -]*([BCDFGHJKLMNPQRSTVWXZbcdfghjklmnpqrstvwxz][ -]*){8}$"));

    /// A title, in one line; blanks around it are dropped.
    Title = line(limits::TITLE);
    /// A title, in one line, or nothing.
    OptionalTitle = line(limits::TITLE).min_length(None).pattern(Some(format!("^$|{}", line_pattern())));
    /// A name, in one line; blanks around it are dropped.
    Name = line(limits::NAME);
    /// An address, in one line; blanks around it are dropped.
    Email = line(limits::EMAIL);
    /// An id that somebody else gave, in one line; blanks around it are dropped.
    ExternalId = line(limits::EXTERNAL_ID);
    /// A qualified name, in one line; blanks around it are dropped.
    Symbol = line(limits::SYMBOL);
    /// Qualified names.
    Symbols = list(line(limits::SYMBOL), limits::WORDS);
    /// A word or a few, in one line; blanks around it are dropped.
    Word = line(limits::WORD);
    /// Words, each in one line.
    Words = list(line(limits::WORD), limits::WORDS);
    /// Marks of the trouble, each of some lines.
    Signals = list(prose(limits::SIGNAL), limits::WORDS);
    /// Handles of a bundle's items, with commas between.
    HandleList = ObjectBuilder::new().schema_type(Type::String)
        .pattern(Some("^[mdtc][1-9][0-9]{0,2}(,[mdtc][1-9][0-9]{0,2})*$")).max_length(Some(limits::HANDLES));
    /// A language by its name, an alias (`golang`, `c++`, `ts`) or an extension (`.rs`).
    Language = special("language", limits::WORD);
    /// A path from the root of a machine's file system, such as `/home/me/shop/app/cart.rb`.
    AbsolutePath = special("absolute-path", limits::PATH);
    /// An address, path or id, in one line; blanks around it are dropped.
    Reference = line(limits::URL);

    /// Words to look for.
    QueryText = prose(limits::QUERY);
    /// What there is to remember.
    ContentText = prose(limits::CONTENT);
    /// Steps, each of some lines.
    Steps = list(prose(limits::REMARK), limits::STEPS);
    /// What a record says, or what a dialog comes to.
    StatementText = prose(limits::STATEMENT);
    /// What somebody says about something.
    Remark = prose(limits::REMARK);
    /// What somebody said.
    MessageText = prose(limits::MESSAGE);
    /// A document's text.
    DocumentText = prose(limits::DOCUMENT);

    /// A file or folder, relative to the repository's root, without `..`.
    RepositoryPath = special("relative-path", limits::PATH);
    /// A glob over paths, such as `app/**/*.rb`.
    Glob = special("glob", limits::PATH);
    /// An `http` or `https` URL.
    WebUrl = special("web-url", limits::URL);
    /// The absolute path of a folder, or the https, ssh or file URL of a git repository.
    RepositoryLocation = special("repository-location", limits::URL);
    /// A branch, tag or commit.
    GitRef = special("git-ref", limits::NAME);
    /// Letters, digits, `.`, `_` and `-`, beginning with none of the last but `_`.
    RepositoryPart = special("repository-part", limits::NAME);
    /// The whole or the beginning of a commit's hash.
    CommitHash = ObjectBuilder::new().schema_type(Type::String)
        .pattern(Some("^[0-9A-Fa-f]{4,64}$"));
    /// A sha256 in hexadecimal.
    Sha256 = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[0-9A-Fa-f]{64}$"));
    /// A date, meant to its end in UTC, or an RFC 3339 time, later than now and at most 10 years ahead.
    EndOfLife = ObjectBuilder::new().schema_type(Type::String)
        .format(Some(SchemaFormat::Custom("end-of-life".to_owned())));

    /// How many rows of a list at once.
    PageLimit = number(&limits::PAGE_LIMIT);
    /// How many results.
    SearchLimit = number(&limits::SEARCH_LIMIT);
    /// How many tokens.
    TokenLimit = number(&limits::LIMIT_TOKENS);
    /// Milliseconds.
    TimeBudget = number(&limits::TIME_BUDGET_MS);
    /// Days.
    TokenDays = number(&limits::TOKEN_DAYS);
    /// A version, or an event's place, from 1.
    Ordinal = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(i32::MAX));
    /// A line of a file, from 1.
    LineNumber = number(&limits::LINE_NUMBER);
    /// A share.
    Share = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0)).maximum(Some(1));

    /// Commands, each by its first words.
    Commands = list(line(limits::COMMAND), 100);
    /// An action of the audit.
    ActName = word_of(AuditAction::ALL.iter().map(|act| act.as_str()));
    /// What is done with single categories of the sanitizer's finds.
    Categories = ObjectBuilder::new()
        .property_names(Some(word_of(categories()).build()))
        .additional_properties(Some(word_of(FindingAction::ALL.iter().map(|action| action.as_str()))));

    /// What else belongs to a record, at most 16 KiB of JSON. `patch_sha` and `source_dialog_id` hold
    /// texts; `url`, `steps` and `patch_ref` are fields of their own.
    Meta = ObjectBuilder::new()
        .property("patch_sha", nullable(plain()))
        .property("source_dialog_id", nullable(plain()))
        .property_names(Some(key(r"(?!(url|steps|patch_ref)$)")))
        .additional_properties(Some(Ref::from_schema_name("MetaValue")));
    /// Any JSON whose keys hold no control characters and whose texts hold none but tab, line feed and
    /// carriage return; nested at most 8 levels deep.
    MetaValue = AnyOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(scalars()))
        .item(plain())
        .item(ArrayBuilder::new().items(RefOr::Ref(Ref::from_schema_name("MetaValue"))))
        .item(
            ObjectBuilder::new()
                .property_names(Some(key("")))
                .additional_properties(Some(Ref::from_schema_name("MetaValue"))),
        );
}

fn described(schema: impl Into<Schema>, description: &str) -> Schema {
    let mut schema = schema.into();
    let place = match &mut schema {
        Schema::Object(object) => &mut object.description,
        Schema::Array(array) => &mut array.description,
        Schema::AnyOf(any) => &mut any.description,
        _ => return schema,
    };
    *place = Some(description.to_owned());
    schema
}

fn text(longest: usize) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(longest))
}

/// As [`check::line`](crate::check::line) takes it.
fn line(longest: usize) -> ObjectBuilder {
    text(longest).pattern(Some(line_pattern()))
}

fn line_pattern() -> String {
    let visible =
        format!("[^{CONTROL}{}]", r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000");
    format!("^[{BLANK}]*{visible}([^{CONTROL}]*{visible})?[{BLANK}]*$")
}

/// As [`check::text`](crate::check::text) takes it.
fn prose(longest: usize) -> ObjectBuilder {
    let any = format!("[^{CONTROL_IN_TEXT}]*");
    text(longest).pattern(Some(format!("^{any}[^{CONTROL}{BLANK}]{any}$")))
}

/// A line whose rules a format names.
fn special(format: &str, longest: usize) -> ObjectBuilder {
    text(longest).format(Some(SchemaFormat::Custom(format.to_owned())))
}

/// A text of PostgreSQL, empty or not.
fn plain() -> ObjectBuilder {
    let pattern = format!("^[^{CONTROL_IN_TEXT}]*$");
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))
}

/// A key of free-form JSON that fits `rule`.
fn key(rule: &str) -> Object {
    let pattern = format!("^{rule}[^{CONTROL}]*$");
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build()
}

fn nullable(schema: ObjectBuilder) -> ObjectBuilder {
    schema.schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

fn scalars() -> SchemaType {
    SchemaType::from_iter([Type::Boolean, Type::Number, Type::Null])
}

fn number(range: &RangeInclusive<i64>) -> ObjectBuilder {
    let (least, most) = (Some(*range.start()), Some(*range.end()));
    ObjectBuilder::new().schema_type(Type::Integer).minimum(least).maximum(most)
}

fn list(item: ObjectBuilder, most: usize) -> ArrayBuilder {
    ArrayBuilder::new().items(item).max_items(Some(most))
}

fn word_of(words: impl Iterator<Item = &'static str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}

fn categories() -> impl Iterator<Item = &'static str> {
    let known: BTreeSet<_> = Sanitizer::default().categories().collect();
    known.into_iter()
}

fn scope_names() -> String {
    let names: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    format!("^ *(({0})( +|$))*$", names.join("|"))
}
