//! A search: the modules in their order.

mod queries;
mod refine;
mod retrieval;
mod write;

use std::sync::Arc;
use std::time::Duration;

use mc_contract::operations::rag::{RagOptions, RagSearchRequest, RagSearchResponse};
use mc_domain::ProjectId;
use mc_memory::chat::ProjectChat;
use mc_sanitizer::{Policy, mask_with};
use mc_search::SearchContext;
use tokio::time::Instant;

use crate::budget::Packed;
use crate::journal::Journal;
use crate::models::Models;
use crate::prompt::Renderer;
use crate::scope::{self, RepositoryScope};
use crate::switches::Plan;
use crate::{CrossEncoder, Error, RagSettings};

/// What a search needs of a project, in the context of the caller. Cheap to clone.
#[derive(Clone)]
pub struct RagContext {
    /// Search in the project, with its store and masking rules.
    pub search: SearchContext,
    /// The chat models on behalf of the project.
    pub chat: ProjectChat,
    /// The cross-encoder, if there is one and the policy of the project allows it.
    pub cross_encoder: Option<CrossEncoder>,
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
/// Without owner or name, see [`scope::find`]. The switches of `settings` and of the request's
/// profile are all that a benchmark has to change: nothing else is configured.
pub async fn search(
    context: &RagContext,
    settings: &RagSettings,
    request: &RagSearchRequest,
) -> Result<RagSearchResponse, Error> {
    let mut journal = Journal::default();
    let options = RagOptions::from(request);
    let plan = Plan::resolve(settings, &options, &mut journal.warnings)?;
    let (owner, name) = (request.repo_owner.as_ref(), request.repo_name.as_ref());
    let scope = scope::find(context, owner, name, &mut journal.warnings).await?;
    let repository = &scope.repository;
    let labels = Labels { owner: repository.owner.clone(), name: repository.name.clone() };
    let run = Run::new(settings, plan, journal, vec![scope]);
    Box::pin(run.respond(&options, labels)).await
}

/// One run of the pipeline.
pub(crate) struct Run<'a> {
    plan: Plan,
    journal: Journal,
    models: Models,
    /// `None` if one of the projects allows none.
    cross_encoder: Option<CrossEncoder>,
    /// The repositories to search.
    scopes: Vec<RepositoryScope<'a>>,
    /// The masking rules of their projects; those of all projects if there are none.
    policies: Vec<Arc<Policy>>,
    renderer: Renderer,
    /// Time of all searches of the database together.
    time_budget: Duration,
    /// End of that time; [`Self::start_clock`] sets it.
    deadline: Instant,
}

impl<'a> Run<'a> {
    /// Creates a run over these repositories.
    pub fn new(
        settings: &RagSettings,
        plan: Plan,
        mut journal: Journal,
        scopes: Vec<RepositoryScope<'a>>,
    ) -> Self {
        journal.applied.insert(0, format!("profile:{}", plan.profile));
        let projects: Vec<_> =
            scope::by_project(&scopes).iter().map(|group| group[0].context).collect();
        let mut cross_encoders = projects.iter().map(|context| context.cross_encoder.clone());
        let cross_encoder = cross_encoders.next().flatten();
        let is_allowed = cross_encoders.all(|allowed| allowed.is_some());
        let chats = projects.iter().map(|context| context.chat.clone()).collect();
        let mut policies: Vec<_> =
            projects.iter().map(|context| Arc::clone(&context.search.sanitizing)).collect();
        if policies.is_empty() {
            policies.push(Arc::default());
        }
        let wait = Duration::from_millis(settings.model_wait_ms);
        Self {
            models: Models::new(chats, plan.use_models, wait),
            cross_encoder: cross_encoder.filter(|_| is_allowed),
            renderer: Renderer::new(scopes.len() > 1),
            time_budget: Duration::from_millis(settings.time_budget_ms),
            deadline: Instant::now(),
            plan,
            journal,
            scopes,
            policies,
        }
    }

    /// Starts the time of the searches; the time that models took before does not count.
    fn start_clock(&mut self) {
        self.deadline = Instant::now() + self.time_budget;
    }

    /// Returns a response without a search, with the reason.
    pub async fn respond_without_search(
        mut self,
        request: &RagOptions<'_>,
        reason: String,
        labels: Labels,
    ) -> Result<RagSearchResponse, Error> {
        let query = self.masked(request.raw_query.as_str());
        retrieval::filters(request.filters, &mut self.journal)?;
        self.write(&query, &[], Packed::default(), Some(reason), labels).await
    }

    /// Runs the modules.
    pub async fn respond(
        mut self,
        request: &RagOptions<'_>,
        labels: Labels,
    ) -> Result<RagSearchResponse, Error> {
        let query = self.masked(request.raw_query.as_str());
        let filters = retrieval::filters(request.filters, &mut self.journal)?;
        let queries = self.queries(&query, request.history).await;
        self.start_clock();
        let retrieval = self.retrieve(&queries, &filters).await?;
        let found = self.refine(&query, retrieval.snippets).await;
        self.write(&query, &queries, found, retrieval.weakness, labels).await
    }

    /// Masks a text by the rules of every searched project.
    fn masked(&self, text: &str) -> String {
        self.policies
            .iter()
            .fold(text.to_owned(), |text, policy| mask_with(&text, policy).text.into_string())
    }
}
