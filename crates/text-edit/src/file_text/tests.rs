use super::*;

fn decode(bytes: &[u8]) -> FileText {
    FileText::decode(bytes).expect("the bytes are text")
}

#[test]
fn byte_order_marks_choose_the_encoding_and_are_no_text() {
    for (bytes, encoding) in [
        (&b"a\xC3\xA9"[..], Encoding::Utf8),
        (b"\xEF\xBB\xBFa\xC3\xA9", Encoding::Utf8Bom),
        (b"\xFF\xFEa\0\xE9\0", Encoding::Utf16Le),
        (b"\xFE\xFF\0a\0\xE9", Encoding::Utf16Be),
    ] {
        let file = decode(bytes);
        assert_eq!((file.text(), file.encoding()), ("aé", encoding));
        assert_eq!(file.bytes(), bytes);
        let encoded = encoding.encode(file.text());
        assert_eq!(encoded, bytes[encoding.mark_len()..], "encoding again yields the same bytes");
        assert_eq!(file.byte_offset(3), bytes.len());
    }
}

#[test]
fn legacy_encodings_are_shown_with_escapes() {
    let file = decode(b"caf\xE9 \xC3\xA9\r\n\x80\x81z");
    assert_eq!(file.encoding(), Encoding::Unknown8Bit);
    assert_eq!(file.text(), "caf\\xE9 é\r\n\\x80\\x81z");
    let at = |needle: &str| file.byte_offset(file.text().find(needle).expect("it is there"));
    assert_eq!((at("\\xE9"), at("é"), at("\\x81"), at("z")), (3, 5, 10, 11));
    assert_eq!(file.byte_offset(file.text().len()), file.bytes().len());
}

#[test]
fn nul_and_broken_utf_16_are_no_text() {
    for (bytes, expected) in [
        (&b"a\0b"[..], NotText::Nul),
        (b"\xFF\xFEa\0\0\0", NotText::Nul),
        (b"\xFF\xFE\0\0a\0\0\0", NotText::Nul),
        (b"\xFF\xFEa\0b", NotText::InvalidUtf16),
        (b"\xFE\xFF\xD8\0", NotText::InvalidUtf16),
    ] {
        assert_eq!(FileText::decode(bytes), Err(expected), "{bytes:?}");
    }
}

#[test]
fn size_of_a_file_is_limited() {
    assert!(FileText::decode(&vec![b'a'; MAX_FILE_BYTES]).is_ok());
    assert!(matches!(
        FileText::decode(&vec![b'a'; MAX_FILE_BYTES + 1]),
        Err(NotText::TooLarge { .. })
    ));
}

#[test]
fn line_endings_are_known_for_each_line() {
    let file = decode(b"a\r\nb\nc\r\nd");
    let endings: Vec<_> = file.line_endings().collect();
    let (lf, crlf) = (Some(LineEnding::Lf), Some(LineEnding::CrLf));
    assert_eq!(endings, [crlf, lf, crlf, None]);
    assert_eq!(file.main_line_ending(), LineEnding::CrLf);
    assert_eq!(file.line_count(), 4);
    assert!(!file.ends_with_line_ending() && decode(b"a\n").ends_with_line_ending());
    assert_eq!([0, 2, 3, 6].map(|at| file.line_at(at)), [0, 0, 1, 2]);
}
