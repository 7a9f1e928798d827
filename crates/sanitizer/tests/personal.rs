//! Personal data that is found by its shape or by a word before it, and text that is left alone.

use mc_domain::FindingAction;
use mc_sanitizer::{Class, Policy, mask, mask_with};

fn masked(text: &str) -> String {
    mask_with(text, &Policy::strict()).text.into_string()
}

#[test]
fn personal_data_is_masked() {
    let cases = [
        ("mail to anna.berg+x@shop-team.io, please", "mail to [personal:email], please"),
        ("see people/anna.berg@shop-team.io", "see people/[personal:email]"),
        ("call me: +49 30 901820", "call me: [personal:phone]"),
        ("US: 415-555-0132.", "US: [personal:phone]."),
        ("Телефон 8 (495) 123-45-67", "Телефон [personal:phone]"),
        ("card 4012 8888 8888 1881 declined", "card [personal:card] declined"),
        ("paid with 5555555555554444;", "paid with [personal:card];"),
        ("IBAN DE89 3704 0044 0532 0130 00", "IBAN [personal:iban]"),
        (
            "ИНН организации: 7707083893, КПП 770701001",
            "ИНН организации: [personal:ru-inn], КПП 770701001",
        ),
        (r#"{"inn":"500100732259"}"#, r#"{"inn":"[personal:ru-inn]"}"#),
        ("ОГРНИП 304500116000157", "ОГРНИП [personal:ru-ogrn]"),
        ("СНИЛС 112-233-445 95", "СНИЛС [personal:ru-snils]"),
        ("паспорт 4510 123456", "паспорт [personal:ru-passport]"),
        ("ssn=536-90-4399", "ssn=[personal:us-ssn]"),
        ("passport no. A12803456", "passport no. [personal:passport]"),
        ("RSSMRA85T10A562S", "[personal:it-fiscal-code]"),
        ("2341 2341 2346", "[personal:in-aadhaar]"),
        ("tax file number 123456782", "tax file number [personal:au-tfn]"),
        (
            "from 93.184.216.34 and [2001:470::8a2e:370]:443",
            "from [personal:ip-address] and [[personal:ip-address]]:443",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(masked(text), expected, "{text}");
    }
}

#[test]
fn encoded_personal_data_is_masked() {
    let cases = [
        (
            "https://a.example/?mail=anna.berg%40shop-team.io&x=1",
            "https://a.example/?mail=[personal:email]&x=1",
        ),
        (
            "https://a.example/?card=4012%208888%208888%201881",
            "https://a.example/?card=[personal:card]",
        ),
        // mail: anna.berg@shop-team.io
        ("data bWFpbDogYW5uYS5iZXJnQHNob3AtdGVhbS5pbw== end", "data [personal:email] end"),
        ("to%3A%20100%25%20of%20them", "to%3A%20100%25%20of%20them"),
    ];
    for (text, expected) in cases {
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn similar_text_without_personal_data_stays() {
    let cases = [
        "git@github.com:team/shop.git",
        "ssh://deploy@host.example.com/path",
        "admin@example.com",
        "@decorator.with.parts",
        "127.0.0.1, 0.0.0.0 and 10.0.0.0/8",
        "1.1.1.1 resolves, 192.0.2.17 stands in documents",
        "version 1.2.0.0 and 1.2.3",
        "std::net::IpAddr, dead::beef, 12:34:56, aa:bb:cc:dd:ee:ff",
        "018f2c3e-7d1a-7b2c-9d3e-4f5a6b7c8d9e",
        "4012888888881882 has a wrong check digit",
        "id 7707083893 and 123456789012 without a word for it",
        "ИНН 7707083894",
        "1732176000000 is a time in milliseconds",
        "retry after 1234567890 ns, 3600000 ms",
        "sha 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "078-05-1120",
        "E12345678 is an error's number",
    ];
    for text in cases {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn ip_addresses_are_masked_only_by_policy() {
    let text = "host 93.184.216.34, mail a.b@team.io";
    assert_eq!(mask(text).text.as_str(), "host 93.184.216.34, mail [personal:email]");
    let secrets = Policy::default().with_class(Class::Personal, FindingAction::Allow);
    assert_eq!(mask_with(text, &secrets).text.as_str(), text);
}

/// Needs no clock: reading the whole line for each of its numbers would take minutes.
#[test]
fn line_of_megabytes_is_scanned_to_its_end() {
    let noise = ["1234567890, ", "12 34 56 78 90 12 34 56 78 90 12 34 56; ", "A12345678 "];
    let text = format!("{}SSN 536-90-4399", noise.map(|unit| unit.repeat(30_000)).concat());
    let once = masked(&text);
    assert!(once.ends_with("SSN [personal:us-ssn]") && once.len() > 1_000_000);
}

#[test]
fn number_named_once_is_masked_everywhere() {
    let text = "Phone: +49 30 901820\nlater: +49 30 901820 again";
    let once = masked(text);
    assert_eq!(once.matches("[personal:phone]").count(), 2, "{once}");
    assert_eq!(masked(&once), once);
}
