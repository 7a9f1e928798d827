//! Schemas of requests that are not contract types yet. Each is a type without values, named in
//! `#[schema(value_type = ...)]`.

use std::collections::BTreeSet;

use mc_auth::client::ClientId;
pub use mc_contract::{
    ProjectKey,
    number::{PageLimit, TokenDays, VersionNumber},
    text::{Email, ExternalId, Login, Name, TeamKey},
};
use mc_contract::{limits, schema};
use mc_domain::{AuditAction, FindingAction, Role, Scope};
use mc_sanitizer::Sanitizer;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

macro_rules! shapes {
    ($($(#[doc = $doc:literal])+ $name:ident = $schema:expr;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug)]
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let lines = [$($doc.trim()),+];
                RefOr::T(schema::described($schema, &lines))
            }
        }

        impl ToSchema for $name {}
    )+};
}

shapes! {
    /// What a member may do.
    MemberRole = schema::one_of(Role::ALL.iter().map(|role| role.as_str()));
    /// What a token may be used for.
    ScopeName = schema::one_of(Scope::ALL.iter().map(|scope| scope.as_str()));
    /// Names of scopes, separated by spaces.
    ScopeNames = schema::string().pattern(Some(scope_names()));
    /// The client program.
    ClientName = schema::text(ClientId::MAX_LEN).pattern(Some("^(?!browser$)[a-z0-9._-]+$"));
    /// Eight letters as a terminal shows them, in any case, with spaces and hyphens anywhere.
    UserCode = schema::string()
        .pattern(Some("^[ -]*([BCDFGHJKLMNPQRSTVWXZbcdfghjklmnpqrstvwxz][ -]*){8}$"));
    /// Commands, each by its first words.
    Commands = ArrayBuilder::new()
        .items(schema::text(limits::COMMAND).pattern(Some(schema::line_pattern())))
        .max_items(Some(limits::COMMANDS));
    /// An action of the audit.
    AuditActionName = schema::one_of(AuditAction::ALL.iter().map(|action| action.as_str()));
    /// The action for single categories of the sanitizer's findings.
    Categories = ObjectBuilder::new()
        .property_names(Some(schema::one_of(categories()).build()))
        .additional_properties(Some(
            schema::one_of(FindingAction::ALL.iter().map(|action| action.as_str())),
        ));
}

fn categories() -> impl Iterator<Item = &'static str> {
    let known: BTreeSet<_> = Sanitizer::default().categories().collect();
    known.into_iter()
}

fn scope_names() -> String {
    let names: Vec<_> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    format!("^ *(({0})( +|$))*$", names.join("|"))
}
