//! The parts of the OpenAPI document that belong to no single route.

mod access;
mod constraints;
pub(crate) mod schemas;

use std::collections::HashSet;

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
        // Of the interface: any client can read the document, and must not learn that of the
        // service.
        version = "1",
        description = "Long-term memory for teams that code with AI assistants: `recall` returns \
                       what the team knows about the code at hand, `save` stores what was learned.",
    ),
    components(schemas(ProblemDocument, MetaValue)),
    modifiers(&Bearer),
    security(("bearer" = [])),
    tags(
        (name = "memory", description = "Recall, save, search, feedback, dialogs, records"),
        (name = "tasks", description = "Issues of trackers, with their records and dialogs"),
        (name = "pull-requests", description = "Pull and merge requests with their CI results"),
        (name = "ingest", description = "Repositories and documents to index"),
        (name = "workspaces", description = "Trees of repositories that a user reads and changes"),
        (name = "patches", description = "Changes of a workspace's files that were proposed"),
        (name = "review", description = "Decisions about proposals and records"),
        (name = "hygiene", description = "Scheduled care for the memory, and its runs"),
        (name = "quarantine", description = "Texts that wait for a maintainer's decision"),
        (name = "audit", description = "The audit log"),
        (name = "documents", description = "Documents and their content"),
        (name = "projects", description = "Projects and their policies"),
        (name = "accounts", description = "Users, teams and tokens"),
        (name = "webhooks", description = "URLs to which providers send events"),
        (name = "connectors", description = "Access to providers, and integrations"),
        (name = "sgr", description = "Reasoning schemas"),
        (name = "prompts", description = "The system prompt of a project, and its versions"),
        (name = "metrics", description = "Figures that say whether the memory helps"),
        (name = "jobs", description = "Background jobs"),
        (name = "service", description = "Health and status of the service"),
    )
)]
pub struct ApiDocument;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An access token of a login session, or a personal access token."))
            .build();
        if let Some(components) = &mut document.components {
            components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
        }
    }
}

/// Status, name and description of transient errors.
const REFUSALS: [(&str, &str, &str); 2] = [
    ("429", "TooManyRequests", "The caller or the address has sent too many requests"),
    ("503", "Overloaded", "The service is overloaded, or its database is unavailable"),
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
            let any = problem("A problem document (RFC 9457)").build();
            responses.insert("default".to_owned(), any.into());
            // Webhook deliveries get no 429: some providers would disable the webhook.
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

/// Returns the routes whose `GET` is a page or a redirect, which browsers open.
pub fn pages(document: &OpenApi) -> HashSet<String> {
    let paths = document.paths.paths.iter();
    let pages = paths.filter(|(_, item)| item.get.as_ref().is_some_and(is_page));
    pages.map(|(path, _)| path.clone()).collect()
}

fn is_page(operation: &Operation) -> bool {
    operation.responses.responses.iter().any(|(status, response)| {
        let RefOr::T(response) = response else { return false };
        status == "303" || response.content.contains_key("text/html")
    })
}

/// Adds examples to pages, made from the example of their items.
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

/// Returns the example of a schema; a schema with rules between fields has it in `examples`.
fn example(schema: &RefOr<Schema>) -> Option<&Value> {
    let RefOr::T(schema) = schema else { return None };
    let (example, examples) = match schema {
        Schema::Object(object) => (&object.example, &object.examples),
        Schema::AllOf(all) => (&all.example, &all.examples),
        _ => return None,
    };
    example.as_ref().or_else(|| examples.first())
}

/// Removes null from the types of a parameter: an optional parameter is omitted.
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
        .description(Some("Seconds to wait before the next attempt"))
        .build()
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, post, put, patch, delete, .. } = item;
    [get, post, put, patch, delete].into_iter().filter_map(Option::as_mut)
}
