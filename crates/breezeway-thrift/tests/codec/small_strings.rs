//! Strings that have short text in place are written and read as others are.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use breezeway_thrift::{
    Decode, DecodeError, Fault, Limits, Slice, SmallString, decode_once, decode_slice, to_vec,
};

#[test]
fn small_strings_behave_like_strings() {
    for length in [0, 1, 7, 8, 29, 30, 31, 32, 33, 255, 256, 257, 5000] {
        for text in ["x".repeat(length), "楼".repeat(length)] {
            let bytes = to_vec(&text).unwrap();
            let small = SmallString::from(text.as_str());
            assert_eq!(to_vec(&small).unwrap(), bytes);
            assert_eq!(decode_slice::<SmallString>(&bytes).as_ref(), Ok(&small));
            assert_eq!(decode_once::<SmallString>(&bytes).as_ref(), Ok(&small));
            for end in [0, 3, bytes.len() - 1] {
                let cut = decode_slice::<SmallString>(&bytes[..end]).map(String::from);
                assert_eq!(cut, decode_slice::<String>(&bytes[..end]));
                let once = decode_once::<SmallString>(&bytes[..end]).map(String::from);
                assert_eq!(once, decode_once::<String>(&bytes[..end]));
            }
        }
    }
    let map = BTreeMap::from([(SmallString::from("a"), SmallString::from("b"))]);
    assert_eq!(decode_slice(&to_vec(&map).unwrap()), Ok(map));
}

#[test]
fn invalid_utf8_is_refused_at_its_offset() {
    for length in [1, 20, 300] {
        let mut bytes = to_vec(&"x".repeat(length)).unwrap();
        bytes[4 + length / 2] = 0xff;
        let error = DecodeError { offset: 4 + length / 2, fault: Fault::Utf8 };
        assert_eq!(decode_slice::<SmallString>(&bytes).as_ref(), Err(&error));
        assert_eq!(decode_once::<SmallString>(&bytes).as_ref(), Err(&error));
    }
}

#[test]
fn only_text_that_takes_memory_counts_against_the_limit() {
    let decode = |length| {
        let bytes = to_vec(&"x".repeat(length)).unwrap();
        let limits = Limits { memory: 10, ..Limits::default() };
        SmallString::decode(&mut Slice::within(limits, &bytes).unwrap())
    };
    assert_eq!(decode(30).unwrap().len(), 30);
    assert_eq!(decode(31).unwrap_err().fault, Fault::Memory { needed: 47, left: 10 });
}

#[test]
fn a_small_string_takes_32_bytes_and_so_does_an_absent_one() {
    assert_eq!(size_of::<SmallString>(), 32);
    assert_eq!(size_of::<Option<SmallString>>(), 32);
}

#[test]
fn small_strings_compare_hash_and_show_as_their_text_does() {
    let texts = ["", "a", "b", "楼", "x".repeat(30).leak(), "x".repeat(31).leak()];
    let hash = |hashed: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        hashed(&mut hasher);
        hasher.finish()
    };
    for text in texts {
        let small = SmallString::from(text.to_owned());
        assert_eq!(small, text);
        assert_eq!(small.as_str().len(), text.len());
        assert_eq!(
            (small.to_string(), format!("{small:?}")),
            (text.to_owned(), format!("{text:?}"))
        );
        assert_eq!(hash(&|to| small.hash(to)), hash(&|to| text.hash(to)));
        assert_eq!(String::from(small.clone()), text);
        assert_eq!(text.parse(), Ok(small.clone()));
        let string = text.to_owned();
        assert_eq!((text, &string), (small.as_str(), &String::from(small.clone())));
        assert!([text == small, *text == small, string == small, small == string] == [true; 4]);
        for other in texts {
            assert_eq!(small.cmp(&SmallString::new(other)), text.cmp(other));
            assert_eq!(small == SmallString::new(other), text == other);
        }
    }
    assert_eq!(SmallString::default(), "");
    let map = BTreeMap::from([(SmallString::from("key"), 1)]);
    assert_eq!(map.get("key"), Some(&1), "looked up by the text");
}
