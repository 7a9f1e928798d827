//! The head of a chain of signed rows.

use serde::{Deserialize, Serialize};

use crate::Mac;

/// The last row of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Sequence number of the row.
    pub seq: i64,
    /// MAC of the row; hexadecimal in serialized form.
    #[serde(with = "as_hex")]
    pub mac: Mac,
}

mod as_hex {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::{MAC_LEN, Mac};

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
