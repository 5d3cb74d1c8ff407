//! What each subevent can still read and write, as sets of values, and which runs of each thread remain.
//!
//! Values are numbered per search; a set is one word of 128 bits. Everything here only removes values that no
//! execution can have, so it loses none; when every read has its source, the sets are single values.

use std::collections::BTreeMap;

use crate::event::{Reads, Writes};
use crate::graph::Graph;
use crate::relation::matrix::ones;
use crate::runs::Run;
use crate::stamp::Stamp;
use crate::value::Val;

/// A set of numbered values.
pub type Vals = u128;

/// The most values that can be told apart.
pub const LIMIT: usize = 127;

/// The numbering of values of one search.
#[derive(Default)]
pub struct Numbering {
    values: Vec<Val>,
    numbers: BTreeMap<Val, u32>,
}

impl Numbering {
    fn bit(&mut self, v: Val) -> Vals {
        let next = self.values.len() as u32;
        let number = *self.numbers.entry(v).or_insert_with(|| {
            self.values.push(v);
            next
        });
        1u128.checked_shl(number).unwrap_or(0)
    }

    /// The bit of a value that occurs; 0 for one that no run mentions.
    pub(super) fn known(&self, v: Val) -> Vals {
        self.numbers.get(&v).map_or(0, |&number| 1u128.checked_shl(number).unwrap_or(0))
    }

    /// The one value of a set.
    #[must_use]
    pub fn single(&self, set: Vals) -> Option<Val> {
        set.is_power_of_two().then(|| self.values[set.trailing_zeros() as usize])
    }
}

/// What one run says of one subevent.
#[derive(Clone, Copy)]
struct Row {
    reads: Vals,
    writes: Vals,
}

/// A copy or addition between two subevents of one call.
struct Link {
    from: usize,
    to: usize,
    add: i64,
}

/// The fixed part: what each run allows, and how written values depend on read ones.
pub struct Values {
    /// The numbering.
    pub numbering: Numbering,
    /// The initial value of each subevent's cell.
    pub init: Vec<Vals>,
    rows: Vec<Vec<Vec<Row>>>,
    links: Vec<Link>,
    starts: Vec<usize>,
}

/// The changing part, copied at every decision.
#[derive(Clone)]
pub struct Domains {
    /// What each subevent can read.
    pub reads: Vec<Vals>,
    /// What each subevent can write.
    pub writes: Vec<Vals>,
}

/// Values for a graph; `None` if there are too many. `init` gives the initial value of a subevent's cell.
pub fn prepare<S: Stamp>(graph: &Graph<'_, S>, init: impl Fn(usize) -> Val) -> Option<(Values, Domains)> {
    let mut numbering = Numbering::default();
    let initial = (0..graph.len()).map(|s| numbering.bit(init(s))).collect();
    for skeleton in &graph.skeletons {
        for sub in skeleton.runs.iter().flat_map(|r| r.shapes.iter().flatten()) {
            if let Some(Reads::Is(v) | Reads::IsNot(v)) = sub.reads {
                numbering.bit(v);
            }
            if let Some(Writes::Is(v)) = sub.writes {
                numbering.bit(v);
            }
        }
    }
    add_sums(graph, &mut numbering);
    if numbering.values.len() > LIMIT {
        return None;
    }
    let rows = graph.skeletons.iter().map(|s| s.runs.iter().map(|run| row(run, &mut numbering)).collect()).collect();
    let links = (0..graph.len()).filter_map(|s| link(graph, s)).collect();
    let all = Vals::MAX;
    let domains = Domains { reads: vec![all; graph.len()], writes: vec![all; graph.len()] };
    Some((Values { numbering, init: initial, rows, links, starts: graph.starts.clone() }, domains))
}

/// Numbers every value that additions can make: each addition happens once, so as many rounds as there are additions.
fn add_sums<S: Stamp>(graph: &Graph<'_, S>, numbering: &mut Numbering) {
    let runs = graph.skeletons.iter().flat_map(|s| &s.runs);
    let mut amounts: Vec<i64> = Vec::new();
    let mut most = 0;
    for run in runs {
        let adds = run.shapes.iter().flatten().filter_map(|s| match s.writes {
            Some(Writes::Add(_, k)) => Some(k),
            _ => None,
        });
        amounts.extend(adds);
    }
    for place in &graph.subs {
        most += usize::from(matches!(place.sub.writes, Some(Writes::Add(..))));
    }
    amounts.sort_unstable();
    amounts.dedup();
    for _ in 0..most {
        for v in numbering.values.clone() {
            for &k in &amounts {
                if let Some(sum) = v.plus(k).filter(|_| numbering.values.len() <= LIMIT) {
                    numbering.bit(sum);
                }
            }
        }
    }
}

