//! Failures of subcommands.

/// Failure of a subcommand: one line for the person who ran it.
pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;
