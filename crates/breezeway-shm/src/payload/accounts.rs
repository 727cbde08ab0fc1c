//! Accounting of lent payload by stream, so that a stream that keeps its messages never blocks
//! another stream's next message: a part of the lend numbers, and memory beside the cap, is
//! reserved for streams that hold nothing.

/// Account that a payload is charged to. Two bytes, so that the record of a loan does not grow.
/// Streams past 65,534 share one account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account(u16);

impl Account {
    /// Account of the session as a whole: calls.
    pub const SESSION: Self = Self(0);

    /// Returns the account of a stream, given a small index that no other live stream has.
    pub fn of_stream(index: usize) -> Self {
        Self(u16::try_from(index + 1).unwrap_or(u16::MAX))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Held {
    numbers: u32,
    bytes: usize,
}

/// Reserve for accounts that hold nothing, and the amount that each account holds.
#[derive(Debug)]
pub(crate) struct Accounts {
    /// Number of accounts that share the reserve; 0 if nothing is reserved.
    shares: usize,
    cap: usize,
    /// Reserved bytes beside the cap.
    reserve: usize,
    numbers: usize,
    taken: Held,
    /// Held amounts by account, without the session's own.
    held: Vec<Held>,
}

impl Accounts {
    pub(crate) fn new(cap: usize, reserve: usize, numbers: usize) -> Self {
        Self { shares: 0, cap, reserve, numbers, taken: Held::default(), held: Vec::new() }
    }

    /// Reserves half of the numbers and all of the reserve for `shares` accounts from now on. Must
    /// be called before anything is taken.
    pub(crate) fn keep_for(&mut self, shares: usize) {
        assert!(self.taken.numbers == 0, "what is kept is agreed on before it is needed");
        self.shares = shares;
    }

    /// Returns the largest message: the reserve is not available to a single one.
    pub(crate) fn cap(&self) -> usize {
        self.cap
    }

    /// Returns the largest message that an account that holds nothing can always send.
    fn share(&self) -> usize {
        self.reserve.checked_div(self.shares).unwrap_or(0)
    }

    /// Returns true if an account may take `len` more bytes without touching the reserve of others.
    #[inline]
    pub(crate) fn allows(&self, account: Account, len: usize) -> bool {
        if self.shares == 0 {
            return true;
        }
        let kept = self.numbers / 2;
        let fits = (self.taken.numbers as usize) < self.numbers - kept
            && self.taken.bytes + len <= self.cap;
        fits || self.holds_nothing(account) && len <= self.share()
    }

    fn holds_nothing(&self, account: Account) -> bool {
        let held = self.held.get(account.0 as usize);
        account != Account::SESSION && held.is_none_or(|held| held.numbers == 0)
    }

    #[inline]
    pub(crate) fn take(&mut self, account: Account, len: usize) {
        if self.shares == 0 {
            return;
        }
        self.taken.numbers += 1;
        self.taken.bytes += len;
        if account != Account::SESSION {
            let index = account.0 as usize;
            if index >= self.held.len() {
                self.held.resize(index + 1, Held::default());
            }
            self.held[index].numbers += 1;
            self.held[index].bytes += len;
        }
    }

    #[inline]
    pub(crate) fn give_back(&mut self, account: Account, len: usize) {
        if self.shares == 0 {
            return;
        }
        self.taken.numbers -= 1;
        self.taken.bytes -= len;
        if account != Account::SESSION {
            let held = &mut self.held[account.0 as usize];
            held.numbers -= 1;
            held.bytes -= len;
        }
    }

    /// Gives back a part of what was taken, and keeps its number.
    pub(crate) fn shorten(&mut self, account: Account, by: usize) {
        if self.shares == 0 {
            return;
        }
        self.taken.bytes -= by;
        if account != Account::SESSION {
            self.held[account.0 as usize].bytes -= by;
        }
    }

    /// Returns the bytes that an account holds.
    pub(crate) fn held(&self, account: Account) -> usize {
        self.held.get(account.0 as usize).map_or(0, |held| held.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(index: usize) -> Account {
        Account::of_stream(index)
    }

    /// Returns accounts with 750 bytes, 250 more reserved for 10 streams, and 64 numbers, half of
    /// them reserved.
    fn shared() -> Accounts {
        let mut accounts = Accounts::new(750, 250, 64);
        accounts.keep_for(10);
        accounts
    }

    #[test]
    fn without_streams_everything_may_be_taken() {
        let mut accounts = Accounts::new(1_000, 250, 64);
        assert!(accounts.allows(Account::SESSION, 1_000));
        accounts.take(Account::SESSION, 1_000);
        assert!(
            accounts.allows(Account::SESSION, 1_000),
            "the allocator refuses, not the accounts"
        );
    }

    #[test]
    fn one_that_holds_all_it_may_stops_no_other_up_to_the_share() {
        let mut accounts = shared();
        accounts.take(stream(0), 700);
        assert!(accounts.allows(stream(0), 50));
        assert!(!accounts.allows(stream(0), 51));
        assert!(!accounts.allows(Account::SESSION, 51));
        accounts.take(stream(0), 50);
        for other in 1..=10 {
            assert!(accounts.allows(stream(other), 25), "stream {other}");
            assert!(!accounts.allows(stream(other), 26), "stream {other}");
            accounts.take(stream(other), 25);
            assert!(!accounts.allows(stream(other), 1), "stream {other} holds something");
        }
        accounts.give_back(stream(0), 50);
        accounts.give_back(stream(3), 25);
        assert!(accounts.allows(stream(3), 25));
        assert!(!accounts.allows(stream(4), 1));
    }

    #[test]
    fn numbers_are_kept_as_bytes_are() {
        let mut accounts = shared();
        for _ in 0..32 {
            assert!(accounts.allows(stream(0), 1));
            accounts.take(stream(0), 1);
        }
        assert!(!accounts.allows(stream(0), 1));
        assert!(accounts.allows(stream(1), 1));
        assert_eq!((accounts.held(stream(0)), accounts.held(stream(1))), (32, 0));
    }
}
