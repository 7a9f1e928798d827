//! The table of formats, from what the providers publish about their keys.
//!
//! The order is the order of trust: where two rules find overlapping text, the first one names it.
//! A pattern's group `s` is the secret; without one the whole match is. Tokens with a marker take
//! all that follows of their alphabet and not just their length: a longer run is no less secret.

use crate::check::Check::{self, Chosen, Generated, Given, Jwt, Marked, Pem};

/// One format of secret.
#[derive(Debug)]
pub(crate) struct Rule {
    /// What the placeholder says.
    pub category: &'static str,
    /// The pattern runs on texts that hold one of these, in any case of letters.
    pub keywords: &'static [&'static str],
    pub pattern: &'static str,
    pub check: Check,
}

const fn rule(
    category: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    check: Check,
) -> Rule {
    Rule { category, keywords, pattern, check }
}

#[rustfmt::skip] // A table: one format a line, however long its pattern.
pub(crate) const RULES: &[Rule] = &[
    // Keys in blocks. The first takes a block that ends, the second one that was cut off.
    rule("private-key", &["private key"], r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<s>(?:-{0,4}[^-])*)-----END ", Pem),
    rule("private-key", &["private key"], r#"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<s>(?:(?:\s|\\[nr]|["'+,])*[A-Za-z0-9+/=]{24,})+)"#, Pem),
    rule("age-key", &["age-secret-key-1"], r"(?i)AGE-SECRET-KEY-1[0-9a-z]{40,}", Marked),

    // Clouds.
    rule("aws-access-key", &["akia", "asia", "abia", "acca"], r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)", Marked),
    rule("aws-secret-key", &["secret", "aws"], r#"(?i)(?:aws|secret_?access)[a-z0-9_. -]{0,30}["'`]?\s{0,4}(?::|=>|=|,)\s{0,4}["'`]?(?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#, Generated(3.5)),
    rule("aws-bedrock-key", &["absk"], r"(?-u:\b)ABSK[A-Za-z0-9+/]{100,}={0,2}", Marked),
    rule("google-api-key", &["aiza"], r"(?-u:\b)AIza[A-Za-z0-9_-]{35}", Marked),
    rule("google-oauth-secret", &["gocspx-"], r"GOCSPX-[A-Za-z0-9_-]{24,}", Marked),
    rule("google-oauth-token", &["ya29."], r"(?-u:\b)ya29\.[A-Za-z0-9_-]{20,}", Marked),
    rule("google-refresh-token", &["1//0"], r"(?-u:\b)1//0[A-Za-z0-9_-]{30,}", Marked),
    rule("azure-storage-key", &["accountkey", "sharedaccesskey"], r"(?i)(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{40,90}={0,2})", Marked),
    rule("azure-client-secret", &["q~"], r"(?-u:\b)[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", Marked),
    rule("azure-sas-signature", &["sig="], r"[?&]sig=(?P<s>[A-Za-z0-9%+/=]{40,120})", Marked),
    rule("digitalocean-token", &["_v1_"], r"(?-u:\b)do[opr]_v1_[0-9a-f]{40,}", Marked),
    rule("yandex-token", &["t1."], r"(?-u:\b)t1\.[A-Z0-9][A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}", Marked),
    rule("yandex-api-key", &["aqvn"], r"(?-u:\b)AQVN[A-Za-z0-9_-]{35,}", Marked),
    rule("yandex-oauth-token", &["y0_", "y1_", "y2_", "y3_"], r"(?-u:\b)y[0-3]_[A-Za-z0-9_-]{50,}", Marked),
    rule("cloudflare-origin-key", &["v1.0-"], r"(?-u:\b)v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}", Marked),
    rule("heroku-token", &["hrku-"], r"(?-u:\b)HRKU-[A-Za-z0-9_-]{36,}", Marked),
    rule("fly-token", &["flyv1 fm", "fm1", "fm2"], r"(?-u:\b)fm[12][ar]?_[A-Za-z0-9+/=,_-]{60,}", Marked),
    rule("netlify-token", &["nfp_", "nfc_", "nfo_", "nfu_"], r"(?-u:\b)nf[pcou]_[A-Za-z0-9]{36,}", Marked),
    rule("scalingo-token", &["tk-us-"], r"(?-u:\b)tk-us-[A-Za-z0-9_-]{40,}", Marked),
    rule("openshift-token", &["sha256~"], r"(?-u:\b)sha256~[A-Za-z0-9_-]{40,}", Marked),
    rule("tailscale-key", &["tskey-"], r"(?-u:\b)tskey-[a-z]+-[A-Za-z0-9_-]{20,}", Marked),

    // Where code lives, is built and is published.
    rule("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"(?-u:\b)gh[pousr]_[A-Za-z0-9]{30,}", Marked),
    rule("github-token", &["github_pat_"], r"(?-u:\b)github_pat_[A-Za-z0-9_]{36,}", Marked),
    rule("gitlab-token", &["gl"], r"(?-u:\b)(?:glpat|gldt|glrt|glrtr|glptt|glcbt|glft|glffct|glsoat|glagent|glimt|gloas|glwt)-[A-Za-z0-9_-]{20,}(?:\.[A-Za-z0-9_-]{2,})*", Marked),
    rule("bitbucket-token", &["atbb", "atctt3"], r"(?-u:\b)(?:ATBB[A-Za-z0-9]{28,}|ATCTT3[A-Za-z0-9_=-]{60,})", Marked),
    rule("atlassian-token", &["atatt3"], r"(?-u:\b)ATATT3[A-Za-z0-9_=-]{60,}", Marked),
    rule("npm-token", &["npm_"], r"(?-u:\b)npm_[A-Za-z0-9]{36,}", Marked),
    rule("pypi-token", &["pypi-"], r"(?-u:\b)pypi-[A-Za-z0-9_-]{50,}", Marked),
    rule("rubygems-token", &["rubygems_"], r"(?-u:\b)rubygems_[0-9a-f]{48,}", Marked),
    rule("crates-token", &["cio"], r"(?-u:\b)cio[A-Za-z0-9]{32}(?-u:\b)", Generated(3.0)),
    rule("clojars-token", &["clojars_"], r"(?i)(?-u:\b)CLOJARS_[a-z0-9]{60,}", Marked),
    rule("nuget-key", &["oy2"], r"(?-u:\b)oy2[a-z0-9]{43}(?-u:\b)", Marked),
    rule("docker-token", &["dckr_"], r"(?-u:\b)dckr_[a-z]{3}_[A-Za-z0-9_-]{20,}", Marked),
    rule("artifactory-token", &["akcp", "cmvmdgtu"], r"(?-u:\b)(?:AKCp[A-Za-z0-9]{60,}|cmVmdGtu[A-Za-z0-9]{50,})", Marked),
    rule("terraform-token", &["atlasv1"], r"(?-u:\b)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", Marked),
    rule("pulumi-token", &["pul-"], r"(?-u:\b)pul-[0-9a-f]{40,}", Marked),
    rule("buildkite-token", &["bkua_"], r"(?-u:\b)bkua_[0-9a-f]{40,}", Marked),
    rule("databricks-token", &["dapi"], r"(?-u:\b)dapi[0-9a-f]{32}(?:-[0-9])?(?-u:\b)", Marked),
    rule("postman-key", &["pmak-"], r"(?-u:\b)PMAK-[0-9a-fA-F]{24}-[0-9a-fA-F]{34,}", Marked),
    rule("readme-key", &["rdme_"], r"(?-u:\b)rdme_[a-z0-9]{60,}", Marked),

    // Vaults.
    rule("vault-token", &["hvs.", "hvb.", "hvr."], r"(?-u:\b)hv[sbr]\.[A-Za-z0-9_-]{20,}", Marked),
    rule("vault-token", &["vault"], r#"(?i)vault[a-z0-9_. -]{0,20}["'`]?\s{0,4}(?::|=>|=)\s{0,4}["'`]?(?P<s>s\.[A-Za-z0-9]{24})(?-u:\b)"#, Generated(3.0)),
    rule("1password-key", &["a3-"], r"(?-u:\b)A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?-u:\b)", Marked),
    rule("1password-token", &["ops_ey"], r"(?-u:\b)ops_ey[A-Za-z0-9+/_-]{60,}={0,2}", Marked),
    rule("doppler-token", &["dp."], r"(?-u:\b)dp\.(?:ct|pt|sa|scim|audit|st(?:\.[a-z0-9_-]{2,35})?)\.[A-Za-z0-9]{40,}", Marked),

    // Models.
    rule("anthropic-key", &["sk-ant-"], r"(?-u:\b)sk-ant-[A-Za-z0-9_-]{20,}", Marked),
    rule("openrouter-key", &["sk-or-"], r"(?-u:\b)sk-or-[A-Za-z0-9_-]{20,}", Marked),
    rule("openai-key", &["sk-"], r"(?-u:\b)sk-(?:proj|svcacct|admin|service|None)-[A-Za-z0-9_-]{20,}", Marked),
    rule("openai-key", &["sk-"], r"(?-u:\b)sk-[A-Za-z0-9]{20,}", Marked),
    rule("huggingface-token", &["hf_", "api_org_"], r"(?-u:\b)(?:hf|api_org)_[A-Za-z0-9]{30,}", Marked),
    rule("replicate-token", &["r8_"], r"(?-u:\b)r8_[A-Za-z0-9]{37,}", Marked),
    rule("groq-key", &["gsk_"], r"(?-u:\b)gsk_[A-Za-z0-9]{40,}", Marked),
    rule("xai-key", &["xai-"], r"(?-u:\b)xai-[A-Za-z0-9]{60,}", Marked),
    rule("perplexity-key", &["pplx-"], r"(?-u:\b)pplx-[A-Za-z0-9]{32,}", Marked),
    rule("nvidia-key", &["nvapi-"], r"(?-u:\b)nvapi-[A-Za-z0-9_-]{50,}", Marked),
    rule("langsmith-key", &["lsv2_"], r"(?-u:\b)lsv2_[a-z]{2}_[0-9a-f]{32}_[0-9a-f]{10,}", Marked),
    rule("pinecone-key", &["pcsk_"], r"(?-u:\b)pcsk_[A-Za-z0-9_]{40,}", Marked),

    // Messages and mail.
    rule("slack-token", &["xox"], r"(?i)(?-u:\b)xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}", Marked),
    rule("slack-token", &["xapp-"], r"(?i)(?-u:\b)xapp-[0-9]-[A-Za-z0-9-]{20,}", Marked),
    rule("slack-webhook", &["hooks.slack.com"], r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/_-]{20,})", Marked),
    rule("teams-webhook", &["webhook.office.com"], r"webhook\.office\.com/webhookb2/(?P<s>[A-Za-z0-9@/_-]{60,})", Marked),
    rule("discord-webhook", &["/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/(?P<s>[A-Za-z0-9_-]{50,})", Marked),
    rule("discord-token", &["discord", "bot"], r"(?-u:\b)[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", Marked),
    rule("telegram-token", &[":aa", ":a"], r"(?-u:\b)(?P<s>[0-9]{8,10}:A[A-Za-z0-9_-]{34})(?:[^A-Za-z0-9_-]|$)", Marked),
    rule("sendgrid-key", &["sg."], r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{32,}", Marked),
    rule("brevo-key", &["xkeysib-", "xsmtpsib-"], r"(?-u:\b)x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}", Marked),
    rule("mailgun-key", &["key-"], r"(?-u:\b)key-[0-9a-f]{32}(?-u:\b)", Marked),
    rule("mailchimp-key", &["-us"], r"(?-u:\b)[0-9a-f]{32}-us[0-9]{1,2}(?-u:\b)", Marked),
    rule("twilio-key", &["sk", "twilio"], r"(?-u:\b)SK[0-9a-f]{32}(?-u:\b)", Marked),

    // Money and shops.
    rule("stripe-key", &["_live_", "_test_", "_prod_"], r"(?-u:\b)[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}", Marked),
    rule("stripe-webhook-secret", &["whsec_"], r"(?-u:\b)whsec_[A-Za-z0-9+/]{24,}={0,2}", Marked),
    rule("shopify-token", &["shp"], r"(?-u:\b)shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{32,}", Marked),
    rule("square-token", &["sq0", "eaaa"], r"(?-u:\b)(?:sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}|EAAA[A-Za-z0-9_-]{60})", Marked),
    rule("shippo-token", &["shippo_"], r"(?-u:\b)shippo_(?:live|test)_[0-9a-f]{40,}", Marked),
    rule("easypost-key", &["ezak", "eztk"], r"(?-u:\b)EZ[AT]K[A-Za-z0-9]{54,}", Marked),
    rule("flutterwave-key", &["flwseck", "flwpubk"], r"(?-u:\b)FLW(?:SEC|PUB)K(?:_TEST)?-?[A-Za-z0-9]{12,}(?:-X)?", Marked),

    // Services.
    rule("facebook-token", &["eaa"], r"(?-u:\b)EAA[A-Za-z0-9]{80,}", Marked),
    rule("dropbox-token", &["sl."], r"(?-u:\b)sl\.[A-Za-z0-9_-]{120,}", Marked),
    rule("figma-token", &["fig"], r"(?-u:\b)fig[dour]_[A-Za-z0-9_-]{38,}", Marked),
    rule("airtable-token", &["pat"], r"(?-u:\b)pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", Marked),
    rule("linear-key", &["lin_"], r"(?-u:\b)lin_(?:api|oauth)_[A-Za-z0-9]{32,}", Marked),
    rule("notion-token", &["ntn_", "secret_"], r"(?-u:\b)(?:ntn|secret)_[A-Za-z0-9]{40,}", Marked),
    rule("contentful-token", &["cfpat-"], r"(?-u:\b)CFPAT-[A-Za-z0-9_-]{40,}", Marked),
    rule("supabase-key", &["sbp_", "sb_secret_"], r"(?-u:\b)(?:sbp_[0-9a-f]{40,}|sb_secret_[A-Za-z0-9_-]{20,})", Marked),
    rule("planetscale-token", &["pscale_"], r"(?-u:\b)pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}", Marked),
    rule("grafana-token", &["glc_", "glsa_"], r"(?-u:\b)(?:glc_[A-Za-z0-9+/]{32,}={0,2}|glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8})", Marked),
    rule("sentry-token", &["sntrys_", "sntryu_"], r"(?-u:\b)(?:sntrys_[A-Za-z0-9+/=_-]{60,}|sntryu_[0-9a-f]{64})", Marked),
    rule("newrelic-key", &["nrak-", "nrii-", "nrjs-", "nrbr-", "nral"], r"(?-u:\b)(?:NRAK-[A-Z0-9]{27}|NRII-[A-Za-z0-9_-]{32}|NRJS-[0-9a-f]{19}|[0-9a-f]{32,36}NRAL)", Marked),
    rule("posthog-key", &["phx_"], r"(?-u:\b)phx_[A-Za-z0-9]{40,}", Marked),
    rule("typeform-token", &["tfp_"], r"(?-u:\b)tfp_[A-Za-z0-9_-]{40,}={0,2}", Marked),
    rule("adafruit-key", &["aio_"], r"(?-u:\b)aio_[A-Za-z0-9]{28}(?-u:\b)", Marked),
    rule("settlemint-token", &["sm_pat_", "sm_aat_", "sm_sat_"], r"(?-u:\b)sm_[aps]at_[A-Za-z0-9]{16,}", Marked),

    // Formats that many issue.
    rule("jwt", &["ey"], r"(?-u:\b)ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}", Jwt),
    rule("connection-password", &["://"], r#"(?i)[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'`<>]{0,80}:(?P<s>[^\s/@"'`<>]{1,200})@[a-z0-9\[$%{]"#, Given),
    rule("connection-password", &["password=", "pwd="], r#"(?i);\s{0,2}(?:password|pwd)=(?P<s>[^;\s"'<>]{4,100})"#, Given),
    rule("connection-password", &["jdbc:", "://"], r#"(?i)[?&](?:password|passwd|pwd)=(?P<s>[^&;\s"'<>]{4,100})"#, Given),
    rule("authorization", &["authorization", "bearer"], r#"(?i)(?-u:\b)(?:authorization["']?\s{0,4}[:=,]\s{0,4}["']?(?:bearer|basic|token|apikey|digest)|bearer)\s{1,4}(?P<s>[A-Za-z0-9+/=._~-]{16,4096})"#, Generated(2.8)),
    rule("authorization", &["authorization"], r#"(?i)authorization["']?\s{0,4}[:=,]\s{0,4}["']?basic\s{1,4}(?P<s>[A-Za-z0-9+/]{6,400}={0,2})"#, Given),
    rule("registry-password", &["auth"], r#"\\?"auth\\?"\s{0,4}:\s{0,4}\\?"(?P<s>[A-Za-z0-9+/]{12,4000}={0,2})\\?""#, Given),
    rule("command-password", &["-u", "--user"], r#"(?-u:\s)(?:-u|--user)[ =]["']?[A-Za-z0-9_.@-]{1,64}:(?P<s>[^\s"']{6,100})"#, Chosen),
    rule("netrc-password", &["login"], r"(?-u:\b)login\s{1,4}\S{1,80}\s{1,4}password\s{1,4}(?P<s>\S{4,100})", Given),

    // Names that say "secret", and a value that looks it.
    rule("password", &["passw", "pwd", "passphrase"], r#"(?i)[a-z0-9_.-]{0,40}(?:password|passwd|pwd|passphrase)[a-z0-9_]{0,20}["'`\]]{0,2}\s{0,4}(?::=|=>|->|==|=|:)\s{0,4}["'`](?P<s>[^"'`\s]{6,200})["'`]"#, Chosen),
    rule("password", &["passw", "pwd", "passphrase"], r"(?im)[a-z0-9_.-]{0,40}(?:password|passwd|pwd|passphrase)\s{0,2}[:=]\s{0,4}(?P<s>[A-Za-z0-9+/=_~!@#%^*?-]{8,100})[,;]?\s{0,8}$", Chosen),
    rule("secret-value", &["secret", "token", "key", "credential", "passw"], r#"(?i)[a-z0-9_.-]{0,40}(?:secret|token|api[_ -]?key|access[_ -]?key|auth[_ -]?key|private[_ -]?key|signing[_ -]?key|encryption[_ -]?key|master[_ -]?key|account[_ -]?key|credential|password|passwd)[a-z0-9_.-]{0,20}\\?["'`\]]{0,2}(?:\s{0,2}:?\s{0,2}&?(?:str|string))?\s{0,4}(?::=|=>|->|\?=|\.=|==|=|:|,)\s{0,4}\\?["'`](?P<s>[A-Za-z0-9+/=_.:~!@#%^&*$-]{12,512})(?:[\\"'`\s<]|$)"#, Generated(3.0)),
    rule("secret-value", &["secret", "token", "key", "credential", "passw"], r#"(?i)[a-z0-9_.-]{0,40}(?:secret|token|api[_ -]?key|access[_ -]?key|auth[_ -]?key|private[_ -]?key|signing[_ -]?key|encryption[_ -]?key|master[_ -]?key|account[_ -]?key|credential|password|passwd)[a-z0-9_]{0,20}(?:\s{0,2}(?::=|\?=|=|:)\s{0,4}|>\s{0,40})(?P<s>[A-Za-z0-9+/=_~-]{16,512})(?:[\s,;&|<"'\\)]|$)"#, Generated(3.3)),
    rule("secret-value", &["key"], r#"(?i)(?:[a-z0-9][_-]|(?-u:\b))key\\?["'`\]]{0,2}(?:\s{0,2}:?\s{0,2}&?(?:str|string))?\s{0,4}(?::=|=>|->|\?=|\.=|==|=|:|,)\s{0,4}\\?["'`]?(?P<s>[A-Za-z0-9+/=_~-]{20,512})(?:[\s,;&|<"'`\\)]|$)"#, Generated(3.5)),
];
