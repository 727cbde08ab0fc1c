//! Encodes a value of a generated type and reads it in all ways.

// In a program of yours: include!(concat!(env!("OUT_DIR"), "/thrift.rs")), see
// breezeway_idl::Builder.
mod idl {
    include!("reading.rs");
}

use breezeway_thrift::{DecodeError, decode_prefix, decode_slice, encode_vec, view_slice};
use idl::reading::{Reading, ReadingView, ReadingWriter};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let reading = Reading { name: "a reading".to_owned(), time: 7, values: vec![1.5, 2.5] };

    // Into a buffer that is reused for every message.
    let mut buffer = Vec::new();
    encode_vec(&reading, &mut buffer)?;

    // An owned value; views borrow from the bytes instead, and take no memory.
    let owned: Reading = decode_slice(&buffer)?;
    assert_eq!(owned, reading);
    let viewed: ReadingView<'_> = view_slice(&buffer)?;
    println!("{} with the sum {}", viewed.name, viewed.values.iter().sum::<f64>());

    // Several values in a row.
    let mut two = buffer.clone();
    two.extend(&buffer);
    let (first, rest): (Reading, &[u8]) = decode_prefix(&two)?;
    let second: Reading = decode_slice(rest)?;
    assert_eq!(first, second);

    // Field by field, without a value.
    let mut space = [0; 100];
    let mut output = breezeway_thrift::Output::new(&mut space);
    ReadingWriter::new(&mut output).time(8).values([1.0, 2.0]).name("written").end();
    let size = output.finish()?;
    println!("{:?}", decode_slice::<Reading>(&space[..size])?);

    // The error names the fault and its place.
    let cut: Result<Reading, DecodeError> = decode_slice(&buffer[..9]);
    println!("{}", cut.err().ok_or("bytes were cut off")?);
    Ok(())
}
