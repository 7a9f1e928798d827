//! Chat models as a project may use them: its policy and its daily budget decide.

use std::sync::Arc;

use mc_chat::{
    ChatModel, ChatModels, ChatRequest, ClientModel, Completion, Content, ModelRole, Price, Usage,
};
use mc_domain::policy::AllowedModels;
use mc_domain::{ChatRequestId, Classified, ErrorKind, Policy, ProjectId};
use mc_store::Store;
use mc_store::chat_requests::{self, ChatRequestEnd, NewChatRequest, Reservation};
use serde_json::Value;

/// Reason why a project gets no completion.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The project's policy allows no such model.
    #[error(
        "the project's policy allows chat models {allowed:?} (`models.chat`), and {model} is not \
         among them; change the policy, or configure another model with the role {role}"
    )]
    NotAllowed {
        /// Name of the model in the configuration.
        model: String,
        /// Its role.
        role: ModelRole,
        /// The policy.
        allowed: &'static str,
    },
    /// The project's tokens of the day do not suffice.
    #[error(
        "the project has used {used_tokens} of its {budget} chat tokens of today, and the request \
         may need {requested}; wait until 00:00 UTC, or raise `tokens.chat_per_day` of its policy"
    )]
    BudgetSpent {
        /// Tokens of the day that are used or reserved.
        used_tokens: u64,
        /// Tokens of the day that the policy allows.
        budget: u64,
        /// The most tokens that the request may use.
        requested: u64,
    },
    /// The configuration has no model of MCP clients.
    #[error(
        "the service does not ask the models of MCP clients: a maintainer of the service adds one \
         to `chat.models` in the configuration, with `provider: mcp_sampling` and `roles: [judge]`"
    )]
    NoClientModel,
    /// A question to a client's model that is not open.
    #[error("there is no open question {0}: it was answered, or is of another project; ask again")]
    NotOpen(ChatRequestId),
    /// No model answered.
    #[error(transparent)]
    Model(#[from] mc_chat::Error),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] mc_store::Error),
}

impl Error {
    /// Whether a later request has no answer either. The budget has no tokens until the next day.
    pub fn is_final(&self) -> bool {
        match self {
            Self::NotAllowed { .. }
            | Self::BudgetSpent { .. }
            | Self::NoClientModel
            | Self::NotOpen(_) => true,
            Self::Model(error) => !error.kind().is_transient(),
            Self::Store(_) => false,
        }
    }
}

impl Classified for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotAllowed { .. } => ErrorKind::Forbidden,
            Self::BudgetSpent { .. } => ErrorKind::RateLimited,
            Self::NoClientModel | Self::NotOpen(_) => ErrorKind::Conflict,
            Self::Model(error) => error.kind(),
            Self::Store(error) => error.kind(),
        }
    }
}

/// The chat models of the service, on behalf of one project. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ProjectChat {
    models: Arc<ChatModels>,
    /// The store in the context of the project, or of a worker.
    store: Store,
    project: ProjectId,
    allowed: AllowedModels,
    /// Tokens of one day.
    budget: u64,
}

impl ProjectChat {
    /// Creates the access of a project with this policy. `store` may write its rows.
    pub fn new(models: Arc<ChatModels>, store: Store, project: ProjectId, policy: &Policy) -> Self {
        let budget = u64::from(policy.tokens.chat_per_day);
        Self { models, store, project, allowed: policy.models.chat, budget }
    }

    /// Returns the model with a role, if one is configured and the policy allows it.
    pub fn model(&self, role: ModelRole) -> Result<&Arc<ChatModel>, Error> {
        let model = self.models.with_role(role)?;
        self.require_allowed(model.name(), role, model.is_local())?;
        Ok(model)
    }

    /// Returns the model of MCP clients, if it is configured and the policy allows it. The
    /// policy has to allow any model: where a client's model runs is unknown.
    pub fn client_model(&self) -> Result<&Arc<ClientModel>, Error> {
        let model = self.models.client_model().ok_or(Error::NoClientModel)?;
        self.require_allowed(model.name(), ModelRole::Judge, false)?;
        Ok(model)
    }

