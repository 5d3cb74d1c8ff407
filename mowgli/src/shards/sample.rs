//! A sample of the work of a check, and the estimate of the whole from it.
//!
//! Classes of clients are grouped by shape. The classes of a shape are much alike, except for the number of their
//! clients. A few heavy shapes can make up nearly all of the work. So the sample takes one class of each shape first,
//! from the lightest and from the heaviest shape on. Then it takes more classes of the shapes whose estimates are the
//! least certain for their work. The estimate assumes that all clients of a shape cost the same. The cost of a shape
//! without a sample is interpolated between lighter and heavier shapes, because work grows exponentially with weight.

use itertools::Itertools;

/// The cost of checking a class, or several.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Seconds of processor time.
    pub seconds: f64,
    /// Executions.
    pub executions: f64,
}

impl Cost {
    fn times(self, n: f64) -> Self {
        Self { seconds: self.seconds * n, executions: self.executions * n }
    }

    fn and(self, other: Self) -> Self {
        Self { seconds: self.seconds + other.seconds, executions: self.executions + other.executions }
    }

    /// Returns the cost at a part of the way from this one to another one, with exponential growth. If the part is more
    /// than 1, it extrapolates.
    fn towards(self, other: Self, part: f64) -> Self {
        let between = |a: f64, b: f64| if a > 0.0 && b > 0.0 { a * (b / a).powf(part) } else { a + (b - a) * part };
        Self {
            seconds: between(self.seconds, other.seconds).max(0.0),
            executions: between(self.executions, other.executions).max(0.0),
        }
    }
}

/// The sample of one shape.
#[derive(Clone, Default)]
struct ShapeSample {
    weight: usize,
    /// The number of clients of each class.
    sizes: Vec<usize>,
    begun: usize,
    looked_at: usize,
    /// The number of clients of the classes in the sample.
    clients: usize,
    sum: Cost,
    /// The sum over classes of the square of the seconds for a client.
    squares: f64,
    /// The longest time of a class that was given up.
    given_up: f64,
}

impl ShapeSample {
    /// Returns the number of all its clients.
    fn all(&self) -> f64 {
        self.sizes.iter().sum::<usize>() as f64
    }

    /// Returns the mean cost of a client.
    fn mean(&self) -> Cost {
        self.sum.times(1.0 / self.clients as f64)
    }

    /// Returns the decrease of the variance of the estimate, for each second, if the sample had one more class.
    fn gain(&self) -> f64 {
        let (n, mean) = (self.looked_at as f64, self.mean().seconds.max(1e-9));
        // A small sample does not show its deviation, so this is at least a share of the mean.
        let deviation = (self.squares / n - mean * mean).max(0.0).sqrt().max(mean / n);
        (self.all() * deviation).powi(2) / ((n + 1.0) * self.sum.seconds.max(1e-9))
    }
}

/// A sample of the classes of each shape.
pub struct Sample {
    /// Light ones first.
    shapes: Vec<ShapeSample>,
    /// The number of shapes that were begun from the light end, and from the heavy end.
    ends: [usize; 2],
    /// The seconds that the shapes of each end took.
    spent: [f64; 2],
}

impl Sample {
    /// Returns an empty sample of shapes, the light ones first, with their weights and the number of clients of each
    /// class.
    pub fn of(shapes: impl Iterator<Item = (usize, Vec<usize>)>) -> Self {
        let shapes = shapes.map(|(weight, sizes)| ShapeSample { weight, sizes, ..ShapeSample::default() }).collect();
        Self { shapes, ends: [0, 0], spent: [0.0, 0.0] }
    }

    /// Chooses the class to check next: a shape, and the place of one of its classes. `None` if all are done or under
    /// way.
    pub fn next(&mut self) -> Option<(usize, usize)> {
        let [light, heavy] = self.ends;
        let shape = if light + heavy < self.shapes.len() {
            // Both ends get equal time, in which many light shapes are done for one heavy shape.
            let end = usize::from(self.spent[1] < self.spent[0]);
            self.ends[end] += 1;
            if end == 0 { light } else { self.shapes.len() - 1 - heavy }
        } else {
            let left = self.shapes.iter().enumerate().filter(|(_, s)| s.begun < s.sizes.len() && s.looked_at > 0);
            left.max_by(|(_, a), (_, b)| a.gain().total_cmp(&b.gain()))?.0
        };
        let found = &mut self.shapes[shape];
        let place = spread(found.begun, found.sizes.len());
        found.begun += 1;
        Some((shape, place))
    }

    /// Adds the cost of a class of a shape, or its cost so far if it was given up.
    pub fn add(&mut self, shape: usize, place: usize, cost: Cost, is_given_up: bool) {
        self.spent[usize::from(shape >= self.ends[0])] += cost.seconds;
        let shape = &mut self.shapes[shape];
        if is_given_up {
            shape.given_up = shape.given_up.max(cost.seconds);
            return;
        }
        let clients = shape.sizes[place];
        shape.looked_at += 1;
        shape.clients += clients;
        shape.sum = shape.sum.and(cost);
        shape.squares += (cost.seconds / clients as f64).powi(2);
    }

    /// Returns the number of classes in the sample.
    pub fn looked_at(&self) -> usize {
        self.shapes.iter().map(|shape| shape.looked_at).sum()
    }

    /// True if a shape has no class in the sample, or one of its classes was given up.
    pub fn is_cut(&self) -> bool {
        self.shapes.iter().any(|shape| shape.looked_at == 0 || shape.given_up > 0.0)
    }

