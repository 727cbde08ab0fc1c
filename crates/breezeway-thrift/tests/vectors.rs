//! smoke
#![allow(missing_docs, dead_code, unreachable_pub)]
mod sample;
use breezeway_thrift::*;
use sample::*;

fn hex(s: &str) -> Vec<u8> {
    (0..s.len() / 2).map(|i| u8::from_str_radix(&s[2 * i..2 * i + 2], 16).unwrap()).collect()
}

#[test]
fn v4() {
    let bytes = hex(
        "0a000100000000000000010c00020a00010000000000000002000f00030a0000000300000000000000010000000000000002000000000000000300",
    );
    let owned: MyTest = decode(&bytes).unwrap();
    assert_eq!(owned, MyTest { num: 1, ano: Ano { a: 2 }, nums: vec![1, 2, 3] });
    assert_eq!(to_vec(&owned).unwrap(), bytes);
    let v: MyTestView<'_> = view(&bytes).unwrap();
    assert_eq!(v.nums.to_vec(), [1, 2, 3]);
    assert_eq!(v.nums.sum(), 6);
    let once: MyTest = decode_once(&bytes[..], bytes.len()).unwrap();
    assert_eq!(once, owned);
    let mut buffer = [0; 59];
    let mut out = Output::new(&mut buffer);
    MyTestWriter::new(&mut out).num(1).ano(|ano| ano.a(2)).nums([1, 2, 3]).end();
    assert_eq!(out.finish(), Ok(59));
    assert_eq!(buffer[..], bytes);
}
