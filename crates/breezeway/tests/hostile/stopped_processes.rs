//! Peers that are processes of their own, and stop or die at the worst moment.

use std::time::{Duration, Instant};

use breezeway::{
    CallError, ConnectError, ExclusiveSession, HandshakeError, ServerOptions, SessionError,
    WaitPolicy,
};
use breezeway_adversary::journal;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::children::Child;
use super::service::ECHO;
use super::stage::{IMPATIENCE, Stage, impatient, options};
use super::watchdog::{GENEROUS, within};

#[test]
fn client_stopped_before_hello_times_out() {
    within(GENEROUS, || {
        let stage = Stage::with(ServerOptions::new().session(impatient()));
        for role in ["client without a hello", "client with half a hello"] {
            let from = journal::length();
            let child = Child::ready(role, stage.path());
            child.stop();
            let timeout = HandshakeError::Timeout(IMPATIENCE);
            assert_eq!(stage.no_session(from), timeout.to_string());
            stage.bystander.goes_on();
        }
        stage.close();
    });
}

#[test]
fn stopped_client_delays_no_other_and_its_death_is_seen() {
    within(GENEROUS, || {
        let stage = Stage::set();
        for role in [
            "client at rest",
            "client that does not read its replies",
            "client that keeps its replies",
            "client within a publication",
            "client between a segment and its entry",
            "client that asked for the doorbell",
        ] {
            let from = journal::length();
            let mut child = Child::ready(role, stage.path());
            child.stop();
            for _ in 0..3 {
                stage.bystander.goes_on();
            }
            child.kill();
            assert_eq!(stage.end_of_session(from), SessionError::PeerDied.to_string(), "{role}");
            stage.bystander.goes_on();
        }
        stage.close();
    });
}

/// A program that another process started; it ends with this.
struct Program(Pid);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

#[test]
fn inherited_descriptors_do_not_keep_dead_clients_session() {
    within(GENEROUS, || {
        let stage = Stage::set();
        let from = journal::length();
        let mut child = Child::start("client that executes a program", stage.path());
        let program = Program(Pid::from_raw(child.says_number()).unwrap());
        child.kill();
        assert_eq!(stage.end_of_session(from), SessionError::PeerDied.to_string());
        stage.bystander.goes_on();
        // It had them until now.
        test_kill_process(program.0).unwrap();
        drop(program);
        stage.close();
    });
}

#[test]
fn client_of_stopped_server_keeps_deadlines_and_recovers() {
    within(GENEROUS, || {
        for wait in [WaitPolicy::Busy, WaitPolicy::Adaptive, WaitPolicy::Park] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("stalled.sock");
            let mut child = Child::ready("server that echoes", &path);
            let address = format!("shm:{}", path.display());
            let mut session =
                ExclusiveSession::connect_with(&address, &options().wait(wait)).unwrap();
            assert_eq!(session.call(ECHO, b"before").unwrap().to_vec(), b"before");

            child.stop();
            session.set_call_timeout(Some(Duration::from_millis(30)));
            for _ in 0..3 {
                let start = Instant::now();
                let outcome = session.call(ECHO, b"meanwhile").map(drop);
                assert!(matches!(outcome, Err(CallError::DeadlinePassed)), "{outcome:?}");
                assert!(start.elapsed() < Duration::from_secs(5));
            }
            let full = (0..200).find_map(|_| session.post(ECHO, b"one way").err());
            assert!(matches!(full, Some(CallError::DeadlinePassed)), "{full:?}");
            assert!(!session.is_ended());

            child.go_on();
            session.set_call_timeout(None);
            assert_eq!(session.call(ECHO, b"after").unwrap().to_vec(), b"after");

            child.stop();
            child.kill();
            let outcome = session.call(ECHO, b"too late").map(drop);
            assert!(matches!(outcome, Err(CallError::PeerDied)), "{outcome:?}");
            assert!(session.is_ended());
        }
    });
}

#[test]
fn connecting_to_a_stopped_server_takes_as_long_as_was_allowed() {
    within(GENEROUS, || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stalled.sock");
        let child = Child::ready("server that does not accept", &path);
        child.stop();
        let address = format!("shm:{}", path.display());
        let outcome = ExclusiveSession::connect_with(&address, &impatient()).map(drop);
        let Err(ConnectError::Handshake(HandshakeError::Timeout(_))) = outcome else {
            panic!("{outcome:?}")
        };
    });
}
