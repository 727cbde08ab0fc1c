//! Every schedule of two tasks, one of them the reader of a stream, of the thread that delivers its
//! messages, and of the sender on it; and mutants that must fail.
//!
//! [`Reader`] and [`Waiting`] are the shipped code. Work under the session's lock is one step, and
//! so is the check for a quiet stream; wakers are woken between two steps. A state is visited once.

use std::collections::HashSet;

use super::{Reader, Waiting};

/// A mutant: the step that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    /// Nothing.
    None,
    /// A waker is given back although another reader has registered since.
    GivesBackToAnyone,
    /// A stream stays quiet until its reader was woken.
    QuietUntilWoken,
    /// Any task may wait where one has registered.
    AnyTaskNeedNotAsk,
    /// A stream is quiet although something can be taken.
    QuietWithMessages,
    /// A task that has sent finds the stream quiet, and does not wait.
    DoesNotWaitAgain,
}

/// Position of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum At {
    Away,
    /// Polls, and has not checked whether the stream is quiet.
    Looks,
    /// Polls, under the lock.
    Asks,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    reader: Reader<usize>,
    quiet: bool,
    registrations: u64,
    /// Number of messages that have not come, and of those that have come and were not taken.
    unsent: usize,
    queue: usize,
    /// Wakers that were taken, and whether they were woken.
    due: Vec<(u64, usize, bool)>,
    half: Waiting,
    /// Task that has the receiving half, and the number of its later changes.
    holder: usize,
    moves: usize,
    at: [At; 2],
    notified: [bool; 2],
}

impl World {
    fn new(messages: usize) -> Self {
        Self {
            reader: Reader::default(),
            quiet: false,
            registrations: 0,
            unsent: messages,
            queue: 0,
            due: Vec::new(),
            half: Waiting::default(),
            holder: 0,
            moves: 2,
            at: [At::Away; 2],
            notified: [true, false],
        }
    }

    fn deliver(&mut self, mutant: Mutant) {
        self.unsent -= 1;
        self.queue += 1;
        if let Some((registration, task)) = self.reader.take() {
            self.quiet &= mutant == Mutant::QuietUntilWoken;
            self.due.push((registration, task, false));
        }
    }

    fn wake(&mut self, index: usize) {
        let (_, task, is_woken) = &mut self.due[index];
        (self.notified[*task], *is_woken) = (true, true);
    }

    fn give_back(&mut self, index: usize, mutant: Mutant) {
        let (mut registration, task, _) = self.due.remove(index);
        self.quiet &= mutant != Mutant::QuietUntilWoken;
        if mutant == Mutant::GivesBackToAnyone {
            registration = self.registrations;
        }
        self.reader.give_back(task, registration);
    }

    fn send(&mut self, task: usize, mutant: Mutant) {
        if self.queue > 0 && mutant != Mutant::QuietWithMessages {
            return;
        }
        let waited = self.reader.clone();
        if self.reader.wait_again(|waker| *waker == task) {
            self.quiet = true;
            if mutant == Mutant::DoesNotWaitAgain {
                self.reader = waited;
            }
        }
    }

    fn look(&mut self, mutant: Mutant) {
        let (task, quiet) = (self.holder, self.quiet);
        let id = if mutant == Mutant::AnyTaskNeedNotAsk {
            // The task that has registered.
            self.reader.waker.unwrap_or(task)
        } else {
            task
        };
        let need_not = self.half.need_not_ask(|| [id, 0], || quiet);
        self.at[task] = if need_not { At::Away } else { At::Asks };
    }

    fn ask(&mut self) {
        let task = self.holder;
        let received = self.queue > 0;
        if received {
            self.queue -= 1;
            // The task continues, and will poll again.
            self.notified[task] = true;
        } else if !self.reader.wait_again(|waker| *waker == task) {
            self.registrations += 1;
            self.reader.wait(task, self.registrations);
        }
        self.half.has_asked(|| [task, 0], received);
        self.at[task] = At::Away;
    }

    /// Returns true if a message has come that no task will take.
    fn is_lost(&self) -> bool {
        let holder = self.holder;
        self.queue > 0
            && self.at[holder] == At::Away
            && !self.notified[holder]
            && self.due.iter().all(|(_, _, is_woken)| *is_woken)
    }

    fn steps(&self, mutant: Mutant) -> Vec<Self> {
        let mut next = Vec::new();
        let mut step = |change: &dyn Fn(&mut Self)| {
            let mut world = self.clone();
            change(&mut world);
            next.push(world);
        };
        if self.unsent > 0 {
            step(&|world| world.deliver(mutant));
        }
        for (index, (_, _, is_woken)) in self.due.iter().enumerate() {
            if *is_woken {
                step(&|world| world.give_back(index, mutant));
            } else {
                step(&|world| world.wake(index));
            }
        }
        for task in 0..2 {
            // A polling task sends nothing until it is done.
            if self.at[task] == At::Away {
                step(&|world| world.send(task, mutant));
            }
        }
        let holder = self.holder;
        match self.at[holder] {
            At::Looks => step(&|world| world.look(mutant)),
            At::Asks => step(&|world| world.ask()),
            At::Away => {
                // Woken, or of itself: not only this stream wakes it.
                step(&|world| {
                    (world.notified[holder], world.at[holder]) = (false, At::Looks);
                });
                if self.moves > 0 {
                    step(&|world| {
                        world.moves -= 1;
                        world.holder = 1 - holder;
                        world.notified[1 - holder] = true;
                    });
                }
            }
        }
        next
    }
}

/// Returns true if some schedule loses a message.
fn loses(mutant: Mutant) -> bool {
    let mut seen = HashSet::new();
    let mut left = vec![World::new(3)];
    while let Some(world) = left.pop() {
        if !seen.insert(world.clone()) {
            continue;
        }
        if world.is_lost() {
            return true;
        }
        left.extend(world.steps(mutant));
    }
    assert!(seen.len() > 1_000, "only {} states", seen.len());
    false
}

#[test]
fn reader_is_woken_for_each_arrival() {
    assert!(!loses(Mutant::None));
}

#[test]
fn mutants_lose_a_message() {
    for mutant in [
        Mutant::GivesBackToAnyone,
        Mutant::QuietUntilWoken,
        Mutant::AnyTaskNeedNotAsk,
        Mutant::QuietWithMessages,
        Mutant::DoesNotWaitAgain,
    ] {
        assert!(loses(mutant), "{mutant:?}");
    }
}
