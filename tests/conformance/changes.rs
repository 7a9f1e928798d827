//! Lists that change, and the streams that hear of it.

use rmcp::service::SubscriptionContext;
use tokio::sync::watch;

/// How often each list has changed since the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Versions {
    /// Changes of the list of tools.
    pub tools: u32,
    /// Changes of the list of prompts.
    pub prompts: u32,
}

/// Makes changes and waits for them.
///
/// Each request is served by a clone made as it arrives. The clone remembers the versions of that
/// moment, so a change between a subscription's acknowledgment and the first wait isn't lost.
pub struct Changes {
    current: watch::Sender<Versions>,
    seen: Versions,
}

impl Changes {
    pub fn new() -> Self {
        Self { current: watch::Sender::new(Versions::default()), seen: Versions::default() }
    }

    pub fn versions(&self) -> Versions {
        *self.current.borrow()
    }

    pub fn change(&self, how: impl FnOnce(&mut Versions)) {
        self.current.send_modify(how);
    }

    /// Notifies one subscriber of every change until it disconnects.
    pub async fn tell(&self, subscription: &SubscriptionContext) {
        let mut current = self.current.subscribe();
        let mut seen = self.seen;
        loop {
            let now = *current.borrow_and_update();
            notify(subscription, seen, now).await;
            seen = now;
            tokio::select! {
                changed = current.changed() => if changed.is_err() { return },
                () = subscription.cancelled() => return,
            }
        }
    }
}

impl Clone for Changes {
    fn clone(&self) -> Self {
        Self { current: self.current.clone(), seen: self.versions() }
    }
}

/// The sink rejects changes that the subscriber did not request, which is correct.
async fn notify(subscription: &SubscriptionContext, seen: Versions, now: Versions) {
    if seen.tools != now.tools {
        let _ = subscription.sink().notify_tool_list_changed().await;
    }
    if seen.prompts != now.prompts {
        let _ = subscription.sink().notify_prompt_list_changed().await;
    }
}
