//! No IDL makes the generator panic: the corpus, damaged at random.

use std::fs;
use std::path::Path;

/// Number of times each file is damaged.
const ROUNDS: u64 = 20;

/// Returns a reproducible number below `limit` (splitmix64).
fn below(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((number ^ (number >> 31)) % limit as u64).unwrap()
}

/// Removes some characters, or inserts a misplaced word or mark.
fn damaged(text: &str, state: &mut u64) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let marks =
        ["{", "}", "(", ")", "<", ">", "'", "\"", "/*", "=", ":", "-", "0", "é", "required"];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=below(state, 3) {
        let start = below(state, chars.len());
        let end = (start + below(state, 8)).min(chars.len());
        let new = match below(state, 3) {
            0 => "",
            1 => words[below(state, words.len())],
            _ => marks[below(state, marks.len())],
        };
        chars.splice(start..end, new.chars());
    }
    chars.into_iter().collect()
}

#[test]
fn damaged_files_are_refused_or_generated() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let files: Vec<_> = fs::read_dir(corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    for file in &files {
        fs::copy(file, dir.path().join(file.file_name().unwrap())).unwrap();
    }
    let mut state = 1;
    let (mut refused, mut generated) = (0, 0);
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let copy = dir.path().join(file.file_name().unwrap());
        for _ in 0..ROUNDS {
            fs::write(&copy, damaged(&text, &mut state)).unwrap();
            let schema = breezeway_idl::read(std::slice::from_ref(&copy), &[]);
            match schema.and_then(|schema| breezeway_idl::generate(&schema)) {
                Ok(_) => generated += 1,
                Err(error) => {
                    refused += 1;
                    let place = error.to_string();
                    assert!(place.contains(".thrift:"), "{place}");
                }
            }
        }
        fs::write(&copy, text).unwrap();
    }
    assert!(refused > 0 && generated > 0, "{refused} refused, {generated} generated");
}
