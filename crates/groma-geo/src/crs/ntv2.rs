//! GridFiles of datum shifts in the NTv2 format (`.gsb`), from a folder.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

/// The grid files of a folder. Each file is read when it is first needed, and stays in memory.
#[derive(Debug, Default)]
pub struct GridFiles {
    /// The path of each file by its name in lowercase.
    files: HashMap<String, PathBuf>,
    /// Files that were read; `None` if a file is not a valid grid.
    loaded: Mutex<HashMap<String, Option<Arc<ShiftGrid>>>>,
}

impl GridFiles {
    /// Finds the NTv2 files in a folder.
    pub fn from_folder(folder: &Path) -> io::Result<Self> {
        let mut files = HashMap::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str()).map(str::to_lowercase);
            if let Some(name) = name.filter(|name| name.ends_with(".gsb")) {
                files.insert(name, path);
            }
        }
        Ok(Self { files, loaded: Mutex::default() })
    }

    /// The files in the folder that are not valid NTv2 grids, with the reason.
    pub fn invalid_files(&self) -> Vec<(PathBuf, io::Error)> {
        let invalid = |path: &PathBuf| Some((path.clone(), ShiftGrid::read(path).err()?));
        let mut files: Vec<_> = self.files.values().filter_map(invalid).collect();
        files.sort_by(|a, b| a.0.cmp(&b.0));
        files
    }

    /// The grid with this file name. `None` if it is missing or invalid.
    pub(super) fn get(&self, name: &str) -> Option<Arc<ShiftGrid>> {
        let name = name.to_lowercase();
        let path = self.files.get(&name)?;
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.entry(name).or_insert_with(|| ShiftGrid::read(path).ok().map(Arc::new)).clone()
    }
}

/// The grids of one file.
#[derive(Debug)]
pub(super) struct ShiftGrid {
    sub_grids: Vec<SubGrid>,
}

/// A rectangle of shifts. All angles are in seconds; longitudes are positive to the west, as in the file.
#[derive(Debug)]
struct SubGrid {
    name: [u8; 8],
    parent: [u8; 8],
    south: f64,
    east: f64,
    latitude_step: f64,
    longitude_step: f64,
    columns: usize,
    rows: usize,
    /// Shifts of latitude and longitude, row by row from the south, each row from the east.
    shifts: Vec<[f32; 2]>,
}

const RECORD_BYTES: usize = 16;
const HEADER_BYTES: usize = 11 * RECORD_BYTES;
/// How far beyond the edge of a grid a point may be, in cells.
const EDGE_TOLERANCE: f64 = 1e-4;
const NO_PARENT: [u8; 8] = *b"NONE    ";

impl ShiftGrid {
    fn read(path: &Path) -> io::Result<Self> {
        Self::parse(&fs::read(path)?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is not an NTv2 grid"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, mut rest) = bytes.split_at_checked(HEADER_BYTES)?;
        if !header.starts_with(b"NUM_OREC") {
            return None;
        }
        // The number of header records, 11, shows the byte order.
        let is_little_endian = header[8] == 11;
        let header = Header { bytes: header, is_little_endian };
        if header.integer(0) != 11 || header.text(3) != *b"SECONDS " {
            return None;
        }
        let mut sub_grids = Vec::new();
        for _ in 0..header.integer(2) {
            let sub_grid;
            (sub_grid, rest) = SubGrid::parse(rest, is_little_endian)?;
            sub_grids.push(sub_grid);
        }
        (!sub_grids.is_empty()).then_some(Self { sub_grids })
    }

    /// Adds the shift at a point in radians.
    pub(super) fn forward(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        let (west, north) = seconds(longitude, latitude);
        let shift = self.sub_grid(west, north)?.shift(west, north)?;
        Some(radians(west + shift.0, north + shift.1))
    }

    /// Finds the point that [`Self::forward`] moves to this one.
    pub(super) fn inverse(&self, longitude: f64, latitude: f64) -> Option<(f64, f64)> {
        const MAX_ITERATIONS: usize = 10;
        // A hundredth of a millimetre.
        const TOLERANCE_SECONDS: f64 = 3e-7;
        let (west, north) = seconds(longitude, latitude);
        let sub_grid = self.sub_grid(west, north)?;
        let mut found = (west, north);
        for _ in 0..MAX_ITERATIONS {
            let shift = sub_grid.shift(found.0, found.1)?;
            let error = (found.0 + shift.0 - west, found.1 + shift.1 - north);
            found = (found.0 - error.0, found.1 - error.1);
            if error.0.hypot(error.1) < TOLERANCE_SECONDS {
                return Some(radians(found.0, found.1));
            }
        }
        None
    }

    /// The most detailed grid that contains a point.
    fn sub_grid(&self, west: f64, north: f64) -> Option<&SubGrid> {
        let child_of = |parent: [u8; 8]| {
            let mut children = self.sub_grids.iter().filter(move |grid| grid.parent == parent);
            children.find(|grid| grid.contains(west, north))
        };
        let mut found = child_of(NO_PARENT)?;
        // A valid file has no cycles; an invalid one must not hang the server.
        for _ in 0..self.sub_grids.len() {
            match child_of(found.name) {
                Some(child) => found = child,
                None => break,
            }
        }
        Some(found)
    }
}

impl SubGrid {
    /// Parses the next grid of a file, and returns the bytes behind it.
    fn parse(bytes: &[u8], is_little_endian: bool) -> Option<(Self, &[u8])> {
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
        if !header.starts_with(b"SUB_NAME") {
            return None;
        }
        let header = Header { bytes: header, is_little_endian };
        let [south, north, east, west] = [4, 5, 6, 7].map(|record| header.number(record));
        let [latitude_step, longitude_step] = [8, 9].map(|record| header.number(record));
        let count = usize::try_from(header.integer(10)).ok()?;
        let steps = |range: f64, step: f64| {
            let steps = (range / step).round();
            (step > 0.0 && (1.0..1e6).contains(&steps)).then_some(steps as usize + 1)
        };
        let rows = steps(north - south, latitude_step)?;
        let columns = steps(west - east, longitude_step)?;
        if rows.checked_mul(columns)? != count {
            return None;
        }
        let (data, rest) = rest.split_at_checked(count.checked_mul(RECORD_BYTES)?)?;
        let shifts = data.chunks_exact(RECORD_BYTES).map(|record| {
            let record = Header { bytes: record, is_little_endian };
            [record.single(0), record.single(4)]
        });
        let sub_grid = Self {
            name: header.text(0),
            parent: header.text(1),
            south,
            east,
            latitude_step,
            longitude_step,
            columns,
            rows,
            shifts: shifts.collect(),
        };
        Some((sub_grid, rest))
    }

