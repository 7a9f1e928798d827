//! The parts of the OpenAPI document that belong to no single route.

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi, PathItem, Ref, ResponseBuilder};
use utoipa::{Modify, OpenApi as DeriveOpenApi};

use crate::problem::{PROBLEM_JSON, ProblemDocument};

/// Title, tags, security and the schema of problems.
#[derive(DeriveOpenApi)]
#[openapi(
    info(
        title = "Memory Copilot",
        description = "A team's long-term memory for people who code with an assistant: recall what \
                       is known about a place before a change, save what was learnt after it.",
    ),
    components(schemas(ProblemDocument)),
    modifiers(&Bearer),
    security(("bearer" = [])),
    tags(
        (name = "memory", description = "Recall, save, search, feedback, dialogs, records"),
        (name = "tasks", description = "A tracker's issues and what belongs to them"),
        (name = "ingest", description = "Repositories and documents to index"),
        (name = "documents", description = "Documents, whole"),
        (name = "projects", description = "The unit of isolation"),
        (name = "service", description = "How the service is"),
    )
)]
pub struct ApiDocument;

struct Bearer;

impl Modify for Bearer {
    fn modify(&self, document: &mut OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The local token, made at the first start of the service."))
            .build();
        if let Some(components) = &mut document.components {
            components.add_security_scheme("bearer", SecurityScheme::Http(scheme));
        }
    }
}

/// Every operation may answer a problem; said once here instead of at each of them.
pub fn add_problems(mut document: OpenApi) -> OpenApi {
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        let response = ResponseBuilder::new()
            .description("What is wrong, as RFC 9457 has it")
            .content(PROBLEM_JSON, content)
            .build();
        operation.responses.responses.insert("default".to_owned(), response.into());
    }
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.patch, &mut item.delete]
        .into_iter()
        .filter_map(Option::as_mut)
}
