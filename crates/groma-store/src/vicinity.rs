//! Vicinities: what a few neighbouring tiles of a zoom may show, in memory and in the order in which
//! it is drawn. Who looks at a map asks for neighbours; drawn from a vicinity they cost the drawing
//! alone, on either engine. A vicinity is of one revision of its layer, and gives the same bytes as
//! the blocks that it was read from.

use crate::{
    Result,
    long::long,
    tiles::{self, ENOUGH, Tile},
    tx::StoredLayer,
};
use groma_geo::{
    grid::{GridBox, TileId},
    tile::{self, Candidate},
    tile_shape, zoom_tier,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Tiles to a vicinity's side.
const SIDE: u32 = 4;
const TILES: usize = (SIDE * SIDE) as usize;

/// A vicinity that stands in more blocks, has more shapes that are kept apart, or whose features take
/// more bytes, is not kept: a crowd is read tile by tile.
pub(crate) const MOST_BLOCKS: usize = 1_024;
pub(crate) const MOST_APART: usize = 64;
const MOST_BYTES: usize = 4 << 20;

/// Which tiles: their first, in the north-west.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VicinityId(TileId);

impl VicinityId {
    /// The vicinity of a tile; `None` at zooms whose tiles show too much for one.
    #[must_use]
    pub fn of(tile: TileId) -> Option<Self> {
        let first = |n: u32| n - n % SIDE;
        let first = TileId::new(tile.z(), first(tile.x()), first(tile.y()))?;
        tiles::shows_little(tile.z()).then_some(Self(first))
    }

    /// Row by row.
    fn tiles(self) -> impl DoubleEndedIterator<Item = TileId> {
        let Self(first) = self;
        let tile = move |n| TileId::new(first.z(), first.x() + n % SIDE, first.y() + n / SIDE);
        (0..SIDE * SIDE).filter_map(tile)
    }

    pub(crate) fn zoom(self) -> u8 {
        self.0.z()
    }

    /// What its tiles show, with their margins.
    pub(crate) fn area(self) -> GridBox {
        let first = self.0.buffered();
        self.tiles().next_back().map_or(first, |last| first.union(last.buffered()))
    }
}

/// What the tiles of a vicinity are drawn from.
pub struct Vicinity {
    stored: Arc<StoredLayer>,
    /// Shapes and attributes.
    bytes: Vec<u8>,
    /// In the order in which they are drawn.
    features: Vec<Feature>,
    /// Which of them each tile may show.
    of_tiles: [Box<[u32]>; TILES],
}

struct Feature {
    id: u64,
    rank: u64,
    min_zoom: u8,
    /// Where its shape begins; where that ends and its attributes begin; and where these end.
    shape: u32,
    attributes: u32,
    end: u32,
}

impl Vicinity {
    /// With the candidates of the whole area, and those of their shapes that are kept apart; `None`
    /// when that is too much.
    pub(crate) fn of(
        id: VicinityId,
        stored: Arc<StoredLayer>,
        candidates: Vec<Candidate<'_>>,
        long: &FxHashMap<u64, Vec<u8>>,
    ) -> Option<Self> {
        let areas: Vec<GridBox> = id.tiles().map(TileId::buffered).collect();
        let mut of_tiles: [Vec<u32>; TILES] = std::array::from_fn(|_| Vec::new());
        let shape_of = |candidate: &Candidate<'_>| long.get(&tiles::number(candidate));
        // Neither more nor less: what is given back of an allocation often stays with it.
        let size =
            |c: &Candidate<'_>| shape_of(c).map_or(c.shape.len(), Vec::len) + c.attributes.len();
        let size = candidates.iter().map(size).sum();
        if size > MOST_BYTES {
            return None;
        }
        let mut bytes = Vec::with_capacity(size);
        let mut features = Vec::with_capacity(candidates.len());
        for candidate in tile::sort_by_importance(candidates) {
            let Some(bounds) = tile_shape::bounds(candidate.shape) else { continue };
            let index = u32::try_from(features.len()).ok()?;
            let shape = u32::try_from(bytes.len()).ok()?;
            bytes.extend_from_slice(shape_of(&candidate).map_or(candidate.shape, Vec::as_slice));
            let attributes = u32::try_from(bytes.len()).ok()?;
            bytes.extend_from_slice(candidate.attributes);
            let end = u32::try_from(bytes.len()).ok()?;
            for (of_tile, area) in of_tiles.iter_mut().zip(&areas) {
                if bounds.intersects(*area) {
                    of_tile.push(index);
                }
            }
            let Candidate { id, rank, min_zoom, .. } = candidate;
            features.push(Feature { id, rank, min_zoom, shape, attributes, end });
        }
        Some(Self { stored, bytes, features, of_tiles: of_tiles.map(Vec::into_boxed_slice) })
    }

    /// The revision of the layer that it shows.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.stored.layer.revision
    }

    /// What it takes in memory, in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        let listed: usize = self.of_tiles.iter().map(|of_tile| of_tile.len()).sum();
        size_of::<Self>()
            + self.bytes.len()
            + self.features.capacity() * size_of::<Feature>()
            + listed * size_of::<u32>()
    }

    /// One of its tiles: drawn here and now when that takes no time.
    pub async fn tile(self: Arc<Self>, tile: TileId) -> Result<Tile> {
        let bytes = self.shown(tile).map(|feature| (feature.end - feature.shape) as usize).sum();
        if tiles::is_little(bytes, 0) {
            return Ok(self.draw(tile));
        }
        long(move || self.draw(tile)).await
    }

    fn draw(&self, tile: TileId) -> Tile {
        let candidate = |feature: &Feature| Candidate {
            id: feature.id,
            min_zoom: feature.min_zoom,
            rank: feature.rank,
            shape: &self.bytes[feature.shape as usize..feature.attributes as usize],
            attributes: &self.bytes[feature.attributes as usize..feature.end as usize],
        };
        let candidates = self.shown(tile).map(candidate).collect();
        let bytes = tiles::draw(&self.stored.layer, tile, candidates, &FxHashMap::default());
        Tile { revision: self.revision(), bytes }
    }

    /// What a tile shows. Those of the bands ahead are last, and left out where there is enough
    /// without them.
    fn shown(&self, tile: TileId) -> impl ExactSizeIterator<Item = &Feature> {
        let index = tile.y() % SIDE * SIDE + tile.x() % SIDE;
        let listed = &*self.of_tiles[index as usize];
        let max_zoom = self.stored.layer.max_zoom;
        let own_shelf = zoom_tier::tier_of(tile.z(), max_zoom);
        let is_near = |index: &u32| {
            zoom_tier::tier_of(self.features[*index as usize].min_zoom, max_zoom) <= own_shelf
        };
        let near = listed.partition_point(is_near);
        let shown = if near < ENOUGH { listed } else { &listed[..near] };
        shown.iter().map(|index| &self.features[*index as usize])
    }
}
