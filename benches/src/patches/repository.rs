//! The commits of a clone.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};

/// A clone.
pub struct Repository {
    /// Name of its directory.
    pub name: String,
    /// Commit that is checked out.
    pub head: String,
    path: PathBuf,
    objects: Mutex<Objects>,
}

/// A running `git cat-file --batch`.
struct Objects {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Drop for Objects {
    fn drop(&mut self) {
        // It has nothing to finish.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Repository {
    pub fn open(path: &Path) -> Result<Self> {
        let mut process = Command::new("git")
            .arg("-C")
            .arg(path)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = process.stdin.take().context("no input")?;
        let output = BufReader::new(process.stdout.take().context("no output")?);
        let head = git(path, &["rev-parse", "--short=12", "HEAD"])?;
        Ok(Self {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            head: String::from_utf8(head)?.trim().to_owned(),
            path: path.to_owned(),
            objects: Mutex::new(Objects { process, input, output }),
        })
    }

    /// Returns the commits with one parent, newest first.
    pub fn commits(&self) -> Result<Vec<String>> {
        let listed = git(&self.path, &["rev-list", "--no-merges", "--min-parents=1", "HEAD"])?;
        Ok(String::from_utf8(listed)?.lines().map(str::to_owned).collect())
    }

    /// Returns the change of a commit, with renames.
    pub fn diff(&self, commit: &str) -> Result<Vec<u8>> {
        let parent = format!("{commit}^");
        let options = "-c core.quotePath=true diff --no-color --no-ext-diff --no-textconv \
                       --find-renames --full-index --src-prefix=a/ --dst-prefix=b/";
        let mut arguments: Vec<&str> = options.split_whitespace().collect();
        arguments.extend([parent.as_str(), commit]);
        git(&self.path, &arguments)
    }

    /// Returns the content of a file in a revision; `None` if it does not exist.
    pub fn file(&self, revision: &str, path: &str) -> Result<Option<Vec<u8>>> {
        ensure!(!path.contains('\n'), "a path has a line break");
        let mut objects = self.objects.lock().expect("no panic");
        writeln!(objects.input, "{revision}:{path}")?;
        let mut head = String::new();
        objects.output.read_line(&mut head)?;
        if head.ends_with(" missing\n") {
            return Ok(None);
        }
        let size = head.split_whitespace().nth(2).and_then(|size| size.parse().ok());
        let Some(size) = size else { bail!("git cat-file: {head}") };
        let mut content = vec![0; size];
        objects.output.read_exact(&mut content)?;
        objects.output.read_exact(&mut [0])?;
        Ok(Some(content))
    }
}

/// Runs git, and returns its output.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new("git").arg("-C").arg(directory).args(arguments).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {errors}", arguments.join(" "));
    Ok(output.stdout)
}
