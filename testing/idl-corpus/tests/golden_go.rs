//! Compares the Go generated for some IDLs with the packages below `go/`.
//!
//! `make golden` writes the files again.

use std::fs;
use std::path::Path;

/// IDLs with kept Go, the folder of its package below that of this repository, and whether it has
/// views.
const GO: [(&str, &str, bool); 10] = [
    ("crates/breezeway-idl/tests/corpus/containers", "go/internal/idl", true),
    ("crates/breezeway-idl/tests/corpus/defaults", "go/internal/idl", true),
    ("crates/breezeway-idl/tests/corpus/recursive", "go/internal/idl", true),
    ("crates/breezeway-idl/tests/corpus/requiredness", "go/internal/idl", true),
    ("crates/breezeway-rpc/tests/idl/room", "go/internal/idl", false),
    ("crates/breezeway-rpc/tests/idl/users", "go/internal/idl", false),
    ("go/examples/users/idl/users", "go/examples/users/gen", false),
    ("go/breezewaykitex/idl/echo", "go/internal/idl", false),
    ("go/breezewaykitex/idl/shapes", "go/internal/idl", true),
    ("testing/matrix/matrix", "testing/matrix/go/gen", false),
];

#[test]
fn golden_go_files_are_unchanged() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (idl, kept, views) in GO {
        let idl = repository.join(idl).with_extension("thrift");
        let mut schema = breezeway_idl::read(&[idl], &[]).unwrap_or_else(|error| panic!("{error}"));
        schema.views = views;
        let root = format!("github.com/breezeway-ipc/breezeway/{kept}");
        let files = breezeway_idl::generate_go(&schema, &repository.join(kept), &root);
        for file in files.unwrap_or_else(|error| panic!("{error}")) {
            let golden = repository.join(kept).join(&file.path);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::create_dir_all(golden.parent().unwrap()).unwrap();
                fs::write(&golden, file.text).unwrap();
            } else {
                let kept = fs::read_to_string(&golden).unwrap_or_default();
                let name = golden.display();
                assert!(file.text == kept, "{name} differs: run with UPDATE_GOLDEN=1, and look");
            }
        }
    }
}
