//! Paints the polygons of a tile, to measure the area that they cover.

use std::collections::BTreeMap;

/// The side of a tile, in its units.
const EXTENT: usize = 4096;

/// A tile as a bitmap: which units are painted.
pub struct Canvas(Vec<u64>);

impl Canvas {
    /// An empty canvas.
    #[must_use]
    pub fn new() -> Self {
        Self(vec![0; EXTENT * EXTENT / 64])
    }

    /// Fills polygons by the even-odd rule, at the centres of units.
    pub fn fill(&mut self, rings: &[Vec<(i64, i64)>]) {
        let mut crossings: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for ring in rings {
            for (from, to) in ring.iter().zip(ring.iter().cycle().skip(1)) {
                let (upper, lower) = if from.1 < to.1 { (from, to) } else { (to, from) };
                let slope = (lower.0 - upper.0) as f64 / (lower.1 - upper.1).max(1) as f64;
                for row in upper.1.max(0)..lower.1.min(EXTENT as i64) {
                    let x = upper.0 as f64 + (row as f64 + 0.5 - upper.1 as f64) * slope;
                    crossings.entry(row as usize).or_default().push(x);
                }
            }
        }
        for (row, mut at) in crossings {
            at.sort_unstable_by(f64::total_cmp);
            for pair in at.chunks_exact(2) {
                let column = |x: f64| (x - 0.5).ceil().clamp(0.0, EXTENT as f64) as usize;
                for x in column(pair[0])..column(pair[1]) {
                    self.0[(row * EXTENT + x) / 64] |= 1 << (x % 64);
                }
            }
        }
    }

    /// The painted area, in units.
    #[must_use]
    pub fn painted(&self) -> f64 {
        f64::from(self.0.iter().map(|word| word.count_ones()).sum::<u32>())
    }
}

impl Default for Canvas {
    fn default() -> Self {
        Self::new()
    }
}
