//! Heads of chains: reads from the database, and serialization.

use std::collections::HashMap;

use sqlx::postgres::PgConnection;
use uuid::Uuid;

use super::Head;
use crate::Error;

/// Returns the head of each chain, by [`Chain::id`](super::Chain::id). The connection's role sees
/// all rows.
pub(crate) async fn ends(connection: &mut PgConnection) -> Result<HashMap<Uuid, Head>, Error> {
    let rows = sqlx::query!(
        "select distinct on (chain) chain, seq, mac from audit_events order by chain, seq desc"
    )
    .fetch_all(connection)
    .await?;
    let end = |chain, seq, mac: &[u8]| Ok((chain, Head { seq, mac: super::mac(mac)? }));
    rows.into_iter().map(|row| end(row.chain, row.seq, &row.mac)).collect()
}

/// Serializes a MAC in hex.
pub(super) mod as_hex {
    use mc_crypto::{MAC_LEN, Mac};
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(mac: &Mac, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex::encode(mac))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Mac, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut mac = [0; MAC_LEN];
        hex::decode_to_slice(text, &mut mac).map_err(D::Error::custom)?;
        Ok(mac)
    }
}
