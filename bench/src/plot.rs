//! SVG plots of cost against size with logarithmic axes. They support light and dark mode, distinguish
//! lines by shape as well as by colour, and describe all values for screen readers.

use std::fmt::Write as _;

/// A plot.
pub(crate) struct Plot {
    pub(crate) title: String,
    /// The label of the horizontal axis.
    pub(crate) across: String,
    /// The label of the vertical axis, with its unit.
    pub(crate) up: String,
    pub(crate) lines: Vec<Line>,
}

/// A line of a plot.
pub(crate) struct Line {
    pub(crate) name: String,
    /// The positive sizes and costs, sorted by size.
    pub(crate) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 430.0;
/// The plot area: left, top, right, bottom.
const FIELD: [f64; 4] = [84.0, 52.0, 540.0, 372.0];
/// The minimum distance between two labels.
const NAME_HEIGHT: f64 = 17.0;

/// The palette of Okabe and Ito for colour blindness, in light and dark mode.
const COLOURS: [(&str, &str); 7] = [
    ("#0072b2", "#56b4e9"),
    ("#b34d00", "#e69f00"),
    ("#00795a", "#2fd1a5"),
    ("#a8437f", "#e08fc0"),
    ("#6b5d00", "#f0e442"),
    ("#5b3fa8", "#b9a3f5"),
    ("#444444", "#cccccc"),
];
const DASHES: [&str; 7] = ["none", "7 3", "2 3", "10 3 2 3", "5 5", "1 2", "12 4"];

impl Plot {
    /// The plot as an SVG document; `None` without points.
    pub(crate) fn svg(&self) -> Option<String> {
        let across = Axis::around(self.points().map(|(size, _)| size), FIELD[0], FIELD[2])?;
        let up = Axis::around(self.points().map(|(_, cost)| cost), FIELD[3], FIELD[1])?;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             aria-labelledby=\"title desc\">\n<title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>\n{}",
            escaped(&self.title),
            escaped(&self.description()),
            style(),
        );
        // Writing to a string cannot fail.
        let _ = self.draw_field(&mut svg, &across, &up);
        let _ = self.draw_lines(&mut svg, &across, &up);
        svg.push_str("</svg>\n");
        Some(svg)
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.lines.iter().flat_map(|line| line.points.iter().copied())
    }

    /// The description for screen readers.
    fn description(&self) -> String {
        let mut text = format!("{} against {}, both on logarithmic axes.", self.up, self.across);
        for line in &self.lines {
            let figures: Vec<String> = line
                .points
                .iter()
                .map(|(size, cost)| format!("{} at {}", short(*cost), short(*size)))
                .collect();
            let _ = write!(text, " {}: {}.", line.name, figures.join(", "));
        }
        text
    }

    fn draw_field(&self, svg: &mut String, across: &Axis, up: &Axis) -> std::fmt::Result {
        let [left, top, right, bottom] = FIELD;
        writeln!(svg, "<rect class=\"ground\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>")?;
        writeln!(svg, "<text class=\"title\" x=\"16\" y=\"28\">{}</text>", escaped(&self.title))?;
        for tick in up.ticks() {
            let y = up.place(tick);
            writeln!(svg, "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>")?;
            let x = left - 8.0;
            let text = short(tick);
            writeln!(svg, "<text class=\"end\" x=\"{x:.1}\" y=\"{:.1}\">{text}</text>", y + 4.0)?;
        }
        for tick in across.ticks() {
            let (x, y) = (across.place(tick), bottom + 20.0);
            let text = short(tick);
            writeln!(svg, "<path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/>")?;
            writeln!(svg, "<text class=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>")?;
        }
        let (x, y) = ((left + right) / 2.0, bottom + 44.0);
        let across = escaped(&self.across);
        writeln!(svg, "<text class=\"middle\" x=\"{x:.1}\" y=\"{y:.1}\">{across}</text>")?;
        let y = (top + bottom) / 2.0;
        let up = escaped(&self.up);
        writeln!(
            svg,
            "<text class=\"middle\" transform=\"translate(18 {y:.1}) rotate(-90)\">{up}</text>"
        )
    }

    fn draw_lines(&self, svg: &mut String, across: &Axis, up: &Axis) -> std::fmt::Result {
        let ends: Vec<f64> = self
            .lines
            .iter()
            .map(|line| line.points.last().map_or(FIELD[3], |(_, cost)| up.place(*cost)))
            .collect();
        let names = label_positions(&ends);
        for (n, line) in self.lines.iter().enumerate() {
            let class = n % COLOURS.len();
            let at = |(size, cost): &(f64, f64)| (across.place(*size), up.place(*cost));
            let places: Vec<(f64, f64)> = line.points.iter().map(at).collect();
            let Some((last_x, last_y)) = places.last().copied() else { continue };
            let steps: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
            writeln!(svg, "<path class=\"line c{class}\" d=\"M{}\"/>", steps.join("L"))?;
            for (x, y) in &places {
                writeln!(svg, "<path class=\"mark c{class}\" d=\"{}\"/>", mark(n, *x, *y))?;
            }
            // From the end of the line to its label.
            let (x, y) = (FIELD[2] + 18.0, names[n]);
            writeln!(
                svg,
                "<path class=\"lead c{class}\" d=\"M{last_x:.1} {last_y:.1}L{x:.1} {y:.1}\"/>"
            )?;
            let name = escaped(&line.name);
            let (x, y) = (x + 4.0, y + 4.0);
            writeln!(svg, "<text class=\"name c{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{name}</text>")?;
        }
        Ok(())
    }
}

