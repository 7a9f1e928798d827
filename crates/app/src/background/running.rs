//! The running background services of a process.

use std::future::Future;

use tokio::task::{JoinHandle, JoinSet};

/// Background services that run until their token is cancelled.
#[derive(Default)]
pub struct RunningServices(JoinSet<()>);

impl RunningServices {
    /// Starts a service.
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        service: impl Future<Output = ()> + Send + 'static,
    ) {
        self.adopt(name, tokio::spawn(service));
    }

    /// Adds a service that runs already. If it panics, that is logged at once.
    pub(super) fn adopt(&mut self, name: &'static str, service: JoinHandle<()>) {
        self.0.spawn(async move {
            if let Err(error) = service.await {
                tracing::error!(service.name = name, %error, "a background service failed");
            }
        });
    }

    /// Waits until every service has ended.
    pub async fn wait(self) {
        self.0.join_all().await;
    }
}
