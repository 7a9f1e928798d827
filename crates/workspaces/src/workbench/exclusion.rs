//! Edits, git and commands of one tree exclude each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use mc_domain::{CommandId, NavigationId};
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::ServiceError;

/// How long a call waits for the one before it. Together with the time that it waits for a command,
/// it is shorter than a request, so that the id of a command is always returned.
const MAX_WAIT: Duration = Duration::from_secs(6);

/// Lets one call at a time change a tree.
#[derive(Debug, Default)]
pub(super) struct Exclusion(Mutex<HashMap<String, Weak<Tree>>>);

/// A tree that calls change.
#[derive(Debug, Default)]
struct Tree {
    lock: Arc<AsyncMutex<()>>,
    /// The command that has the lock, if it is one.
    command: Mutex<Option<(NavigationId, CommandId)>>,
}

/// Permission to change a tree, until it is dropped.
#[derive(Debug)]
pub struct Permit {
    tree: Arc<Tree>,
    _guard: OwnedMutexGuard<()>,
}

impl Exclusion {
    /// Waits until no other call changes the tree with this key.
    pub async fn enter(&self, key: &str) -> Result<Permit, ServiceError> {
        let tree = self.tree(key);
        let guard = tokio::time::timeout(MAX_WAIT, Arc::clone(&tree.lock).lock_owned()).await;
        let guard = guard.map_err(|_| ServiceError::Busy(*tree.command()))?;
        Ok(Permit { tree, _guard: guard })
    }

    fn tree(&self, key: &str) -> Arc<Tree> {
        let mut trees = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = trees.get(key).and_then(Weak::upgrade) {
            return tree;
        }
        // Those without a call.
        trees.retain(|_, tree| tree.strong_count() > 0);
        let tree = Arc::new(Tree::default());
        trees.insert(key.to_owned(), Arc::downgrade(&tree));
        tree
    }
}

impl Tree {
    fn command(&self) -> std::sync::MutexGuard<'_, Option<(NavigationId, CommandId)>> {
        self.command.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Names the command that has the permit, for the errors of others.
    pub(super) fn name(&self, navigation: NavigationId, command: CommandId) {
        *self.tree.command() = Some((navigation, command));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.tree.command() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn second_call_waits_and_gives_up() {
        let exclusion = Exclusion::default();
        let permit = exclusion.enter("one").await.expect("a permit");
        exclusion.enter("other").await.expect("another tree");
        let second = exclusion.enter("one").await;
        assert!(matches!(second, Err(ServiceError::Busy(None))), "{second:?}");
        let (navigation, command) = (NavigationId::generate(), CommandId::generate());
        permit.name(navigation, command);
        let error = exclusion.enter("one").await.expect_err("a command has it").to_string();
        assert!(error.contains(&command.to_string()), "{error}");
        drop(permit);
        exclusion.enter("one").await.expect("a permit");
        let busy = exclusion.tree("one");
        assert_eq!(*busy.command(), None);
        assert!(exclusion.0.lock().expect("trees").len() <= 2);
    }
}
