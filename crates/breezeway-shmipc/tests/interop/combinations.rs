//! The matrix: each client with each server, in every mode of sharing memory that the client can
//! request.
//!
//! Upstream's clients request version 2 with files and version 3 with memfds; only our client shows
//! that a server also accepts files under version 3. The cells without our side show the results of
//! upstream alone.

use libtest_mimic::Trial;

#[cfg(feature = "tokio")]
use super::program::Program::OursByTasks;
use super::program::Program::{Go, Ours, OursByThreads, Rust};
use super::program::Sharing::{V2File, V3File, V3Memfd};
use super::scenario::Cell;
use super::trial::trial;

type Named = (&'static str, Cell);
type Scenario = (&'static str, fn(Cell));

const MATRIX: &[Named] = &[
    ("ours_to_ours_v2_file", Cell::new(Ours, Ours, V2File)),
    ("ours_to_ours_v3_file", Cell::new(Ours, Ours, V3File)),
    ("ours_to_ours_v3_memfd", Cell::new(Ours, Ours, V3Memfd)),
    ("ours_to_go_v2_file", Cell::new(Ours, Go, V2File)),
    ("ours_to_go_v3_file", Cell::new(Ours, Go, V3File)),
    ("ours_to_go_v3_memfd", Cell::new(Ours, Go, V3Memfd)),
    ("ours_to_rust_v2_file", Cell::new(Ours, Rust, V2File)),
    ("ours_to_rust_v3_file", Cell::new(Ours, Rust, V3File)),
    ("ours_to_rust_v3_memfd", Cell::new(Ours, Rust, V3Memfd)),
    ("go_to_ours_v2_file", Cell::new(Go, Ours, V2File)),
    ("go_to_ours_v3_memfd", Cell::new(Go, Ours, V3Memfd)),
    ("rust_to_ours_v2_file", Cell::new(Rust, Ours, V2File)),
    ("rust_to_ours_v3_memfd", Cell::new(Rust, Ours, V3Memfd)),
    ("go_to_go_v2_file", Cell::new(Go, Go, V2File)),
    ("go_to_go_v3_memfd", Cell::new(Go, Go, V3Memfd)),
    ("go_to_rust_v2_file", Cell::new(Go, Rust, V2File)),
    ("go_to_rust_v3_memfd", Cell::new(Go, Rust, V3Memfd)),
    ("rust_to_go_v2_file", Cell::new(Rust, Go, V2File)),
    ("rust_to_go_v3_memfd", Cell::new(Rust, Go, V3Memfd)),
    ("rust_to_rust_v2_file", Cell::new(Rust, Rust, V2File)),
    ("rust_to_rust_v3_memfd", Cell::new(Rust, Rust, V3Memfd)),
];

/// Other modes of this crate: with a thread or a task for each stream.
const OTHER_WAYS: &[Named] = &[
    ("go_to_ours_by_threads", Cell::new(Go, OursByThreads, V3Memfd)),
    ("rust_to_ours_by_threads", Cell::new(Rust, OursByThreads, V2File)),
    ("ours_to_ours_by_threads", Cell::new(Ours, OursByThreads, V3Memfd)),
    #[cfg(feature = "tokio")]
    ("ours_by_tasks_to_go", Cell::new(OursByTasks, Go, V2File)),
    #[cfg(feature = "tokio")]
    ("ours_by_tasks_to_rust", Cell::new(OursByTasks, Rust, V3Memfd)),
    #[cfg(feature = "tokio")]
    ("go_to_ours_by_tasks", Cell::new(Go, OursByTasks, V3Memfd)),
    #[cfg(feature = "tokio")]
    ("rust_to_ours_by_tasks", Cell::new(Rust, OursByTasks, V2File)),
    #[cfg(feature = "tokio")]
    ("ours_by_tasks_to_ours_by_tasks", Cell::new(OursByTasks, OursByTasks, V3Memfd)),
];

/// Without shmipc-go, which drops what a full queue does not take within a tenth of a second.
const WITHOUT_GO: &[(&str, [Cell; 2])] = &[
    ("ours_to_ours", [Cell::new(Ours, Ours, V2File), Cell::new(Ours, Ours, V3Memfd)]),
    ("ours_to_rust", [Cell::new(Ours, Rust, V2File), Cell::new(Ours, Rust, V3Memfd)]),
    ("rust_to_ours", [Cell::new(Rust, Ours, V2File), Cell::new(Rust, Ours, V3Memfd)]),
];

/// Sizes that upstream allows on x86-64. The crate shmipc would access words that are not aligned.
#[cfg(target_arch = "x86_64")]
const ODD_SIZES: &[(&str, [Cell; 2])] = &[
    ("ours_to_ours", [Cell::new(Ours, Ours, V2File), Cell::new(Ours, Ours, V3Memfd)]),
    ("ours_to_go", [Cell::new(Ours, Go, V2File), Cell::new(Ours, Go, V3Memfd)]),
    ("go_to_ours", [Cell::new(Go, Ours, V2File), Cell::new(Go, Ours, V3Memfd)]),
];

const SCENARIOS: &[Scenario] = &[
    ("messages_of_every_size_come_back", Cell::messages_of_every_size_come_back),
    ("chains_of_a_thousand_slices_come_back", Cell::chains_of_a_thousand_slices_come_back),
    ("five_hundred_streams_at_once", Cell::five_hundred_streams_at_once),
    (
        "several_sessions_of_a_client_share_its_streams",
        Cell::several_sessions_of_a_client_share_its_streams,
    ),
    (
        "what_exceeds_the_memory_goes_over_the_socket",
        Cell::what_exceeds_the_memory_goes_over_the_socket,
    ),
    (
        "streams_that_compete_for_little_memory_get_everything",
        Cell::streams_that_compete_for_little_memory_get_everything,
    ),
    (
        "a_client_connects_again_after_its_server_was_killed",
        Cell::a_client_connects_again_after_its_server_was_killed,
    ),
];

/// Scenarios without shmipc-go as the server, which frees the memory of an ended session, also
/// under a handler that uses it, and then ends with a fault.
const SCENARIO_OF_SERVERS_BUT_GO: &[Scenario] = &[(
    "a_server_goes_on_after_a_client_was_killed",
    Cell::a_server_goes_on_after_a_client_was_killed,
)];

/// Scenarios that do not depend on the mode in which this crate is used.
const SCENARIOS_OF_THE_MATRIX: &[Scenario] = &[
    (
        "a_client_that_closes_at_once_loses_nothing",
        Cell::a_client_that_closes_at_once_loses_nothing,
    ),
    (
        "a_server_that_closes_first_loses_nothing_and_ends_the_stream",
        Cell::a_server_that_closes_first_loses_nothing_and_ends_the_stream,
    ),
    ("no_file_outlives_a_client_that_ends", Cell::no_file_outlives_a_client_that_ends),
];

pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for &(name, cell) in MATRIX {
        trials.extend(scenarios(name, cell, SCENARIOS));
        trials.extend(scenarios(name, cell, SCENARIOS_OF_THE_MATRIX));
        trials.extend(scenarios(name, cell, of_its_server(cell)));
    }
    for &(name, cell) in OTHER_WAYS {
        trials.extend(scenarios(name, cell, SCENARIOS));
        trials.extend(scenarios(name, cell, of_its_server(cell)));
    }
    for &(name, cells) in WITHOUT_GO {
        let name = format!("combinations::more_streams_than_the_queue_has_places::{name}");
        trials.push(trial(name, cells[0].programs(), move || {
            cells.into_iter().for_each(Cell::more_streams_than_the_queue_has_places);
        }));
    }
    #[cfg(target_arch = "x86_64")]
    for &(name, cells) in ODD_SIZES {
        let name = format!("combinations::slices_and_queues_of_odd_sizes::{name}");
        trials.push(trial(name, cells[0].programs(), move || {
            cells.into_iter().for_each(Cell::slices_and_queues_of_odd_sizes);
        }));
    }
    trials
}

fn of_its_server(cell: Cell) -> &'static [Scenario] {
    if cell.server == Go { &[] } else { SCENARIO_OF_SERVERS_BUT_GO }
}

fn scenarios(
    name: &'static str,
    cell: Cell,
    scenarios: &'static [Scenario],
) -> impl Iterator<Item = Trial> {
    scenarios.iter().map(move |&(scenario, run)| {
        trial(format!("combinations::{name}::{scenario}"), cell.programs(), move || run(cell))
    })
}
