//! Every schedule of a few threads that wait on one session, and mutants that must fail.
//!
//! [`Leadership`] is the shipped code; a thread's steps are those of `Shared::wait`, in its order.
//! Each of them is taken under a lock, or is one atomic flag, so schedules of whole steps are all
//! there are. A state is visited once.

use std::collections::HashSet;

use super::{Leadership, Place};

/// A mutant: the step that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    /// Nothing.
    None,
    /// A leader that has its result wakes no successor.
    ResignWakesNobody,
    /// A follower that leaves wakes no successor, although it may have been asked to lead.
    LeaveWakesNobody,
    /// A follower leaves its place among the others.
    StaysAmongFollowers,
    /// The leader takes another thread's message and does not wake that thread.
    TakesSilently,
}

/// Position of a thread in `Shared::wait`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    /// Before it polls for its message.
    Poll,
    /// Has found nothing.
    LeadOrFollow,
    Parked(Place),
    /// Was woken, or its deadline has passed.
    Leave(Place),
    Lead,
    /// Has its message, or its deadline has passed.
    Resign,
    /// Wakes another, then continues.
    Wake(usize, Box<At>),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thread {
    at: At,
    notified: bool,
    /// State of the thread's message, with `found`: in flight, come and not taken, or taken by the
    /// leader.
    arrived: bool,
    found: bool,
    expired: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    leadership: Leadership<usize>,
    threads: Vec<Thread>,
}

impl World {
    fn new(threads: usize) -> Self {
        let thread =
            Thread { at: At::Poll, notified: false, arrived: false, found: false, expired: false };
        Self { leadership: Leadership::default(), threads: vec![thread; threads] }
    }

    /// Returns true if a thread's next step can be taken now.
    fn is_enabled(&self, number: usize) -> bool {
        let thread = &self.threads[number];
        match &thread.at {
            At::Parked(_) => thread.notified || thread.expired,
            At::Lead => {
                thread.found
                    || thread.expired
                    || self.threads.iter().any(|thread| thread.arrived && !thread.found)
            }
            At::Done => false,
            _ => true,
        }
    }

    /// Takes a thread's next step.
    fn step(&mut self, number: usize, mutant: Mutant) {
        let thread = &mut self.threads[number];
        let (found, expired) = (thread.found, thread.expired);
        let next = match thread.at.clone() {
            At::Poll if found || expired => At::Done,
            At::Poll => At::LeadOrFollow,
            At::LeadOrFollow if self.leadership.try_lead() => At::Lead,
            At::LeadOrFollow => At::Parked(self.leadership.follow(number)),
            At::Parked(place) => {
                thread.notified = false;
                At::Leave(place)
            }
            At::Leave(_) if mutant == Mutant::StaysAmongFollowers => At::Poll,
            At::Leave(place) => {
                let next = self.leadership.leave(place);
                wake(next.filter(|_| mutant != Mutant::LeaveWakesNobody), At::Poll)
            }
            At::Lead => {
                self.take(mutant);
                let thread = &self.threads[number];
                if thread.found || thread.expired { At::Resign } else { At::Lead }
            }
            At::Resign => {
                let next = self.leadership.resign();
                wake(next.filter(|_| mutant != Mutant::ResignWakesNobody), At::Done)
            }
            At::Wake(other, then) => {
                self.threads[other].notified = true;
                *then
            }
            At::Done => unreachable!("a thread that is done takes no step"),
        };
        self.threads[number].at = next;
    }

    /// Takes the messages that have come, and wakes their threads.
    fn take(&mut self, mutant: Mutant) {
        for thread in &mut self.threads {
            if thread.arrived && !thread.found {
                thread.found = true;
                thread.notified |= mutant != Mutant::TakesSilently;
            }
        }
    }

    /// Returns every state that may follow: a thread takes a step, something comes, a deadline
    /// passes.
    fn successors(&self, mutant: Mutant) -> Vec<Self> {
        let mut successors = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            let mut follow = |change: &dyn Fn(&mut Self)| {
                let mut next = self.clone();
                change(&mut next);
                successors.push(next);
            };
            if self.is_enabled(number) {
                follow(&|next| next.step(number, mutant));
            }
            if !thread.arrived {
                follow(&|next| next.threads[number].arrived = true);
            }
            if !thread.expired && thread.at != At::Done {
                follow(&|next| next.threads[number].expired = true);
            }
        }
        successors
    }

    /// Returns true if a thread waits for a message that has come, and no thread will take a step.
    fn is_lost(&self) -> bool {
        let waits = |thread: &Thread| thread.arrived && thread.at != At::Done;
        self.threads.iter().any(waits)
            && !(0..self.threads.len()).any(|number| self.is_enabled(number))
    }
}

fn wake(next: Option<usize>, then: At) -> At {
    match next {
        Some(other) => At::Wake(other, Box::new(then)),
        None => then,
    }
}

/// Visits every state. Returns one in which a message is lost, if there is one.
fn lost(threads: usize, mutant: Mutant) -> Option<World> {
    let mut seen = HashSet::new();
    let mut left = vec![World::new(threads)];
    while let Some(world) = left.pop() {
        if !seen.insert(world.clone()) {
            continue;
        }
        if world.is_lost() {
            return Some(world);
        }
        left.extend(world.successors(mutant));
    }
    None
}

#[test]
fn every_waiter_gets_its_message_in_every_schedule() {
    for threads in 1..=3 {
        assert_eq!(lost(threads, Mutant::None), None);
    }
}

#[test]
fn each_mutant_leaves_a_waiter() {
    for mutant in [
        Mutant::ResignWakesNobody,
        Mutant::LeaveWakesNobody,
        Mutant::StaysAmongFollowers,
        Mutant::TakesSilently,
    ] {
        assert!((2..=3).any(|threads| lost(threads, mutant).is_some()), "{mutant:?}");
    }
}
