//! A small repository with commits of all kinds: files are changed, added, renamed and deleted.

use std::fs;
use std::path::Path;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::Result;
use super::source::git;

/// Files of the first commit.
const FILES: usize = 15;
/// Definitions of a file in the first commit.
const DEFINITIONS: usize = 8;

/// Creates the repository with a first commit and `count` further ones.
pub fn create(directory: &Path, count: usize, seed: u64) -> Result<()> {
    let mut repository = Generated::new(StdRng::seed_from_u64(seed));
    fs::create_dir_all(directory)?;
    git(directory, &["init", "--quiet", "--initial-branch=main"])?;
    for _ in 0..FILES {
        repository.add();
    }
    repository.commit(directory, "Start")?;
    for number in 1..=count {
        repository.change();
        repository.commit(directory, &format!("Change {number}"))?;
    }
    Ok(())
}

/// A file with its definitions: name and number.
struct File {
    path: String,
    definitions: Vec<(usize, u32)>,
}

struct Generated {
    random: StdRng,
    files: Vec<File>,
    /// Number of names so far.
    named: usize,
}

impl Generated {
    fn new(random: StdRng) -> Self {
        Self { random, files: Vec::new(), named: 0 }
    }

    fn name(&mut self) -> usize {
        self.named += 1;
        self.named
    }

    fn add(&mut self) {
        let ending = ["rs", "py", "md"][self.files.len() % 3];
        let path = format!("part{}/file{}.{ending}", self.files.len() % 4, self.name());
        let definitions = (0..DEFINITIONS).map(|_| self.definition()).collect();
        self.files.push(File { path, definitions });
    }

    fn definition(&mut self) -> (usize, u32) {
        (self.name(), self.random.random_range(2..1_000))
    }

    /// Changes a part of the files.
    fn change(&mut self) {
        for _ in 0..self.random.random_range(1..4) {
            let at = self.random.random_range(0..self.files.len());
            let new = self.definition();
            let definitions = self.files[at].definitions.len();
            let place = self.random.random_range(0..definitions);
            match self.random.random_range(0..8) {
                0 | 1 => self.files[at].definitions.insert(place, new),
                2 => self.files[at].definitions[place].1 += 1,
                3 if definitions > 2 => drop(self.files[at].definitions.remove(place)),
                4 => self.files[at].path = self.files[at].path.replace("file", "moved"),
                5 if self.files.len() > FILES / 2 => drop(self.files.remove(at)),
                6 => self.add(),
                _ => self.files[at].definitions.push(new),
            }
        }
    }

    fn commit(&self, directory: &Path, message: &str) -> Result<()> {
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with(".git") {
                fs::remove_dir_all(path)?;
            }
        }
        for file in &self.files {
            let path = directory.join(&file.path);
            fs::create_dir_all(path.parent().unwrap_or(directory))?;
            fs::write(path, file.text())?;
        }
        git(directory, &["add", "--all"])?;
        git(directory, &["commit", "--quiet", "--allow-empty", "--message", message]).map(drop)
    }
}

impl File {
    fn text(&self) -> String {
        let ending = self.path.rsplit('.').next().unwrap_or_default();
        let definitions = self.definitions.iter().map(|(name, number)| match ending {
            "rs" => format!(
                "/// Weighs the parcels of step {name}.\npub fn weigh_{name}(parcels: &[u64]) -> \
                 u64 {{\n    let mut total = {number};\n    for parcel in parcels {{\n        \
                 total += parcel * {name};\n    }}\n    total\n}}\n\n"
            ),
            "py" => {
                let doc = format!("\"\"\"Weighs the parcels of step {name}.\"\"\"");
                let sum = format!("        total += parcel * {name}\n");
                format!(
                    "def weigh_{name}(parcels):\n    {doc}\n    total = {number}\n    \
                     for parcel in parcels:\n{sum}    return total\n\n\n"
                )
            }
            _ => format!(
                "## Step {name}\n\nThe parcels of step {name} weigh at least {number} grams. The \
                 scale reports them one by one.\n\n"
            ),
        });
        definitions.collect()
    }
}
