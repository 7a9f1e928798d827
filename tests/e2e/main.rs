//! Black-box scenarios: the real binary, a real PostgreSQL, the real model, real clients.
#![allow(clippy::unwrap_used, clippy::used_underscore_binding)]

mod architecture;
mod attacks;
mod backup;
#[path = "../bundles/mod.rs"]
mod bundle_sets;
mod bundles;
#[path = "../cache.rs"]
mod cache;
mod chat_models;
mod clients;
mod coding;
mod commands;
mod costs;
mod crash;
mod credentials;
mod data_dir;
mod deny;
mod embedding_models;
#[path = "../embedding_server.rs"]
mod embedding_server;
mod encryption;
mod eval_help;
mod eval_judge;
mod faults;
mod first_week;
mod full_disk;
mod git;
#[path = "../git_server.rs"]
mod git_server;
mod harness;
mod history;
mod hub;
mod imports;
mod integrations;
mod isolation_mutants;
mod leaks;
mod logging;
mod mcp;
mod parsers;
mod patches;
mod provider;
#[path = "../questions/mod.rs"]
mod question_sets;
mod redis;
mod repository;
mod sampling;
mod sgr;
mod sign_in;
mod start_stop;
mod stdio;
#[path = "../tiny_model.rs"]
mod tiny_model;
mod tools;
mod untrusted_text;
mod vocabulary;
mod webhook_commands;
mod worker;
mod workspaces;
