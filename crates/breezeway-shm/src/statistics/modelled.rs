//! The part of the statistics that is modelled: whose a record is.

mod lifetime;
