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
        ("почта: вера@пример-школы.рф.", "почта: [personal:email]."),
        ("jürgen.groß@firma-köln.de", "[personal:email]"),
        ("请联系zhang.wei@shop-team.cn谢谢", "请联系[personal:email]谢谢"),
        ("gửi nguyễn.văn@vidu.vn", "gửi [personal:email]"),
        ("მაისი@shop-team.ge", "[personal:email]"),
        ("vera@xn--80ak6aa92e.xn--p1ai", "[personal:email]"),
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

/// Numbers of the countries' issuers, with a word beside them in the country's language or without.
#[test]
fn numbers_of_states_are_masked() {
    for (text, category) in [
        ("Паспорт: серия @4510 номер 123456@, выдан ОВД", "ru-passport"),
        ("паспорт @45 10 № 123456@", "ru-passport"),
        ("загранпаспорт № @751234567@", "passport"),
        ("водительское удостоверение @77 16 123456@", "ru-driver-license"),
        ("расчётный счёт № @40817810099910004312@ в банке", "ru-account"),
        ("ИИН @900101300123@", "kz-iin"),
        ("itin: @912-70-4321@", "us-itin"),
        ("@1EG4-TE5-MK73@ is of the patient", "us-mbi"),
        ("SIN @046 454 286@", "ca-sin"),
        ("CPF @529.982.247-25@", "br-cpf"),
        ("for @943 476 5919@, see there", "gb-nhs"),
        ("NI number @AB 12 34 56 C@", "gb-nino"),
        ("Steuer-ID @86 095 742 719@", "de-tax-id"),
        ("Personalausweis: @T220001293@", "de-id-card"),
        ("numéro de sécurité sociale @2 55 08 14 168 025 38@", "fr-nir"),
        ("DNI @12345678Z@", "es-nif"),
        ("@X1234567L@ lives there", "es-nie"),
        ("P. IVA @00743110157@", "it-vat-code"),
        ("PESEL @44051401359@", "pl-pesel"),
        ("he is @811218-9876@", "se-personnummer"),
        ("she is @131052-308T@", "fi-hetu"),
        ("TC kimlik no @10000000146@", "tr-national-id"),
        ("my PAN is @ABCPE1234F@", "in-pan"),
        ("NRIC: @S1234567D@", "sg-nric"),
        ("주민등록번호는 @900101-1234568@", "kr-rrn"),
        ("เลขประจำตัวประชาชน @1234567890121@", "th-national-id"),
        ("身份证号 @11010519491231002X@", "cn-resident-id"),
        ("ABN @51 824 753 556@", "au-abn"),
        ("Medicare @2123 45670 1@", "au-medicare"),
        ("@123456782@ is my TFN", "au-tfn"),
        ("@44051401359@", "pl-pesel"),
    ] {
        let (before, rest) = text.split_once('@').expect("the number's start");
        let (number, after) = rest.split_once('@').expect("the number's end");
        let expected = format!("{before}[personal:{category}]{after}");
        assert_eq!(masked(&format!("{before}{number}{after}")), expected);
    }
}

/// Numbers that no form describes, next to a word for them in several languages.
#[test]
fn named_numbers_of_unknown_issuers_are_masked() {
    for (text, category) in [
        ("passport: @AB1234567@", "passport"),
        ("ее загранпаспортом @75 1234567@", "passport"),
        ("driver's license @D123-4567-8901@", "identity-number"),
        ("tax id @12-3456789-0@", "identity-number"),
        ("\"nationalId\": \"@784-1990-1234567-1@\"", "identity-number"),
        ("carte d'identité @880692310285@", "identity-number"),
        ("удостоверение личности @034567891@", "identity-number"),
        ("ЕИК: @175074752@", "identity-number"),
        ("bank account number @945456787654@", "bank-account"),
        ("Kontonummer @0532013000@", "bank-account"),
        ("лицевой счёт @123456789012@", "bank-account"),
    ] {
        let (before, rest) = text.split_once('@').expect("the number's start");
        let (number, after) = rest.split_once('@').expect("the number's end");
        let expected = format!("{before}[personal:{category}]{after}");
        assert_eq!(masked(&format!("{before}{number}{after}")), expected);
    }
}

