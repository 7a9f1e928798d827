//! Secrets in statements, tables, files and phrases, and text that only looks like one.

use mc_sanitizer::mask;

/// Digits and letters of both cases, generated for these tests.
const RANDOM: &str = "q8Zr2Lm0Tx5vB7nKc3Wd9Yh4Jf6Gs1Pa0QeRuT3kLw8Vb5Mz2Xc7Nj4Hg9Fd6Sa1Po0IyE5tRq";

/// Checks that `secret` is masked and all other text stays.
#[track_caller]
fn check(text: &str, secret: &str) {
    let masked = mask(text).text.into_string();
    let (before, after) = text.split_once(secret).expect("the secret is in the text");
    let whole = masked.starts_with(&format!("{before}[secret:")) && masked.ends_with(after);
    assert!(whole && !masked.contains(secret), "{text}\n{masked}");
    assert_eq!(mask(&masked).text.as_str(), masked, "masking again");
}

#[test]
fn passwords_in_statements_and_commands_are_masked() {
    for text in [
        "ALTER USER app IDENTIFIED BY '@';",
        "create user app identified with mysql_native_password by \"@\"",
        "GRANT ALL ON *.* TO app IDENTIFIED BY PASSWORD '@'",
        "CREATE ROLE app LOGIN ENCRYPTED PASSWORD '@';",
        "ALTER USER app WITH PASSWORD '@';",
        "$p = ConvertTo-SecureString '@' -AsPlainText -Force",
        "$p = ConvertTo-SecureString -String \"@\" -AsPlainText -Force",
        "ConvertTo-SecureString -AsPlainText -Force '@'",
        "пароль для прода @",
        "Пароль от базы: @\n",
        "<add password=&quot;@&quot; user=&quot;app&quot;/>",
        "{\"a\": \"password\\u003d@\"}",
        "password&#61;@\n",
    ] {
        check(&text.replace('@', "Hunter2!x"), "Hunter2!x");
    }
}

#[test]
fn hashes_of_passwords_are_masked() {
    let salted = format!("$apr1${}${}", &RANDOM[..8], &RANDOM[8..30]);
    let bcrypt = format!("$2y$10${}", &RANDOM[..53]);
    let crypt = format!("$6${}${}", &RANDOM[..8], &RANDOM[..70].repeat(2)[..86]);
    for hash in [&salted, &bcrypt, &crypt] {
        check(&format!("alice:{hash}\nbob"), hash);
        check(&format!("hash = \"{hash}\""), hash);
    }
    let sha = format!("{}=", &RANDOM[..27]);
    check(&format!("alice:{{SHA}}{sha}\n"), &sha);
}

/// Hashes of DES-crypt, which 13 characters are, near the name of their file.
#[test]
fn hashes_of_des_crypt_are_masked_in_files_for_them() {
    let (one, other) = (&RANDOM[..13], "./9fKq2WzXb7R");
    for frame in [
        "cat > /etc/nginx/.htpasswd <<EOF\nann:@\nbob:#\nEOF\n",
        "```htpasswd\nann:@\nbob:#\n```\n",
        "# .htpasswd\r\nann:@\r\nbob:#:comment\r\n",
        "{\"htpasswd\": \"\\nann:@\\nbob:#\\n\"}",
    ] {
        let masked = mask(&frame.replace('@', one).replace('#', other)).text.into_string();
        assert!(!masked.contains(one) && !masked.contains(other), "{masked}");
    }
    check(&format!("htpasswd:\nann:{one}\nend"), one);
    check(&format!("htpasswd: ann:{one}\n"), one);
    for text in [
        format!("users:\nann:{one}\nbob:{other}\n"),
        "htpasswd file:\nlog:configuration\nhost:example.local1\n".to_owned(),
    ] {
        assert_eq!(mask(&text).text.as_str(), text);
    }
}

#[test]
fn session_cookies_are_masked() {
    let value = RANDOM[..24].to_lowercase();
    for text in [
        "Cookie: theme=dark; session=@; lang=en",
        "Set-Cookie: sid=@; Path=/; HttpOnly",
        "curl -b 'x' --cookie \"PHPSESSID=@\" https://acme.io",
        "Cookie: connect.sid=@",
        "cookie: remember_token=@; Secure",
    ] {
        check(&text.replace('@', &value), &value);
    }
    let plain = "Set-Cookie: theme=dark-blue-2; Path=/; lang=en-US; consent=accepted";
    assert_eq!(mask(plain).text.as_str(), plain);
}

