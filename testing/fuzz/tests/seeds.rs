//! Every input that the repository keeps, through its target.

use std::fs;
use std::path::{Path, PathBuf};

use breezeway_fuzz::TARGETS;

fn here(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// Returns the names of the files in a folder, without extensions, in order.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let name = |entry: fs::DirEntry| entry.path().file_stem().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<_> = entries.map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

#[test]
fn every_seed_and_every_regression_runs_through_its_target() {
    for (target, run) in TARGETS {
        let folder = here("seeds").join(target);
        let seeds = names(&folder);
        assert!(!seeds.is_empty(), "{target} has no seed");
        for seed in seeds {
            // A test that fails shows which.
            println!("{target}/{seed}");
            run(&fs::read(folder.join(seed)).unwrap());
        }
        // The least that a fuzzer begins with.
        run(&[]);
    }
}

#[test]
fn targets_match_programs_and_seed_folders() {
    let targets: Vec<_> = TARGETS.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names(&here("fuzz/fuzz_targets")), targets);
    assert_eq!(names(&here("seeds")), targets);
}
