//! The key with which the service proves to PostgreSQL that it sets a project context
//! (`migrations/0013_project_proof.sql`). SQL that runs as the service's login can't read it.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use sqlx::postgres::PgConnection;
use url::Url;

use crate::Error;

/// Length of a key in bytes.
const KEY_LEN: usize = 32;
/// Length of a block of SHA-256 in bytes, to which HMAC pads a key.
const BLOCK_LEN: usize = 64;
/// Bytes with which HMAC combines the inner and the outer block.
const PADS: [u8; 2] = [0x36, 0x5c];

/// A key for HMAC-SHA256.
pub struct ContextKey([u8; KEY_LEN]);

impl ContextKey {
    /// Derives the key of a login from the password in its URL, so that each process that logs in
    /// has it. Fails with [`Error::BadUrl`].
    pub fn of_login(url: &str) -> Result<Self, Error> {
        let url = Url::parse(url).map_err(|_| Error::BadUrl)?;
        let password = url.password().unwrap_or_default();
        Ok(Self(hmac(password.as_bytes(), b"memory-copilot context")))
    }

    /// Returns the code for the session with this process id. `covered` is the text of a message
    /// before its code, or the name and arguments of a function.
    pub fn code(&self, backend_pid: i32, covered: &str) -> String {
        hex::encode(hmac(&self.0, format!("{backend_pid} {covered}").as_bytes()))
    }

    /// Lets the database verify codes of the login. The role of the connection owns the schema.
    pub async fn store(&self, owner: &mut PgConnection, login: &str) -> Result<(), Error> {
        self.insert(
            owner,
            login,
            "insert into mc.mac_keys as k (login, inner_pad, outer_pad) values ($1, $2, $3)
             on conflict (login) do update
             set inner_pad = excluded.inner_pad, outer_pad = excluded.outer_pad
             where k.inner_pad <> excluded.inner_pad",
        )
        .await
    }

    /// Generates the key of the MAC of settings, if the database has none.
    pub(crate) async fn ensure_setting_key(owner: &mut PgConnection) -> Result<(), Error> {
        Self(rand::random())
            .insert(
                owner,
                "",
                "insert into mc.mac_keys (login, inner_pad, outer_pad) values ($1, $2, $3)
                 on conflict (login) do nothing",
            )
            .await
    }

    async fn insert(
        &self,
        owner: &mut PgConnection,
        login: &str,
        statement: &'static str,
    ) -> Result<(), Error> {
        let mut block = [0; BLOCK_LEN];
        block[..KEY_LEN].copy_from_slice(&self.0);
        let [inner, outer] = PADS.map(|pad| block.map(|byte| byte ^ pad).to_vec());
        sqlx::query(statement).bind(login).bind(inner).bind(outer).execute(owner).await?;
        Ok(())
    }
}

fn hmac(key: &[u8], content: &[u8]) -> [u8; KEY_LEN] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length will do");
    mac.update(content);
    mac.finalize().into_bytes().into()
}

impl std::fmt::Debug for ContextKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ContextKey(..)")
    }
}