fn row<S: Stamp>(run: &Run<S>, numbering: &mut Numbering) -> Vec<Row> {
    let subs = run.shapes.iter().flatten();
    subs.map(|sub| Row {
        reads: match sub.reads {
            Some(Reads::Is(v)) => numbering.bit(v),
            Some(Reads::IsNot(v)) => !numbering.bit(v),
            Some(Reads::Any) | None => Vals::MAX,
        },
        writes: match sub.writes {
            Some(Writes::Is(v)) => numbering.bit(v),
            _ => Vals::MAX,
        },
    })
    .collect()
}

fn link<S: Stamp>(graph: &Graph<'_, S>, s: usize) -> Option<Link> {
    let place = graph.subs[s];
    match place.sub.writes? {
        Writes::Is(_) => None,
        Writes::Copy(from) => Some(Link { from: place.base + from, to: s, add: 0 }),
        Writes::Add(from, add) => Some(Link { from: place.base + from, to: s, add }),
    }
}

impl Values {
    /// Narrows the sets to what remaining runs and links allow. `false` if nothing remains; `changed` is set on change.
    pub fn narrow(&self, domains: &mut Domains, changed: &mut bool) -> bool {
        (0..self.rows.len()).all(|t| self.narrow_thread(t, domains, changed))
            && self.links.iter().all(|l| self.narrow_link(l, domains, changed))
    }

    fn narrow_thread(&self, thread: usize, domains: &mut Domains, changed: &mut bool) -> bool {
        let (start, end) = (self.starts[thread], self.starts[thread + 1]);
        let mut alive = self.alive(thread, domains);
        let Some(first) = alive.next() else { return false };
        let mut union: Vec<Row> = self.rows[thread][first].clone();
        for run in alive {
            for (all, row) in union.iter_mut().zip(&self.rows[thread][run]) {
                all.reads |= row.reads;
                all.writes |= row.writes;
            }
        }
        for (s, row) in (start..end).zip(union) {
            intersect(&mut domains.reads[s], row.reads, changed);
            intersect(&mut domains.writes[s], row.writes, changed);
        }
        true
    }

    /// The runs of a thread that the sets still allow.
    pub fn alive<'a>(&'a self, thread: usize, domains: &'a Domains) -> impl Iterator<Item = usize> + 'a {
        let start = self.starts[thread];
        let runs = self.rows[thread].iter().enumerate();
        let alive = runs.filter(move |(_, rows)| {
            rows.iter().enumerate().all(|(i, row)| {
                row.reads & domains.reads[start + i] != 0 && row.writes & domains.writes[start + i] != 0
            })
        });
        alive.map(|(index, _)| index)
    }

    fn narrow_link(&self, link: &Link, domains: &mut Domains, changed: &mut bool) -> bool {
        let from = domains.reads[link.from];
        if link.add == 0 {
            intersect(&mut domains.writes[link.to], from, changed);
            let to = domains.writes[link.to];
            intersect(&mut domains.reads[link.from], to, changed);
        } else if from != Vals::MAX {
            intersect(&mut domains.writes[link.to], self.sums(from, link.add), changed);
        }
        domains.writes[link.to] != 0 && domains.reads[link.from] != 0
    }

    fn sums(&self, set: Vals, k: i64) -> Vals {
        let mut result = 0;
        for number in (0..self.numbering.values.len()).filter(|n| set >> n & 1 == 1) {
            if let Some(v) = self.numbering.values[number].plus(k) {
                result |= self.numbering.known(v);
            }
        }
        result
    }
}

/// Intersects; sets `changed` on change.
pub fn intersect(set: &mut Vals, with: Vals, changed: &mut bool) {
    let next = *set & with;
    *changed |= next != *set;
    *set = next;
}

/// The union of what the members of a row can write.
#[must_use]
pub fn writable(domains: &Domains, row: &[u64]) -> Vals {
    ones(row).fold(0, |all, w| all | domains.writes[w])
}
