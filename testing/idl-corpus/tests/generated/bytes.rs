//! Strings that the IDL declares as bytes need not be UTF-8.

use breezeway_idl_corpus::bytes::{Raw, RawView};
use breezeway_thrift::{Fault, decode_slice, to_vec, view_slice};

#[test]
fn strings_declared_as_bytes_need_not_be_utf8() {
    let raw = Raw {
        raw: vec![0xff, 0],
        name: Some(vec![0xc3]),
        table: [(vec![0x80], vec![vec![0x81]])].into(),
        ..Raw::default()
    };
    let bytes = to_vec(&raw).unwrap();
    assert_eq!(decode_slice::<Raw>(&bytes), Ok(raw));
    assert_eq!(view_slice::<RawView<'_>>(&bytes).unwrap().raw, [0xff, 0]);
    assert_eq!(Raw::default().name.as_deref(), Some(&b"x"[..]));
    let text = [11, 0, 1, 0, 0, 0, 1, 0xff, 0];
    assert_eq!(decode_slice::<Raw>(&text).unwrap_err().fault, Fault::Utf8);
}
