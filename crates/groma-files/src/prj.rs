//! Reference systems as well-known text: `.prj` files, and the definitions in GeoPackage and FlatGeobuf.
//!
//! A text that names an EPSG code is that system. Any other text is compared with the table that
//! `scripts/prj-table` generates: projection, parameters, ellipsoid, datum and unit must be the same.

use crate::SourceCrs;
use groma_geo::{Crs, message};
use std::sync::LazyLock;

/// The longest text that is parsed.
const MAX_BYTES: usize = 64 << 10;
/// How deep elements can be nested.
const MAX_DEPTH: usize = 16;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::parse(include_str!("prj.tsv")));

/// The text of a reference system, as ESRI writes it; `None` if ESRI has none for it.
pub(crate) fn write(crs: &Crs) -> Option<String> {
    let row = TABLE.rows.iter().find(|row| row.code == crs.code().unwrap_or(4326))?;
    let (base, _) = TABLE.bases.get(row.base)?;
    let Some(projected) = &row.projected else { return Some((*base).to_owned()) };
    let mut text =
        format!("PROJCS[\"{}\",{base},PROJECTION[\"{}\"]", projected.name, projected.projection);
    for (name, value) in pairs(projected.parameters) {
        text.push_str(&format!(",PARAMETER[\"{name}\",{value}]"));
    }
    let (unit, factor) = projected.unit.split_once('=')?;
    text.push_str(&format!(",UNIT[\"{unit}\",{factor}]]"));
    Some(text)
}

/// The system that a text describes.
pub(crate) fn read(text: &str) -> SourceCrs {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return SourceCrs::Missing;
    }
    let parsed = if text.len() > MAX_BYTES { None } else { Parser::parse(text) };
    let Some(mut root) = parsed else {
        return SourceCrs::Unsupported(message!("the file's reference system is not valid WKT"));
    };
    // Heights are not transformed.
    if matches!(root.keyword.as_str(), "COMPD_CS" | "COMPOUNDCRS") {
        let horizontal = root.children().next().cloned();
        root = horizontal.unwrap_or(root);
    }
    if let Some(code) = root.epsg_code() {
        return by_code(&code);
    }
    match Description::of(&root).and_then(|wanted| TABLE.find(&wanted)) {
        Some(code) => by_code(&code.to_string()),
        None => {
            let name: String = root.name().chars().filter(|c| !c.is_control()).take(100).collect();
            SourceCrs::Unsupported(message!(
                "the file's reference system `{name}` is not known",
                name = name
            ))
        }
    }
}

/// The system of an EPSG code.
pub(crate) fn by_code(code: &str) -> SourceCrs {
    match Crs::parse(&format!("EPSG:{code}")) {
        Ok(crs) => SourceCrs::Known(crs),
        Err(error) => SourceCrs::Unsupported(error.message()),
    }
}

struct Table {
    /// The geographic systems: their text and what it says.
    bases: Vec<(&'static str, Option<Description>)>,
    rows: Vec<Row>,
}

struct Row {
    code: u32,
    /// The number of its geographic system.
    base: usize,
    projected: Option<Projected>,
}

struct Projected {
    name: &'static str,
    projection: &'static str,
    parameters: &'static str,
    unit: &'static str,
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(';').filter_map(|pair| pair.split_once('='))
}

impl Table {
    fn parse(text: &'static str) -> Self {
        let mut table = Self { bases: Vec::new(), rows: Vec::new() };
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with("GEOGCS") {
                let description = Parser::parse(line).and_then(|root| Description::of(&root));
                table.bases.push((line, description));
                continue;
            }
            let cells: Vec<_> = line.split('\t').collect();
            let (code, base) = match cells.as_slice() {
                [code, base, ..] => (code.parse().ok(), base.parse().ok()),
                _ => continue,
            };
            let projected = match cells.as_slice() {
                [_, _, name, projection, parameters, unit] => {
                    Some(Projected { name, projection, parameters, unit })
                }
                _ => None,
            };
            if let (Some(code), Some(base)) = (code, base) {
                table.rows.push(Row { code, base, projected });
            }
        }
        table
    }

    /// The code of the system with this description: the one of the same name, or else the first.
    fn find(&self, wanted: &Description) -> Option<u32> {
        let geographic = |row: &&Row| row.projected.is_none() && Some(row.code) == wanted.base_code;
        let base_of_code = self.rows.iter().find(geographic).map(|row| row.base);
        let is_base = |(index, (_, base)): (usize, &(_, Option<Description>))| match base_of_code {
            Some(base) => index == base,
            None => base.as_ref().is_some_and(|base| wanted.has_base(base)),
        };
        let bases: Vec<bool> = self.bases.iter().enumerate().map(is_base).collect();
        let matches = |row: &&Row| bases.get(row.base).is_some_and(|is| *is) && wanted.has_row(row);
        let mut found = self.rows.iter().filter(matches).peekable();
        let first = found.peek().map(|row| row.code);
        let same_name = |row: &&Row| match (&row.projected, self.bases.get(row.base)) {
            (Some(one), _) => folded(one.name) == wanted.name,
            (None, Some((_, Some(base)))) => base.name == wanted.name,
            (None, _) => false,
        };
        found.find(same_name).map(|row| row.code).or(first)
    }
}