    fn contains(&self, west: f64, north: f64) -> bool {
        self.cell(west, north).is_some()
    }

    /// The cell of a point, counted from the south-east, and the position in the cell from 0 to 1.
    fn cell(&self, west: f64, north: f64) -> Option<(usize, usize, f64, f64)> {
        let split = |steps: f64, count: usize| {
            let last = (count - 1) as f64;
            if !(-EDGE_TOLERANCE..=last + EDGE_TOLERANCE).contains(&steps) {
                return None;
            }
            let index = steps.floor().clamp(0.0, last - 1.0);
            Some((index as usize, (steps - index).clamp(0.0, 1.0)))
        };
        let (column, u) = split((west - self.east) / self.longitude_step, self.columns)?;
        let (row, v) = split((north - self.south) / self.latitude_step, self.rows)?;
        Some((column, row, u, v))
    }

    /// The shifts of longitude (positive to the west) and latitude, interpolated between four nodes.
    fn shift(&self, west: f64, north: f64) -> Option<(f64, f64)> {
        let (column, row, u, v) = self.cell(west, north)?;
        let first = row * self.columns + column;
        let node = |index: usize, axis: usize| f64::from(self.shifts[index][axis]);
        let interpolate = |axis: usize| {
            let south = (1.0 - u) * node(first, axis) + u * node(first + 1, axis);
            let above = first + self.columns;
            let north = (1.0 - u) * node(above, axis) + u * node(above + 1, axis);
            (1.0 - v) * south + v * north
        };
        Some((interpolate(1), interpolate(0)))
    }
}

/// Records of 16 bytes: a name of 8 bytes and a value of 8 bytes.
struct Header<'a> {
    bytes: &'a [u8],
    is_little_endian: bool,
}

impl Header<'_> {
    fn value<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut value = [0; N];
        value.copy_from_slice(&self.bytes[at..at + N]);
        if !self.is_little_endian {
            value.reverse();
        }
        value
    }

    fn text(&self, record: usize) -> [u8; 8] {
        let mut value = [0; 8];
        value.copy_from_slice(&self.bytes[record * RECORD_BYTES + 8..][..8]);
        // Some files end names with zeros instead of spaces.
        value.map(|byte| if byte == 0 { b' ' } else { byte })
    }

    fn integer(&self, record: usize) -> i32 {
        i32::from_le_bytes(self.value(record * RECORD_BYTES + 8))
    }

    fn number(&self, record: usize) -> f64 {
        f64::from_le_bytes(self.value(record * RECORD_BYTES + 8))
    }

    fn single(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.value(at))
    }
}

/// Seconds to the west and to the north.
fn seconds(longitude: f64, latitude: f64) -> (f64, f64) {
    (-longitude.to_degrees() * 3600.0, latitude.to_degrees() * 3600.0)
}

