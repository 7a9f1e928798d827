//! The two values of the audit that a backup needs: the heads of all chains, and the newest key.

use std::collections::HashMap;

use mc_crypto::Head;
use sqlx::postgres::PgConnection;
use uuid::Uuid;

use crate::Error;

/// The service's own chain.
const SERVICE_CHAIN: Uuid = Uuid::nil();

/// Returns the head of each chain by the chain's id, read as a role that sees every row.
pub(crate) async fn heads(connection: &mut PgConnection) -> Result<HashMap<Uuid, Head>, Error> {
    let rows = sqlx::query!(
        "select distinct on (chain) chain, seq, mac from audit_events order by chain, seq desc"
    )
    .fetch_all(connection)
    .await?;
    let mut heads = HashMap::with_capacity(rows.len());
    for row in rows {
        let wrong_length = |_| sqlx::Error::Decode("a MAC of another length".into());
        let mac = row.mac.as_slice().try_into().map_err(wrong_length)?;
        heads.insert(row.chain, Head { seq: row.seq, mac });
    }
    Ok(heads)
}

/// Returns the id of the key that signed the newest event of the service's chain.
pub async fn newest_key(connection: &mut PgConnection) -> Result<Option<Vec<u8>>, Error> {
    Ok(sqlx::query_scalar!(
        "select key_id from audit_events where chain = $1 order by seq desc limit 1",
        SERVICE_CHAIN
    )
    .fetch_optional(connection)
    .await?)
}
