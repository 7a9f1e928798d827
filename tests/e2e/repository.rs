//! Small git repositories to index.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Creates a repository with the code of the seeds' examples, a decision record and a broken file.
pub fn cart_sessions(directory: &Path) -> PathBuf {
    let repository = directory.join("shop");
    write(
        &repository,
        "app/services/cart_sessions/setting.rb",
        "module CartSessions\n  # How long to wait before a reminder is sent.\n  class \
         Setting\n    def trigger_delay_time_in_minutes\n      return nil if \
         delay_unit.nil?\n\n      delay_value * UNITS.fetch(delay_unit)\n    end\n\n    def \
         enabled?\n      active && delay_value.positive?\n    end\n  end\nend\n",
    );
    write(
        &repository,
        "app/models/order.rb",
        "class Order\n  # Sums the lines and adds the shipping fee.\n  def total\n    \
         lines.sum(&:price) + shipping_fee\n  end\nend\n",
    );
    write(
        &repository,
        "docs/adr/0007-timing-rules.md",
        "---\ntitle: Timing Rules\ntags: [adr, timing]\nscope: [cart_sessions]\n---\n# Timing \
         Rules\n\n## Decision\n\nDelays are stored with their unit and converted at the edge.\n",
    );
    write(&repository, "broken.bin", "a\0b");
    git(&repository, &["init", "-q", "-b", "main"]);
    commit(&repository, "first");
    repository
}

/// Creates a repository with a copy of the source files in a directory.
pub fn of_sources(directory: &Path, sources: &Path) -> PathBuf {
    let repository = directory.join("sources");
    for entry in std::fs::read_dir(sources).unwrap().flatten() {
        if let Ok(text) = std::fs::read_to_string(entry.path()) {
            write(&repository, entry.file_name().to_str().unwrap(), &text);
        }
    }
    git(&repository, &["init", "-q", "-b", "main"]);
    commit(&repository, "sources");
    repository
}

/// Writes a file of the repository, with its directories.
pub fn write(repository: &Path, path: &str, text: &str) {
    let path = repository.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Commits everything.
pub fn commit(repository: &Path, message: &str) {
    git(repository, &["add", "-A"]);
    let author = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    git(repository, &[&author[..], &["commit", "-q", "-m", message]].concat());
}

fn git(repository: &Path, args: &[&str]) {
    let status = Command::new("git").arg("-C").arg(repository).args(args).status().unwrap();
    assert!(status.success(), "git {args:?}");
}
