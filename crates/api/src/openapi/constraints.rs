//! Rules about several fields of a body at once, for the OpenAPI document: a struct's own schema
//! can't say them.

use mc_domain::{FindingAction, Role};
use serde_json::Value;
use utoipa::PartialSchema as _;
use utoipa::openapi::schema::{
    AllOf, AllOfBuilder, AnyOf, AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema,
    SchemaType, Type,
};
use utoipa::openapi::{Components, OpenApi, RefOr};

use mc_contract::text::WebUrl;

use crate::openapi::schemas::{Categories, Commands};

/// Adds the rules.
pub fn add_alternatives(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    add_rules_of_policies(components);
    for (name, rule) in [
        ("RecallRequest", says_what_it_is_about()),
        ("SearchRequest", says_what_to_look_for()),
        ("CreateUser", is_no_administering_program()),
        ("DocumentInput", has_one_body()),
        ("ForgetRequest", names_one_origin()),
        ("CreateWorkspace", names_a_repository()),
    ] {
        if let Some(schema) = schema_of(components, name)
            && let Schema::Object(object) = schema
        {
            *schema = Schema::AllOf(both(object, rule));
        }
    }
}

/// What the domain's own schema of a policy can't say: it knows neither the categories of the
/// sanitizer nor the shapes of texts here.
fn add_rules_of_policies(components: &mut Components) {
    let people = Role::ALL.iter().filter(|role| **role >= Role::Member).map(|role| role.as_str());
    let people: Vec<_> = people.collect();
    let masked = FindingAction::ALL.iter().filter(|action| **action > FindingAction::Allow);
    let masked: Vec<_> = masked.map(|action| action.as_str()).collect();
    for role in ["save", "review", "confirm", "publish"] {
        replace(components, "MinimumRoles", role, words(&people));
    }
    replace(components, "SanitizerPolicy", "secrets", words(&masked));
    replace(components, "SanitizerPolicy", "categories", Categories::schema());
    replace(components, "Policy", "allowed_commands", Commands::schema());
    replace(components, "NotificationPolicy", "webhook_url", WebUrl::schema());
}

/// The schema of a name, which there has to be: a rule about a type that has another name by now
/// would be lost.
fn schema_of<'a>(components: &'a mut Components, name: &str) -> Option<&'a mut Schema> {
    let found = components.schemas.get_mut(name);
    debug_assert!(found.is_some(), "there is no schema {name}");
    match found {
        Some(RefOr::T(schema)) => Some(schema),
        _ => None,
    }
}

/// Gives a field another schema, under its own description.
fn replace(components: &mut Components, name: &str, field: &str, schema: impl Into<RefOr<Schema>>) {
    if let Some(Schema::Object(object)) = schema_of(components, name) {
        object.properties.insert(field.to_owned(), schema.into());
    }
}

fn words(words: &[&str]) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.to_vec())).build()
}

/// One of `query`, `task_external_id`, `repo_path`, `symbols` and `signals`.
fn says_what_it_is_about() -> AnyOf {
    let texts = ["query", "task_external_id", "repo_path"].map(|name| with(name, text()));
    let lists = ["symbols", "signals"].map(|name| with(name, filled()));
    any_of(texts.into_iter().chain(lists))
}

/// One of `query` and `task_external_id`.
fn says_what_to_look_for() -> AnyOf {
    any_of(["query", "task_external_id"].map(|name| with(name, text())))
}

/// No program administers.
fn is_no_administering_program() -> AnyOf {
    any_of(["is_agent", "is_admin"].map(|name| {
        let no = ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([false]));
        ObjectBuilder::new().property(name, no)
    }))
}

/// Either `content` or `messages`.
fn has_one_body() -> AnyOf {
    let null = || ObjectBuilder::new().schema_type(Type::Null);
    let filled = with("messages", filled());
    any_of([
        with("content", text()).property("messages", null()),
        filled.property("content", null()),
    ])
}

/// Either `saved_by` or `source`.
fn names_one_origin() -> AnyOf {
    let null = || ObjectBuilder::new().schema_type(Type::Null);
    any_of([
        with("saved_by", text()).property("source", null()),
        with("source", text()).property("saved_by", null()),
    ])
}

/// `location`, or `owner` and `name`.
fn names_a_repository() -> AnyOf {
    let named = with("owner", text()).property("name", text()).required("name");
    any_of([with("location", text()), named])
}

fn any_of(objects: impl IntoIterator<Item = ObjectBuilder>) -> AnyOf {
    objects.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item).build()
}

fn with(name: &str, schema: impl Into<RefOr<Schema>>) -> ObjectBuilder {
    ObjectBuilder::new().property(name, schema).required(name)
}

fn text() -> Object {
    ObjectBuilder::new().schema_type(Type::String).build()
}

fn filled() -> Schema {
    let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    ArrayBuilder::new().items(any).min_items(Some(1)).into()
}

/// What describes the object stays at the top, where readers and tools look for it.
fn both(object: &Object, rule: AnyOf) -> AllOf {
    let mut fields = object.clone();
    let description = fields.description.take();
    let example: Option<Value> = fields.example.take();
    AllOfBuilder::new()
        .item(fields)
        .item(Schema::AnyOf(rule))
        .description(description)
        .examples(example)
        .build()
}
