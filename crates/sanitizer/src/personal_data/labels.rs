//! Words for kinds of numbers in several languages, in lower case. A star ends a stem.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// A set of labels.
#[derive(Debug)]
pub(super) struct Labels {
    texts: &'static [&'static str],
    stems: AhoCorasick,
}

impl Labels {
    pub(super) fn new(texts: &'static [&'static str]) -> Self {
        let stems = texts.iter().map(|text| text.trim_end_matches('*'));
        let stems = AhoCorasick::new(stems).expect("the labels are few and short");
        Self { texts, stems }
    }

    /// Whether the words before a number, each between two spaces, have a label among them.
    pub(super) fn are_in(&self, words: &str) -> bool {
        self.stems
            .find_overlapping_iter(words)
            .any(|found| names_number(self.texts[found.pattern().as_usize()], words, found.start()))
    }
}

/// Whether the words before a number, each between two spaces, have one of a few labels among them.
pub(super) fn has(words: &str, labels: &[&str]) -> bool {
    labels.iter().any(|label| {
        let stem = label.trim_end_matches('*');
        words.match_indices(stem).any(|(at, _)| names_number(label, words, at))
    })
}

/// Whether the label at `start` is a word of its own and names the number after the words.
fn names_number(label: &str, words: &str, start: usize) -> bool {
    let stem = label.trim_end_matches('*');
    let is_stem = stem.len() < label.len();
    // Thai, Chinese, Japanese and Korean write no spaces, or append particles.
    let is_spaced = stem.chars().next().is_some_and(|c| c < '\u{0e00}');
    let rest = &words[start + stem.len()..];
    let is_start = !is_spaced || words[..start].ends_with(' ');
    let is_end = !is_spaced || is_stem || rest.starts_with(' ');
    is_start && is_end && (!AMBIGUOUS.contains(&label) || is_connected(rest))
}

/// Whether only words that connect a label with its number follow a label.
fn is_connected(rest: &str) -> bool {
    let mut words = rest.split(' ').skip(1).filter(|word| !word.is_empty());
    let is_part = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    words.all(|word| CONNECTORS.contains(&word) || is_part(word))
}

/// Labels that also name other things, such as accounts of a service and libraries for passports.
/// They name a number only if nothing but connecting words is between them.
#[rustfmt::skip]
const AMBIGUOUS: &[&str] = &[
    "account", "my account", "his account", "her account", "your account", "current account",
    "sort code", "routing", "routing number", "routing no", "konto", "cuenta", "hesap", "на счет",
    "на счёт", "счет*", "счёт*",
    "passport", "passports", "passi", "серия", "серию",
    "arc", "beneficiary", "bn", "business number", "car", "car number", "cf", "cie",
    "common reference", "crn", "driver", "driver*", "driving*", "ein", "electoral", "entity number",
    "epic", "fin", "frn", "identity code", "income tax", "iva", "laboratory", "my number", "nas",
    "nie", "nir", "nin", "pan", "patente", "personal code", "personal id", "pnr", "registration",
    "registration number", "registration no", "resident id", "rs", "rtn", "rto", "sin", "t c",
    "taxpayer", "tc", "tin", "vat", "vehicle", "vin", "voter", "voter*",
    "свидетельств*", "личный код",
];

/// Words between a label and its number.
#[rustfmt::skip]
const CONNECTORS: &[&str] = &[
    "a", "account", "an", "and", "are", "card", "certificate", "chf", "data", "details", "equals",
    "eur", "gbp", "holder", "id", "identification",
    "is", "its", "licence", "license", "my", "new", "no", "nr", "num", "number", "numbers", "of",
    "old", "permit", "registration", "rf", "rub", "s", "series", "the", "uk", "us", "usd", "was",
    "with",
    "и", "номер", "номера", "номером", "равен", "рф", "серии", "серия", "это",
    "ist", "lautet", "nummer", "und", "von",
    "de", "del", "do", "es", "est", "numero", "número", "numéro", "di", "è", "é", "jest", "numer",
];

/// Words for telephones.
#[rustfmt::skip]
pub(super) static PHONE: LazyLock<Labels> = LazyLock::new(|| Labels::new(&[
    "phone", "phones", "telephone", "tel", "mobile", "mob", "cell", "cellphone", "fax",
    "whatsapp", "contact number", "hotline", "phone no",
    "телефон*", "тел", "моб", "мобильн*", "звонить", "звоните", "позвони*", "перезвони*", "факс*",
    "сотовый", "ватсап", "вотсап", "смс", "номер для связи", "мой номер", "его номер", "ее номер",
    "telefon*", "mobil", "handy", "handynummer", "rufnummer", "teléfono", "móvil", "celular",
    "téléphone",
    "portable", "telefono", "cellulare", "telefone", "puhelin", "telefoon", "komórka", "cep",
    "電話", "携帯", "电话", "手机", "전화", "โทร",
]));

