//! Being woken by the database.

use sqlx::postgres::PgListener;

use crate::{Error, Store};

/// Wakes when something was committed, on any node.
#[derive(Debug)]
pub struct Listener(PgListener);

impl Listener {
    /// Begins to listen to a channel, on a connection of its own.
    pub(crate) async fn to(store: &Store, channel: &str) -> Result<Self, Error> {
        let mut listener = PgListener::connect_with(&store.listening).await?;
        listener.listen(channel).await?;
        Ok(Self(listener))
    }

    /// Returns at the next change (or after the connection was lost and made again, since changes
    /// may have been missed meanwhile).
    pub async fn wait(&mut self) -> Result<(), Error> {
        self.heard().await?;
        Ok(())
    }

    /// The same, with what was told; `None` where changes may have been missed.
    pub(crate) async fn heard(&mut self) -> Result<Option<String>, Error> {
        Ok(self.0.try_recv().await?.map(|told| told.payload().to_owned()))
    }
}
