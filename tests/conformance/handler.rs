//! The fixtures as one server.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData, ServerHandler};

use crate::changes::Changes;
use crate::dialogs::{self, Next};
use crate::{jobs, prompts, resources, tools};

/// Every tool, resource and prompt that the suite calls by name.
#[derive(Clone)]
pub struct Fixtures {
    changes: Changes,
    tasks: TaskManager,
}

impl Fixtures {
    pub fn new() -> Self {
        Self { changes: Changes::new(), tasks: TaskManager::new() }
    }
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_completions()
            .enable_logging()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(
            "conformance-fixtures",
            env!("CARGO_PKG_VERSION"),
        ))
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::listed(self.changes.versions())))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::listed(self.changes.versions()).into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        if jobs::TOOLS.contains(&&*request.name) {
            let capabilities = context.client_capabilities().unwrap_or_default();
            let arguments = request.arguments.unwrap_or_default();
            return jobs::call(&request.name, arguments, &self.tasks, &capabilities).await;
        }
        let dialog = dialogs::TOOLS.iter().find(|dialog| dialog.name == request.name);
        let Some(dialog) = dialog else {
            let arguments = request.arguments.unwrap_or_default();
            let result = tools::call(&request.name, &arguments, &context, &self.changes).await?;
            return Ok(result.into());
        };
        let capabilities = context.client_capabilities().unwrap_or_default();
        let (answers, state) = (request.input_responses, request.request_state);
        Ok(match dialog.next(answers.as_ref(), state.as_deref(), &capabilities)? {
            Next::Ask(questions) => questions.into(),
            Next::Done(words) if dialog.name == dialogs::BEFORE_A_TASK => {
                jobs::start_with_text(&self.tasks, words)
            }
            Next::Done(words) => CallToolResult::success(vec![ContentBlock::text(words)]).into(),
        })
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: Context,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(&self, request: UpdateTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(&self, request: CancelTaskParams, _: Context) -> Result<(), ErrorData> {
        self.tasks.cancel_task(&request.task_id)
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::listed(self.changes.versions())))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        if request.name != dialogs::PROMPT.name {
            let arguments = request.arguments.unwrap_or_default();
            return Ok(prompts::get(&request.name, &arguments)?.into());
        }
        let capabilities = context.client_capabilities().unwrap_or_default();
        let (answers, state) = (request.input_responses, request.request_state);
        Ok(match dialogs::PROMPT.next(answers.as_ref(), state.as_deref(), &capabilities)? {
            Next::Ask(questions) => questions.into(),
            Next::Done(words) => prompts::of(vec![ContentBlock::text(words)]).into(),
        })
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let fitting = ["paris", "park", "party"]
            .into_iter()
            .filter(|word| word.starts_with(&request.argument.value))
            .map(ToOwned::to_owned);
        let completion = CompletionInfo::with_all_values(fitting.collect());
        Ok(CompleteResult::new(completion.expect("three words are few enough")))
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::listed()))
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(&request.uri)?.into())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        self.changes.tell(&subscription).await;
        Ok(())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}
