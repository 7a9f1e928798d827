//! A patch and the file that it is applied to, separated by a NUL: nothing panics, and what is
//! rendered makes the same file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mc_patch::{Tolerance, apply, parse, render};

fuzz_target!(|input: &[u8]| {
    let split = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (text, content) = input.split_at(split);
    let content = content.get(1..);
    let Ok(patch) = parse(text) else { return };
    for file in &patch.files {
        let Ok(applied) = apply(file, content, Tolerance::Tolerant) else { continue };
        let clean = render(file, content, &applied);
        if applied.replacements.is_empty() {
            continue;
        }
        let again = parse(&clean).expect("a clean diff");
        let repeated = apply(&again.files[0], content, Tolerance::Exact).expect("applied");
        assert_eq!(repeated.content, applied.content);
    }
});