#[test]
fn generated_password_in_terraform_state_is_masked() {
    let state = "{\"type\": \"random_password\", \"name\": \"db\", \"instances\": [{\n  \
                 \"attributes\": {\"length\": 16, \"result\": \"@\", \"special\": true}}]}";
    check(&state.replace('@', "v!K2m#Qx7-Lp9Rtz"), "v!K2m#Qx7-Lp9Rtz");
}

#[test]
fn columns_of_secrets_are_masked() {
    for (table, secret) in [
        ("user,password,role\nann,@,admin\n", "Hunter2!x"),
        ("user;role;password\nann;admin;\"@\"\n", "Hunter2!x"),
        ("user\tpassword\nann\t@\n", "Hunter2!x"),
        ("name,api_token\nci,@\n", "q8Zr2Lm0Tx5v"),
        ("\"User name\",\"Password\"\n\"ann\",\"@\"\n", "Hunter2!x"),
        ("| user | password |\n|------|:---------|\n| ann | `@` |\n", "Hunter2!x"),
        ("user | secret\n--- | ---\nann | @\n", "q8Zr2Lm0Tx5v"),
        ("Имя,Пароль\nАнна,@\n", "Hunter2!x"),
    ] {
        check(&table.replace('@', secret), secret);
        check(&table.replace('@', secret).replace('\n', "\r\n"), secret);
    }
    let all = mask("user,password\nann,Hunter2!x\nbob,Sommer2024!\n\nSommer2023").text;
    assert_eq!(
        all.as_str(),
        "user,password\nann,[secret:password]\nbob,[secret:password]\n\nSommer2023"
    );
}

#[test]
fn tables_and_lists_without_secrets_stay() {
    for text in [
        "user,password_hint,role\nann,first pet 2,admin\n",
        "    token, secret,\n    user2, key_id,\n",
        "| option | password | default |\n|---|---|---|\n| min_len | length of it | 12 |\n",
        "password, token and key\nare words, too, v2\n",
        "file,token_count\na.rs,1234567\n",
    ] {
        assert_eq!(mask(text).text.as_str(), text);
    }
}

#[test]
fn here_documents_of_secrets_are_masked() {
    for (text, secret) in [
        ("cat <<EOF > .env\nPORT=80\nDB_PASSWORD=@\nEOF\n", "korrektpferd"),
        ("cat <<EOF > .env\r\nDB_PASSWORD=@\r\nEOF\r\n", "korrektpferd"),
        ("n=$((1<<2)); cat <<EOF > .env\nDB_PASSWORD=@\nEOF\n", "korrektpferd"),
        ("cat > prod.env <<-'END'\n\tDB_PASS='@'\n\tEND\nls", "hunter2"),
        ("sudo tee /etc/app/db_password <<EOF\n@\nEOF\n", "hunter2!"),
        ("cat <<\"EOF\" >> secrets/api_token.txt\n@\nEOF\n", "q8Zr2Lm0Tx5v"),
    ] {
        check(&text.replace('@', secret), secret);
    }
    for text in [
        "cat <<EOF > notes.md\npassword rules\nEOF\n",
        "cat <<EOF > .env\nDB_PASSWORD=$PASS\nDB_PASSWORD=changeme\nEOF\n",
        "let a = b << 2;\nstd::cout << password << token;\n",
    ] {
        assert_eq!(mask(text).text.as_str(), text);
    }
}

/// Valid and invalid phrases alike: the words are those of the list of BIP 39.
const PHRASE: &str = "legal winner thank year wave sausage worth useful orbit lunar mango yellow";

#[test]
fn mnemonic_phrases_are_masked() {
    let numbered: Vec<String> =
        PHRASE.split(' ').enumerate().map(|(at, word)| format!("{}. {word}", at + 1)).collect();
    for text in [
        format!("mnemonic: {PHRASE}\n"),
        format!("MNEMONIC=\"{PHRASE}\""),
        format!("The seed phrase is {PHRASE}."),
        format!("Recovery phrase:\n{PHRASE}\n"),
        format!("seed_phrase = '{PHRASE} {PHRASE}'"),
        format!("Сид-фраза: {PHRASE}"),
    ] {
        check(&text, &text[text.find("legal").expect("it")..text.rfind("yellow").expect("it") + 6]);
    }
    let list = format!("seed phrase:\n{}\n", numbered.join("\n"));
    assert!(!mask(&list).text.as_str().contains("mango"));
    for text in [
        "A mnemonic is a sequence of words that encodes the seed of a wallet.",
        "mnemonic: easy words that help people keep long lists from getting lost and mixed",
        "the recovery phrase has twelve words",
    ] {
        assert_eq!(mask(text).text.as_str(), text);
    }
}

