//! The backup file: a tar with the dump, the heads of the audit chains, the manifest, and the
//! checksums. The checksums come last, so a truncated file has none. `tar` and `sha256sum --check`
//! read the file, too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use mc_crypto::Head;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{BackupError, Manifest, Progress, Result, Step};

pub(super) const DUMP: &str = "database.dump";
pub(super) const HEADS: &str = "audit-heads.json";
pub(super) const MANIFEST: &str = "manifest.json";
const CHECKSUMS: &str = "SHA256SUMS";
/// Maximum size of an entry other than the dump, in bytes. These are read into memory and are much
/// smaller.
const ENTRY_MAX_BYTES: u64 = 64 << 20;
const BUFFER_BYTES: usize = 256 << 10;

/// Writer of a backup file.
pub(super) struct Writer {
    tar: tar::Builder<BufWriter<File>>,
    checksums: String,
    modified_at: u64,
}

impl Writer {
    pub fn new(file: File, modified_at: u64) -> Self {
        let tar = tar::Builder::new(BufWriter::with_capacity(BUFFER_BYTES, file));
        Self { tar, checksums: String::new(), modified_at }
    }

    /// Adds an entry with all of `content`, whose size need not be known before.
    pub fn add(
        &mut self,
        name: &str,
        content: &mut impl Read,
        progress: &Progress,
    ) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_mtime(self.modified_at);
        let mut entry = self.tar.append_writer(&mut header, name)?;
        let (_, checksum) = copy(content, &mut entry, |bytes| progress(Step::Dumping, bytes))?;
        entry.finish()?;
        self.checksums.push_str(&format!("{checksum}  {name}\n"));
        Ok(())
    }

    /// Adds the checksums and syncs the file to disk.
    pub fn finish(mut self) -> io::Result<()> {
        let checksums = std::mem::take(&mut self.checksums);
        let no_progress: Progress = std::sync::Arc::new(|_, _| {});
        self.add(CHECKSUMS, &mut checksums.as_bytes(), &no_progress)?;
        self.tar.into_inner()?.into_inner()?.sync_all()
    }
}

/// A backup whose bytes match its checksums.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    dump: DumpRange,
    /// Versions, roles and checksums of the backup.
    pub manifest: Manifest,
    /// Heads of the audit chains, by the id of the chain.
    pub heads: HashMap<Uuid, Head>,
}

/// Position of the dump in the file, in bytes.
#[derive(Debug, Clone, Copy)]
struct DumpRange {
    offset: u64,
    length: u64,
}

/// Entries of the file at `path`: the checksum of each, the content of all but the dump, and the
/// dump's position.
struct Entries<'a> {
    path: &'a Path,
    checksums: HashMap<String, String>,
    contents: HashMap<String, Vec<u8>>,
    dump: Option<DumpRange>,
}

impl Archive {
    /// Reads the whole file. Rejects a file that is truncated or changed, or that this program
    /// can't restore.
    pub fn open(path: &Path, progress: &Progress) -> Result<Self> {
        let file = File::open(path).map_err(BackupError::io("open", path))?;
        let (checksums, contents) = (HashMap::new(), HashMap::new());
        let mut found = Entries { path, checksums, contents, dump: None };
        let mut tar = tar::Archive::new(file);
        let entries = tar.entries().map_err(BackupError::io("read", path))?;
        for entry in entries {
            let read = entry.and_then(|entry| found.add(entry, progress));
            read.map_err(|error| found.damaged(error.to_string()))?;
        }
        found.verify()
    }

    /// Opens the file at the dump.
    pub(super) fn dump(&self) -> io::Result<io::Take<File>> {
        use io::Seek as _;
        let DumpRange { offset, length } = self.dump;
        let mut file = File::open(&self.path)?;
        file.seek(io::SeekFrom::Start(offset))?;
        Ok(file.take(length))
    }

    /// Returns the size of the dump in bytes.
    pub fn dump_bytes(&self) -> u64 {
        self.dump.length
    }
}

impl Entries<'_> {
    fn add(&mut self, mut entry: tar::Entry<'_, File>, progress: &Progress) -> io::Result<()> {
        let name = entry.path()?.to_string_lossy().into_owned();
        let (length, offset) = (entry.size(), entry.raw_file_position());
        let mut content = Vec::new();
        let (read, checksum) = if name == DUMP {
            self.dump = Some(DumpRange { offset, length });
            copy(&mut entry, &mut io::sink(), |bytes| progress(Step::Checking, bytes))?
        } else {
            copy(&mut entry.by_ref().take(ENTRY_MAX_BYTES), &mut content, |_| {})?
        };
        if read != length {
            return Err(io::Error::other(format!("{name} has {read} of its {length} bytes")));
        }
        if self.checksums.insert(name.clone(), checksum).is_some() {
            return Err(io::Error::other(format!("it has two entries {name}")));
        }
        self.contents.insert(name, content);
        Ok(())
    }

    fn verify(self) -> Result<Archive> {
        let listed = self.contents.get(CHECKSUMS).ok_or_else(|| self.missing(CHECKSUMS))?;
        let listed = String::from_utf8_lossy(listed);
        let listed: HashMap<_, _> = listed
            .lines()
            .filter_map(|line| line.split_once("  "))
            .map(|(checksum, name)| (name, checksum))
            .collect();
        for name in [DUMP, HEADS, MANIFEST] {
            let found = self.checksums.get(name).ok_or_else(|| self.missing(name))?;
            if listed.get(name) != Some(&found.as_str()) {
                return Err(self.damaged(format!("{name} does not match its checksum")));
            }
        }
        // A manifest of another format has at least these two fields.
        let manifest: serde_json::Value = self.json(MANIFEST)?;
        let format = manifest["format"].as_u64().unwrap_or_default();
        if format > u64::from(super::manifest::FORMAT) {
            let program = manifest["program"].as_str().unwrap_or("(unknown version)").to_owned();
            let detail = format!("format {format}");
            return Err(BackupError::Newer { program, detail });
        }
        let manifest: Manifest = self.json(MANIFEST)?;
        manifest.check()?;
        let heads = self.json(HEADS)?;
        let dump = self.dump.ok_or_else(|| self.missing(DUMP))?;
        Ok(Archive { path: self.path.to_owned(), dump, manifest, heads })
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let text = self.contents.get(name).ok_or_else(|| self.missing(name))?;
        serde_json::from_slice(text)
            .map_err(|error| self.damaged(format!("{name} can't be read: {error}")))
    }

    fn missing(&self, name: &str) -> BackupError {
        self.damaged(format!("{name} is missing, so the file is truncated or no backup"))
    }

    fn damaged(&self, reason: String) -> BackupError {
        BackupError::Damaged { path: self.path.to_owned(), reason }
    }
}

/// Copies all bytes and reports the bytes copied so far. Returns their number and SHA-256.
fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    progress: impl Fn(u64),
) -> io::Result<(u64, String)> {
    let (mut buffer, mut digest, mut bytes) = (vec![0; BUFFER_BYTES], Sha256::new(), 0);
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        digest.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        bytes += read as u64;
        progress(bytes);
    }
    Ok((bytes, hex::encode(digest.finalize())))
}

#[cfg(test)]
mod tests;
