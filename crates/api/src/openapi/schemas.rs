//! Schemas of OAuth parameters and of policies. Each is a type without values, named in
//! `#[schema(value_type = ...)]` or in a constraint.

use std::collections::BTreeSet;

use mc_auth::client::ClientId;
use mc_contract::{limits, schema};
use mc_domain::{FindingAction, Scope};
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
    /// Names of scopes, separated by spaces.
    ScopeNames = schema::string().pattern(Some(scope_names()));
    /// The client program.
    ClientName = schema::text(ClientId::MAX_LEN).pattern(Some("^(?!browser$)[a-z0-9._-]+$"));
    /// Commands, each by its first words.
    Commands = ArrayBuilder::new()
        .items(schema::text(limits::COMMAND).pattern(Some(schema::line_pattern())))
        .max_items(Some(limits::COMMANDS));
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
