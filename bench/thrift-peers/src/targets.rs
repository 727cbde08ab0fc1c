//! Targets of the codec, checked against the medians of the rounds' ratios of one run.

use crate::contenders::Operation;
use crate::table::Row;

/// A limit for how many times as long something takes.
struct Target {
    what: &'static str,
    /// Name of our way.
    ours: &'static str,
    operation: Operation,
    /// The codec to compare with and its operation, or nothing for a copy of the encoded bytes.
    rival: Option<&'static str>,
    /// The rival must take at least this many times as long; for a copy, we may take at most this
    /// many times as long.
    limit: f64,
}

const fn target(
    what: &'static str,
    operation: Operation,
    rival: Option<&'static str>,
    limit: f64,
) -> Target {
    Target { what, ours: "breezeway", operation, rival, limit }
}

impl Target {
    /// Returns the same target for another way of ours.
    const fn by(mut self, ours: &'static str) -> Self {
        self.ours = ours;
        self
    }
}

const SMALL: [Target; 6] = [
    target("encode", Operation::Encode, Some("pilota"), 2.0),
    target("encode", Operation::Encode, Some("pilota unsafe"), 1.0),
    target("decode", Operation::Decode, Some("pilota"), 1.4),
    target("view and read every field", Operation::Read, Some("capnp"), 1.0),
    target("view and read every field", Operation::Read, Some("pilota"), 3.0),
    target("view and read every field", Operation::Read, Some("pilota unsafe"), 1.0),
];

const MANY: [Target; 5] = [
    target("encode, reused vector", Operation::Encode, Some("pilota"), 3.0)
        .by("breezeway, reused vector"),
    target("encode", Operation::Encode, Some("pilota unsafe"), 1.0),
    target("decode", Operation::Decode, Some("pilota"), 1.4),
    target("decode, small strings", Operation::Decode, Some("pilota"), 2.0)
        .by("breezeway, small strings"),
    target("view and read every field", Operation::Read, Some("pilota"), 3.5),
];

const ONE: [Target; 5] = [
    target("encode", Operation::Encode, Some("pilota"), 1.0),
    target("encode", Operation::Encode, Some("pilota unsafe"), 1.0),
    target("decode", Operation::Decode, Some("pilota"), 1.0),
    target("decode", Operation::Decode, Some("pilota unsafe"), 1.0),
    target("view and read every field", Operation::Read, Some("pilota"), 1.0),
];

const NUMBERS: [Target; 3] = [
    target("encode", Operation::Encode, None, 1.15),
    target("decode", Operation::Decode, None, 1.15),
    target("fill, encode, read in place, sum", Operation::Cycle, Some("capnp"), 1.0),
];

const WIDE: [Target; 4] = [
    target("encode", Operation::Encode, Some("pilota"), 1.0),
    target("decode", Operation::Decode, Some("pilota"), 1.0),
    target("decode, small strings", Operation::Decode, Some("pilota"), 1.0)
        .by("breezeway, small strings"),
    target("view and read every field", Operation::Read, Some("pilota"), 1.0),
];

/// Shape of messages, which has its targets.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// A message of about 100 bytes.
    One,
    /// Some small structs.
    Small,
    /// Structs in a number that defeats the branch prediction of their lengths.
    Many,
    /// One long list.
    Numbers,
    /// Any of `idl/wide.thrift`.
    Wide,
}

fn find<'r>(rows: &'r [Row], codec: &str, operation: Operation) -> Option<&'r Row> {
    rows.iter().find(|row| row.codec == codec && row.operation == operation)
}

/// Prints each target with its result.
pub fn print(shape: Shape, rows: &[Row]) {
    let targets: &[Target] = match shape {
        Shape::One => &ONE,
        Shape::Small => &SMALL,
        Shape::Many => &MANY,
        Shape::Numbers => &NUMBERS,
        Shape::Wide => &WIDE,
    };
    for target in targets {
        let Some(ours) = find(rows, target.ours, target.operation) else { continue };
        let (rival, measured, met, sign) = match target.rival {
            None => ("a copy", ours.to_copy, ours.to_copy <= target.limit, "≤"),
            Some(rival) => {
                let Some(theirs) = find(rows, rival, target.operation) else { continue };
                let ratio = theirs.to(ours);
                (rival, ratio, ratio >= target.limit, "≥")
            }
        };
        let verdict = if met { "met" } else { "MISSED" };
        println!(
            "  {:<34} to {rival:<14} {measured:>6.2} ×   ({sign} {:.2})   {verdict}",
            target.what, target.limit
        );
    }
}
