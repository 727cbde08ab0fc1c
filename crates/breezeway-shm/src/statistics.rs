//! Statistics of a process about its sessions, for tools that read them from outside
//! (`docs/abi.md`, section 9): the writing side and the reading side.

mod fields;
mod lifetime;
mod meter;
mod registry;
mod snapshot;
mod table;
mod times;

pub use fields::{CAPACITY, Field, HEADER_SIZE, MAGIC, RECORD_SIZE, TIMES_SIZE, VERSION};
pub use meter::{Description, Meter};
pub use registry::{Look, Registry};
pub use snapshot::{ProcessStatistics, Record, Role, StatisticsFile, Totals, WaitsFor};
pub use table::{Sums, make_file, sums_of_this_process};
pub use times::{HandlerTimes, Times, shortest};
