//! The colours and lines of relations: fixed by name, so that a relation looks the same in all pictures.
//!
//! Two codes stand beside each other, because a colour alone does not reach readers who are colour-blind, or who print
//! in grey. Any two relations differ clearly in colour for all, or in the kind of their lines.

/// The kind of a line: the second code of a relation beside its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dash {
    Solid,
    Dashed,
    Dotted,
    Mixed,
}

impl Dash {
    /// Returns the lengths of dashes and gaps in pixels; none for a solid line.
    pub(super) fn lengths(self) -> &'static [u8] {
        match self {
            Self::Solid => &[],
            Self::Dashed => &[7, 3],
            Self::Dotted => &[2, 2],
            Self::Mixed => &[8, 3, 2, 3],
        }
    }
}

/// The look of the edges of a relation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Look {
    /// Red, green, blue, as six hexadecimal digits.
    pub(super) colour: &'static str,
    pub(super) dash: Dash,
}

const BLUE: &str = "0a4fb0";
const BROWN: &str = "8a4b00";
const TEAL: &str = "007a6b";
const VIOLET: &str = "8e2a9a";
const SLATE: &str = "3b4654";

/// The ground of a drawing. Colours are red, green and blue, as six hexadecimal digits.
pub(super) const PAPER: &str = "ffffff";
/// The ground of a node.
pub(super) const LANE: &str = "f4f7fb";
/// The ground of a call.
pub(super) const CALL: &str = "fbfcfe";
/// The ground of a call on a cycle.
pub(super) const MARKED: &str = "fff6d6";
pub(super) const INK: &str = "1b1f24";
pub(super) const SOFT: &str = "6a737d";
pub(super) const LINE: &str = "c3ccd6";

/// The looks of the relations of the papers.
const KNOWN: [(&str, Look); 16] = [
    ("rf", Look { colour: BLUE, dash: Dash::Solid }),
    ("rf_e", Look { colour: BLUE, dash: Dash::Mixed }),
    ("mo", Look { colour: BROWN, dash: Dash::Dashed }),
    ("rb", Look { colour: TEAL, dash: Dash::Mixed }),
    ("rb_i", Look { colour: TEAL, dash: Dash::Dotted }),
    ("iso", Look { colour: SLATE, dash: Dash::Dotted }),
    ("ippo", Look { colour: SLATE, dash: Dash::Dashed }),
    ("pfg", Look { colour: VIOLET, dash: Dash::Dashed }),
    ("pfp", Look { colour: VIOLET, dash: Dash::Dotted }),
    ("nfo", Look { colour: BROWN, dash: Dash::Mixed }),
    ("rao", Look { colour: TEAL, dash: Dash::Dashed }),
    ("rmw", Look { colour: BROWN, dash: Dash::Dotted }),
    ("atomic", Look { colour: BROWN, dash: Dash::Solid }),
    ("lo", Look { colour: SLATE, dash: Dash::Solid }),
    ("fence", Look { colour: TEAL, dash: Dash::Solid }),
    ("race", Look { colour: SLATE, dash: Dash::Mixed }),
];

/// The look of a cycle's edges, whatever their relations: a wide red line with a number.
pub(super) const CYCLE: Look = Look { colour: "c5221f", dash: Dash::Solid };

/// Returns the look of a relation. One that no paper names has one of these looks, by its letters.
pub(super) fn look(relation: &str) -> Look {
    let known = KNOWN.iter().find(|(name, _)| *name == relation);
    let sum = relation.bytes().fold(7_usize, |sum, letter| sum.wrapping_mul(31).wrapping_add(letter.into()));
    known.map_or(KNOWN[sum % KNOWN.len()].1, |(_, look)| *look)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Red, green and blue in linear light.
    fn linear(colour: &str) -> [f64; 3] {
        [0, 2, 4].map(|at| {
            let c = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).expect("two digits")) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Relative luminance as WCAG 2 defines it.
    fn luminance(colour: &str) -> f64 {
        let [r, g, b] = linear(colour);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// A colour as it is seen: with all cones, without those for long, middle, or short waves. The matrices are those of
    /// Machado, Oliveira and Fernandes (2009) for severity 1.
    const SEEN: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ];

    /// CIELAB, in which equal distances look about equal.
    fn lab(colour: &str, seen: &[[f64; 3]; 3]) -> [f64; 3] {
        let all = linear(colour);
        let [r, g, b] = seen.map(|row| row.iter().zip(all).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0));
        let f = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// The smallest distance of two colours for any eyes.
    fn distance(a: &str, b: &str) -> f64 {
        let of = |seen| lab(a, seen).iter().zip(lab(b, seen)).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
        SEEN.iter().map(of).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn any_two_relations_differ_for_all_eyes() {
        for (i, (a, one)) in KNOWN.iter().enumerate() {
            for (b, other) in &KNOWN[..i] {
                let is_clear = one.dash != other.dash || distance(one.colour, other.colour) >= 15.0;
                assert!(is_clear, "{a} and {b}: {:.1}", distance(one.colour, other.colour));
            }
        }
        assert!(distance(BLUE, VIOLET) < 15.0 && distance("ff0000", "00a000") < 40.0, "the measure sees what is alike");
    }

    #[test]
    fn edges_stand_out_on_all_grounds() {
        for (name, look) in KNOWN.iter().chain([&("cycle", CYCLE)]) {
            for ground in [PAPER, LANE, CALL, MARKED] {
                let contrast = (luminance(ground) + 0.05) / (luminance(look.colour) + 0.05);
                assert!(contrast >= 4.5, "{name} on {ground}: {contrast:.2}");
            }
        }
    }
}
