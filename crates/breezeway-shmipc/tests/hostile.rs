//! Peers that break the rules: each known defect of other implementations, named after it. The attacked side goes on serving others, and ends the attacker's session at once.

#[path = "hostile/child.rs"]
mod child;
#[path = "hostile/descriptors.rs"]
mod descriptors;
#[path = "hostile/files.rs"]
mod files;
#[path = "hostile/handshakes.rs"]
mod handshakes;
#[path = "hostile/lifetimes.rs"]
mod lifetimes;
#[path = "hostile/memory.rs"]
mod memory;
#[path = "hostile/random.rs"]
mod random;
#[path = "hostile/raw.rs"]
mod raw;
#[path = "hostile/servers.rs"]
mod servers;
#[path = "hostile/shared_files.rs"]
mod shared_files;
#[path = "hostile/signals.rs"]
mod signals;
#[path = "hostile/socket.rs"]
mod socket;
#[path = "hostile/truncation.rs"]
mod truncation;
#[path = "hostile/victim.rs"]
mod victim;