    fn require_allowed(&self, model: &str, role: ModelRole, is_local: bool) -> Result<(), Error> {
        if self.allowed.allow(!is_local) {
            return Ok(());
        }
        let (model, allowed) = (model.to_owned(), self.allowed.as_str());
        Err(Error::NotAllowed { model, role, allowed })
    }

    /// Requests a completion from the model with a role. Its tokens are reserved before, and
    /// recorded after it, with their cost. If the future is dropped, they stay reserved: the
    /// provider may charge for them.
    pub async fn complete(
        &self,
        role: ModelRole,
        request: &ChatRequest,
    ) -> Result<Completion, Error> {
        let model = self.model(role)?;
        let reserved = self.reserve(model.name(), role, model.max_tokens(request)).await?;
        let completion = model.complete(request).await;
        let (usage, error) = match &completion {
            Ok(completion) => (completion.usage, None),
            Err(failure) => (failure.usage, Some(failure.kind().as_str())),
        };
        self.record(reserved, model.name(), model.price(), usage, error).await?;
        Ok(completion.map_err(|failure| failure.error)?)
    }

    /// Reserves the tokens of a request that a client sends to its own model.
    pub async fn reserve_for_client(&self, request: &ChatRequest) -> Result<ChatRequestId, Error> {
        let model = self.client_model()?;
        self.reserve(model.name(), ModelRole::Judge, model.max_tokens(request)?).await
    }

    /// Records the tokens of a request that was reserved for a client, and the kind of its error.
    /// It takes one answer.
    pub async fn record_of_client(
        &self,
        id: ChatRequestId,
        usage: Usage,
        error: Option<&'static str>,
    ) -> Result<(), Error> {
        let model = self.client_model()?;
        let is_open = self.record(id, model.name(), model.price(), usage, error).await?;
        if is_open { Ok(()) } else { Err(Error::NotOpen(id)) }
    }

    /// Requests a completion in JSON like [`Self::complete`], and reads it. A defect that `read`
    /// finds is an error of the model.
    pub async fn complete_json<T, E: std::fmt::Display>(
        &self,
        role: ModelRole,
        request: &ChatRequest,
        read: impl FnOnce(&Value) -> Result<T, E>,
    ) -> Result<T, Error> {
        Ok(self.complete_json_counted(role, request, read).await?.0)
    }

    /// Requests and reads a completion like [`Self::complete_json`], and returns its tokens, too.
    pub async fn complete_json_counted<T, E: std::fmt::Display>(
        &self,
        role: ModelRole,
        request: &ChatRequest,
        read: impl FnOnce(&Value) -> Result<T, E>,
    ) -> Result<(T, Usage), Error> {
        let Completion { content, usage } = self.complete(role, request).await?;
        let defect = match content {
            Content::Json(answer) => match read(&answer) {
                Ok(answer) => return Ok((answer, usage)),
                Err(error) => format!("JSON that can't be used ({error})"),
            },
            Content::Text(_) => "text in place of JSON".to_owned(),
        };
        let model = self.model(role)?.name().to_owned();
        Err(mc_chat::Error::BadAnswer { model, defect }.into())
    }

    async fn reserve(
        &self,
        model: &str,
        role: ModelRole,
        requested: u64,
    ) -> Result<ChatRequestId, Error> {
        let request = NewChatRequest { model, role: role.as_str(), reserved_tokens: requested };
        let mut tx = self.store.begin().await?;
        match chat_requests::reserve(&mut tx, self.project, self.budget, &request).await? {
            Reservation::Reserved(id) => {
                tx.commit().await?;
                Ok(id)
            }
            Reservation::Spent { used_tokens } => {
                Err(Error::BudgetSpent { used_tokens, budget: self.budget, requested })
            }
        }
    }

    /// Returns whether the request was open.
    async fn record(
        &self,
        id: ChatRequestId,
        model: &str,
        price: Price,
        usage: Usage,
        error: Option<&'static str>,
    ) -> Result<bool, Error> {
        let Usage { prompt_tokens, completion_tokens } = usage;
        let cost = price.of(usage);
        let end = ChatRequestEnd { prompt_tokens, completion_tokens, cost, error };
        let mut tx = self.store.begin().await?;
        let is_open = chat_requests::complete(&mut tx, self.project, id, model, &end).await?;
        tx.commit().await?;
        Ok(is_open)
    }
}