/// A logarithmic axis of whole powers of ten.
struct Axis {
    first: i32,
    last: i32,
    from: f64,
    to: f64,
}

impl Axis {
    /// The axis for these values between two positions; `None` without values.
    fn around(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Option<Self> {
        let logs: Vec<f64> = values.filter(|value| *value > 0.0).map(f64::log10).collect();
        let least = logs.iter().copied().reduce(f64::min)?.floor() as i32;
        let most = logs.iter().copied().reduce(f64::max)?.ceil() as i32;
        Some(Self { first: least, last: most.max(least + 1), from, to })
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first);
        self.from + (self.to - self.from) * part
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        (self.first..=self.last).map(|power| 10_f64.powi(power))
    }
}

/// The positions of the labels, each as close to the end of its line as possible.
fn label_positions(ends: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
    let mut places = ends.to_vec();
    let mut above = f64::NEG_INFINITY;
    for &n in &order {
        places[n] = ends[n].max(above + NAME_HEIGHT);
        above = places[n];
    }
    // Move labels up that are below the plot area.
    let mut below = FIELD[3] + NAME_HEIGHT;
    for &n in order.iter().rev() {
        places[n] = places[n].min(below - NAME_HEIGHT);
        below = places[n];
    }
    places
}

/// A marker shape, to distinguish crossing lines.
fn mark(n: usize, x: f64, y: f64) -> String {
    match n % 4 {
        0 => format!("M{:.1} {y:.1}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", x - 4.0),
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        _ => format!("M{x:.1} {:.1}l5 5l-5 5l-5 -5z", y - 5.0),
    }
}

fn style() -> String {
    let mut style = String::from(
        "<style>\n\
         text{font:13px system-ui,sans-serif;fill:#333}.title{font-size:16px;font-weight:600;fill:#111}\n\
         .middle{text-anchor:middle}.end{text-anchor:end}.ground{fill:#fff}\n\
         .grid{stroke:#d5d5d5;fill:none}.line{fill:none;stroke-width:2}.lead{fill:none;opacity:.4}\n",
    );
    let mut dark = String::from(
        "text{fill:#ddd}.title{fill:#fff}.ground{fill:#16181c}.grid{stroke:#3a3d44}\n",
    );
    for (n, (colour, in_dark)) in COLOURS.iter().enumerate() {
        let dash = DASHES[n];
        let _ = writeln!(style, "{}.line.c{n}{{stroke-dasharray:{dash}}}", coloured(n, colour));
        let _ = writeln!(dark, "{}", coloured(n, in_dark));
    }
    format!("{style}@media (prefers-color-scheme:dark){{\n{dark}}}\n</style>\n")
}

fn coloured(n: usize, colour: &str) -> String {
    format!(".line.c{n},.lead.c{n}{{stroke:{colour}}}.mark.c{n},.name.c{n}{{fill:{colour}}}")
}

/// A number with its significant digits.
pub(crate) fn short(value: f64) -> String {
    if value >= 1_000.0 {
        return grouped(value.round() as u64);
    }
    let digits = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v > 0.0 => (2.0 - v.log10().floor()).max(0.0) as usize,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    match text.split_once('.') {
        Some((whole, part)) => {
            let part = part.trim_end_matches('0');
            if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
        }
        None => text,
    }
}

/// An integer with separated thousands.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(lines: Vec<Line>) -> Plot {
        Plot { title: "Pages & <more>".into(), across: "records".into(), up: "ms".into(), lines }
    }

    fn line(name: &str, points: &[(f64, f64)]) -> Line {
        Line { name: name.to_owned(), points: points.to_vec() }
    }

    #[test]
    fn plot_has_a_text_description() {
        let svg = plot(vec![line("first", &[(1e4, 0.08), (1e5, 0.09)])]).svg().unwrap();
        assert!(svg.contains("<title id=\"title\">Pages &amp; &lt;more&gt;</title>"), "{svg}");
        assert!(svg.contains("first: 0.08 at 10,000, 0.09 at 100,000."), "{svg}");
        assert!(svg.contains("prefers-color-scheme:dark"));
        assert_eq!(svg.matches("class=\"mark").count(), 2);
    }

    #[test]
    fn axes_are_logarithmic() {
        let axis = Axis::around([0.2, 30.0].into_iter(), 300.0, 0.0).unwrap();
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [0.1, 1.0, 10.0, 100.0]);
        assert!((axis.place(0.1) - 300.0).abs() < 1e-9);
        assert!((axis.place(1.0) - axis.place(10.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn labels_do_not_overlap_and_stay_inside() {
        let places = label_positions(&[360.0, 361.0, 362.0, 100.0]);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= NAME_HEIGHT - 1e-9));
        assert!(sorted[3] <= FIELD[3] && places[3] == 100.0);
    }

    #[test]
    fn plot_without_points_is_none() {
        assert!(plot(Vec::new()).svg().is_none());
        assert!(plot(vec![line("empty", &[])]).svg().is_none());
    }

    #[test]
    fn numbers_have_their_significant_digits() {
        let shown = [0.0, 0.0123, 0.08, 1.0, 2.345, 45.67, 123.4, 1_234_567.0].map(short);
        assert_eq!(shown, ["0", "0.0123", "0.08", "1", "2.35", "45.7", "123", "1,234,567"]);
    }
}
