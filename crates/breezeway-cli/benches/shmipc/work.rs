//! The works that are measured.

use super::Outcome;
use super::floor;
use super::measurement::{Figures, Pair, System};

/// Every client with every server, without the two that have nothing of ours but both of
/// upstream's.
pub(crate) const PAIRS: [Pair; 7] = {
    use System::{Go, Ours, Rust};
    const fn pair(client: System, server: System) -> Pair {
        Pair { client, server }
    }
    [
        pair(Ours, Ours),
        pair(Go, Go),
        pair(Rust, Rust),
        pair(Ours, Go),
        pair(Go, Ours),
        pair(Ours, Rust),
        pair(Rust, Ours),
    ]
};

pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(crate) streams: usize,
    pub(crate) judged_by: Judge,
}

/// Target for our client with our server. Mixed pairs must not be slower than upstream's with
/// itself.
#[derive(Clone, Copy)]
pub(crate) enum Judge {
    /// The p50 is this many times lower than either of upstream's.
    TimesLower(f64),
    /// The p50 is at most this many times that of bare touched memory.
    TimesTouched(f64),
    /// The pair exchanges at least as many messages in a second.
    MessagesPerSecond,
}

pub(crate) const WORK: &[Work] = &[
    Work { name: "64 B", size: 64, streams: 1, judged_by: Judge::TimesLower(3.0) },
    Work { name: "64 KiB", size: 64 << 10, streams: 1, judged_by: Judge::TimesTouched(1.4) },
    Work { name: "199 streams, 64 B", size: 64, streams: 199, judged_by: Judge::MessagesPerSecond },
];

/// One measurement of every pair, in the order of [`PAIRS`].
pub(crate) struct Round {
    pub(crate) figures: Vec<Figures>,
    /// Bare touched memory, if it is the budget's reference.
    pub(crate) touched: f64,
}

impl Work {
    pub(crate) fn arguments(&self) -> [String; 6] {
        let [size, streams] = [self.size, self.streams].map(|number| number.to_string());
        ["--size".into(), size, "--streams".into(), streams, "--seconds".into(), "0.4".into()]
    }

    pub(crate) fn measure(&self) -> Outcome<Round> {
        let before = self.floor()?;
        let ours = PAIRS[0].measure(self)?;
        let after = self.floor()?;
        let mut figures = vec![ours];
        for pair in &PAIRS[1..] {
            figures.push(pair.measure(self)?);
        }
        Ok(Round { figures, touched: (before + after) / 2.0 })
    }

    fn floor(&self) -> Outcome<f64> {
        match self.judged_by {
            Judge::TimesTouched(_) => floor::touched(self.size),
            _ => Ok(f64::NAN),
        }
    }
}

impl Round {
    /// The figures of a client with a server.
    pub(crate) fn of(&self, client: System, server: System) -> Figures {
        let place = PAIRS.iter().position(|pair| *pair == Pair { client, server });
        self.figures[place.expect("all pairs are measured")]
    }
}
