//! Repositories on this disk that lead into a protected directory.

use std::os::unix::fs::symlink;

use super::*;

#[tokio::test]
async fn repository_that_leads_into_a_protected_directory_is_rejected() {
    let (root, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let data = root.path().join("data");
    let copy = data.join("repositories/copy");
    let [by_file, borrowing] = ["by-file", "borrowing"].map(|name| root.path().join(name));
    for directory in [&copy, &by_file, &borrowing] {
        fs::create_dir_all(directory).expect("directory");
    }
    repository(&copy);
    fs::write(by_file.join(".git"), format!("gitdir: {}\n", copy.join(".git").display()))
        .expect("file");
    repository(&borrowing);
    let alternates = format!("{}\n", copy.join(".git/objects").display());
    fs::write(borrowing.join(".git/objects/info/alternates"), alternates).expect("file");
    symlink(copy.join(".git"), root.path().join("link.git")).expect("link");

    let protected = ProtectedDirectories::with_data_dir(&data);
    let [by_file, borrowing] = [by_file, borrowing].map(|path| path.display().to_string());
    let by_link = format!("file://{}/link", root.path().display());
    for (location, requested_ref) in
        [(&by_file, ""), (&by_file, "main"), (&borrowing, ""), (&borrowing, "main"), (&by_link, "")]
    {
        let (origin, cancel) = (parse(location).expect("a location"), CancellationToken::new());
        let cache = in_directory(cache.path());
        let access = NetworkAccess::Anywhere;
        let checkout = checkout(&origin, requested_ref, access, &protected, cache, &cancel).await;
        let message = checkout.expect_err("protected").to_string();
        assert!(message.contains("never indexes it"), "{location} {requested_ref}: {message}");
    }
}
