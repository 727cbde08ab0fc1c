//! Shares of instances in a balancer that chooses uniformly.

use std::collections::HashMap;
use std::sync::Arc;

use super::Instance;

/// Maximum number of shares of one instance, so that large weights cost no more than small ones.
const MOST: u32 = 64;

/// One of the places that an instance has in a balancer, according to its weight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Share {
    pub(super) instance: Arc<str>,
    pub(super) number: u32,
}

/// Returns the number of shares of each instance: in the ratio of the weights, with as few shares
/// as possible. Those of weight 0 are left out.
pub(super) fn shares<'i>(
    set: impl Iterator<Item = &'i Instance> + Clone,
) -> HashMap<Arc<str>, u32> {
    let weights = set.clone().map(Instance::weight);
    let (unit, largest) = (weights.clone().fold(0, gcd), weights.max().unwrap_or(0));
    let of = |weight: u32| match largest / unit {
        0..=MOST => weight / unit,
        _ => in_proportion(weight, largest),
    };
    let heavy = set.filter(|instance| instance.weight() > 0);
    heavy.map(|instance| (Arc::clone(instance.name()), of(instance.weight()))).collect()
}

/// Returns the rounded share, at least 1.
fn in_proportion(weight: u32, largest: u32) -> u32 {
    let (weight, largest, most) = (u64::from(weight), u64::from(largest), u64::from(MOST));
    let shares = (weight * most + largest / 2) / largest;
    u32::try_from(shares).expect("at most MOST").max(1)
}

fn gcd(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { gcd(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<const N: usize>(weights: [u32; N]) -> [Option<u32>; N] {
        let names: [_; N] = std::array::from_fn(|index| index.to_string());
        let set: Vec<_> = names
            .iter()
            .zip(weights)
            .map(|(name, weight)| {
                Instance::new(name, "tcp:host:1".parse().unwrap()).with_weight(weight)
            })
            .collect();
        let shares = shares(set.iter());
        names.map(|name| shares.get(name.as_str()).copied())
    }

    #[test]
    fn shares_are_as_few_as_keep_the_relation() {
        assert_eq!(of([1, 1]), [Some(1), Some(1)]);
        assert_eq!(of([10, 30, 20]), [Some(1), Some(3), Some(2)]);
        assert_eq!(of([7]), [Some(1)]);
        assert_eq!(of([u32::MAX, u32::MAX]), [Some(1), Some(1)]);
        assert_eq!(of([3, 64]), [Some(3), Some(64)]);
    }

    #[test]
    fn large_weights_are_rounded_and_none_is_rounded_away() {
        assert_eq!(of([1, 1000, 499]), [Some(1), Some(64), Some(32)]);
        assert_eq!(of([1, u32::MAX]), [Some(1), Some(64)]);
        assert_eq!(of([33, 65]), [Some(32), Some(64)]);
    }

    #[test]
    fn a_weight_of_nothing_has_no_share() {
        assert_eq!(of([0, 4, 2]), [None, Some(2), Some(1)]);
        assert_eq!(of([0]), [None]);
        assert_eq!(of([]), []);
    }
}
