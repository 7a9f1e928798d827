use std::sync::Arc;

use chrono::Utc;

use super::*;
use crate::backup::Table;
use crate::backup::manifest::FORMAT;

fn no_progress() -> Progress {
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
        encryption_key_id: "ab".repeat(16),
        migrations: Vec::new(),
        run_as_worker: Vec::new(),
        tables: vec![Table { name: "public.a".into(), rows: 1, digest: "1:2".into() }],
    }
}

/// Writes a backup with this manifest and dump.
fn write_backup(path: &Path, manifest: &serde_json::Value, dump: &[u8]) {
    let file = File::create(path).expect("a file");
    let mut writer = Writer::new(file, 0);
    let manifest = manifest.to_string();
    for (name, mut content) in [(DUMP, dump), (HEADS, &b"{}"[..]), (MANIFEST, manifest.as_bytes())]
    {
        writer.add(name, &mut content, &no_progress()).expect("written");
    }
    writer.finish().expect("finished");
}

fn rejection(path: &Path) -> String {
    Archive::open(path, &no_progress()).expect_err("rejected").to_string()
}

#[test]
fn archive_returns_the_written_manifest_and_dump() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("backup");
    let dump: Vec<u8> = (0..700_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    write_backup(&path, &serde_json::to_value(manifest()).expect("JSON"), &dump);
    let archive = Archive::open(&path, &no_progress()).expect("a complete file");
    let mut found = Vec::new();
    archive.dump().and_then(|mut dump| dump.read_to_end(&mut found)).expect("the dump");
    assert_eq!((archive.dump_bytes(), found), (dump.len() as u64, dump));
    assert_eq!(archive.manifest.tables, manifest().tables);
}

#[test]
fn archive_rejects_a_truncated_or_changed_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, broken) = (dir.path().join("backup"), dir.path().join("broken"));
    write_backup(&path, &serde_json::to_value(manifest()).expect("JSON"), &[7; 3000]);
    let whole = std::fs::read(&path).expect("the file");
    // The padding of the last entry and the two empty blocks at the end hold no data.
    let length_of_data = whole.iter().rposition(|byte| *byte != 0).expect("data") + 1;
    for length in (0..length_of_data).step_by(97) {
        std::fs::write(&broken, &whole[..length]).expect("truncated");
        assert!(rejection(&broken).contains("is no complete backup"), "truncated at {length}");
    }
    for at in (0..length_of_data).step_by(89) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        std::fs::write(&broken, &changed).expect("changed");
        let opened = Archive::open(&broken, &no_progress());
        // Padding up to the next block belongs to no entry.
        assert!(opened.is_err() || whole[at] == 0, "changed at {at}");
    }
    for foreign in [&b""[..], b"SQLite format 3\0", &[0; 4096]] {
        std::fs::write(&broken, foreign).expect("another file");
        assert!(rejection(&broken).contains("is no complete backup"));
    }
    assert!(rejection(&dir.path().join("none")).contains("can't open"));
}

#[test]
fn archive_rejects_a_backup_of_a_newer_program() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("backup");
    let mut later = serde_json::to_value(manifest()).expect("JSON");
    later["migrations"] = serde_json::json!([{ "version": 99_999, "checksum": "00" }]);
    write_backup(&path, &later, b"dump");
    let message = rejection(&path);
    assert!(
        message.contains("memory-copilot 9.9.9") && message.contains("migration 99999"),
        "{message}"
    );
    // Of another format, only the fields `format` and `program` are read.
    write_backup(&path, &serde_json::json!({ "format": FORMAT + 1, "program": "10.0.0" }), b"dump");
    let message = rejection(&path);
    assert!(
        message.contains("memory-copilot 10.0.0") && message.contains("that version or a later"),
        "{message}"
    );
    let mut other = serde_json::to_value(manifest()).expect("JSON");
    other["migrations"] = serde_json::json!([{ "version": 1, "checksum": "00" }]);
    write_backup(&path, &other, b"dump");
    assert!(rejection(&path).contains("its migration 1 differs"));
}
