//! The examples of RFC 7541, and input that is not HPACK.

use super::*;

const MOST: usize = 64 << 10;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

fn text(fields: &[Field]) -> String {
    let line = |(name, value): &Field| {
        format!("{}={}", String::from_utf8_lossy(name), String::from_utf8_lossy(value))
    };
    fields.iter().map(line).collect::<Vec<_>>().join(" ")
}

/// Decodes blocks one after another.
fn decoded(blocks: &[&str]) -> Vec<String> {
    let mut decoder = Decoder::new(MOST);
    blocks.iter().map(|block| text(&decoder.decode(&bytes(block)).unwrap())).collect()
}

const REQUESTS: [&str; 3] = [
    ":method=GET :scheme=http :path=/ :authority=www.example.com",
    ":method=GET :scheme=http :path=/ :authority=www.example.com cache-control=no-cache",
    ":method=GET :scheme=https :path=/index.html :authority=www.example.com custom-key=custom-value",
];

#[test]
fn requests_without_huffman_decode_as_in_appendix_c3() {
    let blocks = [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    ];
    assert_eq!(decoded(&blocks), REQUESTS);
}

#[test]
fn requests_with_huffman_decode_as_in_appendix_c4() {
    let blocks = [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    ];
    assert_eq!(decoded(&blocks), REQUESTS);
}

#[test]
fn fields_of_a_full_table_are_evicted_oldest_first() {
    let mut decoder = Decoder::new(MOST);
    // A table of 64 bytes has room for one of these of 34 bytes.
    decoder.decode(&bytes("3f21 4001 6101 31")).unwrap();
    assert_eq!(text(&decoder.decode(&bytes("be 4001 6201 32 be")).unwrap()), "a=1 b=2 b=2");
    assert_eq!(decoder.decode(&bytes("bf")), None, "the first is gone");
}

#[test]
fn input_that_breaks_a_rule_is_refused() {
    let broken = [
        ("80", "index 0"),
        ("be", "an index beyond the table"),
        ("7f ff ff ff ff 7f", "an integer without an end"),
        ("40 05 61", "a string beyond the block"),
        ("3f e2 1f", "a table beyond the setting"),
        ("82 20", "a size behind a field"),
        ("00 81 ff", "padding of eight bits"),
        ("00 81 00 00", "padding that is not ones"),
        ("00 84 ff ff ff ff 00", "the end of a string within it"),
        ("00", "no name"),
    ];
    for (block, rule) in broken {
        assert_eq!(Decoder::new(MOST).decode(&bytes(block)), None, "{rule}");
    }
}

#[test]
fn list_beyond_the_bound_ends_and_keeps_the_table() {
    let mut decoder = Decoder::new(100);
    let long = [&[0x40, 1, b'a', 100][..], &[b'x'; 100], &[0xbe; 1000], &[0x40, 1, b'b', 0]];
    assert_eq!(decoder.decode(&long.concat()).unwrap().len(), 1);
    assert_eq!(text(&decoder.decode(&[0xbe]).unwrap()), "b=");
}

#[test]
fn encoded_fields_decode_as_they_were() {
    for len in [0, 1, 126, 127, 128, 254, 255, 256, 20_000] {
        let fields = vec![(b"name".to_vec(), vec![b'x'; len]), (vec![b'n'; len], b"".to_vec())];
        assert_eq!(Decoder::new(MOST).decode(&encode(&fields)).unwrap(), fields, "{len}");
    }
}
