"""Checks of the code, each with what takes it away: file, what it says, what it says instead.

All are built into one program, and one at a time is switched on when it runs: `ON(name)` stands for that in
Rust and `SQL(name)` in a statement. What a mutant replaces must be there exactly once.
"""

API = "crates/api/src/"
STORE = "crates/store/src/"

MUTANTS = [
    # Who may do what.
    ("scope", API + "authenticate.rs", "if self.scopes.contains(scope) {", "if self.scopes.contains(scope) || ON(scope) {"),
    ("role", API + "authorize.rs", "if project.role >= needed {", "if project.role >= needed || ON(role) {"),
    ("policy-role", API + "authorize.rs", "let needed = project.policy.min_role(action);", "let needed = if ON(policy-role) { action.min_role() } else { project.policy.min_role(action) };"),
    ("presence", API + "authenticate.rs", "if self.by != CredentialKind::Token {", "if self.by != CredentialKind::Token || ON(presence) {"),
    ("administers", API + "authenticate.rs", "self.is_admin && self.scopes.contains(Scope::Admin)", "ON(administers) || self.is_admin && self.scopes.contains(Scope::Admin)"),
    ("administers-scope", API + "authenticate.rs", "ON(administers) || self.is_admin && self.scopes.contains(Scope::Admin)", "ON(administers) || self.is_admin && (self.scopes.contains(Scope::Admin) || ON(administers-scope))"),
    ("administrator", API + "authenticate.rs", "self.require(Scope::Admin)?;\n        if self.is_admin {", "self.require(Scope::Admin)?;\n        if self.is_admin || ON(administrator) {"),
    ("agent-replaces", API + "routes/save.rs", "if replaces && !decides {", "if replaces && !decides && !ON(agent-replaces) {"),
    ("save-decides", API + "routes/save.rs", "let decides = here.project.role >= here.project.policy.min_roles.save;", "let decides = here.project.role >= here.project.policy.min_roles.save || ON(save-decides);"),
    ("share-decides", API + "routes/proposals.rs", "let decides = here.project.role >= here.project.policy.min_roles.save;", "let decides = here.project.role >= here.project.policy.min_roles.save || ON(share-decides);"),
    ("audit-role", API + "routes/audit.rs", "let here = api.authorize(caller, key, Permission::Audit).await?;", "let here = api.authorize(caller, key, if ON(audit-role) { Permission::Read } else { Permission::Audit }).await?;"),
    ("audit-service", API + "routes/audit.rs", "caller.require_administrator()?;", "if !ON(audit-service) { caller.require_administrator()?; }"),
    ("hold-role", API + "routes/quarantine.rs", "let here = api.authorize(&caller, &query.project, Permission::Curate).await?;", "let here = api.authorize(&caller, &query.project, if ON(hold-role) { Permission::Read } else { Permission::Curate }).await?;"),
    ("hooks-role", API + "routes/webhooks.rs", "let here = entered(&api, &caller, &key, Permission::ManagePolicy).await?;\n    let hooks =", "let here = entered(&api, &caller, &key, if ON(hooks-role) { Permission::Read } else { Permission::ManagePolicy }).await?;\n    let hooks ="),
    ("hygiene-role", API + "routes/hygiene.rs", "let here = entered(&api, &caller, &key, Permission::Curate).await?;\n    let found = hygiene::list(", "let here = entered(&api, &caller, &key, if ON(hygiene-role) { Permission::Read } else { Permission::Curate }).await?;\n    let found = hygiene::list("),
    ("delivery-source", API + "webhook_receiver.rs", "hook.filter(|hook| sends_here(hook.provider))", "hook.filter(|hook| sends_here(hook.provider) || ON(delivery-source))"),
    ("delivery-signed", API + "webhook_receiver.rs", "    mc_connectors::verify(hook.provider, headers, body, &secrets, Utc::now()).map_err(", "    (if ON(delivery-signed) { Ok(()) } else { mc_connectors::verify(hook.provider, headers, body, &secrets, Utc::now()) }).map_err("),
    ("policy-version", API + "routes/policy.rs", "let expected = expected(&headers, &key)?;", "let expected = expected(&headers, &key)?.filter(|_| !ON(policy-version));"),
    ("proposal-found", STORE + "records/create.rs", "is_searchable: standing.visibility != Visibility::Proposed,", "is_searchable: standing.visibility != Visibility::Proposed || ON(proposal-found),"),
    ("user-named", API + "routes/proposals.rs", "Contributor::User(users::called(&api.store, login).await?)", "Contributor::User(if ON(user-named) { users::named(&api.store, login).await?.id } else { users::called(&api.store, login).await? })"),
    ("reach", API + "routes/ingest.rs", "if is_public || caller.is_admin {", "if is_public || caller.is_admin || ON(reach) {"),
    ("reach-inside", API + "routes/ingest.rs", "if caller.administers() || !is_https {", "if caller.administers() || !is_https || ON(reach-inside) {"),
    ("status-counts", API + "routes/status.rs", "let pending_vectors = if caller.administers() {", "let pending_vectors = if caller.administers() || ON(status-counts) {"),
    # Teams.
    ("team-seen", API + "routes/members.rs", "    if role.is_none() && !caller.administers() {", "    if role.is_none() && !caller.administers() && !ON(team-seen) {"),
    ("team-administered", API + "routes/members.rs", "if role < Some(Role::Admin) && !caller.administers() {", "if role < Some(Role::Admin) && !caller.administers() && !ON(team-administered) {"),
    ("team-told", API + "routes/members.rs", "if !removed && role.is_none()", "if !ON(team-told) && !removed && role.is_none()"),
    ("team-listed", STORE + "members.rs", "where $2 or exists (select from team_members m where m.team_id = t.id and m.user_id = $1)", "where $2 or SQL(team-listed) or exists (select from team_members m where m.team_id = t.id and m.user_id = $1)"),
    # Tokens, and what they are exchanged for.
    ("token-scopes", API + "routes/tokens.rs", "if !entry.scopes.is_subset_of(caller.scopes()) {", "if !ON(token-scopes) && !entry.scopes.is_subset_of(caller.scopes()) {"),
    ("token-for-agent", API + "routes/tokens.rs", "            caller.require_administrator()?;", "            if !ON(token-for-agent) { caller.require_administrator()?; }"),
    ("token-for-person", API + "routes/tokens.rs", "if !user.is_agent {", "if !user.is_agent && !ON(token-for-person) {"),
    ("token-of-others", STORE + "accounts.rs", "where id = $1 and user_id = $2 and revoked_at is null", "where id = $1 and (user_id = $2 or SQL(token-of-others)) and revoked_at is null"),
    ("tokens-of-all", STORE + "accounts.rs", "from access_tokens where user_id = $1 order by id desc", "from access_tokens where (user_id = $1 or SQL(tokens-of-all)) order by id desc"),
    ("token-revoked", STORE + "accounts.rs", "where t.hash = $1 and t.revoked_at is null", "where t.hash = $1 and (t.revoked_at is null or SQL(token-revoked))"),
    ("token-expired", STORE + "accounts.rs", "and (t.expires_at is null or t.expires_at > now()) and u.disabled_at is null)", "and (SQL(token-expired) or t.expires_at is null or t.expires_at > now()) and u.disabled_at is null)"),
    ("token-of-disabled", STORE + "accounts.rs", "or t.expires_at > now()) and u.disabled_at is null)", "or t.expires_at > now()) and (u.disabled_at is null or SQL(token-of-disabled)))"),
    ("login-narrowed", API + "sign_in.rs", "holder.scopes = holder.scopes.intersection(access.scopes);", "if !ON(login-narrowed) { holder.scopes = holder.scopes.intersection(access.scopes); }"),
    ("login-session", API + "sign_in.rs", "if !ON(login-narrowed) { holder.scopes = holder.scopes.intersection(access.scopes); }", "if ON(login-session) { holder.scopes = access.scopes; } else if !ON(login-narrowed) { holder.scopes = holder.scopes.intersection(access.scopes); }"),
    ("login-revoked", STORE + "sessions.rs", "and s.revoked_at is null and s.expires_at > now()", "and (s.revoked_at is null or SQL(login-revoked)) and s.expires_at > now()"),
    ("login-over", STORE + "sessions.rs", "SQL(login-revoked)) and s.expires_at > now()", "SQL(login-revoked)) and (s.expires_at > now() or SQL(login-over))"),
    ("login-of-revoked-token", STORE + "sessions.rs", "and t.revoked_at is null and (t.expires_at", "and (t.revoked_at is null or SQL(login-of-revoked-token)) and (t.expires_at"),
    ("login-of-disabled", STORE + "sessions.rs", "where u.id = $1 and u.disabled_at is null", "where u.id = $1 and (u.disabled_at is null or SQL(login-of-disabled))"),
    ("refresh-of-disabled", STORE + "sessions.rs", "(s.revoked_at is not null or u.disabled_at is not null)", "(s.revoked_at is not null or (u.disabled_at is not null and SQL(refresh-of-disabled) is not true))"),
    ("exchange-scopes", API + "sign_in/token_endpoint.rs", "if !scopes.is_subset_of(held) {", "if !scopes.is_subset_of(held) && !ON(exchange-scopes) {"),
    ("visit-client", API + "sign_in/browser.rs", "found.client == CLIENT && !found.is_revoked && is_unused", "(found.client == CLIENT || ON(visit-client)) && !found.is_revoked && is_unused"),
    ("visit-revoked", API + "sign_in/browser.rs", "&& !found.is_revoked && is_unused", "&& (!found.is_revoked || ON(visit-revoked)) && is_unused"),
    ("visit-over", API + "sign_in/browser.rs", "ON(visit-revoked)) && is_unused", "ON(visit-revoked)) && (is_unused || ON(visit-over))"),
    ("sign-out-proof", API + "sign_in/browser.rs", "if !visitor.proves(&form.proof) {", "if !visitor.proves(&form.proof) && !ON(sign-out-proof) {"),
    ("user-administered", API + "routes/users.rs", "    caller.require_administrator()?;\n    Ok(named(store, login)", "    if !ON(user-administered) { caller.require_administrator()?; }\n    Ok(named(store, login)"),
    ("sessions-of-others", STORE + "sessions.rs", "where user_id = $1 and revoked_at is null and expires_at > now()", "where (user_id = $1 or SQL(sessions-of-others)) and revoked_at is null and expires_at > now()"),
    ("form-proof", API + "sign_in/device.rs", "if !visitor.proves(&form.proof) {", "if !visitor.proves(&form.proof) && !ON(form-proof) {"),
    # Filters that the policies stand behind.
    ("filter-passages", STORE + "passages.rs", "and p.project_id = $2", "and (p.project_id = $2 or SQL(filter-passages))"),
    ("filter-vectors", STORE + "vectors/nearest.rs", "and e.project_id = $1 and e.source_kind = any($4)", "and (e.project_id = $1 or SQL(filter-vectors)) and e.source_kind = any($4)"),
    ("filter-docs-id", STORE + "docs.rs", "from docs where id = $1 and project_id = $2", "from docs where id = $1 and (project_id = $2 or SQL(filter-docs-id))"),
    ("filter-docs-url", STORE + "docs.rs", "from docs where project_id = $1 and (url = $2", "from docs where (project_id = $1 or SQL(filter-docs-url)) and (url = $2"),
    ("filter-docs-title", STORE + "docs.rs", "from docs where project_id = $1 and (lower(title)", "from docs where (project_id = $1 or SQL(filter-docs-title)) and (lower(title)"),
    ("filter-docs-list", STORE + "docs.rs", "from docs where project_id = $1 and id > $2", "from docs where (project_id = $1 or SQL(filter-docs-list)) and id > $2"),
    ("filter-tasks", STORE + "tasks.rs", "  from tasks where project_id = $1 and external_id = $2", "  from tasks where (project_id = $1 or SQL(filter-tasks)) and external_id = $2"),
    ("filter-repositories", STORE + "repositories.rs", "from repositories where project_id = $1 and owner = $2", "from repositories where (project_id = $1 or SQL(filter-repositories)) and owner = $2"),
    ("filter-records", STORE + "records.rs", "where project_id = $1 and state in ('active', 'stale') and ttl > now()", "where (project_id = $1 or SQL(filter-records)) and state in ('active', 'stale') and ttl > now()"),
    ("filter-dialogs", STORE + "dialogs.rs", "from dialogs where id = $1 and project_id = $2)", "from dialogs where id = $1 and (project_id = $2 or SQL(filter-dialogs)))"),
    ("filter-hooks", STORE + "webhooks.rs", "where h.project_id = $1 order by h.id", "where (h.project_id = $1 or SQL(filter-hooks)) order by h.id"),
    ("filter-connections", STORE + "integrations.rs", "where c.project_id = $1 and ($2::uuid is null or c.id = $2)", "where (c.project_id = $1 or SQL(filter-connections)) and ($2::uuid is null or c.id = $2)"),
    ("filter-deliveries", STORE + "webhooks.rs", "where d.project_id = $1 and ($2::uuid is null or d.id = $2)", "where (d.project_id = $1 or SQL(filter-deliveries)) and ($2::uuid is null or d.id = $2)"),
    ("filter-changes", STORE + "pull_requests.rs", "where c.project_id = $1 and ($2::uuid is null or c.id = $2)", "where (c.project_id = $1 or SQL(filter-changes)) and ($2::uuid is null or c.id = $2)"),
    ("filter-ci", STORE + "ci_results.rs", "from ci_results where project_id = $1 and sha = $2", "from ci_results where (project_id = $1 or SQL(filter-ci)) and sha = $2"),
    ("filter-reports", STORE + "hygiene.rs", "where r.project_id = $1 and ($2::uuid is null or r.id = $2)", "where (r.project_id = $1 or SQL(filter-reports)) and ($2::uuid is null or r.id = $2)"),
    ("filter-clusters", STORE + "duplicates.rs", "where project_id = $1 and state = 'open' and id > $2", "where (project_id = $1 or SQL(filter-clusters)) and state = 'open' and id > $2"),
    ("filter-cluster", STORE + "duplicates.rs", "where project_id = $1 and id = $2 for update", "where (project_id = $1 or SQL(filter-cluster)) and id = $2 for update"),
    ("filter-export", STORE + "exports.rs", "from exports where project_id = $1 and id = $2", "from exports where (project_id = $1 or SQL(filter-export)) and id = $2"),
    ("filter-counts", STORE + "projects.rs", "(select count(*) from docs where project_id = $1)", "(select count(*) from docs where project_id = $1 or SQL(filter-counts))"),
    ("keyword-private", "crates/search/src/retrievers/keyword/filter.rs", "if searcher.doc_freq(&hidden)? == 0 {", "if searcher.doc_freq(&hidden)? == 0 || ON(keyword-private) {"),
    ("keyword-terms", "crates/search/src/index/schema.rs", "Self(project.0.simple().to_string())", "Self(if ON(keyword-terms) { String::new() } else { project.0.simple().to_string() })"),
]

# What the mutated copy is switched by.
SWITCH = """
/// Whether this mutant is the one that is on.
pub fn mutant(name: &str) -> bool {
    static ON: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    ON.get_or_init(|| std::env::var("ISOLATION_MUTANT").ok()).as_deref() == Some(name)
}
"""
