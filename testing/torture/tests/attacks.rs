//! Attacks by name against a server, while an honest client calls: the attack takes steps, and
//! every byte of the client's comes back. Times are not checked; `make attacks` measures.

mod bounded;

macro_rules! attacks {
    ($($name:ident: $attack:literal, $calls:literal calls;)*) => {$(
        #[test]
        fn $name() {
            bounded::torture(&["attacks", $attack, "--calls", stringify!($calls)]);
        }
    )*};
}

attacks! {
    an_honest_client_is_served_beside_silent_connections: "silent", 200 calls;
    an_honest_client_is_served_beside_connections_that_trickle: "trickling", 200 calls;
    an_honest_client_is_served_while_others_connect_and_close: "connects", 200 calls;
    an_honest_client_is_served_beside_doorbells_without_end: "doorbells", 200 calls;
    an_honest_client_is_served_beside_frames_that_never_end: "slow-frames", 200 calls;
    an_honest_client_is_served_beside_segments_that_come_and_go: "segments", 200 calls;
    an_honest_client_is_served_beside_replies_that_are_kept: "keeping", 200 calls;
    an_honest_client_is_served_beside_streams_that_are_opened_and_reset: "streams", 200 calls;
    an_honest_client_is_served_beside_a_client_that_is_stopped: "stopped", 200 calls;
    client_beside_sessions_that_send_their_own_ends_is_served: "own-ends", 200 calls;
    clients_of_servers_that_send_their_own_ends_fail: "own-ends-of-server", 200 calls;
    client_beside_sessions_with_full_sockets_is_served: "full-sockets", 200 calls;
    clients_of_servers_with_full_sockets_are_served: "full-sockets-of-server", 200 calls;
    client_beside_echoes_of_the_cap_is_served: "large-echoes", 20 calls;
    client_beside_a_crowd_of_silent_connections_is_served: "crowd", 200 calls;
}
