//! The Huffman code of HPACK (RFC 7541, appendix B), which is canonical: the number of symbols of
//! each length, and the symbols in the order of their codes, define it.

/// The number of codes of each length, from 5 to 30 bits. The last code of 30 bits is the end of a
/// string, which no string contains.
const COUNTS: [u32; 26] =
    [10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];
const SHORTEST: u32 = 5;
/// A string is filled up to a whole byte with this many ones at most.
const MOST_PADDING: u32 = 7;

const SYMBOLS: [u8; 256] = [
    48, 49, 50, 97, 99, 101, 105, 111, 115, 116, 32, 37, 45, 46, 47, 51, 52, 53, 54, 55, 56, 57,
    61, 65, 95, 98, 100, 102, 103, 104, 108, 109, 110, 112, 114, 117, 58, 66, 67, 68, 69, 70, 71,
    72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 89, 106, 107, 113, 118, 119,
    120, 121, 122, 38, 42, 44, 59, 88, 90, 33, 34, 40, 41, 63, 39, 43, 124, 35, 62, 0, 36, 64, 91,
    93, 126, 94, 125, 60, 96, 123, 92, 195, 208, 128, 130, 131, 162, 184, 194, 224, 226, 153, 161,
    167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230, 129, 132, 133, 134, 136, 146, 154, 156,
    160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233, 1,
    135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174,
    175, 180, 182, 183, 188, 191, 197, 231, 239, 9, 142, 144, 145, 148, 159, 171, 206, 215, 225,
    236, 237, 199, 207, 234, 235, 192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242,
    243, 255, 203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252,
    253, 254, 2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 16, 17, 18, 19, 20, 21, 23, 24, 25, 26, 27, 28,
    29, 30, 31, 127, 220, 249, 10, 13, 22,
];

/// Decodes a string; `None` if it is not one.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(bytes.len() * 8 / SHORTEST as usize);
    let (mut code, mut len) = (0, 0);
    for bit in bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)) {
        code = code << 1 | u32::from(bit);
        len += 1;
        match symbol(code, len) {
            Some(index) => decoded.push(*SYMBOLS.get(index)?),
            None if len < SHORTEST + COUNTS.len() as u32 => continue,
            None => return None,
        }
        (code, len) = (0, 0);
    }
    let padding = (1 << len.min(MOST_PADDING)) - 1;
    (len <= MOST_PADDING && code == padding).then_some(decoded)
}

/// Returns the index in `SYMBOLS` of a code of `len` bits, if it is a whole one.
fn symbol(code: u32, len: u32) -> Option<usize> {
    let counts = COUNTS.get(..=len.checked_sub(SHORTEST)? as usize)?;
    let (mut first, mut before, mut at_len) = (0, 0, 0);
    for &count in counts {
        first = (first + at_len) << 1;
        before += at_len;
        at_len = count;
    }
    let offset = code.checked_sub(first)?;
    (offset < at_len).then_some((before + offset) as usize)
}
