//! Sending side of payload: the lent space of our payload segments, by lend number.
//!
//! All state but the payload bytes is private memory. The peer's release bits only mark parts of
//! our own memory that may be written again, so false bits corrupt only the peer's own messages.

use std::sync::Arc;

use crate::payload::accounts::{Account, Accounts};
use crate::payload::placement::{LOOKS_PER_FIRST, MESSAGES_PER_LOOK};
use crate::payload::segments::{Place, Segments};
use crate::ring::Lent;
use crate::violation::Violation;
use breezeway_os::segment::Mapping;

/// Space taken for one payload, with its lend number. The value is the only access to the space: it
/// moves from the lender to the sender and back, and is never copied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Loan {
    segment: u32,
    lend: u16,
    pub(crate) offset: usize,
    pub(crate) len: usize,
    account: Account,
}

impl Loan {
    fn place(&self) -> Place {
        Place { segment: self.segment, offset: self.offset }
    }

    /// Returns the descriptor that gives the payload's location to the peer (`docs/abi.md`, section
    /// 4.2).
    #[inline]
    pub(crate) fn descriptor(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[0..4].copy_from_slice(&self.segment.to_le_bytes());
        bytes[4..8].copy_from_slice(&u32::from(self.lend).to_le_bytes());
        bytes[8..16].copy_from_slice(&(self.offset as u64).to_le_bytes());
        bytes[16..24].copy_from_slice(&(self.len as u64).to_le_bytes());
        bytes
    }
}

/// Lent and free parts of our payload segments.
pub(crate) struct Lender {
    pub(crate) segments: Segments,
    pub(crate) accounts: Accounts,
    /// Account charged for the next payload taken.
    pub(crate) account: Account,
    /// Free lend numbers; the one used last comes first.
    free_numbers: Vec<u16>,
    /// Lent payloads by lend number.
    loans: Vec<Option<Loan>>,
    /// Bytes taken since releases were last collected.
    unlooked: usize,
}

impl Lender {
    pub(crate) fn new(lend_count: u32, segments: Segments, accounts: Accounts) -> Self {
        Self {
            accounts,
            account: Account::SESSION,
            segments,
            free_numbers: (0..lend_count as u16).rev().collect(),
            loans: std::iter::repeat_with(|| None).take(lend_count as usize).collect(),
            unlooked: 0,
        }
    }

    /// Takes space for `len` bytes and a lend number, if there is both. Also returns `None` where
    /// released space may be a better place; after [`collect`](Self::collect) it no longer does so
    /// for that reason.
    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Option<Loan> {
        if !self.accounts.allows(self.account, len) {
            return None;
        }
        let lend = *self.free_numbers.last()?;
        let first = self.segments.first();
        let most = if len > first {
            len.saturating_mul(MESSAGES_PER_LOOK)
        } else {
            first / LOOKS_PER_FIRST
        };
        let looked = self.unlooked < most;
        let Place { segment, offset } = self.segments.take(len, looked)?;
        self.free_numbers.pop();
        self.unlooked += len;
        let account = self.account;
        self.accounts.take(account, len);
        Some(Loan { segment, lend, offset, len, account })
    }

    /// Gives back space that was taken and not lent.
    pub(crate) fn give_back(&mut self, loan: Loan) {
        self.free_numbers.push(loan.lend);
        self.accounts.give_back(loan.account, loan.len);
        self.segments.give_back(loan.place(), loan.len);
    }

    /// Shortens a loan to its first `len` bytes, and returns true if that freed space.
    pub(crate) fn shorten(&mut self, loan: &mut Loan, len: usize) -> bool {
        self.accounts.shorten(loan.account, loan.len - len);
        let freed = self.segments.shorten(loan.place(), loan.len, len);
        loan.len = len;
        freed
    }

    /// Returns the bytes of a loan for filling. The peer may read them at any time.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, loan: &Loan) -> &mut [u8] {
        let mapping = self.segments.mapping(loan.place());
        let end = loan.offset.checked_add(loan.len);
        assert!(end.is_some_and(|end| end <= mapping.size()), "loan outside its segment");
        // SAFETY: the range was checked to lie in our writable mapping, which lives in `self`. The
        // result borrows `self` exclusively, and other threads fill only other loans, which the
        // allocator keeps apart; the peer can only read.
        // the allocator keeps apart; the peer can only read.
        unsafe { std::slice::from_raw_parts_mut(mapping.address().add(loan.offset), loan.len) }
    }

    /// Returns the segment of a loan that is to be filled outside the endpoint.
    pub(crate) fn segment(&mut self, loan: &Loan) -> Arc<Mapping> {
        Arc::clone(self.segments.mapping(loan.place()))
    }

    /// Notes that a loan's descriptor is about to be published.
    #[inline]
    pub(crate) fn lend(&mut self, loan: Loan, lent: &mut Lent) {
        let number = loan.lend;
        self.loans[usize::from(number)] = Some(loan);
        lent.lend(number);
    }

    /// Takes back the payload that the peer releases by an entry.
    #[inline]
    pub(crate) fn released(&mut self, lend: u16, lent: &mut Lent) -> Result<(), Violation> {
        let loan = self.loans.get_mut(usize::from(lend)).and_then(Option::take);
        let loan = loan.ok_or(Violation::Release(lend))?;
        lent.take_back(lend);
        self.give_back(loan);
        Ok(())
    }

    /// Takes back all payloads whose release bit the peer has flipped.
    pub(crate) fn collect(&mut self, lent: &mut Lent) {
        self.unlooked = 0;
        lent.collect(|number| {
            if let Some(loan) = self.loans[usize::from(number)].take() {
                self.give_back(loan);
            }
        });
    }

    /// Returns the number of payloads that are reserved or lent now.
    pub(crate) fn lends(&self) -> usize {
        self.loans.len() - self.free_numbers.len()
    }

    /// Returns the number of lend numbers, the maximum of payloads lent at any time.
    pub(crate) fn numbers(&self) -> usize {
        self.loans.len()
    }

    /// Returns true if a lend number is free.
    pub(crate) fn has_numbers(&self) -> bool {
        !self.free_numbers.is_empty()
    }

    /// Returns true if the current account may take `len` bytes without touching the reserve of
    /// others.
    pub(crate) fn may_take(&self, len: usize) -> bool {
        self.accounts.allows(self.account, len)
    }
}
