#![doc = include_str!("../README.md")]

pub mod audit;
pub mod denials;
mod error;
pub mod invitations;
pub mod members;
pub mod offboarding;
pub mod policies;
mod principal;
pub mod projects;
pub mod sign_in;
pub mod teams;
pub mod tokens;
pub mod users;

use std::fmt::Display;

use mc_domain::{AuditAction, UserId};
use mc_store::Tx;
use mc_store::audit::{Chain, NewEvent};
use serde_json::Value;

pub use error::Error;
pub use principal::Principal;
pub use sign_in::{SignIn, SignInSettings};

/// Commits a change that belongs to no project, with its event in the service's audit.
async fn commit(
    mut tx: Tx,
    actor: UserId,
    action: AuditAction,
    target: impl Display,
    details: Value,
) -> Result<(), Error> {
    let event = NewEvent::new(action, target).with(details);
    mc_store::audit::add(&mut tx, Chain::Service, Some(actor), &[event]);
    Ok(tx.commit().await?)
}
