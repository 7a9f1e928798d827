//! The tools of a workspace (seed 003): navigation in two phases, edits, git and commands.
//!
//! Each request has a subcommand and the fields of all subcommands. A field that its subcommand
//! does not use is rejected, since a model that sends one expects an effect of it.

mod bash;
mod edit;
mod fields;
mod git;
mod handle;
mod instructions;
mod json_edit;
mod line_range;
mod navigator;
mod response;

pub use bash::{BashRequest, Command, CommandQuery};
pub use edit::{EditCommand, EditRequest};
pub use fields::required;
pub use git::{GitCommand, GitRequest, StashAction};
pub use handle::{CommandPath, NavigationPath};
pub use instructions::instructions;
pub use json_edit::{JsonEditCommand, JsonEditRequest};
pub use line_range::LineRange;
pub use navigator::{NavigatorCommand, NavigatorRequest};
pub use response::ToolResponse;

/// Defines the subcommands of a tool.
macro_rules! subcommands {
    (
        $(#[doc = $doc:literal])+
        $name:ident { $($(#[doc = $about:literal])+ $variant:ident = $word:literal,)+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize,
            utoipa::ToSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[doc = $about])+ $variant,)+ }

        impl $name {
            /// Returns the name on the wire.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}
use subcommands;
