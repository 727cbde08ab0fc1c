//! Payload memory: what this side lends to the peer, and what it borrows from it (`docs/abi.md`,
//! sections 4.2 and 6).

pub(crate) mod accounts;
pub(crate) mod allocator;
pub(crate) mod borrower;
pub(crate) mod lender;
pub(crate) mod placement;
pub(crate) mod returned;
pub(crate) mod segments;
pub(crate) mod shortage;
pub(crate) mod staging;
