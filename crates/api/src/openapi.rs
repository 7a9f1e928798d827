//! The parts of the OpenAPI document that belong to no single route.

mod access;
mod constraints;
pub(crate) mod schemas;

use serde_json::{Value, json};
use utoipa::openapi::header::{Header, HeaderBuilder};
use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, PathItem, Ref, RefOr, ResponseBuilder};
use utoipa::{Modify, OpenApi as DeriveOpenApi};

use crate::openapi::access::add_access;
use crate::openapi::constraints::add_alternatives;
use crate::problem::{PROBLEM_JSON, ProblemDocument};
use crate::routes::is_probe;
use mc_contract::meta::MetaValue;

pub(crate) use crate::openapi::access::Access;

/// Title, tags, security and the schema of problems.
#[derive(DeriveOpenApi)]
#[openapi(
    info(
        title = "Memory Copilot",
        description = "A team's long-term memory for people who code with an assistant: recall \
                       what is known about a place before a change, save what was learnt after it.",
    ),
    components(schemas(ProblemDocument, MetaValue)),
    modifiers(&Bearer),
    security(("bearer" = [])),
    tags(
        (name = "memory", description = "Recall, save, search, feedback, dialogs, records"),
        (name = "tasks", description = "A tracker's issues and what belongs to them"),
        (name = "changes", description = "Pull and merge requests, and what CI says of them"),
        (name = "ingest", description = "Repositories and documents to index"),
        (name = "review", description = "What a person decides about records"),
        (name = "hygiene",
         description = "What keeps the memory in order by the clock, and what it found"),
        (name = "quarantine",
         description = "What a policy holds back until a maintainer has decided"),
        (name = "audit", description = "Who did what"),
        (name = "documents", description = "Documents, whole"),
        (name = "projects", description = "The unit of isolation"),
        (name = "accounts", description = "Users, teams and tokens"),
        (name = "webhooks", description = "What other systems tell of what happens there"),
        (name = "connectors", description = "Other systems that are asked what is new there"),
        (name = "jobs", description = "Background work"),
        (name = "service", description = "How the service is"),
    )
)]
pub struct ApiDocument;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some(
                "A personal access token, such as the local one that the service makes.",
            ))
            .build();
        if let Some(components) = &mut document.components {
            components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
        }
    }
}

/// Status, name and reason of the answers that say "not now".
const REFUSALS: [(&str, &str, &str); 2] = [
    ("429", "TooManyRequests", "Too many requests of this caller or from this address"),
    ("503", "Overloaded", "More requests than the service takes on, or its database is away"),
];

/// Adds the access of each operation, its problems and the transient errors of all but the probes.
pub fn add_problems(mut document: OpenApi) -> OpenApi {
    add_alternatives(&mut document);
    add_examples_of_pages(&mut document);
    for (path, item) in &mut document.paths.paths {
        for operation in operations(item) {
            add_access(operation);
            for parameter in operation.parameters.iter_mut().flatten() {
                if let RefOr::T(parameter) = parameter {
                    without_null(parameter);
                }
            }
            let responses = &mut operation.responses.responses;
            let any = problem("What is wrong, as RFC 9457 has it").build();
            responses.insert("default".to_owned(), any.into());
            // Senders of webhooks are never told to come less often: some would not come again.
            let is_refused = |status: &str| {
                !is_probe(path) && (status != "429" || !path.starts_with("/webhooks/"))
            };
            let refusals = REFUSALS.into_iter().filter(|(status, ..)| is_refused(status));
            responses.extend(refusals.map(|(status, name, _)| {
                (status.to_owned(), Ref::from_response_name(name).into())
            }));
        }
    }
    if let Some(components) = &mut document.components {
        components.responses.extend(REFUSALS.map(|(_, name, reason)| {
            let refusal = problem(reason).header("Retry-After", seconds_to_wait());
            (name.to_owned(), refusal.build().into())
        }));
    }
    document
}

/// A page has the example of its items: its own type does not know them.
fn add_examples_of_pages(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    let schemas = &components.schemas;
    let examples = schemas.keys().filter_map(|page| {
        let item = example(schemas.get(page.strip_prefix("Page_")?)?)?;
        Some((page.clone(), json!({ "items": [item] })))
    });
    let examples: Vec<_> = examples.collect();
    for (page, example) in examples {
        if let Some(RefOr::T(Schema::Object(page))) = components.schemas.get_mut(&page) {
            page.example.get_or_insert(example);
        }
    }
}

/// The example of a schema. One that has rules about several fields lists it among `examples`.
fn example(schema: &RefOr<Schema>) -> Option<&Value> {
    let RefOr::T(schema) = schema else { return None };
    let (example, examples) = match schema {
        Schema::Object(object) => (&object.example, &object.examples),
        Schema::AllOf(all) => (&all.example, &all.examples),
        _ => return None,
    };
    example.as_ref().or_else(|| examples.first())
}

/// A parameter that is optional may be left out; there is no way to send it as null.
fn without_null(parameter: &mut Parameter) {
    match &mut parameter.schema {
        Some(RefOr::T(Schema::Object(object))) => {
            if let SchemaType::Array(types) = &mut object.schema_type {
                types.retain(|one| *one != Type::Null);
            }
        }
        Some(RefOr::T(Schema::OneOf(choice))) => {
            let is_null = |item: &RefOr<Schema>| {
                let RefOr::T(Schema::Object(object)) = item else { return false };
                object.schema_type == Type::Null.into()
            };
            choice.items.retain(|item| !is_null(item));
            if let [only] = choice.items.as_slice() {
                parameter.schema = Some(only.clone());
            }
        }
        _ => {}
    }
}

fn problem(description: &str) -> ResponseBuilder {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    ResponseBuilder::new().description(description).content(PROBLEM_JSON, content)
}

fn seconds_to_wait() -> Header {
    let schema = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).build();
    HeaderBuilder::new()
        .schema(Some(schema))
        .description(Some("Seconds after which the same request is worth another try"))
        .build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, post, put, patch, delete, .. } = item;
    [get, post, put, patch, delete].into_iter().filter_map(Option::as_mut)
}
