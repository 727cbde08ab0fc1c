//! Some dozen processes killed with SIGKILL in the middle of what they do, of each engine: whoever
//! survives hears of it, has what was committed, and keeps nothing. `make torture` kills as many as
//! one wants.

mod bounded;

#[test]
fn clients_and_servers_killed_in_a_step_leave_nothing_behind() {
    bounded::torture(&["kills", "--kills", "160"]);
}
