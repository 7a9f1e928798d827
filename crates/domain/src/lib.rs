#![doc = include_str!("../README.md")]

pub mod address;
pub mod caller;
pub mod client_session;
pub mod code_path;
pub mod error;
pub mod handle;
pub mod ids;
pub mod kinds;
pub mod policy;
pub mod project;
pub mod record_meta;
pub mod role;
pub mod scope;
pub mod text;
pub mod untrusted;

pub use address::{is_loopback, is_public};
pub use caller::Caller;
pub use client_session::ClientSession;
pub use error::{Classified, ErrorKind};
pub use handle::{Handle, HandleKind, InvalidHandle};
pub use ids::*;
pub use kinds::*;
pub use policy::{FindingAction, HygieneAction, InvalidPolicy, Policy, PromptAction, UnusedAction};
pub use project::{InvalidProjectKey, ProjectKey};
pub use record_meta::RecordMeta;
pub use role::{Permission, Role, is_allowed};
pub use scope::{Scope, Scopes};
pub use text::{ForbiddenCharacter, check_line, check_text, is_other_line_break, shorten};
pub use untrusted::UntrustedText;
