//! Every carrier and wait policy at every size, in floors, and rare calls beside a plain socket.
//!
//! Server and measuring side of every row are processes of the `breezeway` command, started with
//! the arguments that a person would type, so that each row can be repeated by hand. Rounds go over
//! all rows, so that a change of the machine's speed falls upon all of them alike.

mod date;
mod host;
mod others;
mod plan;
mod rare;
mod results;
mod summary;
mod sweep;

pub use host::COMPARE_SERVER;
pub(crate) use others::SHARE;
pub use plan::{Carrier, Pattern, Plan, Row, Series, Settings};
pub(crate) use plan::{DEPTH, STREAMS, THREADS};
pub use rare::{Rare, RareFigures, RareRate, RareSide, RatioOfMedians};
pub use results::{
    AgainstPlain, Background, Comparison, CpuUse, Figures, Found, Latencies, LeftOut, MIN_MESSAGES,
    Method, SCHEMA,
};
pub use sweep::Step;

use std::path::Path;
use std::time::Instant;

use crate::Failure;
use crate::process::Interrupt;

impl Comparison {
    /// Measures every row of `plan` with `program`, the `breezeway` command, and reports its
    /// progress after each [`Step`]. Servers are started in a temporary folder; both are removed
    /// afterwards, also after an interruption.
    ///
    /// # Errors
    ///
    /// Returns an error if no server starts, if the floor cannot be measured, or after an
    /// interruption. The failure of a row is recorded in that row.
    pub fn measure(
        plan: &Plan,
        program: &Path,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("breezeway-compare-").tempdir()?;
        let start = Instant::now();
        let swept = sweep::sweep(plan, program, folder.path(), interrupt, progress)?;
        let rare = rare::measure(plan, start, program, folder.path(), interrupt, progress)?;
        Ok(Self::new(plan, &swept, &rare))
    }
}

#[cfg(test)]
pub(crate) use summary::tests::sample_run as sample;
