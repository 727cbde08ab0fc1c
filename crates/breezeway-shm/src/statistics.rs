//! What a process says about its sessions, for tools that read it from outside (`docs/abi.md`,
//! section 9): who writes it, and who reads it.

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
