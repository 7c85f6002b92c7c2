//! The kinds of problems that geometries can have.

use serde::Serialize;

/// What is wrong with one or more geometries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The boundary of a polygon crosses, touches or overlaps itself.
    SelfIntersection,
    /// A line or ring repeats a position.
    RepeatedPosition,
    /// A ring runs out and back in a line that is no wider than the tolerance.
    Spike,
    /// A ring has no area, or a line no length.
    NoExtent,
    /// A hole lies outside its polygon.
    HoleOutside,
    /// The geometry lies outside the area of use of the reference system.
    OutsideArea,
    /// The geometry would lie where it belongs if x and y were swapped.
    SwappedAxes,
    /// Two or more features have the same geometry.
    Duplicate,
    /// Two polygons overlap by more than the tolerance.
    Overlap,
    /// Polygons enclose an uncovered area that is wider than the tolerance.
    Gap,
}

impl ProblemKind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 10] = [
        Self::SelfIntersection,
        Self::RepeatedPosition,
        Self::Spike,
        Self::NoExtent,
        Self::HoleOutside,
        Self::OutsideArea,
        Self::SwappedAxes,
        Self::Duplicate,
        Self::Overlap,
        Self::Gap,
    ];

    /// Its name in reports, such as `self-intersection`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SelfIntersection => "self-intersection",
            Self::RepeatedPosition => "repeated-position",
            Self::Spike => "spike",
            Self::NoExtent => "no-extent",
            Self::HoleOutside => "hole-outside",
            Self::OutsideArea => "outside-area",
            Self::SwappedAxes => "swapped-axes",
            Self::Duplicate => "duplicate",
            Self::Overlap => "overlap",
            Self::Gap => "gap",
        }
    }

    /// Whether [`LayerCheckOptions::repair`](crate::layer_check::LayerCheckOptions::repair) repairs it without
    /// a decision by a person.
    #[must_use]
    pub fn is_repairable(self) -> bool {
        matches!(self, Self::SelfIntersection | Self::RepeatedPosition | Self::Spike)
    }
}
