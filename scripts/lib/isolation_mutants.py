"""Mutants of the isolation checks: each removes one check from the code (see `mutation.Mutant`)."""

from mutation import Mutant

# Replacements in Rust: of a condition that allows a request, of one that denies it, of a statement
# that returns an error, and of a permission.
ALLOW = "(CHECK || ON)"
NOT_DENY = "(CHECK && !ON)"
SKIP = "if !ON { CHECK }"
READ = "(if ON { Permission::Read } else { CHECK })"

# Replacements in SQL: of a condition that selects rows, and of one that rejects them.
SELECT = "(CHECK or SQL_ON)"
NOT_REJECT = "(CHECK and SQL_ON is not true)"

ACCOUNTS = "crates/accounts/src/"
API = "crates/api/src/"
INTEGRATIONS = "crates/integrations/src/"
ROUTES = API + "routes/"
SEARCH = "crates/search/src/"
STORE = "crates/store/src/"

MUTANTS = [
    # Scopes, roles and service administrators.
    Mutant("scope", ACCOUNTS + "principal.rs", "if [[self.scopes.contains(needed)]] {", ALLOW),
    Mutant(
        "project-scope",
        API + "authorize.rs",
        "pub async fn authorize( ... [[caller.require(permission.scope())?;]]",
        SKIP,
    ),
    Mutant(
        "resource-scope",
        API + "authorize.rs",
        "pub async fn authorize_resource( ... [[caller.require(permission.scope())?;]]",
        SKIP,
    ),
    Mutant("role", API + "authorize.rs", "if [[project.role >= needed]] {", ALLOW),
    Mutant(
        "policy-role",
        API + "authorize.rs",
        "let needed = [[project.policy.min_role(permission)]];",
        "(if ON { permission.min_role() } else { CHECK })",
    ),
    Mutant(
        "interactive",
        ACCOUNTS + "principal.rs",
        "if [[self.credential_kind == CredentialKind::Token]] {",
        NOT_DENY,
    ),
    Mutant(
        "service-admin",
        ACCOUNTS + "principal.rs",
        "[[self.is_admin && self.scopes.contains(Scope::Admin)]]",
        ALLOW,
    ),
    Mutant(
        "service-admin-scope",
        ACCOUNTS + "principal.rs",
        "self.is_admin && [[self.scopes.contains(Scope::Admin)]]",
        ALLOW,
    ),
    Mutant(
        "local-access-admin",
        ACCOUNTS + "principal.rs",
        "[[self.is_admin]] && self.scopes.contains(Scope::IngestLocal)",
        ALLOW,
    ),
    Mutant(
        "local-access-scope",
        ACCOUNTS + "principal.rs",
        "self.is_admin && [[self.scopes.contains(Scope::IngestLocal)]]",
        ALLOW,
    ),
    Mutant(
        "require-service-admin",
        ACCOUNTS + "principal.rs",
        "if [[self.is_admin]] { Ok(()) }",
        ALLOW,
    ),
    # Records and proposals.
    Mutant("agent-replaces", ROUTES + "save.rs", "if [[!saves_for_team]] {", NOT_DENY),
    Mutant(
        "save-decides",
        ROUTES + "save.rs",
        "let saves_for_team = [[here.allows(Permission::Write)]];",
        ALLOW,
    ),
    Mutant(
        "share-decides",
        ROUTES + "proposals.rs",
        "let to = if [[ctx.allows(Permission::Write)]] {",
        ALLOW,
    ),
    Mutant(
        "proposal-found",
        STORE + "memory/records/create.rs",
        "is_searchable: [[access.visibility != Visibility::Proposed]],",
        ALLOW,
    ),
    Mutant(
        "bundle-user",
        STORE + "memory/bundles.rs",
        "where project_id = $1 and [[user_id = $2]] and ($3::uuid is null or id = $3)",
        SELECT,
    ),
    # Operations of maintainers and administrators.
    Mutant("audit-role", ROUTES + "audit.rs", "async fn open( ... [[Permission::Audit]]", READ),
    Mutant("audit-service", ACCOUNTS + "audit.rs", "[[principal.require_service_admin()?;]]", SKIP),
    Mutant(
        "quarantine-role",
        ROUTES + "quarantine.rs",
        'get, path = "/quarantine", ... async fn ... [[Permission::Curate]]',
        READ,
    ),
    Mutant(
        "judgment-question-role",
        ROUTES + "judgment.rs",
        "async fn create_judgment_question( ... authorize( ... [[Permission::Write]]",
        READ,
    ),
    Mutant(
        "judgment-role",
        ROUTES + "judgment.rs",
        "async fn judge_record( ... authorize( ... [[Permission::Write]]",
        READ,
    ),
    Mutant(
        "hygiene-role",
        ROUTES + "hygiene.rs",
        'get, path = "/projects/{key}/hygiene-runs", ... async fn ... [[Permission::Curate]]',
        READ,
    ),
    Mutant(
        "policy-version",
        ROUTES + "policy.rs",
        "let expected = [[expected_version(&headers, &key)?]];",
        "CHECK.filter(|_| !ON)",
    ),
    Mutant(
        "status-counts",
        ROUTES + "status.rs",
        "if [[is_admin]] {",
        ALLOW,
    ),
    Mutant(
        "status-index",
        ROUTES + "status.rs",
        "keyword.status(), [[is_admin]])",
        ALLOW,
    ),
    Mutant(
        "job-list",
        ROUTES + "jobs.rs",
        'get, path = "/jobs", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "job-get",
        ROUTES + "jobs.rs",
        'get, path = "/jobs/{id}", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "job-retry",
        ROUTES + "jobs.rs",
        'post, path = "/jobs/{id}/retry", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "job-discard",
        ROUTES + "jobs.rs",
        'delete, path = "/jobs/{id}", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    # Repositories, providers and tasks.
    Mutant(
        "repository-location",
        INTEGRATIONS + "index_runs.rs",
        "if [[is_public || principal.has_local_access()]] {",
        ALLOW,
    ),
    Mutant(
        "private-network",
        INTEGRATIONS + "index_runs.rs",
        "async fn allows_private_network( ... if [[principal.has_local_access()]] {",
        ALLOW,
    ),
    Mutant(
        "webhooks-role",
        ROUTES + "webhooks.rs",
        'get, path = "/projects/{key}/webhooks", ... async fn ... [[Permission::ManagePolicy]]',
        READ,
    ),
    Mutant(
        "delivery-provider",
        INTEGRATIONS + "deliveries/receive.rs",
        "webhook.filter(|webhook| [[may_send(webhook.provider)]])",
        ALLOW,
    ),
    Mutant(
        "delivery-signature",
        INTEGRATIONS + "deliveries/receive.rs",
        "[[mc_connectors::verify(webhook.provider, headers, body, &secrets, Utc::now())]]",
        "(if ON { Ok(()) } else { CHECK })",
    ),
    Mutant(
        "integrations-role",
        ROUTES + "integrations.rs",
        'get, path = "/projects/{key}/integrations", ... async fn ... [[Permission::ManagePolicy]]',
        READ,
    ),
    Mutant(
        "connector-list",
        ROUTES + "integrations.rs",
        'get, path = "/connectors", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "task-link-decides",
        INTEGRATIONS + "tasks.rs",
        "if [[!request.record_ids.is_empty() && !ctx.allows(Permission::Write)]] {",
        NOT_DENY,
    ),
    Mutant(
        "task-comment-role",
        ROUTES + "task_comment.rs",
        'post, path = "/tasks/{external_id}/comment", ... async fn ... [[Permission::Confirm]]',
        READ,
    ),
    Mutant(
        "task-comment-policy",
        INTEGRATIONS + "task_comments.rs",
        "if [[!ctx.project.policy.trackers.post_comments]] {",
        NOT_DENY,
    ),
    # Users and teams.
    Mutant(
        "user-create",
        ROUTES + "users.rs",
        'post, path = "/users", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "user-list",
        ROUTES + "users.rs",
        'get, path = "/users", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "user-update",
        ROUTES + "users.rs",
        'patch, path = "/users/{login}", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "user-filter",
        ACCOUNTS + "users.rs",
        "Ok([[user.map_or(UserId(uuid::Uuid::max()), |user| user.id)]])",
        "if ON { user.ok_or_else(|| Error::UnknownUser(login.to_owned()))?.id } else { CHECK }",
    ),
    Mutant(
        "user-administered",
        ACCOUNTS + "users.rs",
        "[[principal.require_service_admin()?;]]",
        SKIP,
    ),
    Mutant(
        "team-create",
        ROUTES + "members.rs",
        'post, path = "/teams", ... async fn ... [[caller.require_service_admin()?;]]',
        SKIP,
    ),
    Mutant(
        "team-seen",
        ACCOUNTS + "teams.rs",
        "if [[role.is_none() && !principal.is_service_admin()]] {",
        NOT_DENY,
    ),
    Mutant(
        "team-administered",
        ACCOUNTS + "teams.rs",
        "if [[role < Some(Role::Admin) && !principal.is_service_admin()]] {",
        NOT_DENY,
    ),
    Mutant(
        "team-unshared",
        ACCOUNTS + "members.rs",
        "if [[!is_removed && role.is_none() && !principal.is_service_admin()]] {",
        NOT_DENY,
    ),
    Mutant(
        "team-listed",
        STORE + "auth/members.rs",
        "where [[$2]] or exists (select from team_members m where m.team_id = t.id",
        SELECT,
    ),
    # Personal access tokens.
    Mutant(
        "token-scopes",
        ACCOUNTS + "tokens.rs",
        "if [[!scopes.is_subset_of(principal.scopes())]] {",
        NOT_DENY,
    ),
    Mutant(
        "token-for-agent",
        ACCOUNTS + "tokens.rs",
        "[[principal.require_service_admin()?;]]",
        SKIP,
    ),
    Mutant("token-for-person", ACCOUNTS + "tokens.rs", "if [[user.is_agent]] {", ALLOW),
    Mutant(
        "token-revoke-any",
        ACCOUNTS + "tokens.rs",
        "else if [[principal.is_service_admin()]] { accounts::revoke_any(",
        ALLOW,
    ),
    Mutant(
        "token-of-others",
        STORE + "auth/accounts/tokens.rs",
        "where id = $1 and [[user_id = $2]] and revoked_at is null",
        SELECT,
    ),
    Mutant(
        "tokens-of-all",
        STORE + "auth/accounts/tokens.rs",
        "from access_tokens where [[user_id = $1]] order by id desc",
        SELECT,
    ),
    Mutant(
        "token-revoked",
        STORE + "auth/accounts.rs",
        "where t.hash = $1 and [[t.revoked_at is null]]",
        SELECT,
    ),
    Mutant(
        "token-expired",
        STORE + "auth/accounts.rs",
        "and [[(t.expires_at is null or t.expires_at > now())]] and u.disabled_at is null",
        SELECT,
    ),
    Mutant(
        "token-of-disabled",
        STORE + "auth/accounts.rs",
        "or t.expires_at > now()) and [[u.disabled_at is null]]",
        SELECT,
    ),
    # Sessions and their access tokens.
    Mutant(
        "access-token-scopes",
        ACCOUNTS + "sign_in.rs",
        "owner.scopes = [[owner.scopes.intersection(access.scopes)]];",
        "(if ON { owner.scopes } else { CHECK })",
    ),
    Mutant(
        "session-scopes",
        ACCOUNTS + "sign_in.rs",
        "owner.scopes = [[owner.scopes.intersection(access.scopes)]];",
        "(if ON { access.scopes } else { CHECK })",
    ),
    Mutant(
        "session-revoked",
        STORE + "auth/sessions.rs",
        "and [[s.revoked_at is null]] and s.expires_at > now()",
        SELECT,
    ),
    Mutant(
        "session-expired",
        STORE + "auth/sessions.rs",
        "and s.revoked_at is null and [[s.expires_at > now()]]",
        SELECT,
    ),
    Mutant(
        "session-of-revoked-token",
        STORE + "auth/sessions.rs",
        "and [[t.revoked_at is null]] and (t.expires_at",
        SELECT,
    ),
    Mutant(
        "session-of-disabled",
        STORE + "auth/sessions.rs",
        "where u.id = $1 and [[u.disabled_at is null]]",
        SELECT,
    ),
    Mutant(
        "sessions-of-others",
        STORE + "auth/sessions.rs",
        "set revoked_at = now() where [[user_id = $1]] and revoked_at is null",
        SELECT,
    ),
    Mutant(
        "refresh-of-disabled",
        STORE + "auth/sessions/refresh_tokens.rs",
        "(s.revoked_at is not null or [[u.disabled_at is not null]])",
        NOT_REJECT,
    ),
    Mutant(
        "exchange-scopes",
        ACCOUNTS + "sign_in/token.rs",
        "if [[!scopes.is_subset_of(subject.scopes())]] {",
        NOT_DENY,
    ),
    # Browser sessions.
    Mutant(
        "browser-session-client",
        ACCOUNTS + "sign_in/browser.rs",
        "[[row.client == CLIENT]] && !row.is_revoked && is_unused",
        ALLOW,
    ),
    Mutant(
        "browser-session-revoked",
        ACCOUNTS + "sign_in/browser.rs",
        "row.client == CLIENT && [[!row.is_revoked]] && is_unused",
        ALLOW,
    ),
    Mutant(
        "browser-session-expired",
        ACCOUNTS + "sign_in/browser.rs",
        "row.client == CLIENT && !row.is_revoked && [[is_unused]]",
        ALLOW,
    ),
    Mutant(
        "sign-out-csrf",
        API + "sign_in/browser.rs",
        "if [[!session.is_csrf_token(&form.proof)]] {",
        NOT_DENY,
    ),
    Mutant(
        "device-csrf",
        API + "sign_in/device.rs",
        "if [[!session.is_csrf_token(&form.proof)]] {",
        NOT_DENY,
    ),
    # Filters by project, in front of the row-level security.
    Mutant(
        "filter-passages",
        STORE + "search/passages/load.rs",
        "where p.id = any($1) and [[p.project_id = $2]]",
        SELECT,
    ),
    Mutant(
        "filter-vectors",
        STORE + "search/vectors/nearest.rs",
        "and [[e.project_id = $1]] and e.source_kind = any($4)",
        SELECT,
    ),
    Mutant(
        "filter-vector-queue",
        STORE + "search/vectors/backlog.rs",
        "q.model_id = $4 and [[($1::uuid is null or q.project_id = $1)]]",
        SELECT,
    ),
    Mutant(
        "filter-docs-id",
        STORE + "ingest/docs/read.rs",
        "from docs where id = $1 and [[project_id = $2]]",
        SELECT,
    ),
    Mutant(
        "filter-docs-url",
        STORE + "ingest/docs/read.rs",
        "from docs where [[project_id = $1]] and (url = $2",
        SELECT,
    ),
    Mutant(
        "filter-docs-title",
        STORE + "ingest/docs/read.rs",
        "from docs where [[project_id = $1]] and (lower(title)",
        SELECT,
    ),
    Mutant(
        "filter-docs-titles",
        STORE + "ingest/docs/read.rs",
        "from docs where [[project_id = $1]] and position(",
        SELECT,
    ),
    Mutant(
        "filter-docs-list",
        STORE + "ingest/docs/read.rs",
        "from docs where [[project_id = $1]] and id > $2",
        SELECT,
    ),
    Mutant(
        "filter-tasks",
        STORE + "providers/tasks.rs",
        "updated_at from tasks where [[project_id = $1]] and external_id = $2",
        SELECT,
    ),
    Mutant(
        "filter-repositories",
        STORE + "ingest/repositories.rs",
        "from repositories where [[project_id = $1]] and owner = $2",
        SELECT,
    ),
    Mutant(
        "filter-repositories-list",
        STORE + "ingest/repositories.rs",
        "from repositories where [[project_id = $1]] order by owner, name",
        SELECT,
    ),
    Mutant(
        "filter-records",
        STORE + "memory/records/read.rs",
        "where [[project_id = $1]] and state in ('active', 'stale') and ttl > now()",
        SELECT,
    ),
    Mutant(
        "filter-dialogs",
        STORE + "memory/dialogs.rs",
        "from dialogs where id = $1 and [[project_id = $2]])",
        SELECT,
    ),
    Mutant(
        "filter-webhooks",
        STORE + "providers/webhooks.rs",
        "where [[h.project_id = $1]] order by h.id",
        SELECT,
    ),
    Mutant(
        "filter-webhook-rotate",
        STORE + "providers/webhooks.rs",
        "end where [[project_id = $1]] and id = $2 returning provider",
        SELECT,
    ),
    Mutant(
        "filter-webhook-delete",
        STORE + "providers/webhooks.rs",
        "delete from webhooks where [[project_id = $1]] and id = $2",
        SELECT,
    ),
    Mutant(
        "filter-deliveries",
        STORE + "providers/webhooks/deliveries.rs",
        "where [[d.project_id = $1]] and ($2::uuid is null or d.id = $2)",
        SELECT,
    ),
    Mutant(
        "filter-integrations",
        STORE + "providers/integrations.rs",
        "where [[i.project_id = $1]] and ($2::uuid is null or i.id = $2)",
        SELECT,
    ),
    Mutant(
        "filter-integration-update",
        STORE + "providers/integrations.rs",
        "else next_sync_at end where [[project_id = $1]] and id = $2",
        SELECT,
    ),
    Mutant(
        "filter-integration-delete",
        STORE + "providers/integrations.rs",
        "delete from integrations where [[project_id = $1]] and id = $2",
        SELECT,
    ),
    Mutant(
        "filter-integration-sync",
        STORE + "providers/integrations/sync.rs",
        "select job_id from integrations where [[project_id = $1]] and id = $2",
        SELECT,
    ),
    Mutant(
        "filter-connector-health",
        STORE + "providers/integrations.rs",
        "from integrations where $1::uuid is null or [[project_id = $1]] group by connector",
        SELECT,
    ),
    Mutant(
        "filter-pull-requests",
        STORE + "providers/pull_requests.rs",
        "where [[c.project_id = $1]] and ($2::uuid is null or c.id = $2)",
        SELECT,
    ),
    Mutant(
        "filter-ci",
        STORE + "providers/ci_results.rs",
        "from ci_results where [[project_id = $1]] and sha = $2",
        SELECT,
    ),
    Mutant(
        "filter-hygiene-runs",
        STORE + "maintenance/hygiene.rs",
        "where [[r.project_id = $1]] and ($2::uuid is null or r.id = $2)",
        SELECT,
    ),
    Mutant(
        "filter-duplicates",
        STORE + "memory/duplicates.rs",
        "where [[project_id = $1]] and visibility = 'team' and state in ('active', 'stale')",
        SELECT,
    ),
    Mutant(
        "filter-clusters",
        STORE + "memory/duplicates.rs",
        "where [[project_id = $1]] and state = 'open' and id > $2",
        SELECT,
    ),
    Mutant(
        "filter-cluster",
        STORE + "memory/duplicates.rs",
        "where [[project_id = $1]] and id = $2 for update",
        SELECT,
    ),
    Mutant(
        "filter-exports",
        STORE + "maintenance/exports.rs",
        "size_bytes from exports where [[project_id = $1]] order by id desc",
        SELECT,
    ),
    Mutant(
        "filter-export",
        STORE + "maintenance/exports.rs",
        "from exports where [[project_id = $1]] and id = $2",
        SELECT,
    ),
    Mutant(
        "filter-counts",
        STORE + "projects.rs",
        "(select count(*) from docs where [[project_id = $1]])",
        SELECT,
    ),
    Mutant(
        "keyword-private",
        SEARCH + "retrievers/keyword/filter.rs",
        "if [[searcher.doc_freq(&hidden)? == 0]] {",
        ALLOW,
    ),
    Mutant(
        "keyword-terms",
        SEARCH + "index/schema.rs",
        "Self([[project.0.simple().to_string()]])",
        "if ON { String::new() } else { CHECK }",
    ),
]
