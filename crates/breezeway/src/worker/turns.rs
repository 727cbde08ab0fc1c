//! The order in which a worker's active sessions have their turns.

/// The active sessions, by token, with the next one to have its turn. Each has one turn per round,
/// whatever is added or removed during it.
#[derive(Debug, Default)]
pub(super) struct Turns {
    tokens: Vec<usize>,
    /// Index of the next session in this round.
    next: usize,
}

impl Turns {
    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns all tokens, in their order.
    pub(super) fn tokens(&self) -> &[usize] {
        &self.tokens
    }

    /// Begins the next round if the last one is over; returns true if it was.
    #[inline(always)]
    pub(super) fn begin_round(&mut self) -> bool {
        let over = self.next >= self.tokens.len();
        if over {
            self.next = 0;
        }
        over
    }

    /// Returns the next session in turn; `None` at the end of a round.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<usize> {
        let token = *self.tokens.get(self.next)?;
        self.next += 1;
        Some(token)
    }

    /// Adds a session, which is next.
    pub(super) fn add_next(&mut self, token: usize) {
        self.tokens.insert(self.next, token);
    }

    /// Adds a session, which is the last of this round.
    pub(super) fn add_last(&mut self, token: usize) {
        self.tokens.push(token);
    }

    /// Adds a session that has its turn in the next round.
    pub(super) fn add_for_next_round(&mut self, token: usize) {
        self.tokens.insert(0, token);
        self.next += usize::from(self.next > 0);
    }

    /// Removes a session, if it is there.
    pub(super) fn remove(&mut self, token: usize) {
        if let Some(index) = self.tokens.iter().position(|&other| other == token) {
            self.tokens.remove(index);
            self.next -= usize::from(index < self.next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tokens: &[usize]) -> Turns {
        Turns { tokens: tokens.to_vec(), next: 0 }
    }

    /// Returns the rest of a round, after which the next one begins.
    fn round(turns: &mut Turns) -> Vec<usize> {
        let left = std::iter::from_fn(|| turns.next()).collect();
        assert!(turns.begin_round() && turns.next == 0);
        left
    }

    #[test]
    fn each_has_one_turn_per_round() {
        let mut turns = of(&[3, 1, 2]);
        for _ in 0..3 {
            assert_eq!(round(&mut turns), [3, 1, 2]);
        }
    }

    #[test]
    fn added_session_gets_its_turn_in_this_or_next_round() {
        let mut turns = of(&[1, 2]);
        assert_eq!(turns.next(), Some(1));
        turns.add_next(3);
        turns.add_for_next_round(4);
        turns.add_last(5);
        assert_eq!(round(&mut turns), [3, 2, 5]);
        assert_eq!(round(&mut turns), [4, 1, 3, 2, 5]);
    }

    #[test]
    fn removal_costs_no_other_session_its_turn() {
        for (gone, left) in [(1, [2, 3].as_slice()), (2, &[3]), (3, &[2]), (9, &[2, 3])] {
            let mut turns = of(&[1, 2, 3]);
            turns.next();
            if gone == 2 {
                turns.next();
            }
            turns.remove(gone);
            assert_eq!(round(&mut turns), left, "without {gone}");
        }
    }

    #[test]
    fn one_added_between_two_rounds_has_a_turn_in_the_next() {
        let mut turns = of(&[1]);
        round(&mut turns);
        turns.add_for_next_round(2);
        assert_eq!(round(&mut turns).len(), 2);
    }
}
