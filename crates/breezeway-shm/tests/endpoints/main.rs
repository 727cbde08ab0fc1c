//! Two endpoints of one session in one process, against the page, against a model, and against
//! shortage.

mod support;

mod abi_page_agrees_with_layout;
mod abi_page_agrees_with_statistics;
mod endpoint;
mod golden_entries;
mod growth;
mod hostile;
mod leases;
mod owned_space;
mod spinning;
