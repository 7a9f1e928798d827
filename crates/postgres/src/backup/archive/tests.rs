use std::sync::Arc;

use chrono::Utc;

use super::*;
use crate::backup::Table;
use crate::backup::manifest::FORMAT;

fn quiet() -> Progress {
    Arc::new(|_, _| {})
}

fn manifest() -> Manifest {
    Manifest {
        format: FORMAT,
        program: "9.9.9".into(),
        created_at: Utc::now(),
        database: "7-1-5".into(),
        postgres: "18.1".into(),
        pgvector: "0.8.5".into(),
        sealing_key: "ab".repeat(16),
        migrations: Vec::new(),
        run_as_worker: Vec::new(),
        tables: vec![Table { name: "public.a".into(), rows: 1, digest: "1:2".into() }],
    }
}

/// A backup whose dump is `dump`.
fn written(path: &Path, manifest: &serde_json::Value, dump: &[u8]) {
    let file = File::create(path).expect("a file");
    let mut writer = Writer::new(file, 0);
    let manifest = manifest.to_string();
    for (name, mut content) in [(DUMP, dump), (HEADS, &b"{}"[..]), (MANIFEST, manifest.as_bytes())]
    {
        writer.add(name, &mut content, &quiet()).expect("written");
    }
    writer.finish().expect("finished");
}

fn refusal(path: &Path) -> String {
    Archive::open(path, &quiet()).expect_err("no backup to restore").to_string()
}

#[test]
fn what_was_written_is_read_and_the_dump_is_where_it_should_be() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("backup");
    let dump: Vec<u8> = (0..700_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    written(&path, &serde_json::to_value(manifest()).expect("JSON"), &dump);
    let archive = Archive::open(&path, &quiet()).expect("whole");
    let mut found = Vec::new();
    archive.dump().and_then(|mut part| part.read_to_end(&mut found)).expect("the dump");
    assert_eq!((archive.dump_bytes(), found), (dump.len() as u64, dump));
    assert_eq!(archive.manifest.tables, manifest().tables);
}

#[test]
fn a_file_that_is_cut_short_or_changed_anywhere_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let (path, broken) = (dir.path().join("backup"), dir.path().join("broken"));
    written(&path, &serde_json::to_value(manifest()).expect("JSON"), &[7; 3000]);
    let whole = std::fs::read(&path).expect("the file");
    // The padding of the last part, and the two empty blocks at the end, hold nothing.
    let told = whole.iter().rposition(|byte| *byte != 0).expect("something") + 1;
    for length in (0..told).step_by(97) {
        std::fs::write(&broken, &whole[..length]).expect("cut");
        assert!(refusal(&broken).contains("is no whole backup"), "cut at {length}");
    }
    for at in (0..told).step_by(89) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        std::fs::write(&broken, &changed).expect("changed");
        let opened = Archive::open(&broken, &quiet());
        // What fills a part up to the next block belongs to nothing.
        assert!(opened.is_err() || whole[at] == 0, "changed at {at}");
    }
    for strange in [&b""[..], b"SQLite format 3\0", &[0; 4096]] {
        std::fs::write(&broken, strange).expect("another file");
        assert!(refusal(&broken).contains("is no whole backup"));
    }
    assert!(refusal(&dir.path().join("none")).contains("can't open"));
}

#[test]
fn a_backup_of_a_later_program_is_refused_with_its_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("backup");
    let mut later = serde_json::to_value(manifest()).expect("JSON");
    later["migrations"] = serde_json::json!([{ "version": 99_999, "checksum": "00" }]);
    written(&path, &later, b"dump");
    let said = refusal(&path);
    assert!(said.contains("memory-copilot 9.9.9") && said.contains("migration 99999"), "{said}");
    // Of another form, only its number has to be where it is.
    written(&path, &serde_json::json!({ "format": FORMAT + 1, "program": "10.0.0" }), b"dump");
    let said = refusal(&path);
    assert!(
        said.contains("memory-copilot 10.0.0") && said.contains("that version or a later"),
        "{said}"
    );
    let mut other = serde_json::to_value(manifest()).expect("JSON");
    other["migrations"] = serde_json::json!([{ "version": 1, "checksum": "00" }]);
    written(&path, &other, b"dump");
    assert!(refusal(&path).contains("another build (its migration 1 differs)"));
}