#[test]
fn telephones_are_masked_as_people_write_them() {
    for text in
        ["мой номер @", "позвони мне: @", "тел.: @", "WhatsApp @", "@ — звонить после шести", "@"]
    {
        for number in ["8 (916) 123-45-67", "8-916-123-45-67", "+7 916 123-45-67", "8(495)1234567"]
        {
            let expected = text.replace('@', "[personal:phone]");
            assert_eq!(masked(&text.replace('@', number)), expected, "{number}");
        }
    }
    for text in
        ["phone: 020 7946 0958", "mobile 07700 900123", "моб. 9161234567", "тел. 84951234567"]
    {
        assert!(masked(text).ends_with("[personal:phone]"), "{text}: {}", masked(text));
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
        "patches/chokidar@3.6.0.patch",
        "chokidar@3.6.0.patch",
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
        "ticket AB1234567, part number A12345678",
        "issue 123456789, run id 7707083893, account_id = 123456789012",
        "0000000 6f74 656b 206e 203d 2762 6561 6420 6665",
        "SNILS 112-233-445 96, PESEL 44051401358, NHS number 943 476 5918",
        "POSIX 1003.1-2008 and ISO/IEC 14882:2017",
        "20 Jan 2015 17:35:20 -0800",
        "#define TCP_RESERVED_BITS = 234881024",
        "MAX 2147483647, UTC 1732176000, SEED 123456789",
        "VAT 20 % of 1234.56",
        "паспорт изделия",
        "1,234,567,890 and 65536 131072 262144",
    ];
    for text in cases {
        assert_eq!(masked(text), text);
    }
}

/// Engineering text with words that also name numbers of persons.
#[test]
fn quantities_and_technical_numbers_stay() {
    for text in [
        "your account is limited to 1000000 requests",
        "my account has 250000 rows",
        "the sort code handled 1500000 rows",
        "Passport.js session maxAge = 86400000",
        "passport strategy timeout 300000 ms",
        "etcd member id 1234567",
        "the row id number 4815162",
        "ein Puffer von 134217728 Bytes",
        "ein Timeout von 100000000 ns",
        "bir 123456789",
        "нет прав, код 1700000000",
        "серии метрик с 1700000000",
        "sort code 100000",
        "RUN 12017385513",
        "JOB 33512345678",
        "RSS: 123456789 kB",
        "TOTAL: 987654321",
        "BYTES 123456789",
        "LBA 976773167",
        "INODE 123456789",
        "1711281234567",
        "build 241130-1530221",
        "192-168-100-001",
        "2024-1234567-1",
        "8 512 256 64 32",
        "SKU AA123456B",
    ] {
        assert_eq!(masked(text), text);
    }
    for text in
        ["my bank account number is 12345678", "passport: 123456789", "Passport No. AB1234567"]
    {
        assert!(masked(text).contains("[personal:"), "{text}");
    }
}

/// Labels that also name things of software count only directly before their number.
#[test]
fn ambiguous_labels_are_connected_with_their_number() {
    for text in [
        "passport strategy of session 4815162342",
        "Passport.js stores user 481516234",
        "my account created ticket 48151623",
        "the sort code handled run 481516",
        "your account, opened in build 48151623",
        "vat calculation in batch 481516234",
        "taxpayer service, shard 48151623",
        "the driver reads block 481516234",
        "vehicle registration of the plugin in build 4815162",
        "hesap servisi, sürüm 48151623",
        "счёт проверен в сборке 48151623",
    ] {
        assert_eq!(masked(text), text);
    }
    for text in [
        "passport: @",
        "passport number is @",
        "passport of Anna Berg: @",
        "Passport No. @",
        "passport # @",
        "passport № @",
        "\"passportNumber\": \"@\"",
        "the passport's number = @",
        "my account number is @",
        "your account: @",
        "sort code and account number: @",
        "sort code 12-34-56, account @",
        "passport (RF): @",
        "taxpayer id @",
        "VAT no. @",
        "VAT ID = @",
        "свидетельство номер @",
        "личный код равен @",
        "Konto Nr. @",
    ] {
        let text = text.replace('@', "481516239");
        assert!(masked(&text).contains("[personal:"), "{text}");
        assert!(!masked(&text).contains("481516239"), "{text}");
    }
}

/// A member of a health insurance is a person; a member of a cluster is not.
#[test]
fn member_ids_of_insurances_are_masked() {
    for text in [
        "insurance member ID: @",
        "Health insurance member id @",
        "health plan member number: @",
        "insuranceMemberId = '@'",
        "member id (health insurance): @",
        "medicaid member id @",
    ] {
        let text = text.replace('@', "4815167");
        assert!(masked(&text).contains("[personal:identity-number]"), "{text}");
    }
    for text in ["member id: 4815167", "raft member 4815167", "\"memberId\": 4815167"] {
        assert_eq!(masked(text), text);
    }
}

/// Abbreviations count only before numbers that their registers have.
#[test]
fn abbreviations_of_registers_name_numbers() {
    for text in ["KRS 0000481516", "JMBG 0101100710123", "RRN 48151623423", "RNTRC 4815162342"] {
        assert!(masked(text).ends_with("[personal:identity-number]"), "{text}");
    }
    // Numbers of these have letters or other lengths.
    for text in ["NINO 481516234", "UEN 481516234", "RFC 481516234", "KRS 48151", "NRN 48151623423"]
    {
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
