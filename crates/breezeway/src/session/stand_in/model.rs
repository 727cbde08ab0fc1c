//! Every schedule of a driver that sleeps, tasks that take its turns, and a peer that rings for
//! announced entries; and mutants that must fail.
//!
//! Steps of tasks and of the driver are taken under the session's lock, so schedules of whole steps
//! are all there are. (The ring's own model shows that nothing is lost between an announcement and
//! the poll behind it.) The peer publishes in one step and rings in another, because it flushes
//! later, for several entries at once. A state is visited once.

use std::collections::HashSet;

/// A mutant: the step that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    /// Nothing.
    None,
    /// A task takes entries and does not announce the sleep again.
    AnnouncesNothing,
    /// A task takes another's entry and does not wake that task.
    TakesSilently,
    /// A doorbell wakes a waiting task, and the driver only if there is none.
    WakesTaskOnly,
    /// A task takes an entry that the driver must accept, and does not wake the driver.
    LeavesArrivals,
}

/// Owner of an entry that no task waits for, such as a call: the driver accepts it.
const DRIVER: usize = usize::MAX;

/// Turns that tasks take between two of the driver.
const MOST_STAND_INS: usize = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Task {
    notified: bool,
    /// True if the task is not polled, although it was woken.
    ignored: bool,
    /// True if the task's entry was taken from the ring.
    found: bool,
    is_done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    /// Entries that the peer will still publish, by owner.
    unsent: Vec<usize>,
    ring: Vec<usize>,
    /// Position among all entries of the one that the peer must ring for.
    announced: usize,
    published: usize,
    /// Number of entries that were checked for a doorbell.
    flushed: usize,
    /// True if an entry came that the driver must accept.
    has_arrivals: bool,
    /// Number of turns that tasks have taken since the driver took one.
    stood_in: usize,
    /// A doorbell byte that the runtime has not noticed.
    byte: bool,
    driver_notified: bool,
    waiter: Option<usize>,
    tasks: Vec<Task>,
}

impl World {
    fn new(unsent: &[usize], tasks: usize) -> Self {
        let task = Task { notified: true, ..Task::default() };
        Self {
            unsent: unsent.to_vec(),
            ring: Vec::new(),
            announced: 0,
            published: 0,
            flushed: 0,
            has_arrivals: false,
            stood_in: 0,
            byte: false,
            driver_notified: false,
            waiter: None,
            tasks: vec![task; tasks],
        }
    }

    fn publish(&mut self) {
        let owner = self.unsent.remove(0);
        self.ring.push(owner);
        self.published += 1;
    }

    /// Lets the peer ring if an entry that it has published since the last time was announced.
    fn flush(&mut self) {
        self.byte |= (self.flushed..self.published).contains(&self.announced);
        self.flushed = self.published;
    }

    /// Announces a sleep after everything was taken: the peer must ring for the next entry.
    fn announce(&mut self) {
        self.announced = self.published;
    }

    /// Lets the runtime notice the byte.
    fn notice(&mut self, mutant: Mutant) {
        self.byte = false;
        let waiter = self.waiter.take();
        if let Some(waiter) = waiter {
            self.tasks[waiter].notified = true;
        }
        self.driver_notified |= mutant != Mutant::WakesTaskOnly || waiter.is_none();
    }

    /// Takes the entries that have come, for `taker` if a task takes them. Returns true if there
    /// were any.
    fn turn(&mut self, taker: Option<usize>, mutant: Mutant) -> bool {
        let entries = std::mem::take(&mut self.ring);
        for &owner in &entries {
            if owner == DRIVER {
                self.has_arrivals = true;
                continue;
            }
            let task = &mut self.tasks[owner];
            task.found = true;
            task.notified |=
                taker != Some(owner) && (taker.is_none() || mutant != Mutant::TakesSilently);
        }
        !entries.is_empty()
    }

    fn drive(&mut self, mutant: Mutant) {
        self.driver_notified = false;
        self.turn(None, mutant);
        self.announce();
        self.has_arrivals = false;
        self.stood_in = 0;
    }

    /// Polls a task. Its announcement may read a byte that the runtime has not noticed.
    fn poll(&mut self, number: usize, reads_byte: bool, mutant: Mutant) {
        self.tasks[number].notified = false;
        let may_stand_in = self.stood_in < MOST_STAND_INS;
        if !self.tasks[number].found && may_stand_in && self.turn(Some(number), mutant) {
            self.stood_in += 1;
            if mutant != Mutant::AnnouncesNothing {
                self.announce();
            }
            self.byte &= !reads_byte;
        }
        self.driver_notified |= self.has_arrivals && mutant != Mutant::LeavesArrivals;
        if self.tasks[number].found {
            self.tasks[number].is_done = true;
        } else if may_stand_in {
            self.waiter.get_or_insert(number);
        }
    }

    /// Returns every state that may follow.
    fn successors(&self, mutant: Mutant) -> Vec<Self> {
        let mut successors = Vec::new();
        let mut follow = |change: &dyn Fn(&mut Self)| {
            let mut next = self.clone();
            change(&mut next);
            successors.push(next);
        };
        if !self.unsent.is_empty() {
            follow(&Self::publish);
        }
        if self.flushed < self.published {
            follow(&Self::flush);
        }
        if self.byte {
            follow(&|next| next.notice(mutant));
        }
        if self.driver_notified {
            follow(&|next| next.drive(mutant));
        }
        for (number, task) in self.tasks.iter().enumerate() {
            if task.notified && !task.ignored && !task.is_done {
                follow(&|next| next.poll(number, false, mutant));
                follow(&|next| next.poll(number, true, mutant));
            }
            if !task.ignored {
                follow(&|next| next.tasks[number].ignored = true);
            }
        }
        successors
    }

    /// Returns true if a task that would be polled waits for an entry that has come, or the driver
    /// must accept one, and neither will take a step.
    fn is_lost(&self) -> bool {
        let waits = |(number, task): (usize, &Task)| {
            let has_come = task.found || self.ring.contains(&number);
            has_come && !task.is_done && !task.ignored && !task.notified
        };
        let nobody_moves = !self.byte && !self.driver_notified && self.flushed == self.published;
        let is_to_be_taken_up = self.has_arrivals || self.ring.contains(&DRIVER);
        nobody_moves && (is_to_be_taken_up || self.tasks.iter().enumerate().any(waits))
    }
}

/// Visits every state. Returns one in which an entry is lost, if there is one.
fn lost(unsent: &[usize], tasks: usize, mutant: Mutant) -> Option<World> {
    let mut seen = HashSet::new();
    let mut left = vec![World::new(unsent, tasks)];
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

/// Entries that the peer publishes, by owner, and the number of tasks.
const ORDERS: [(&[usize], usize); 7] = [
    (&[0], 1),
    (&[0, 1], 2),
    (&[1, 0], 2),
    (&[1, 2, 0], 3),
    (&[DRIVER], 1),
    (&[DRIVER, 0], 2),
    (&[0, DRIVER, 1, DRIVER], 2),
];

#[test]
fn every_polled_task_gets_its_message_in_every_order() {
    for (order, tasks) in ORDERS {
        assert_eq!(lost(order, tasks, Mutant::None), None);
    }
}

#[test]
fn each_mutant_leaves_a_waiter() {
    for mutant in [
        Mutant::AnnouncesNothing,
        Mutant::TakesSilently,
        Mutant::WakesTaskOnly,
        Mutant::LeavesArrivals,
    ] {
        assert!(
            ORDERS.iter().any(|(order, tasks)| lost(order, *tasks, mutant).is_some()),
            "{mutant:?}"
        );
    }
}
