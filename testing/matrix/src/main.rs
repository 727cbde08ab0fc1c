//! `matrix`: each client of a Thrift service with each server, case by case, as processes.
//!
//! ```text
//! matrix table [--short] [--only CLIENT:SERVER] ...   runs the cells, and prints the table
//! matrix serve rust-blocking ADDRESS                  serves until standard input ends
//! matrix call rust-tokio ADDRESS CASE [ttheader]      runs a client's case, and prints "ok"
//! ```
//!
//! The programs in Go (`go`) and of Volo (`../peers/volo-matrix`) take `serve` and `call` likewise.
//! A case that needs another server prints "ready", and goes on when it has read a line.
#![forbid(unsafe_code)]

mod awaited;
mod blocking;
mod cells;
mod driver;
mod notes;
mod programs;

use std::io::{Write, stdin, stdout};
use std::process::ExitCode;
use std::time::Duration;

use breezeway::Address;

#[allow(dead_code, unreachable_pub, missing_docs, reason = "generated")]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/thrift.rs"));
}
use generated::matrix as idl;

/// Longer than anything here takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time that a call gets which its server does not answer.
const LATE: Duration = Duration::from_millis(100);
/// Length of a large text; Volo's frames have up to 16 MiB.
const LARGE: usize = (16 << 20) - 1024;
/// Number of concurrent calls.
const MANY: usize = 500;
/// Number of messages of a stream.
const LINES: i32 = 100;

/// Result of a client's case: an error names the deviation.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["table", ref options @ ..] => driver::run(options),
        ["serve", "rust-blocking", address] => blocking::serve(&parsed(address)),
        ["serve", "rust-tokio", address] => awaited::serve(&parsed(address)),
        ["call", kind, address, case, ref framing @ ..] => {
            programs::raise_file_limit();
            let (address, is_ttheader) = (parsed(address), framing == ["ttheader"]);
            match kind {
                "rust-blocking" => blocking::call(&address, case, is_ttheader),
                "rust-tokio" => awaited::call(&address, case, is_ttheader),
                _ => Err(format!("no client {kind}")),
            }
            .map(|()| println!("ok"))
        }
        _ => Err("matrix table|serve|call: see src/main.rs".to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            println!("{words}");
            ExitCode::FAILURE
        }
    }
}

fn parsed(address: &str) -> Address {
    address.parse().expect("an address")
}

/// Returns an error that describes a deviation, unless both values are equal.
fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Outcome {
    if got == wanted { Ok(()) } else { Err(format!("{what}: {got:.300?}, not {wanted:.300?}")) }
}

/// Describes the error of an operation.
fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}

/// Prints that the server may be replaced, and waits until it has been.
fn wait_for_another_server() -> Outcome {
    println!("ready");
    stdout().flush().map_err(failed("standard output"))?;
    stdin().read_line(&mut String::new()).map_err(failed("standard input"))?;
    Ok(())
}

/// Returns growing times for a call that the server does not answer: on a busy machine, a short one
/// may pass before the server has the call.
fn growing_limits() -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(LATE), |limit| Some(*limit * 2))
        .take_while(|limit| *limit < PATIENCE)
}

/// Returns the text of one of many calls.
fn text_of(number: usize) -> String {
    number.to_string().repeat(number)
}
