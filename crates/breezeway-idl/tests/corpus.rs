//! temp
#[test]
fn every_file_is_read() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if let Err(error) = breezeway_idl::read(&[path], &[]) { println!("{error}"); }
    }
}
