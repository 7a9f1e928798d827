//! The tools of a workspace, over a real clone and real commands.

mod commands;
mod edits;
mod flow;
mod git;
mod published;
mod refusals;
mod support;