/// Verbs before a telephone's number in a sentence. In code they name functions.
pub(super) static CALL: LazyLock<Labels> =
    LazyLock::new(|| Labels::new(&["call", "sms", "dial", "reach me at", "number is"]));

/// Words for numbers of documents, which are neither cards nor phones.
#[rustfmt::skip]
pub(super) const ORDER_WORDS: &[&str] = &[
    "order", "orders", "invoice", "bestellung", "bestellnummer", "auftragsnummer", "rechnung",
    "rechnungsnummer", "заказ", "заказа", "заказу", "заказе", "заказом", "заказы", "счёт", "счет",
];

/// Words that may stand between them and the number.
#[rustfmt::skip]
pub(super) const NUMBER_WORDS: &[&str] = &[
    "number", "no", "nr", "num", "id", "ref", "is", "номер", "номером",
];

/// Units and counted things after a quantity.
#[rustfmt::skip]
pub(super) const UNITS: &[&str] = &[
    "ns", "us", "µs", "ms", "s", "sec", "seconds", "milliseconds", "minutes", "hours", "days", "b",
    "kb", "mb", "gb", "kib", "mib", "gib", "bytes", "bits", "hz", "rows", "requests", "records",
    "items", "events", "messages", "lines", "tokens", "entries", "users", "files", "times",
    "мс", "сек", "секунд", "байт", "строк", "запросов", "записей", "событий", "сообщений",
];

/// Abbreviations of registers in Latin letters whose numbers have 9 to 15 digits and no letters.
///
/// Each is a format of python-stdnum, except FEIN (another name of EIN), NPI (from presidio), and
/// these, which pages of the issuer, Wikipedia or Wikidata describe: BIN and IIN (Kazakhstan), CUIL
/// (Argentina), EIK (Bulgaria), INN and SNILS (Russia), JMBG (the states of Yugoslavia), KRS
/// (Poland), RNOKPP (Ukraine).
#[rustfmt::skip]
pub(super) const REGISTERS: &[&str] = &[
    "ABN", "ACN", "BIN", "BSN", "CIF", "CNP", "CNPJ", "CPF", "CUI", "CUIL", "CUIT", "EGN", "EIK",
    "EIN", "FEIN", "IIN", "INN", "ITIN", "JMBG", "KRS", "NHS", "NIF", "NIP", "NIPC", "NISS", "NPI",
    "NRIC", "OGRN", "OIB", "PESEL", "REGON", "RNOKPP", "RNTRC", "RRN", "RUC", "RUT", "SIREN",
    "SIRET", "SNILS", "SSN", "TFN", "TIN", "UTR", "VAT",
];

/// Words for passports and travel documents.
#[rustfmt::skip]
pub(super) static PASSPORT: LazyLock<Labels> = LazyLock::new(|| Labels::new(&[
    "passport", "passports", "passport no", "passport of", "passport for",
    "travel document", "загранпаспорт*", "паспорт*",
    "reisepass*", "pasaporte", "passeport", "passaporto", "passaporte", "paspoort", "paszport*",
    "pasaport*", "passi", "여권", "旅券", "パスポート", "护照", "護照", "หนังสือเดินทาง",
]));

/// Words for accounts at a bank.
#[rustfmt::skip]
pub(super) static ACCOUNT: LazyLock<Labels> = LazyLock::new(|| Labels::new(&[
    "account number", "account no", "account num", "account nr", "acct", "acct no", "bank account",
    "savings account", "checking account", "current account", "bank acc", "routing number",
    "routing no", "sort code", "bsb", "iban", "accountnumber", "beneficiary account", "my account",
    "his account",
    "her account", "your account",
    "р/с", "р/сч", "расчетный счет", "расчётный счёт", "расчетного счета", "расчётного счёта",
    "расчетном счете", "расчетному счету", "лицевой счет", "лицевой счёт", "лицевого счета",
    "номер счета", "номер счёта", "банковский счет", "банковский счёт", "счет получателя",
    "счёт получателя", "счет в банке", "счёт в банке", "к/с", "корр счет", "на счет", "на счёт",
    "kontonummer", "konto", "bankverbindung", "cuenta", "numéro de compte", "compte bancaire",
    "conto corrente", "numer konta", "hesap", "계좌", "口座番号", "账号",
]));

