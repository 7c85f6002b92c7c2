//! Chance that can be repeated: the same seed deals the same cards, on every machine.

/// A small generator (SplitMix64). It is for telling stories, not for secrets.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A generator of its own, so that what one folder draws does not shift the next.
    pub(super) fn branch(&mut self) -> Self {
        Self(self.next())
    }

    /// A number from `least` to `most`, both included.
    pub(super) fn between(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least).unsigned_abs() + 1).cast_signed()
    }

    /// A number between two, to a ten-thousandth of the way.
    pub(super) fn real(&mut self, least: f64, most: f64) -> f64 {
        least + (most - least) * self.between(0, 10_000) as f64 / 10_000.0
    }

    /// Whether something that happens `percent` times in a hundred happens now.
    pub(super) fn happens(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    /// One of several, which must not be none.
    pub(super) fn pick<T: Copy>(&mut self, several: &[T]) -> T {
        several[self.below(several.len() as u64) as usize]
    }

    /// One of several, each as likely as its weight says.
    pub(super) fn weigh<T: Copy>(&mut self, several: &[(i64, T)]) -> T {
        let mut left = self.between(1, several.iter().map(|(weight, _)| weight).sum());
        let mut chosen = several[0].1;
        for (weight, one) in several {
            chosen = *one;
            left -= weight;
            if left <= 0 {
                break;
            }
        }
        chosen
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
    fn the_same_seed_deals_the_same_cards() {
        let deal = |seed| {
            let mut chance = Chance::new(seed);
            [(); 20].map(|()| chance.between(-3, 900))
        };
        assert_eq!(deal(7), deal(7));
        assert_ne!(deal(7), deal(8));
        assert!(deal(7).iter().all(|number| (-3..=900).contains(number)));
    }

    #[test]
    fn weights_are_kept() {
        let mut chance = Chance::new(1);
        let rare = (0..1000).filter(|_| chance.weigh(&[(95, false), (5, true)])).count();
        assert!((20..=90).contains(&rare), "{rare}");
        assert!((0..1000).all(|_| !chance.weigh(&[(1, false), (0, true)])));
    }
}
