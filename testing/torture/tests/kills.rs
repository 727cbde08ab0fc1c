//! Some dozen processes killed with SIGKILL in the middle of their steps, of each engine: each
//! survivor notices it, has every committed message, and keeps nothing. `make torture` kills any
//! number.

mod bounded;

#[test]
fn clients_and_servers_killed_in_a_step_leave_nothing_behind() {
    bounded::torture(&["kills", "--kills", "160"]);
}