/// Phrases of each length with a valid checksum, generated for these tests.
const PHRASES: [&str; 5] = [
    "praise grocery crawl sell ginger ceiling exclude video horn account crater column",
    "bounce pull crime burst canyon enforce century north situate scheme village forward region \
     large rib",
    "start offer place memory capital weekend thumb lecture ritual before left stand vibrant range \
     mystery alone orbit piece",
    "tomato local fashion fresh today eye alter flip winter grid trip useful dream audit grant \
     seven oven route joke cheap about",
    "fury army over direct goddess top wet depend black random sell gym tuition pluck album worry \
     day shine observe eager above taste warm pond",
];

#[test]
fn mnemonic_phrases_without_a_label_are_masked() {
    for phrase in PHRASES {
        let joined = |separator: &str| phrase.replace(' ', separator);
        for secret in [
            phrase.to_owned(),
            phrase.to_uppercase(),
            joined("\n"),
            joined("\r\n"),
            joined(", "),
            joined("-"),
            joined("\", \""),
            joined("\",\n      \""),
            joined(" |\n| 7 | "),
            joined("\n12. "),
        ] {
            check(&secret, &secret);
            check(&format!("Kept in the vault: \"{secret}\".\n"), &secret);
            check(&format!("1) {secret}\n\nNothing else of it."), &secret);
        }
    }
    for (before, after) in [("", " twelve"), ("seven letter ", ""), ("legal ", " yellow")] {
        let masked = mask(&format!("{before}{}{after}", PHRASES[4])).text.into_string();
        assert!(!masked.contains("fury") && !masked.contains("pond"), "{masked}");
    }
    let masked = mask(&PHRASES.join("\n")).text.into_string();
    for word in PHRASES.iter().flat_map(|phrase| phrase.split(' ')) {
        assert!(!masked.contains(word), "{word}: {masked}");
    }
}

#[test]
fn words_without_the_checksum_of_a_phrase_stay() {
    let (but_last, _) = PHRASES[0].rsplit_once(' ').expect("words");
    let mut sorted: Vec<&str> = PHRASES[1].split(' ').take(12).collect();
    sorted.sort_unstable();
    for text in [
        PHRASE.to_owned(),
        but_last.to_owned(),
        format!("{but_last} zebra"),
        PHRASES[0].replace("ginger", "gingers"),
        PHRASES[0].replace("ginger", "ginger (the one that grows in the garden behind)"),
        sorted.join("\n"),
        "true false ".repeat(40),
        "word ".repeat(40),
        "A dog can swim across this river before winter, when cold wind will turn water into ice."
            .to_owned(),
        "let list = [Action::Open, Action::Close, Action::Update, Action::Cancel];".to_owned(),
        "object.update(field, index);\nobject.remove(field, index);\n".repeat(8),
    ] {
        assert_eq!(mask(&text).text.as_str(), text);
    }
}

#[test]
fn public_keys_and_order_numbers_stay() {
    let ed25519 = format!("AAAAC3NzaC1lZDI1NTE5AAAAI{}", &RANDOM[..43]);
    let rsa = format!("AAAAB3NzaC1yc2EAAAADAQABAAABgQ{}+{}==", &RANDOM[..70], &RANDOM[5..70]);
    for text in [
        format!("ssh-ed25519 {ed25519} ann@laptop"),
        format!("deploy key: ssh-ed25519 {ed25519} ci"),
        format!("ssh_authorized_keys:\n  - ssh-rsa {rsa} ann@laptop\n"),
        format!("auth_key = \"ssh-rsa {rsa}\""),
        "order 4012888888881881".to_owned(),
        "Order number: 5555555555554444, paid".to_owned(),
        "order no. 415-555-0132".to_owned(),
        "call us about order #8005550199".to_owned(),
        "заказ № 4012888888881881".to_owned(),
        "Bestellnummer 5555555555554444".to_owned(),
        "order_id = 536-90-4399".to_owned(),
        "order id wc_order_5f3K2mQx7vLp9".to_owned(),
        "order key: ORD-20240131-8F3K2L9Q7Z".to_owned(),
    ] {
        assert_eq!(mask(&text).text.as_str(), text);
    }
    assert!(mask("order 12, card 4012888888881881").text.as_str().contains("[personal:card]"));
}