/// What makes two systems the same.
struct Description {
    /// Its folded name.
    name: String,
    datum: String,
    ellipsoid: [f64; 2],
    prime_meridian: f64,
    angular_unit: f64,
    /// The EPSG code of the geographic system, if the text names it.
    base_code: Option<u32>,
    projection: Option<Projection>,
}

/// The name of a projection, its parameters and its unit.
type Projection = (String, Vec<(String, f64)>, f64);

impl Description {
    fn of(root: &Element) -> Option<Self> {
        let base = match root.keyword.as_str() {
            "GEOGCS" => root,
            "PROJCS" => root.child("GEOGCS")?,
            _ => return None,
        };
        let datum = base.child("DATUM")?;
        let [axis, flattening] = datum.child("SPHEROID")?.numbers().try_into().ok()?;
        let projection = match root.keyword.as_str() {
            "PROJCS" => {
                let mut parameters: Vec<(String, f64)> = root
                    .children()
                    .filter(|child| child.keyword == "PARAMETER")
                    .filter_map(|child| Some((folded(child.name()), *child.numbers().first()?)))
                    .collect();
                sort(&mut parameters);
                let unit = *root.child("UNIT")?.numbers().first()?;
                Some((projection_name(root.child("PROJECTION")?.name()), parameters, unit))
            }
            _ => None,
        };
        Some(Self {
            name: folded(root.name()),
            datum: datum_name(datum.name()),
            ellipsoid: [axis, flattening],
            prime_meridian: *base.child("PRIMEM")?.numbers().first()?,
            angular_unit: *base.child("UNIT")?.numbers().first()?,
            base_code: base.epsg_code().and_then(|code| code.parse().ok()),
            projection,
        })
    }

    fn has_base(&self, base: &Self) -> bool {
        base.datum == self.datum
            && is_close(base.ellipsoid[0], self.ellipsoid[0])
            && is_close(base.ellipsoid[1], self.ellipsoid[1])
            && is_close(base.prime_meridian, self.prime_meridian)
            && is_close(base.angular_unit, self.angular_unit)
    }

    fn has_row(&self, row: &Row) -> bool {
        let (row, (projection, parameters, unit)) = match (&row.projected, &self.projection) {
            (None, None) => return true,
            (Some(row), Some(projection)) => (row, projection),
            _ => return false,
        };
        let mut expected: Vec<(String, f64)> = pairs(row.parameters)
            .filter_map(|(name, value)| Some((folded(name), value.parse().ok()?)))
            .collect();
        sort(&mut expected);
        let factor = row.unit.split_once('=').and_then(|(_, factor)| factor.parse().ok());
        projection_name(row.projection) == *projection
            && factor.is_some_and(|factor: f64| is_close(factor, *unit))
            && expected.len() == parameters.len()
            && expected.iter().zip(parameters).all(|(a, b)| a.0 == b.0 && is_close(a.1, b.1))
    }
}

/// Brings parameters into an order. The two standard parallels of a projection mean the same in either order.
fn sort(parameters: &mut [(String, f64)]) {
    parameters.sort_by(|a, b| a.0.cmp(&b.0));
    let first = parameters.iter().position(|(name, _)| name == "standardparallel1");
    if let Some(first) = first
        && let Some([(_, one), (name, two)]) = parameters.get_mut(first..first + 2)
        && name == "standardparallel2"
        && *one < *two
    {
        std::mem::swap(one, two);
    }
}

fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Lower-case letters and digits only, and `+`, which distinguishes CH1903+ from CH1903.
fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric() || *c == '+').flat_map(char::to_lowercase).collect()
}

/// ESRI writes `D_` before the names of datums.
fn datum_name(name: &str) -> String {
    folded(name.strip_prefix("D_").unwrap_or(name))
}

/// OGC says how many standard parallels a projection has, ESRI does not.
fn projection_name(name: &str) -> String {
    let name = folded(name);
    let short = name.strip_suffix("1sp").or(name.strip_suffix("2sp"));
    short.map(str::to_owned).unwrap_or(name)
}

/// An element of well-known text, such as `UNIT["Meter",1.0]`.
#[derive(Clone)]
struct Element {
    keyword: String,
    arguments: Vec<Argument>,
}

#[derive(Clone)]
enum Argument {
    Text(String),
    Number(f64),
    Element(Element),
}

