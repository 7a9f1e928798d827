//! Notifications of the database.

use sqlx::postgres::PgListener;

use crate::{Result, Store};

/// A listener for notifications of committed changes on any node.
#[derive(Debug)]
pub struct Listener(PgListener);

impl Listener {
    /// Starts to listen to a channel on a connection of its own.
    pub(crate) async fn to(store: &Store, channel: &str) -> Result<Self> {
        let mut listener = PgListener::connect_with(&store.listening).await?;
        listener.listen(channel).await?;
        Ok(Self(listener))
    }

    /// Waits for the next notification. Also returns after the connection was lost and restored,
    /// because notifications may be missing.
    pub async fn wait(&mut self) -> Result<()> {
        self.next().await?;
        Ok(())
    }

    /// Waits for the next notification and returns its payload; `None` if some may be missing.
    pub(crate) async fn next(&mut self) -> Result<Option<String>> {
        Ok(self.0.try_recv().await?.map(|notification| notification.payload().to_owned()))
    }
}
