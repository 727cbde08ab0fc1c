//! Every schedule of a driver that sleeps, tasks that take its turns, and a peer that rings for
//! what was announced; and mutants that must fail.
//!
//! Steps of tasks and of the driver are taken under the session's lock, so schedules of whole steps
//! are all there are. (That nothing slips between an announcement and the look behind it is the
//! ring's own model.) The peer publishes in one step and rings in another: what it publishes is
//! flushed later, for several entries at once. A state is visited once.

use std::collections::HashSet;

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutant {
    /// Nothing.
    None,
    /// A task takes what has come and does not announce the sleep anew.
    AnnouncesNothing,
    /// A task takes what is another's and does not wake it.
    TakesSilently,
    /// What has come wakes a task that waits, and the driver only if there is none.
    WakesTaskOnly,
    /// A task takes what whoever drives is to take up, and does not wake it.
    LeavesArrivals,
}

/// Whose an entry is that no task waits for, as a call: whoever drives takes it up.
const DRIVER: usize = usize::MAX;

/// Turns that tasks take between two of the driver.
const MOST_STAND_INS: usize = 1;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Task {
    notified: bool,
    /// Nobody polls it, although it was woken.
    ignored: bool,
    /// What it waits for was taken from the ring.
    found: bool,
    is_done: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    /// What the peer will still publish, by whose it is.
    unsent: Vec<usize>,
    ring: Vec<usize>,
    /// The entry for which the peer is to ring, by its place among all.
    announced: usize,
    published: usize,
    /// Entries for which it was seen whether to ring.
    flushed: usize,
    /// Whether something came that whoever drives is to take up.
    has_arrivals: bool,
    /// Turns that tasks have taken since the driver took one.
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

    /// The peer rings if what it has published since the last time was announced.
    fn flush(&mut self) {
        self.byte |= (self.flushed..self.published).contains(&self.announced);
        self.flushed = self.published;
    }

    /// Everything was taken: the peer is to ring for what comes next.
    fn announce(&mut self) {
        self.announced = self.published;
    }

    /// The runtime notices the byte.
    fn notice(&mut self, mutant: Mutant) {
        self.byte = false;
        let waiter = self.waiter.take();
        if let Some(waiter) = waiter {
            self.tasks[waiter].notified = true;
        }
        self.driver_notified |= mutant != Mutant::WakesTaskOnly || waiter.is_none();
    }

    /// Takes what has come, for `taker` if a task does. Whether anything has.
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

    /// A task is polled. What it announces may read a byte that the runtime has not noticed.
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

    /// Every state that may follow.
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

    /// Whether a task that would be polled waits for what has come, or the driver is to take it
    /// up, and nobody will take a step.
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

/// Visits every state; gives one in which what has come is lost.
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

/// What the peer publishes, by whose it is, and how many tasks there are.
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
fn everybody_that_is_polled_gets_what_has_come_whoever_takes_it_and_whoever_is_not_polled() {
    for (order, tasks) in ORDERS {
        assert_eq!(lost(order, tasks, Mutant::None), None);
    }
}

#[test]
fn each_mutant_leaves_somebody_waiting() {
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
