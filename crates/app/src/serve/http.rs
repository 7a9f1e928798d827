//! The configured ingress of the service: hosts, limits and TLS.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use mc_api::{ApiSettings, ApiState, Serving, Tls, TlsFiles};
use mc_mcp::{CoreClient, MemoryServer, ServerSettings, parse_toolsets};
use mc_rag::CrossEncoder;
use mc_workspaces::CommandSettings;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio_util::sync::CancellationToken;

use crate::config::{Config, SandboxRunner};
use crate::data_dir;

/// Open files other than connections: those of the keyword index and the database's sockets.
const OTHER_FILES: usize = 256;

/// Returns the limits of the API.
pub fn settings(config: &Config) -> Result<ApiSettings> {
    let limits = &config.server.limits;
    Ok(ApiSettings {
        units_per_minute_per_caller: limits.units_per_minute_per_caller,
        processor_time_per_minute_per_caller: Duration::from_secs(
            limits.processor_seconds_per_minute_per_caller.into(),
        ),
        max_concurrent_requests: limits.max_concurrent_requests,
        max_mcp_streams: limits.max_mcp_streams,
        allow_private_networks: config.notifications.allow_private_networks,
        allowed_private_hosts: config.ingest.hosts()?,
        protected: config.protected_directories(),
        metrics: config.metrics.access()?,
        rag: Arc::new(config.rag.clone()),
        cross_encoder: config.rag.cross_encoder.as_ref().map(CrossEncoder::open).transpose()?,
        coding: Arc::new(config.coding.clone()),
        ..ApiSettings::default()
    })
}

/// Returns the settings of the workspaces of this node.
pub fn workspaces(config: &Config) -> Result<mc_workspaces::Settings> {
    let settings = &config.workspaces;
    Ok(mc_workspaces::Settings {
        node: data_dir::node(&config.data_dir)?.into(),
        directory: config.data_dir.join(data_dir::permissions::WORKSPACES),
        protected: config.protected_directories(),
        allowed_private_hosts: config.ingest.hosts()?,
        limits: config.ingest.repository.limits(),
        fetch_timeout: Duration::from_secs(settings.fetch_timeout_seconds.into()),
        ttl: Duration::from_hours(settings.ttl_hours.into()),
        max_per_user: settings.max_per_user,
        max_project_bytes: settings.max_project_megabytes << 20,
        max_idle: Duration::from_mins(settings.max_idle_minutes.into()),
        commands: commands(config)?,
    })
}

/// Returns how the commands of workspaces run; `None` if none may.
fn commands(config: &Config) -> Result<Option<CommandSettings>> {
    if config.sandbox.runner == SandboxRunner::None {
        return Ok(None);
    }
    let protected = vec![config.data_dir.clone(), config.cache_dir.clone()];
    let clones = vec![config.data_dir.join(data_dir::permissions::WORKSPACES)];
    let sandbox = config.sandbox.settings(protected, clones)?;
    Ok(Some(CommandSettings { sandbox, limits: config.sandbox.limits()? }))
}

/// Returns the API and `/mcp` behind the ingress. Tools call the API in this process without the
/// ingress, which has checked the request to `/mcp`.
pub fn router(state: ApiState, config: &Config, shutdown: &CancellationToken) -> Result<Router> {
    let core = CoreClient::in_process(mc_api::router(state.clone()));
    let toolsets = parse_toolsets(&config.server.mcp_toolsets)?;
    let server = MemoryServer::new(core, ServerSettings { default_project: None, toolsets });
    let mcp = mc_mcp::http_router(move || server.for_session(), shutdown.clone());
    let ingress = state.ingress(config.server.ingress()?);
    Ok(mc_api::public_router(state, mcp, &ingress))
}

/// Returns the settings of connections. Warns if the network can read them.
pub fn serving(config: &Config) -> Result<Serving> {
    let server = &config.server;
    let files =
        TlsFiles { certificate: server.tls.certificate.clone(), key: server.tls.key.clone() };
    let tls = server.tls.is_on().then(|| Tls::open(files)).transpose()?;
    if tls.is_none() && !server.listen.ip().is_loopback() {
        tracing::warn!(
            server.listen = %server.listen,
            "tokens and memories go over the network unencrypted; set server.tls, or listen on the \
             loopback behind a proxy that encrypts"
        );
    }
    raise_file_limit(server.limits.max_connections)?;
    Ok(Serving {
        tls,
        max_connections: server.limits.max_connections,
        max_connections_per_address: server.limits.max_connections_per_address,
        trusted_proxies: server.ingress()?.trusted_proxies,
        ..Serving::default()
    })
}

/// Raises the process's limit of open files, within the system's maximum, to the number that
/// `connections` and everything else need.
fn raise_file_limit(connections: usize) -> Result<()> {
    let needed = u64::try_from(connections.saturating_add(OTHER_FILES)).unwrap_or(u64::MAX);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let possible = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let raised = Rlimit { current: Some(possible), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).context("the limit of open files can't be raised")?;
    if possible < needed {
        tracing::warn!(
            limit_files = possible,
            "the system allows fewer open files than server.limits.max_connections needs; raise \
             `ulimit -n`, or lower the setting"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mc_api::IngressConfig;

    use super::*;

    #[test]
    fn documented_limits_equal_the_defaults() {
        let config = Config::defaults();
        let configured = settings(&config).expect("valid defaults");
        // The default data directory depends on the machine.
        let protected = ApiSettings::default().protected;
        let api = ApiSettings { protected, ..configured };
        let ingress = config.server.ingress().expect("valid defaults");
        assert_eq!(format!("{api:?}"), format!("{:?}", ApiSettings::default()));
        assert_eq!(format!("{ingress:?}"), format!("{:?}", IngressConfig::default()));
        let serving = serving(&config).expect("valid defaults");
        assert_eq!(format!("{serving:?}"), format!("{:?}", Serving::default()));
    }
}
