use serde_json::json;

use super::*;

fn read(document: serde_json::Value) -> Policy {
    serde_json::from_value(document).expect("a policy")
}

#[test]
fn empty_document_is_the_default_policy() {
    assert_eq!(read(json!({})), Policy::default());
    assert_eq!(Policy::default().check(), Ok(()));
}

#[test]
fn each_broken_rule_names_its_setting() {
    for (document, field) in [
        (json!({"ttl_days": {"gotcha": 0}}), "ttl_days.gotcha"),
        (json!({"ttl_days": {"rule": 3651}}), "ttl_days.rule"),
        (json!({"retention_days": {"audit": 29}}), "retention_days.audit"),
        (json!({"retention_days": {"quarantine": 0}}), "retention_days.quarantine"),
        (json!({"retention_days": {"hygiene": 0}}), "retention_days.hygiene"),
        (json!({"hygiene": {"unused_after_days": 0}}), "hygiene.unused_after_days"),
        (json!({"hygiene": {"reindex_after_days": 3651}}), "hygiene.reindex_after_days"),
        (json!({"sanitizer": {"secrets": "allow"}}), "sanitizer.secrets"),
        (json!({"min_roles": {"save": "agent"}}), "min_roles.save"),
        (json!({"min_roles": {"publish": "viewer"}}), "min_roles.publish"),
        (json!({"tokens": {"recall": 95}}), "tokens.recall"),
        (json!({"tokens": {"chat_per_day": 1_000_000_001_u32}}), "tokens.chat_per_day"),
        (json!({"allowed_commands": ["cargo test", ""]}), "allowed_commands[1]"),
        (json!({"allowed_commands": ["a\nb"]}), "allowed_commands[0]"),
        (json!({"notifications": {"webhook_url": "ftp://x"}}), "notifications.webhook_url"),
        (json!({"notifications": {"webhook_url": "https://me:pw@x"}}), "notifications.webhook_url"),
    ] {
        let error = read(document.clone()).check().expect_err("breaks a rule");
        assert_eq!(error.field, field, "{document}");
    }
}

#[test]
fn only_facts_and_examples_expire_by_default() {
    let days = |document| {
        let ttl_days = read(document).ttl_days;
        RecordKind::ALL.iter().map(|kind| ttl_days.of(*kind)).collect::<Vec<_>>()
    };
    let default = days(json!({}));
    assert_eq!(days(json!({"ttl_days": {"rule": null}})), default);
    for (kind, lives) in RecordKind::ALL.iter().zip(default) {
        let ages = matches!(kind, RecordKind::Fact | RecordKind::Fewshot);
        assert_eq!(lives, ages.then_some(180), "{kind}");
    }
    let named = read(json!({"ttl_days": {"rule": 30.0}})).ttl_days;
    assert_eq!(named.of(RecordKind::Rule), Some(30));
}

#[test]
fn default_policy_requires_a_member_for_decisions() {
    let policy = Policy::default();
    for action in [Permission::Accept, Permission::Confirm, Permission::Publish, Permission::Write]
    {
        assert!(policy.min_role(action) >= Role::Member, "{action:?}");
    }
}

#[test]
fn policy_raises_minimum_roles_and_never_lowers_them() {
    let strict = read(json!({"min_roles": {"review": "maintainer", "publish": "admin"}}));
    assert_eq!(strict.min_role(Permission::Accept), Role::Maintainer);
    assert_eq!(strict.min_role(Permission::Publish), Role::Admin);
    for action in Permission::ALL.iter().copied() {
        assert!(strict.min_role(action) >= action.min_role(), "{action:?}");
    }
}

#[test]
fn accepting_requires_the_role_for_saving() {
    let strict = read(json!({"min_roles": {"save": "maintainer"}}));
    assert_eq!(strict.min_role(Permission::Accept), Role::Maintainer);
    let stricter = read(json!({"min_roles": {"save": "maintainer", "review": "admin"}}));
    assert_eq!(stricter.min_role(Permission::Accept), Role::Admin);
    assert_eq!(stricter.min_role(Permission::Write), Role::Maintainer);
}

#[test]
fn raised_role_is_attributed_to_its_setting() {
    let strict = read(json!({"min_roles": {"save": "maintainer", "publish": "admin"}}));
    for (action, setting) in [
        (Permission::Write, Some("min_roles.save")),
        (Permission::Ingest, Some("min_roles.save")),
        (Permission::Accept, Some("min_roles.save")),
        (Permission::Publish, Some("min_roles.publish")),
        (Permission::Confirm, None),
        (Permission::Read, None),
    ] {
        assert_eq!(strict.min_role_setting(action), setting, "{action:?}");
    }
    let reviewed = read(json!({"min_roles": {"save": "maintainer", "review": "admin"}}));
    assert_eq!(reviewed.min_role_setting(Permission::Accept), Some("min_roles.review"));
    assert!(Permission::ALL.iter().all(|one| Policy::default().min_role_setting(*one).is_none()));
}

#[test]
fn changes_are_listed_by_setting() {
    let after = read(json!({
        "min_roles": {"save": "admin"},
        "sanitizer": {"categories": {"jwt": "reject"}},
    }));
    let changes = after.changes_from(&Policy::default());
    let listed: Vec<_> = changes.iter().map(|c| (c.field.as_str(), &c.before, &c.after)).collect();
    assert_eq!(
        listed,
        [
            ("min_roles.save", &json!("member"), &json!("admin")),
            ("sanitizer.categories.ip-address", &json!("allow"), &json!(null)),
            ("sanitizer.categories.jwt", &json!(null), &json!("reject")),
        ]
    );
    assert!(after.changes_from(&after).is_empty());
}