fn radians(west: f64, north: f64) -> (f64, f64) {
    ((-west / 3600.0).to_radians(), (north / 3600.0).to_radians())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Crs;

    /// A file as `ntv2_grid` in `scripts/crs-table.py` writes it, in either byte order.
    fn file(area: [f64; 4], is_little_endian: bool) -> Vec<u8> {
        const NODES: i32 = 21;
        let [west, south, east, north] =
            [area[0] - 0.1, area[1] - 0.1, area[2] + 0.1, area[3] + 0.1].map(|it| it * 3600.0);
        let ordered = |mut bytes: Vec<u8>| {
            if !is_little_endian {
                bytes.reverse();
            }
            bytes
        };
        let number = |value: f64| ordered(value.to_le_bytes().to_vec());
        let integer = |value: i32| [ordered(value.to_le_bytes().to_vec()), vec![0; 4]].concat();
        let text = |value: &str| format!("{value:<8}").into_bytes();
        let steps = f64::from(NODES - 1);
        let records = [
            ("NUM_OREC", integer(11)),
            ("NUM_SREC", integer(11)),
            ("NUM_FILE", integer(1)),
            ("GS_TYPE", text("SECONDS")),
            ("VERSION", text("TEST")),
            ("SYSTEM_F", text("FROM")),
            ("SYSTEM_T", text("TO")),
            ("MAJOR_F", number(6378137.0)),
            ("MINOR_F", number(6356752.0)),
            ("MAJOR_T", number(6378137.0)),
            ("MINOR_T", number(6356752.0)),
            ("SUB_NAME", text("GRID")),
            ("PARENT", text("NONE")),
            ("CREATED", text("")),
            ("UPDATED", text("")),
            ("S_LAT", number(south)),
            ("N_LAT", number(north)),
            ("E_LONG", number(-east)),
            ("W_LONG", number(-west)),
            ("LAT_INC", number((north - south) / steps)),
            ("LONG_INC", number((east - west) / steps)),
            ("GS_COUNT", integer(NODES * NODES)),
        ];
        let mut bytes: Vec<u8> =
            records.iter().flat_map(|(name, value)| [text(name), value.clone()].concat()).collect();
        for (row, column) in (0..NODES).flat_map(|row| (0..NODES).map(move |column| (row, column)))
        {
            let (row, column) = (f64::from(row), f64::from(column));
            let latitude = 2.0 * (0.7 * row + 0.3 * column).sin();
            let longitude = 2.0 * (0.2 * row - 0.9 * column).cos();
            for value in [latitude as f32, longitude as f32, 0.0, 0.0] {
                bytes.extend(ordered(value.to_le_bytes().to_vec()));
            }
        }
        bytes
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("groma-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn grid_is_used_where_proj_uses_it() {
        let folder = folder("grid");
        fs::write(folder.join("beta2007.GSB"), file([5.86, 47.27, 15.04, 55.09], true)).unwrap();
        let grids = GridFiles::from_folder(&folder).unwrap();
        assert!(grids.invalid_files().is_empty());
        let crs = Crs::parse_with_grid_files("EPSG:31467", &grids).unwrap();
        assert!(crs.info().operations.iter().any(|one| one.is_available && !one.grids.is_empty()));
        // Results of PROJ with the same file. The last point is south of the grid.
        for (x, y, longitude, latitude) in [
            (3_500_000.0, 5_500_000.0, 9.000234276056474, 49.63831489773953),
            (3_450_000.0, 5_900_000.0, 8.25151356766534, 53.231525486224676),
            (3_500_000.0, 5_230_000.0, 8.998982426036777, 47.20862447513683),
        ] {
            let found = crs.to_wgs84(x, y).unwrap();
            assert!((found.0 - longitude).hypot(found.1 - latitude) < 1e-9, "{found:?}");
            let back = crs.from_wgs84(longitude, latitude).unwrap();
            assert!((back.0 - x).hypot(back.1 - y) < 0.001, "{back:?}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn missing_grid_is_reported_and_the_next_best_operation_is_used() {
        let crs = Crs::parse_with_grid_files("EPSG:31467", &GridFiles::default()).unwrap();
        let info = crs.info();
        let missing = info.operations.iter().find(|one| !one.is_available).unwrap();
        assert_eq!(missing.grids, ["BETA2007.gsb"]);
        let found = crs.to_wgs84(3_500_000.0, 5_500_000.0).unwrap();
        assert!((found.0 - 8.99896356404719).hypot(found.1 - 49.63671064225719) < 1e-9);
    }

    #[test]
    fn both_byte_orders_are_read() {
        let area = [5.0, 45.0, 10.0, 50.0];
        let [little, big] =
            [true, false].map(|order| ShiftGrid::parse(&file(area, order)).unwrap());
        let point = (0.12, 0.83);
        assert_eq!(little.forward(point.0, point.1), big.forward(point.0, point.1));
        let moved = little.forward(point.0, point.1).unwrap();
        assert_ne!(moved, point);
        let back = little.inverse(moved.0, moved.1).unwrap();
        assert!((back.0 - point.0).hypot(back.1 - point.1) < 1e-11);
        assert_eq!(little.forward(0.3, 0.83), None);
    }

    #[test]
    fn invalid_files_are_rejected() {
        let bytes = file([5.0, 45.0, 10.0, 50.0], true);
        for length in 0..bytes.len() {
            assert!(ShiftGrid::parse(&bytes[..length]).is_none());
        }
        let folder = folder("invalid-grid");
        fs::write(folder.join("a.gsb"), b"not a grid").unwrap();
        let grids = GridFiles::from_folder(&folder).unwrap();
        assert_eq!(grids.invalid_files().len(), 1);
        assert!(grids.get("a.gsb").is_none());
        assert!(GridFiles::from_folder(&folder.join("missing")).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
