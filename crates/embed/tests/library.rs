//! A missing ONNX runtime. In a process of its own: a library that loaded once stays for the
//! process.

use mc_embed::{Error, ProviderSettings, RuntimeSettings, open};

#[tokio::test]
async fn missing_library_error_suggests_make_setup() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = ProviderSettings::Folder { dir: folder.path().to_owned(), name: None };
    let library = folder.path().join("libonnxruntime.so");
    let runtime = RuntimeSettings { onnx_library: Some(library), ..RuntimeSettings::default() };
    let error = open(&settings, &runtime).await.err().expect("no library");
    assert!(matches!(error, Error::Library { .. }), "{error:?}");
    assert!(error.to_string().contains("make setup"), "{error}");
    assert!(error.to_string().contains("embedding.onnxruntime_library"), "{error}");
}
