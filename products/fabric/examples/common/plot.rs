//! Figures of two charts side by side, and distributions of call times.

use std::path::Path;

use mowgli_fabric::Fault;
use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// A name, and points in order.
pub type Series = (String, Vec<(f64, f64)>);

/// A chart.
pub struct Chart {
    /// The meanings of the horizontal and the vertical axis.
    pub axes: [&'static str; 2],
    /// Its lines.
    pub series: Vec<Series>,
    /// True if the horizontal axis is logarithmic.
    pub is_log: bool,
}

/// The number of points of a line that shows a distribution.
const POINTS: usize = 60;

/// The beginning and the end of a call, in nanoseconds.
pub type Span = (u64, u64);

/// Computes the distribution of call times: for each part of the calls, the number of microseconds that they took at
/// most. Also returns a summary as text.
pub fn distribution(name: String, calls: impl IntoIterator<Item = Span>) -> (Series, String) {
    let mut all: Vec<f64> = calls.into_iter().map(|(begun, ended)| (ended - begun).max(1) as f64 / 1000.0).collect();
    all.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| all.get((all.len().saturating_sub(1) as f64 * part) as usize).copied().unwrap_or(1.0);
    let reported = format!("{name}, us: half {:.0}, 99 of 100 {:.0}, most {:.0}", at(0.5), at(0.99), at(1.0));
    let parts = (0..=POINTS).map(|i| i as f64 / POINTS as f64);
    ((name, parts.map(|part| (at(part), part)).collect()), reported)
}

/// Draws two charts.
///
/// # Errors
/// If the file cannot be written.
pub fn draw(file: &Path, charts: [Chart; 2]) -> Result<(), Fault> {
    let area = SVGBackend::new(file, (900, 340)).into_drawing_area();
    let drawn = area.fill(&WHITE).map_err(|e| e.to_string()).and_then(|()| {
        let halves = area.split_evenly((1, 2));
        charts.iter().zip(&halves).try_for_each(|(chart, half)| chart.draw(half).map_err(|e| e.to_string()))?;
        area.present().map_err(|e| e.to_string())
    });
    drawn.map_err(|why| Fault::Wrong(format!("{}: {why}", file.display())))
}

impl Chart {
    fn draw(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn std::error::Error>> {
        let all = || self.series.iter().flat_map(|(_, points)| points);
        let [left, right] = [f64::min, f64::max].map(|which| all().map(|p| p.0).reduce(which).unwrap_or(1.0));
        let top = all().map(|p| p.1).fold(f64::MIN_POSITIVE, f64::max) * 1.05;
        let mut builder = ChartBuilder::on(area);
        builder.margin(12).x_label_area_size(40).y_label_area_size(64);
        // The horizontal axis needs some length, even if all points lie above each other.
        let right = right.max(left * 1.01 + f64::MIN_POSITIVE);
        match self.is_log {
            true => self.lines(&mut builder.build_cartesian_2d((left..right).log_scale(), 0.0..top)?),
            false => self.lines(&mut builder.build_cartesian_2d(left..right, 0.0..top)?),
        }
    }

    fn lines<'a, X: Ranged<ValueType = f64> + ValueFormatter<f64>>(
        &self,
        chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        // Rounding removes the digits that come from inexact arithmetic.
        let digits = |v: &f64| format!("{}", (v * 1e6).round() / 1e6);
        let [along, up] = self.axes;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(along).y_desc(up).x_labels(8).y_labels(6).x_label_formatter(&digits).y_label_formatter(&digits);
        mesh.light_line_style(TRANSPARENT).draw()?;
        for (i, (name, points)) in self.series.iter().enumerate() {
            let colour = Palette99::pick(i).to_rgba();
            let key = move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2));
            let line = LineSeries::new(points.iter().copied(), colour.stroke_width(2));
            chart.draw_series(line)?.label(name).legend(key);
        }
        let mut labels = chart.configure_series_labels();
        labels.position(SeriesLabelPosition::LowerRight).border_style(BLACK).background_style(WHITE).draw()?;
        Ok(())
    }
}
