//! The rows of the table, and their budgets.

use crate::floor::Floor;

/// Budget by which a row passes or fails.
#[derive(Clone, Copy)]
pub(crate) enum Budget {
    /// The ratio is at most this.
    AtMost(f64),
    /// The ratio is at least this.
    AtLeast(f64),
    /// For comparison.
    Shown,
}

/// System that serves and measures.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum System {
    /// Over this carrier.
    Breezeway(&'static str),
    Iceoryx2,
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) system: System,
    pub(crate) wait: &'static str,
    pub(crate) arguments: &'static [&'static str],
    pub(crate) floor: Floor,
    pub(crate) budget: Budget,
    pub(crate) quick: bool,
}

const fn busy(
    name: &'static str,
    arguments: &'static [&'static str],
    floor: Floor,
    budget: Budget,
    quick: bool,
) -> Row {
    Row { name, system: System::Breezeway("shm"), wait: "busy", arguments, floor, budget, quick }
}

const fn one_way(name: &'static str, arguments: &'static [&'static str], size: usize) -> Row {
    busy(name, arguments, Floor::Slots(size), Budget::AtLeast(0.8), false)
}

const fn in_flight(name: &'static str, arguments: &'static [&'static str], size: usize) -> Row {
    busy(name, arguments, Floor::SlotsReturned(size), Budget::AtLeast(0.8), false)
}

/// Against the same over the unix carrier.
const fn over_unix(name: &'static str, arguments: &'static [&'static str]) -> Row {
    busy(name, arguments, Floor::Bench("unix", None), Budget::AtLeast(2.0), false)
}

/// Small messages one way, against the same over the unix carrier.
const fn small_over_unix(name: &'static str, wait: &'static str, budget: Budget) -> Row {
    let arguments = &["--pattern", "one-way", "--size", "40"];
    Row { wait, budget, ..over_unix(name, arguments) }
}

/// Untouched messages one way beside those of 64 KiB: as many a second, with no bound on the bytes
/// in flight.
const fn flat(name: &'static str, arguments: &'static [&'static str], budget: Budget) -> Row {
    busy(name, arguments, Floor::Bench("shm", Some(FLAT)), budget, false)
}

/// An echo over `unix:`, which should not be slower than a bare one.
const fn by_socket(
    name: &'static str,
    wait: &'static str,
    arguments: &'static [&'static str],
    floor: Floor,
) -> Row {
    let (system, budget) = (System::Breezeway("unix"), Budget::AtMost(1.0));
    Row { name, system, wait, arguments, floor, budget, quick: false }
}

/// Arguments for the smallest of the messages that [`flat`] compares, with no bound on the bytes in
/// flight.
const FLAT: &[&str] =
    &["--pattern", "one-way", "--touch", "none", "--size", "65536", "--under-way", "1TiB"];

pub(crate) const ROWS: &[Row] = &[
    busy("echo 8 B", &["--size", "8"], Floor::Ring, Budget::AtMost(1.3), true),
    busy("echo 40 B", &["--size", "40"], Floor::Ring, Budget::AtMost(1.3), true),
    busy("echo 40 B, in floors", &["--size", "40"], Floor::Line, Budget::Shown, false),
    busy("echo 64 B", &["--size", "64"], Floor::Ring, Budget::AtMost(1.6), false),
    busy("echo 100 B", &["--size", "100"], Floor::Ring, Budget::AtMost(1.6), true),
    busy("echo 1 KiB", &["--size", "1024"], Floor::Touched(1024), Budget::AtMost(2.0), true),
    busy("echo 64 KiB", &["--size", "65536"], Floor::Touched(65536), Budget::AtMost(1.25), true),
    busy("echo 1 MiB", &["--size", "1048576"], Floor::Touched(1 << 20), Budget::AtMost(1.25), true),
    busy(
        "echo 4 MiB",
        &["--size", "4194304"],
        Floor::Touched(4 << 20),
        Budget::AtMost(1.25),
        false,
    ),
    busy(
        "echo 64 KiB untouched",
        &["--size", "65536", "--touch", "none"],
        Floor::Line,
        Budget::AtMost(2.5),
        false,
    ),
    busy(
        "echo 1 MiB untouched",
        &["--size", "1048576", "--touch", "none"],
        Floor::Line,
        Budget::AtMost(2.5),
        false,
    ),
    busy(
        "echo 4 MiB untouched",
        &["--size", "4194304", "--touch", "none"],
        Floor::Line,
        Budget::AtMost(2.5),
        true,
    ),
    busy(
        "one-way 40 B, batches of 64",
        &["--pattern", "one-way", "--size", "40"],
        Floor::RingOneWay,
        Budget::AtLeast(0.6),
        true,
    ),
    one_way("one-way 64 KiB", &["--pattern", "one-way", "--size", "65536"], 64 << 10),
    one_way(
        "one-way 1 MiB",
        &["--pattern", "one-way", "--batch", "8", "--size", "1048576"],
        1 << 20,
    ),
    one_way(
        "one-way 4 MiB",
        &["--pattern", "one-way", "--batch", "4", "--size", "4194304"],
        4 << 20,
    ),
    in_flight("16 in flight 64 KiB", &["--depth", "16", "--size", "65536"], 64 << 10),
    in_flight("16 in flight 1 MiB", &["--depth", "16", "--size", "1048576"], 1 << 20),
    in_flight("16 in flight 4 MiB", &["--depth", "16", "--size", "4194304"], 4 << 20),
    small_over_unix("one-way 40 B, over unix", "busy", Budget::AtLeast(2.0)),
    small_over_unix("one-way 40 B, adaptive, unix", "adaptive", Budget::Shown),
    small_over_unix("one-way 40 B, park, over unix", "park", Budget::AtLeast(2.0)),
    over_unix("one-way 64 KiB, over unix", &["--pattern", "one-way", "--size", "65536"]),
    over_unix(
        "one-way 1 MiB, over unix",
        &["--pattern", "one-way", "--batch", "8", "--size", "1048576"],
    ),
    over_unix(
        "one-way 4 MiB, over unix",
        &["--pattern", "one-way", "--batch", "4", "--size", "4194304"],
    ),
    over_unix("16 in flight 64 KiB, over unix", &["--depth", "16", "--size", "65536"]),
    over_unix("16 in flight 1 MiB, over unix", &["--depth", "16", "--size", "1048576"]),
    over_unix("16 in flight 4 MiB, over unix", &["--depth", "16", "--size", "4194304"]),
    flat(
        "flat 1 MiB, unbounded",
        &["--pattern", "one-way", "--touch", "none", "--size", "1048576", "--under-way", "1TiB"],
        Budget::AtLeast(1.0 / 1.2),
    ),
    flat(
        "flat 16 MiB, unbounded",
        &["--pattern", "one-way", "--touch", "none", "--size", "16777216", "--under-way", "1TiB"],
        Budget::AtLeast(1.0 / 1.2),
    ),
    flat(
        "flat 1 MiB, bounded",
        &["--pattern", "one-way", "--touch", "none", "--size", "1048576"],
        Budget::Shown,
    ),
    flat(
        "flat 16 MiB, bounded",
        &["--pattern", "one-way", "--touch", "none", "--size", "16777216"],
        Budget::Shown,
    ),
    by_socket("socket 1 MiB, park", "park", &["--size", "1048576"], Floor::UnixBlocking(1 << 20)),
    by_socket("socket 4 MiB, park", "park", &["--size", "4194304"], Floor::UnixBlocking(4 << 20)),
    by_socket("socket 4 MiB, busy", "busy", &["--size", "4194304"], Floor::UnixBlocking(4 << 20)),
    busy(
        "pipelined 40 B, 16 in flight",
        &["--size", "40", "--depth", "16"],
        Floor::Line,
        Budget::Shown,
        false,
    ),
    Row {
        name: "echo 64 B, park",
        system: System::Breezeway("shm"),
        wait: "park",
        arguments: &["--size", "64"],
        floor: Floor::UnixBlocking(64),
        budget: Budget::AtMost(1.10),
        quick: true,
    },
    Row {
        name: "echo 64 B, adaptive",
        system: System::Breezeway("shm"),
        wait: "adaptive",
        arguments: &["--size", "64"],
        floor: Floor::UnixSpinning(64),
        budget: Budget::AtMost(1.0),
        quick: true,
    },
    busy("echo 48 B", &["--size", "48"], Floor::Line, Budget::Shown, false),
    Row {
        name: "iceoryx2 0.10 echo 48 B",
        system: System::Iceoryx2,
        wait: "busy",
        arguments: &["--size", "48"],
        floor: Floor::Line,
        budget: Budget::Shown,
        quick: false,
    },
];
