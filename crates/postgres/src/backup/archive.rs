//! The file: a tar with the dump, the ends of the audit, the manifest, and, last, the sums over these, so that
//! a file that was cut short has none. Any `tar` and `sha256sum --check` read it, too.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use mc_crypto::Head;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{BackupError, Manifest, Progress, Step};

pub(super) const DUMP: &str = "database.dump";
pub(super) const HEADS: &str = "audit-heads.json";
pub(super) const MANIFEST: &str = "manifest.json";
const SUMS: &str = "SHA256SUMS";
/// All but the dump are read into memory; none of them comes near to this.
const LARGEST: u64 = 64 << 20;
const PART: usize = 256 << 10;

/// Writes a backup from its beginning to its end.
pub(super) struct Writer {
    tar: tar::Builder<BufWriter<File>>,
    sums: String,
    modified: u64,
}

impl Writer {
    pub fn new(file: File, modified: u64) -> Self {
        let tar = tar::Builder::new(BufWriter::with_capacity(PART, file));
        Self { tar, sums: String::new(), modified }
    }

    /// Adds all that `content` has, however much that will be.
    pub fn add(
        &mut self,
        name: &str,
        content: &mut impl Read,
        progress: &Progress,
    ) -> io::Result<()> {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o600);
        header.set_mtime(self.modified);
        let mut entry = self.tar.append_writer(&mut header, name)?;
        let (_, sum) = copy(content, &mut entry, |bytes| progress(Step::Dumping, bytes))?;
        entry.finish()?;
        self.sums.push_str(&format!("{sum}  {name}\n"));
        Ok(())
    }

    /// Adds the sums; what was written is on disk afterwards.
    pub fn finish(mut self) -> io::Result<()> {
        let sums = std::mem::take(&mut self.sums);
        let nobody: Progress = std::sync::Arc::new(|_, _| {});
        self.add(SUMS, &mut sums.as_bytes(), &nobody)?;
        self.tar.into_inner()?.into_inner()?.sync_all()
    }
}

/// A whole backup: every byte of it was compared with the sums.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    dump: (u64, u64),
    /// What it says of itself.
    pub manifest: Manifest,
    /// Where the chains of the audit end, by the id of the chain.
    pub heads: HashMap<Uuid, Head>,
}

/// What is in the file: the sum of each part, the small ones whole, and where the dump lies.
#[derive(Default)]
struct Parts {
    sums: HashMap<String, String>,
    small: HashMap<String, Vec<u8>>,
    dump: Option<(u64, u64)>,
}

impl Archive {
    /// Reads all of the file, and refuses one that is not as it was written or that this program can't restore.
    pub fn open(path: &Path, progress: &Progress) -> Result<Self, BackupError> {
        let damaged = |reason: String| BackupError::Damaged { path: path.to_owned(), reason };
        let file = File::open(path).map_err(BackupError::io("open", path))?;
        let mut parts = Parts::default();
        let mut tar = tar::Archive::new(file);
        let entries = tar.entries().map_err(BackupError::io("read", path))?;
        for entry in entries {
            let read = entry.and_then(|entry| parts.take_in(entry, progress));
            read.map_err(|error| damaged(error.to_string()))?;
        }
        parts.opened(path).map_err(|fault| match fault {
            Fault::Damaged(reason) => damaged(reason),
            Fault::Refused(error) => error,
        })
    }

    /// The dump, from its beginning.
    pub(super) fn dump(&self) -> io::Result<io::Take<File>> {
        use io::Seek as _;
        let (offset, length) = self.dump;
        let mut file = File::open(&self.path)?;
        file.seek(io::SeekFrom::Start(offset))?;
        Ok(file.take(length))
    }

    /// Bytes of the dump.
    pub fn dump_bytes(&self) -> u64 {
        self.dump.1
    }
}

enum Fault {
    Damaged(String),
    Refused(BackupError),
}

impl Parts {
    fn take_in(&mut self, mut entry: tar::Entry<'_, File>, progress: &Progress) -> io::Result<()> {
        let name = entry.path()?.to_string_lossy().into_owned();
        let (size, offset) = (entry.size(), entry.raw_file_position());
        let mut small = Vec::new();
        let (read, sum) = if name == DUMP {
            self.dump = Some((offset, size));
            copy(&mut entry, &mut io::sink(), |bytes| progress(Step::Checking, bytes))?
        } else {
            copy(&mut entry.by_ref().take(LARGEST), &mut small, |_| {})?
        };
        if read != size {
            return Err(io::Error::other(format!("{name} has {read} of its {size} bytes")));
        }
        if self.sums.insert(name.clone(), sum).is_some() {
            return Err(io::Error::other(format!("it has {name} twice")));
        }
        self.small.insert(name, small);
        Ok(())
    }

    fn opened(self, path: &Path) -> Result<Archive, Fault> {
        let written = self.small.get(SUMS).ok_or_else(|| missing(SUMS))?;
        let written = String::from_utf8_lossy(written);
        let sums: HashMap<_, _> = written
            .lines()
            .filter_map(|line| line.split_once("  "))
            .map(|(sum, name)| (name, sum))
            .collect();
        for name in [DUMP, HEADS, MANIFEST] {
            let found = self.sums.get(name).ok_or_else(|| missing(name))?;
            if sums.get(name) != Some(&found.as_str()) {
                return Err(Fault::Damaged(format!("{name} is not as it was written")));
            }
        }
        // One of another form may have anything in it but these two.
        let manifest: serde_json::Value = self.json(MANIFEST)?;
        let format = manifest["format"].as_u64().unwrap_or_default();
        if format > u64::from(super::manifest::FORMAT) {
            let program = manifest["program"].as_str().unwrap_or("of a later time").to_owned();
            let what = format!("format {format}");
            return Err(Fault::Refused(BackupError::Newer { program, what }));
        }
        let manifest: Manifest = self.json(MANIFEST)?;
        manifest.check().map_err(Fault::Refused)?;
        let heads = self.json(HEADS)?;
        let dump = self.dump.ok_or_else(|| missing(DUMP))?;
        Ok(Archive { path: path.to_owned(), dump, manifest, heads })
    }

    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<T, Fault> {
        let text = self.small.get(name).ok_or_else(|| missing(name))?;
        serde_json::from_slice(text)
            .map_err(|error| Fault::Damaged(format!("{name} can't be read: {error}")))
    }
}

fn missing(name: &str) -> Fault {
    Fault::Damaged(format!("{name} is missing, so the file was cut short or is something else"))
}

/// Copies everything, telling how much it was so far; answers how much there was and its SHA-256.
fn copy(
    from: &mut impl Read,
    to: &mut impl Write,
    progress: impl Fn(u64),
) -> io::Result<(u64, String)> {
    let (mut part, mut sum, mut bytes) = (vec![0; PART], Sha256::new(), 0);
    loop {
        let read = match from.read(&mut part) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        sum.update(&part[..read]);
        to.write_all(&part[..read])?;
        bytes += read as u64;
        progress(bytes);
    }
    Ok((bytes, hex::encode(sum.finalize())))
}

#[cfg(test)]
mod tests;
