//! Repositories on this disk that lead into a protected directory.

use std::os::unix::fs::symlink;

use super::*;

/// The service neither waits for the writer of a pipe nor reads a device without end.
#[tokio::test]
async fn list_of_borrowed_objects_is_a_small_file() {
    let (root, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    repository(root.path());
    let origin = parse(root.path().to_str().expect("UTF-8")).expect("a location");
    let list = root.path().join(".git/objects/info/alternates");
    let pipe = || {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &list, kind, mode, 0).expect("pipe");
    };
    let device = || symlink("/dev/zero", &list).expect("link");
    let large = || fs::write(&list, vec![b'#'; (1 << 20) + 1]).expect("file");
    for create in [&pipe as &dyn Fn(), &device, &large] {
        create();
        let cancel = CancellationToken::new();
        let checkout = checkout_anywhere(&origin, "", cache.path(), &cancel).await;
        let message = checkout.expect_err("no small file").to_string();
        assert!(message.contains("alternates is not a file of at most 1 MiB"), "{message}");
        fs::remove_file(&list).expect("removed");
    }
    let many: String = (0..64).map(|number| format!("/none/{number}\n")).collect();
    fs::write(&list, many).expect("file");
    let cancel = CancellationToken::new();
    let error = checkout_anywhere(&origin, "", cache.path(), &cancel).await.expect_err("64 others");
    assert!(error.to_string().contains("more than 63 directories"), "{error}");
    fs::write(&list, "\"/none\"\n").expect("file");
    let cancel = CancellationToken::new();
    let error = checkout_anywhere(&origin, "", cache.path(), &cancel).await.expect_err("quotes");
    assert!(error.to_string().contains("quotation marks"), "{error}");
    fs::write(&list, "secret".repeat(100)).expect("file");
    let cancel = CancellationToken::new();
    let error = checkout_anywhere(&origin, "", cache.path(), &cancel).await.expect_err("a path");
    assert!(error.to_string().contains("alternates cannot be read"), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    // It borrows from itself.
    fs::write(&list, "# none\n.\n../objects\n").expect("file");
    let cancel = CancellationToken::new();
    checkout_anywhere(&origin, "", cache.path(), &cancel).await.expect("a tree");
}

#[tokio::test]
async fn repository_that_leads_into_a_protected_directory_is_rejected() {
    let (root, cache) =
        (tempfile::tempdir().expect("directory"), tempfile::tempdir().expect("directory"));
    let data = root.path().join("data");
    let copy = data.join("repositories/copy");
    let [by_file, borrowing, linked] =
        ["by-file", "borrowing", "linked"].map(|name| root.path().join(name));
    for directory in [&copy, &by_file, &borrowing, &linked] {
        fs::create_dir_all(directory).expect("directory");
    }
    repository(&copy);
    fs::write(by_file.join(".git"), format!("gitdir: {}\n", copy.join(".git").display()))
        .expect("file");
    repository(&borrowing);
    let alternates = format!("{}\n", copy.join(".git/objects").display());
    fs::write(borrowing.join(".git/objects/info/alternates"), alternates).expect("file");
    symlink(copy.join(".git"), root.path().join("link.git")).expect("link");
    repository(&linked);
    for name in ["objects", "refs"] {
        fs::remove_dir_all(linked.join(".git").join(name)).expect("removed");
        symlink(copy.join(".git").join(name), linked.join(".git").join(name)).expect("link");
    }

    let protected = ProtectedDirectories::with_data_dir(&data);
    let [by_file, borrowing, linked] =
        [by_file, borrowing, linked].map(|path| path.display().to_string());
    let by_link = format!("file://{}/link", root.path().display());
    // Git accepts such a file of any name, but the service does not.
    fs::copy(Path::new(&by_file).join(".git"), root.path().join("list")).expect("file");
    let list = parse(&format!("file://{}/list", root.path().display())).expect("a location");
    let cancel = CancellationToken::new();
    let error = checkout_anywhere(&list, "", cache.path(), &cancel).await.expect_err("a file");
    assert!(matches!(error, Error::RepositoryNotFound(_)), "{error}");
    for (location, requested_ref) in [
        (&by_file, ""),
        (&by_file, "main"),
        (&borrowing, ""),
        (&borrowing, "main"),
        (&linked, ""),
        (&linked, "main"),
        (&by_link, ""),
    ] {
        let (origin, cancel) = (parse(location).expect("a location"), CancellationToken::new());
        let cache = in_directory(cache.path());
        let access = NetworkAccess::Anywhere;
        let request =
            CheckoutRequest { origin: &origin, requested_ref, access, credential: None, cache };
        let checkout = checkout(request, &protected, &cancel).await;
        let polled = state(&origin, requested_ref, access, &protected, &cancel).await;
        for error in [checkout.expect_err("protected"), polled.expect_err("protected")] {
            let message = error.to_string();
            assert!(message.contains("never reads it"), "{location} {requested_ref}: {message}");
        }
    }
}