/// Words for numbers that a state, an insurer or a bank gives to a person, in several countries.
/// They name a number of any form.
#[rustfmt::skip]
pub(super) static IDENTITY: LazyLock<Labels> = LazyLock::new(|| Labels::new(&[
    // Identity cards and registers of residents.
    "id card", "id card number", "identity card", "identity number", "identity no", "identity code",
    "identification number", "identification no", "my id number", "national id",
    "national identity",
    "national identification", "citizen id", "citizen number", "citizenship no",
    "personal number", "personal id", "personal identity", "personal code", "resident registration",
    "residence permit", "resident id", "civil id", "birth number", "government id", "nric",
    "удостоверени*", "удостоверения личности", "идентификационный номер", "идентификационного",
    "личный номер", "вид на жительство", "военный билет", "военного билета", "вид на жит*",
    "свидетельств*", "снилс", "иин", "личный код",
    "ausweis*", "personalausweis*", "identitätsnummer", "dni", "cédula", "cedula",
    "documento de identidad", "número de identidad", "carte d identité", "carta d identità",
    "documento d identità", "dowód osobisty", "dowodu osobistego", "numer dowodu", "bilhete de",
    "cartão de cidadão", "kimlik*", "personnummer", "personnr", "henkilötunnus", "fødselsnummer",
    "identiteitskaart", "rodné číslo", "身份证", "身分證", "マイナンバー", "個人番号", "주민등록번호",
    "외국인등록번호", "신분증", "บัตรประชาชน", "เลขประจำตัว",
    // Taxes.
    "tax id", "tax ids", "tax no", "tax number", "tax code", "tax file number",
    "tax identification",
    "taxpayer", "taxpayer id", "taxpayer number", "tin", "vat", "vat id", "vat no", "vat number",
    "vat code", "income tax", "инн", "inn", "налогоплательщик*",
    "steuer id", "steuernummer", "steueridentifikationsnummer", "ust id", "umsatzsteuer*", "nif",
    "numéro fiscal", "codice fiscale", "partita iva", "p iva", "vergi", "numer podatkowy",
    "사업자등록번호", "税号",
    // Insurance and health.
    "social security", "social insurance", "national insurance", "insurance number",
    "insurance no", "insurance id", "health card", "health insurance", "health number",
    "healthcare number", "health plan member", "health member", "insurance member",
    "medical member", "medical record", "mrn", "patient id", "patient number", "medicare",
    "medicaid", "beneficiary", "ssn", "pension number", "provider number",
    "полис*", "страховой номер", "страховое свидетельство", "страховой полис",
    "sozialversicherung*", "versicherten*", "versicherungsnummer", "krankenversicher*",
    "rentenversicherung*", "seguridad social", "sécurité sociale", "tessera sanitaria",
    // Licences and vehicles.
    "driver license", "drivers license", "driver s license", "driver licence", "drivers licence",
    "driver s licence", "driving license", "driving licence", "driving permit", "dl number",
    "license number", "licence number", "license no", "licence no", "medical license",
    "voter", "voter id", "election card", "electoral", "vehicle registration", "vin", "vin number",
    "imei",
    "registration number", "registration no", "license plate", "licence plate", "number plate",
    "водительск*", "водительское", "права номер", "номер прав", "госномер", "гос номер",
    "führerschein*", "fahrerlaubnis*", "kennzeichen", "permis de conduire",
    "permiso de conducir", "carnet de conducir", "patente", "patente di guida", "prawo jazdy",
    "prawa jazdy", "körkort*", "ajokortti", "rijbewijs", "ehliyet", "운전면허", "免許証", "驾驶证",
]));

/// Abbreviations and words that stand before long numbers that are not those of a person.
#[rustfmt::skip]
pub(super) const TECHNICAL: &[&str] = &[
    "AND", "ARN", "ASIN", "ASN", "AWS", "BIC", "BUG", "BUILD", "CAS", "CID", "COUNT", "CRC", "CVE",
    "DATE", "DOI", "DUNS", "EAN", "EOF", "EPOCH", "ERR", "ERROR", "FROM", "FREQ", "GMT", "GTIN",
    "HASH",
    "HEX", "HTTP", "HTTPS", "HZ", "ID", "IDS", "INT", "ISBN", "ISIN", "ISO", "ISSN", "JIRA", "KEY",
    "LEN", "LENGTH", "LIMIT", "LSN", "MAX", "MD", "MIN", "MSG", "NOT", "NULL", "NUM", "OCLC",
    "OFFSET", "OID",
    "ORDER", "PID", "PMID", "PORT", "PR", "RATE", "REF", "RFC", "SEED", "SELECT", "SEQ", "SHA",
    "SIZE",
    "SKU", "TID", "TIME", "TODO", "TS", "TTL", "UID", "UNIX", "UPC", "URL", "USEC", "UTC", "UUID",
    "VALUES", "VERSION", "WHERE", "XID", "КПП", "БИК", "ОКПО", "ОКАТО", "ОКТМО", "ОКВЭД", "КБК",
    "УИН",
];
