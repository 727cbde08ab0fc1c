//! The part of the statistics that is modelled: the lifetime of a record.

mod lifetime;
