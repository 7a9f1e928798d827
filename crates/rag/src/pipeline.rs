//! A search: the modules in their order.

mod queries;
mod refine;
mod retrieval;
mod write;

use std::time::Duration;

use mc_contract::operations::rag::{RagSearchRequest, RagSearchResponse};
use mc_domain::ProjectId;
use mc_memory::chat::ProjectChat;
use mc_sanitizer::mask_with;
use mc_search::SearchContext;

use crate::journal::Journal;
use crate::models::Models;
use crate::prompt::Renderer;
use crate::scope::{self, Scope};
use crate::switches::Plan;
use crate::{Error, RagSettings};

/// What a search needs of a project, in the context of the caller. Cheap to clone.
#[derive(Clone)]
pub struct RagContext {
    /// Search in the project, with its store and masking rules.
    pub search: SearchContext,
    /// The chat models on behalf of the project.
    pub chat: ProjectChat,
    /// The project.
    pub project: ProjectId,
}

/// Owner and name of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Labels {
    pub owner: String,
    pub name: String,
}

/// Searches one repository of a project.
///
/// Without owner or name, it is the repository that was indexed last and is ready. The switches of
/// `settings` and of the request's profile are all that a benchmark has to change: nothing else is
/// configured.
pub async fn search(
    context: &RagContext,
    settings: &RagSettings,
    request: &RagSearchRequest,
) -> Result<RagSearchResponse, Error> {
    let mut journal = Journal::default();
    let plan = Plan::resolve(settings, request, &mut journal.warnings)?;
    let (owner, name) = (request.repo_owner.as_ref(), request.repo_name.as_ref());
    let scope = scope::find(context, owner, name, &mut journal.warnings).await?;
    let repository = &scope.repository;
    let labels = Labels { owner: repository.owner.clone(), name: repository.name.clone() };
    let run = Run::new(settings, plan, journal, vec![scope]);
    Box::pin(run.respond(request, labels)).await
}

/// One run of the pipeline.
pub(crate) struct Run<'a> {
    plan: Plan,
    journal: Journal,
    models: Models,
    /// The repositories to search; at least one.
    scopes: Vec<Scope<'a>>,
    renderer: Renderer,
    time_budget: Duration,
}

impl<'a> Run<'a> {
    /// Creates a run over these repositories.
    pub fn new(
        settings: &RagSettings,
        plan: Plan,
        mut journal: Journal,
        scopes: Vec<Scope<'a>>,
    ) -> Self {
        journal.applied.insert(0, format!("profile:{}", plan.profile));
        let mut chats: Vec<(ProjectId, ProjectChat)> = Vec::new();
        for scope in &scopes {
            let context = scope.context;
            if chats.iter().all(|(project, _)| *project != context.project) {
                chats.push((context.project, context.chat.clone()));
            }
        }
        let chats = chats.into_iter().map(|(_, chat)| chat).collect();
        let wait = Duration::from_millis(settings.model_wait_ms);
        Self {
            models: Models::new(chats, plan.use_models, wait),
            renderer: Renderer::new(scopes.len() > 1),
            time_budget: Duration::from_millis(settings.time_budget_ms),
            plan,
            journal,
            scopes,
        }
    }

    /// Runs the modules.
    pub async fn respond(
        mut self,
        request: &RagSearchRequest,
        labels: Labels,
    ) -> Result<RagSearchResponse, Error> {
        let query = self.masked(request.raw_query.as_str());
        let filters = retrieval::filters(&request.filters, &mut self.journal)?;
        let queries = self.queries(&query, &request.history).await;
        let found = self.retrieve(&queries, &filters).await?;
        let snippets = self.refine(&query, found.snippets).await;
        Ok(self.write(&query, &queries, snippets, found.weakness, labels).await)
    }

    /// Masks a text by the rules of every searched project.
    fn masked(&self, text: &str) -> String {
        self.scopes.iter().fold(text.to_owned(), |text, scope| {
            mask_with(&text, &scope.context.search.sanitizing).text.into_string()
        })
    }
}
