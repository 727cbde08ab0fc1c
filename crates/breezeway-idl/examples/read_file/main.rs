//! Writes a message into a file, then reads it in place: only requested fields are copied.
//!
//! ```text
//! cargo run --release -p breezeway-idl --example read_file
//! ```

use std::error::Error;
use std::fs;

use breezeway_thrift::{Output, view_slice};

// In a program of yours: include!(concat!(env!("OUT_DIR"), "/thrift.rs")), see
// breezeway_idl::Builder.
mod idl {
    include!("benchmark.rs");
}
use idl::benchmark::{MyTestView, MyTestWriter};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("breezeway-{}.bin", std::process::id()));
    write(&path)?;
    let bytes = fs::read(&path)?;
    fs::remove_file(&path)?;

    // One pass validates everything; after that fields are accessible at once.
    let message: MyTestView = view_slice(&bytes)?;
    println!("{} bytes, number {}", bytes.len(), message.num);
    println!("{} numbers, the last is {:?}", message.nums.len(), message.nums.iter().next_back());
    println!("sum {}", message.nums.sum());
    Ok(())
}

/// Writes fields straight into the buffer, without a struct in between.
fn write(path: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let mut buffer = vec![0; 2 << 20];
    let mut output = Output::new(&mut buffer);
    let numbers = 0..131_072_i32;
    let message = MyTestWriter::new(&mut output).num(42).ano(|ano| ano.num(7));
    message.nums(numbers.map(i64::from)).end();
    let size = output.finish()?;
    fs::write(path, &buffer[..size])?;
    Ok(())
}
