//! A repeatable random number generator.
//!
//! The sequence is defined here rather than by a dependency, so that the demo stays the same when
//! dependencies are updated.

/// SplitMix64. Not for secrets.
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// An independent generator: what one folder draws does not affect the next.
    pub(super) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// An integer from `min` to `max`, both included.
    pub(super) fn int(&mut self, min: i64, max: i64) -> i64 {
        min + self.below((max - min).unsigned_abs() + 1).cast_signed()
    }

    /// A number from `min` to `max`, in steps of a ten-thousandth of the range.
    pub(super) fn float(&mut self, min: f64, max: f64) -> f64 {
        min + (max - min) * self.int(0, 10_000) as f64 / 10_000.0
    }

    /// `true` in `percent` of a hundred cases.
    pub(super) fn chance(&mut self, percent: i64) -> bool {
        self.int(1, 100) <= percent
    }

    /// One of `items`, which must not be empty.
    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// One of `items`, which must not be empty; each is as likely as its weight.
    pub(super) fn pick_weighted<T: Copy>(&mut self, items: &[(i64, T)]) -> T {
        let mut remaining = self.int(1, items.iter().map(|(weight, _)| weight).sum());
        let mut picked = items[0].1;
        for (weight, item) in items {
            picked = *item;
            remaining -= weight;
            if remaining <= 0 {
                break;
            }
        }
        picked
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_the_same_sequence() {
        let sequence = |seed| {
            let mut rng = Rng::new(seed);
            [(); 20].map(|()| rng.int(-3, 900))
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
        assert!(sequence(7).iter().all(|number| (-3..=900).contains(number)));
    }

    #[test]
    fn weighted_pick_follows_the_weights() {
        let mut rng = Rng::new(1);
        let rare = (0..1000).filter(|_| rng.pick_weighted(&[(95, false), (5, true)])).count();
        assert!((20..=90).contains(&rare), "{rare}");
        assert!((0..1000).all(|_| !rng.pick_weighted(&[(1, false), (0, true)])));
    }
}
