//! The tools that a client is offered: those of chosen toolsets, or of the toolsets in the policy
//! of its project.

use std::borrow::Cow;

use mc_domain::UntrustedText;
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};

use super::MemoryServer;
use super::errors::{invalid, protocol_error};
use crate::core::CoreCall;
use crate::render::ModelText;
use crate::settings::Toolset;
use crate::tools::{self, TOOLS, Tool};

/// Maximum length of the name of an unknown tool in the message about it, in characters.
const MAX_NAME: usize = 64;

impl MemoryServer {
    /// Returns whether a tool may be in the list of a client. A project may change its policy at
    /// any time, so all tools may be if it decides.
    fn may_offer(&self, tool: &Tool) -> bool {
        self.settings.toolsets.as_ref().is_none_or(|toolsets| tool.is_in(toolsets))
    }

    /// Returns the toolsets of a client: the chosen ones, else those of the policy of its project.
    async fn toolsets(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Cow<'_, [Toolset]>, ErrorData> {
        if let Some(chosen) = &self.settings.toolsets {
            return Ok(Cow::Borrowed(chosen));
        }
        let project = self.project(context).map_err(|error| invalid(&error))?;
        let Some(project) = project else { return Ok(Cow::Borrowed(Toolset::DEFAULT)) };
        let call = CoreCall::get(format!("/projects/{project}/policy"), Vec::new());
        let policy = self.core.send(call, self.forwarded(context)).await;
        let policy = policy.map_err(|error| protocol_error(&error, None))?;
        let of_policy = policy.pointer("/policy/mcp_toolsets").cloned().unwrap_or_default();
        let of_policy: Vec<Toolset> = serde_json::from_value(of_policy).unwrap_or_default();
        Ok(if of_policy.is_empty() {
            Cow::Borrowed(Toolset::DEFAULT)
        } else {
            Cow::Owned(of_policy)
        })
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        TOOLS.iter().filter(|tool| self.may_offer(tool))
    }

    /// Returns the tools of the client's toolsets.
    pub(super) async fn offered(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Vec<&'static Tool>, ErrorData> {
        let toolsets = self.toolsets(context).await?;
        Ok(TOOLS.iter().filter(|tool| tool.is_in(&toolsets)).collect())
    }

    /// Finds the tool of a call, and the subcommand in a dotted name.
    pub(super) fn called(&self, name: &str) -> Result<(&'static Tool, Option<String>), ErrorData> {
        let found = tools::from_subcommand(name).filter(|_| tools::from_name(name).is_none());
        let found = found.filter(|(tool, _)| self.may_offer(tool));
        match found {
            Some((tool, subcommand)) => Ok((tool, Some(subcommand))),
            None => Ok((self.tool(name)?, None)),
        }
    }

    fn tool(&self, name: &str) -> Result<&'static Tool, ErrorData> {
        let tool = tools::from_name(name).filter(|tool| self.may_offer(tool));
        tool.ok_or_else(|| unknown_tool(name, self.tools()))
    }

    /// Checks that a client is offered a tool. Those of the default toolsets need no look at the
    /// policy: they are called most, and the Core checks what the caller may do.
    pub(super) async fn check_offered(
        &self,
        tool: &'static Tool,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.settings.toolsets.is_some() || tool.is_in(Toolset::DEFAULT) {
            return Ok(());
        }
        let offered = self.offered(context).await?;
        let is_offered = offered.iter().any(|offered| offered.name() == tool.name());
        if is_offered { Ok(()) } else { Err(unknown_tool(tool.name(), offered.into_iter())) }
    }
}

/// Returns the error for a tool that is not offered.
fn unknown_tool(name: &str, offered: impl Iterator<Item = &'static Tool>) -> ErrorData {
    let known = tools::from_name(name).or_else(|| Some(tools::from_subcommand(name)?.0));
    if let Some(tool) = known {
        return disabled_tool(tool);
    }
    let mut message = ModelText::from_constant("unknown tool \"");
    message.add_untrusted(&UntrustedText::new(name), MAX_NAME).add("\"; the tools are: ");
    for (index, tool) in offered.enumerate() {
        message.add(if index == 0 { "" } else { ", " }).add(tool.name());
    }
    message.into_invalid_params()
}

/// Returns the error for a tool of a toolset that is off.
fn disabled_tool(tool: &Tool) -> ErrorData {
    let mut message = ModelText::from_constant("the tool ");
    message.add(tool.name()).add(" is in a toolset that is off: ");
    for (index, toolset) in tool.spec.toolsets.iter().enumerate() {
        message.add(if index == 0 { "" } else { ", " }).add(toolset.as_str());
    }
    message.add(
        "; ask the user to enable it: `memory-copilot mcp --toolsets`, MEMORY_COPILOT_TOOLSETS, or \
         mcp_toolsets in the policy of the project",
    );
    message.into_invalid_params()
}