impl Element {
    fn children(&self) -> impl Iterator<Item = &Element> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Element(element) => Some(element),
            _ => None,
        })
    }

    fn child(&self, keyword: &str) -> Option<&Element> {
        self.children().find(|child| child.keyword == keyword)
    }

    fn name(&self) -> &str {
        match self.arguments.first() {
            Some(Argument::Text(text)) => text,
            _ => "",
        }
    }

    fn numbers(&self) -> Vec<f64> {
        let number = |argument: &Argument| match argument {
            Argument::Number(number) => Some(*number),
            _ => None,
        };
        self.arguments.iter().filter_map(number).collect()
    }

    /// The EPSG code that it names.
    fn epsg_code(&self) -> Option<String> {
        let id =
            self.children().find(|child| matches!(child.keyword.as_str(), "AUTHORITY" | "ID"))?;
        match id.arguments.as_slice() {
            [Argument::Text(authority), code, ..] if authority.eq_ignore_ascii_case("EPSG") => {
                match code {
                    Argument::Text(code) => Some(code.clone()),
                    Argument::Number(code) => Some(code.to_string()),
                    Argument::Element(_) => None,
                }
            }
            _ => None,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn parse(text: &'a str) -> Option<Element> {
        let mut parser = Self { rest: text };
        let element = parser.element(0)?;
        parser.rest.trim().is_empty().then_some(element)
    }

    fn element(&mut self, depth: usize) -> Option<Element> {
        if depth > MAX_DEPTH {
            return None;
        }
        let keyword = self.word();
        self.take(&['[', '('])?;
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.argument(depth)?);
            match self.take(&[',', ']', ')'])? {
                ',' => {}
                _ => return Some(Element { keyword: keyword.to_ascii_uppercase(), arguments }),
            }
        }
    }

    fn argument(&mut self, depth: usize) -> Option<Argument> {
        self.rest = self.rest.trim_start();
        if let Some(quoted) = self.rest.strip_prefix('"') {
            let (text, rest) = quoted.split_once('"')?;
            self.rest = rest;
            return Some(Argument::Text(text.to_owned()));
        }
        let mut ahead = Self { rest: self.rest };
        let word = ahead.word();
        if ahead.rest.trim_start().starts_with(['[', '(']) {
            return self.element(depth + 1).map(Argument::Element);
        }
        *self = ahead;
        Some(word.parse().map_or_else(|_| Argument::Text(word.to_owned()), Argument::Number))
    }

    fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let end = text.find([',', '[', ']', '(', ')', '"']).unwrap_or(text.len());
        self.rest = &text[end..];
        text[..end].trim()
    }

    fn take(&mut self, expected: &[char]) -> Option<char> {
        let text = self.rest.trim_start();
        let first = text.chars().next().filter(|first| expected.contains(first))?;
        self.rest = &text[first.len_utf8()..];
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_written_system_is_read_back() {
        let mut others = 0;
        // All of them take too long without optimization.
        for row in TABLE.rows.iter().step_by(5) {
            let Ok(crs) = Crs::parse(&format!("EPSG:{}", row.code)) else { continue };
            let text = write(&crs).unwrap();
            match read(&text) {
                SourceCrs::Known(read) if read == crs => {}
                // A few systems differ only in what WKT does not tell, such as their area of use.
                SourceCrs::Known(_) => others += 1,
                other => panic!("{crs}: {other:?}"),
            }
        }
        assert!(others < TABLE.rows.len() / 50, "{others}");
    }

    #[test]
    fn ogc_wkt_and_arcgis_wkt_are_recognised() {
        let lambert = "PROJCS[\"RGF_1993_Lambert_93\",GEOGCS[\"GCS_RGF_1993\",DATUM[\"D_RGF_1993\",SPHEROID[\"GRS_1980\",\
            6378137.0,298.257222101]],PRIMEM[\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]],\
            PROJECTION[\"Lambert_Conformal_Conic\"],PARAMETER[\"False_Easting\",700000.0],\
            PARAMETER[\"False_Northing\",6600000.0],PARAMETER[\"Central_Meridian\",3.0],\
            PARAMETER[\"Standard_Parallel_1\",49.0],PARAMETER[\"Standard_Parallel_2\",44.0],\
            PARAMETER[\"Latitude_Of_Origin\",46.5],UNIT[\"Meter\",1.0]]";
        let expected = SourceCrs::Known(Crs::parse("EPSG:2154").unwrap());
        assert_eq!(read(lambert), expected);
        let swapped =
            lambert.replace("_1\",49.0]", "_1\",44.0]").replace("_2\",44.0]", "_2\",49.0]");
        assert_ne!(swapped, lambert);
        assert_eq!(read(&swapped), expected);
        // GDAL names the geographic system by its code, and its datum as EPSG does.
        let by_code = swapped.replace("D_RGF_1993", "Reseau_Geodesique_Francais_1993_v1").replace(
            "UNIT[\"Degree\",0.0174532925199433]]",
            "UNIT[\"degree\",0.0174532925199433],AUTHORITY[\"EPSG\",\"4171\"]]",
        );
        assert_eq!(read(&by_code), expected);
        assert_eq!(read("PROJCS[\"x\",AUTHORITY[\"EPSG\",\"2154\"]]"), expected);
        assert_eq!(read("PROJCRS[\"x\",ID[\"EPSG\",2154]]"), expected);
    }

    #[test]
    fn broken_text_is_rejected() {
        assert_eq!(read(" \n"), SourceCrs::Missing);
        for text in ["PROJCS[", "x", "GEOGCS[\"a\"]", &"A[".repeat(100_000), "LOCAL_CS[\"plan\"]"] {
            assert!(matches!(read(text), SourceCrs::Unsupported(_)), "{text:.20}");
        }
    }
}
