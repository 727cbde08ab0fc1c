//! The matrix: each client with each server, in every way of sharing memory that the client can ask for.
//!
//! Upstream's clients ask for version 2 with files and for version 3 with memfds; that a server also takes files under version 3 only our client shows.
//! The cells without our side show what upstream manages by itself.

use super::program::{Program, Sharing};
use super::scenario::Cell;

macro_rules! cells {
    ($($cell:ident: $client:ident to $server:ident by $sharing:ident;)*) => { $(
        mod $cell {
            use super::*;

            const CELL: Cell =
                Cell::new(Program::$client, Program::$server, Sharing::$sharing);

            scenarios! {
                messages_of_every_size_come_back
                chains_of_a_thousand_slices_come_back
                five_hundred_streams_at_once
                several_sessions_of_a_client_share_its_streams
                what_exceeds_the_memory_goes_over_the_socket
                streams_that_compete_for_little_memory_get_everything
                a_client_that_closes_at_once_loses_nothing
                a_server_that_closes_first_loses_nothing_and_ends_the_stream
                a_client_connects_again_after_its_server_was_killed
                a_server_goes_on_after_a_client_was_killed
                no_file_outlives_a_client_that_ends
            }
        }
    )* };
}

macro_rules! scenarios {
    ($($scenario:ident)*) => { $(
        #[test]
        fn $scenario() {
            CELL.$scenario();
        }
    )* };
}

cells! {
    ours_to_ours_v2_file: Ours to Ours by V2File;
    ours_to_ours_v3_file: Ours to Ours by V3File;
    ours_to_ours_v3_memfd: Ours to Ours by V3Memfd;
    ours_to_go_v2_file: Ours to Go by V2File;
    ours_to_go_v3_file: Ours to Go by V3File;
    ours_to_go_v3_memfd: Ours to Go by V3Memfd;
    ours_to_rust_v2_file: Ours to Rust by V2File;
    ours_to_rust_v3_file: Ours to Rust by V3File;
    ours_to_rust_v3_memfd: Ours to Rust by V3Memfd;
    go_to_ours_v2_file: Go to Ours by V2File;
    go_to_ours_v3_memfd: Go to Ours by V3Memfd;
    rust_to_ours_v2_file: Rust to Ours by V2File;
    rust_to_ours_v3_memfd: Rust to Ours by V3Memfd;
    go_to_go_v2_file: Go to Go by V2File;
    go_to_go_v3_memfd: Go to Go by V3Memfd;
    go_to_rust_v2_file: Go to Rust by V2File;
    go_to_rust_v3_memfd: Go to Rust by V3Memfd;
    rust_to_go_v2_file: Rust to Go by V2File;
    rust_to_go_v3_memfd: Rust to Go by V3Memfd;
    rust_to_rust_v2_file: Rust to Rust by V2File;
    rust_to_rust_v3_memfd: Rust to Rust by V3Memfd;
}

/// The other ways of using ours: with a thread or a task for each stream.
macro_rules! other_ways {
    ($($cell:ident: $client:ident to $server:ident by $sharing:ident;)*) => { $(
        mod $cell {
            use super::*;

            const CELL: Cell =
                Cell::new(Program::$client, Program::$server, Sharing::$sharing);

            scenarios! {
                messages_of_every_size_come_back
                chains_of_a_thousand_slices_come_back
                five_hundred_streams_at_once
                several_sessions_of_a_client_share_its_streams
                what_exceeds_the_memory_goes_over_the_socket
                streams_that_compete_for_little_memory_get_everything
                a_client_connects_again_after_its_server_was_killed
                a_server_goes_on_after_a_client_was_killed
            }
        }
    )* };
}

other_ways! {
    go_to_ours_by_threads: Go to OursByThreads by V3Memfd;
    rust_to_ours_by_threads: Rust to OursByThreads by V2File;
    ours_to_ours_by_threads: Ours to OursByThreads by V3Memfd;
}

#[cfg(feature = "tokio")]
other_ways! {
    ours_by_tasks_to_go: OursByTasks to Go by V2File;
    ours_by_tasks_to_rust: OursByTasks to Rust by V3Memfd;
    go_to_ours_by_tasks: Go to OursByTasks by V3Memfd;
    rust_to_ours_by_tasks: Rust to OursByTasks by V2File;
    ours_by_tasks_to_ours_by_tasks: OursByTasks to OursByTasks by V3Memfd;
}

/// Without shmipc-go, which drops what a full queue does not take within a tenth of a second.
mod more_streams_than_the_queue_has_places {
    use super::*;

    #[test]
    fn ours_to_ours() {
        more_streams(Program::Ours, Program::Ours);
    }

    #[test]
    fn ours_to_rust() {
        more_streams(Program::Ours, Program::Rust);
    }

    #[test]
    fn rust_to_ours() {
        more_streams(Program::Rust, Program::Ours);
    }

    fn more_streams(client: Program, server: Program) {
        for sharing in [Sharing::V2File, Sharing::V3Memfd] {
            Cell::new(client, server, sharing).more_streams_than_the_queue_has_places();
        }
    }
}
