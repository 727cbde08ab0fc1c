//! Peers that break the rules: each known defect of other implementations, named after it. The
//! attacked side continues to serve others, and ends the attacker's session at once.

mod child;
mod descriptors;
mod files;
mod handshakes;
mod lifetimes;
mod memory;
mod random;
mod returned_memory;
mod servers;
mod shared_files;
mod signals;
mod socket;
mod truncation;
mod victim;
