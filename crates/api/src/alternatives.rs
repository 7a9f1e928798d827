//! Rules about several fields of a body at once, for the OpenAPI document: a struct's own schema can't
//! say them.

use serde_json::Value;
use utoipa::openapi::schema::{
    AllOf, AllOfBuilder, AnyOf, AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema,
    SchemaType, Type,
};
use utoipa::openapi::{OpenApi, RefOr};

/// Adds the rules.
pub fn add_alternatives(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    for (name, rule) in [
        ("RecallRequest", says_what_it_is_about()),
        ("UserEntry", is_no_administering_program()),
        ("DocumentEntry", has_one_body()),
    ] {
        if let Some(RefOr::T(schema)) = components.schemas.get_mut(name)
            && let Schema::Object(object) = schema
        {
            *schema = Schema::AllOf(both(object, rule));
        }
    }
}

/// One of `query`, `task_external_id`, `repo_path`, `symbols` and `signals`.
fn says_what_it_is_about() -> AnyOf {
    let texts = ["query", "task_external_id", "repo_path"].map(|name| with(name, text()));
    let lists = ["symbols", "signals"].map(|name| with(name, filled()));
    any_of(texts.into_iter().chain(lists))
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
