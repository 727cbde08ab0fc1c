//! Two sessions that have one record, one after the other, and a tool that copies it.
//!
//! Taking, describing and ending are the shipped code. The tool copies by system calls, which order
//! its copies; the owners decide what those can contain.

use loom::sync::Arc;
use loom::thread;

use super::{describe, end, give_back, take};
use crate::ring::model::checking::{fails, holds};
use crate::ring::mutants::Mutant;
use crate::ring::sync::{AtomicU64, FenceSite, Ordering, fence};

struct Table {
    taken: [AtomicU64; 1],
    sequence: AtomicU64,
    number: AtomicU64,
}

impl Table {
    fn new() -> Arc<Self> {
        let [all_but_one, sequence, number] = [!1, 0, 0].map(AtomicU64::new);
        Arc::new(Self { taken: [all_but_one], sequence, number })
    }

    /// Runs a session, if the record is free.
    fn session(&self, number: u64) -> bool {
        let Some(record) = take(&self.taken) else { return false };
        describe(&self.sequence, || self.number.store(number, Ordering::Relaxed));
        end(&self.sequence);
        give_back(&self.taken, record);
        true
    }

    /// Reads the sequence, then the words: a tool that has seen that a session's words are complete
    /// sees no older ones. (An acquire fence is the order of the system call by which a tool
    /// copies.)
    fn read_behind_the_sequence(&self) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let number = self.number.load(Ordering::Relaxed);
        assert!(number >= sequence / 2, "words of the session before");
    }

    /// Reads the words, then the sequence: a tool that has seen a word of a session sees that the
    /// previous one has ended.
    fn read_the_sequence_behind(&self) {
        let number = self.number.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let sequence = self.sequence.load(Ordering::Relaxed);
        assert!(number < 2 || sequence >= 2 * number - 1, "words of the session after");
    }
}

/// Both together: an even sequence that is the same before and behind a copy belongs to the session
/// of the whole copy.
fn sessions_and_a_tool(read: fn(&Table)) {
    let table = Table::new();
    let owner = Arc::clone(&table);
    let tool = thread::spawn(move || read(&table));
    assert!(owner.session(1) && owner.session(2));
    tool.join().unwrap();
}

fn tool_that_reads_the_sequence_first() {
    sessions_and_a_tool(Table::read_behind_the_sequence);
}

fn tool_that_reads_the_sequence_last() {
    sessions_and_a_tool(Table::read_the_sequence_behind);
}

fn sessions_in_two_threads() {
    let table = Table::new();
    let other = Arc::clone(&table);
    let session = thread::spawn(move || other.session(2));
    let sessions = u64::from(table.session(1)) + u64::from(session.join().unwrap());
    let sequence = table.sequence.load(Ordering::Relaxed);
    assert_eq!(sequence, 2 * sessions + 1, "two sessions had one number");
}

#[test]
fn model_a_copy_is_one_sessions_or_is_refused() {
    holds(None, tool_that_reads_the_sequence_first);
    holds(None, tool_that_reads_the_sequence_last);
}

#[test]
fn model_one_session_has_a_record_at_a_time() {
    holds(None, sessions_in_two_threads);
}

#[test]
fn model_without_any_of_its_orderings_a_record_is_two_sessions() {
    for (site, how, model) in [
        (FenceSite::RecordDescribed, "session before", tool_that_reads_the_sequence_first as fn()),
        (FenceSite::SequenceIsOdd, "session after", tool_that_reads_the_sequence_last),
        (FenceSite::RecordTaken, "one number", sessions_in_two_threads),
        (FenceSite::RecordGivenBack, "one number", sessions_in_two_threads),
    ] {
        fails(Mutant::Without(site), how, None, model);
    }
}