    /// Estimates the cost of all classes.
    pub fn all(&self) -> Cost {
        let known = self.known();
        let of_shape = |shape: &ShapeSample| {
            let mean = if shape.looked_at > 0 { shape.mean() } else { at(&known, shape.weight) };
            let all = mean.times(shape.all());
            Cost { seconds: all.seconds.max(shape.given_up * shape.sizes.len() as f64), ..all }
        };
        self.shapes.iter().map(of_shape).fold(Cost::default(), Cost::and)
    }

    /// Returns the mean cost of a client of each weight that the sample has.
    fn known(&self) -> Vec<(usize, Cost)> {
        let seen = self.shapes.iter().filter(|shape| shape.looked_at > 0);
        let of_weight = seen.chunk_by(|shape| shape.weight);
        let mean = |shapes: Vec<&ShapeSample>| {
            let sum = shapes.iter().map(|s| s.mean().times(s.all())).fold(Cost::default(), Cost::and);
            sum.times(1.0 / shapes.iter().map(|s| s.all()).sum::<f64>())
        };
        of_weight.into_iter().map(|(weight, shapes)| (weight, mean(shapes.collect()))).collect()
    }
}

/// Estimates the cost of a client of a weight from the known costs of other weights.
fn at(known: &[(usize, Cost)], weight: usize) -> Cost {
    let above = known.partition_point(|(w, _)| *w <= weight);
    match (above.checked_sub(1).map(|i| known[i]), known.get(above)) {
        (None, None) => Cost::default(),
        (None, Some(&(_, cost))) => cost,
        (Some((w, cost)), Some(&(v, other))) => cost.towards(other, (weight - w) as f64 / (v - w) as f64),
        (Some((w, cost)), None) => match above.checked_sub(2).map(|i| known[i]) {
            Some((v, before)) => before.towards(cost, (weight - v) as f64 / (w - v) as f64),
            None => cost,
        },
    }
}

/// Returns the place of a round among `of` places. The places follow the reversed bits of the round, so that the first
/// few are far from each other and each place is taken once.
fn spread(round: usize, of: usize) -> usize {
    let bits = usize::BITS - of.saturating_sub(1).leading_zeros();
    let places = (0..1_usize << bits).map(|n| if bits == 0 { 0 } else { n.reverse_bits() >> (usize::BITS - bits) });
    places.filter(|place| *place < of).nth(round).unwrap_or(round)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once() {
        for of in 1..40 {
            let mut places: Vec<usize> = (0..of).map(|round| spread(round, of)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..of).collect::<Vec<_>>());
        }
    }

    fn cost(seconds: f64) -> Cost {
        Cost { seconds, executions: 10.0 * seconds }
    }

    /// Returns a sample of up to `looks` classes of shapes with these weights and sizes of classes; `of` gives the cost
    /// of a class.
    fn looked_at(shapes: &[(usize, Vec<usize>)], looks: usize, of: impl Fn(usize, usize) -> f64) -> Sample {
        let mut sample = Sample::of(shapes.iter().cloned());
        for _ in 0..looks {
            let Some((shape, place)) = sample.next() else { break };
            sample.add(shape, place, cost(of(shapes[shape].0, place)), false);
        }
        sample
    }

    #[test]
    fn what_was_all_seen_is_known() {
        let shapes = [(1, vec![3; 3]), (2, vec![1, 2, 3, 4, 5, 6, 7]), (4, vec![1, 9])];
        let all = looked_at(&shapes, 100, |weight, place| (weight + place) as f64);
        let of_shape = |(weight, sizes): &(usize, Vec<usize>)| (0..sizes.len()).map(|p| weight + p).sum::<usize>();
        let sum = shapes.iter().map(of_shape).sum::<usize>() as f64;
        assert_eq!((all.looked_at(), all.is_cut()), (12, false));
        assert!((all.all().seconds - sum).abs() < 1e-6 && (all.all().executions - 10.0 * sum).abs() < 1e-6);
    }

    #[test]
    fn what_was_not_seen_grows_with_weight() {
        let shapes = [1, 2, 3, 4, 5].map(|weight| (weight, vec![1]));
        let two_ends = looked_at(&shapes, 2, |weight, _| 3_f64.powi(weight as i32));
        assert!(two_ends.is_cut());
        assert!((two_ends.all().seconds - 363.0).abs() < 1e-6, "{:?}", two_ends.all());
        let mut light = Sample::of([(1, vec![1]), (2, vec![1]), (4, vec![1, 1])].into_iter());
        light.add(0, 0, cost(1.0), false);
        light.add(1, 0, cost(3.0), false);
        light.add(2, 0, cost(5.0), true);
        assert!((light.all().seconds - (1.0 + 3.0 + 2.0 * 27.0)).abs() < 1e-6, "{:?}", light.all());
    }

    #[test]
    fn more_is_looked_at_where_more_work_is() {
        let shapes = [(1, vec![1; 1000]), (2, vec![1; 1000])];
        let seen = looked_at(&shapes, 100, |weight, place| if weight == 1 { 0.001 } else { place as f64 });
        assert!(seen.shapes[1].looked_at > 50, "{}", seen.shapes[1].looked_at);
        let ratio = seen.all().seconds / (1.0 + 499_500.0);
        assert!((0.8..1.25).contains(&ratio), "{ratio}");
    }

    /// The five placements of four threads that call a barrier twice: 256 clients, measured.
    #[test]
    fn classes_of_more_clients_cost_more() {
        let seconds = [1.8, 12.6, 9.4, 29.2, 5.5];
        let seen = looked_at(&[(8, vec![4, 48, 36, 144, 24])], 3, |_, place| seconds[place]);
        let ratio = seen.all().seconds / seconds.iter().sum::<f64>();
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
    }
}
