//! Generation of clients: all programs of calls up to a bound.

use itertools::Itertools;
use serde::{Deserialize, Serialize};

use crate::event::{Call, Event};
use crate::expr::Expr;
#[cfg(feature = "proptest")]
use crate::expr::{ExprTerm, Function, Opaque};
use crate::ids::{Loc, Name, Node, Tid};
use crate::library::Library;
use crate::search::problem::Found;
use crate::search::runs::Stop;
#[cfg(feature = "proptest")]
use crate::term::body::Body;
use crate::term::bound::Bound;
use crate::term::script::{CallOf, Script, ScriptWriter};
use crate::value::Val;
use crate::world::World;

impl Bound {
    /// Returns this bound, lowered to the largest worlds of a subject for objects of `library`. For example, a subject
    /// over one machine has only worlds of one node, and a subject of the user may make a single object. The threads
    /// are spread over the nodes. What changes no client of the subject is left out, for example the sizes of objects that have none.
    #[must_use]
    pub fn covered(&self, subject: &dyn Subject, library: Name, expired: &dyn Fn() -> bool) -> Self {
        let shapes = (1..=self.threads).rev().cartesian_product((1..=self.nodes).rev());
        let mut worlds = shapes.filter_map(|(threads, nodes)| {
            let placement: Vec<Node> = (0..threads).map(|t| Node(1 + (t % usize::from(nodes)) as u8)).collect();
            let empty = World::new(nodes, &placement);
            let worlds = subject.worlds(&empty, self, expired);
            (!worlds.is_empty()).then_some((empty, worlds))
        });
        let Some((empty, largest)) = worlds.next() else { return self.clone() };
        let objects = largest.iter().map(|world| world.locations(library).len()).max();
        let small = Self { objects: 1, ..self.clone() };
        let calls = |bound: &Self| {
            let worlds = subject.worlds(&empty, bound, expired).into_iter();
            let with_calls = worlds.map(|w| (w.tids().map(|t| subject.calls(&w, t, bound, expired)).collect(), w));
            with_calls.collect::<Vec<(Vec<Vec<Call>>, World)>>()
        };
        let is_used = |other: Self| calls(&small) != calls(&other);
        let next = |of: &[usize]| vec![of.iter().max().map_or(1, |most| most + 1)];
        let has_sizes = !self.sizes.is_empty() && is_used(Self { sizes: next(&self.sizes), ..small.clone() });
        let has_homes = !self.homes.is_empty() && is_used(Self { homes: vec![empty.nodes + 1], ..small.clone() });
        let has_members = self.members.is_some() && is_used(Self { members: Some(0), ..small.clone() });
        Self {
            threads: largest[0].threads.len(),
            nodes: largest[0].nodes,
            objects: objects.unwrap_or(0),
            words: if is_used(Self { words: self.words + 1, ..small.clone() }) { self.words } else { 0 },
            sizes: self.sizes.iter().copied().filter(|_| has_sizes).collect(),
            homes: self.homes.iter().copied().filter(|_| has_homes).collect(),
            members: self.members.filter(|_| has_members),
            ..self.clone()
        }
    }

    /// Visits every way to distribute this number of calls over the threads of a world. Only a thread that an object
    /// names may have none, for example a participant that never comes to its barrier. Any other thread without calls
    /// would leave a smaller client.
    fn share(
        &self,
        world: &World,
        total: usize,
        visit: &mut dyn FnMut(&[usize]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let is_member = |t: Tid| world.objects.values().any(|o| o.members.contains(&t));
        let least: Vec<usize> = world.tids().map(|t| usize::from(!is_member(t))).collect();
        share(&least, self.calls, total, &mut Vec::new(), visit)
    }

    /// Iterates over the total numbers of calls that clients may have.
    fn totals(&self) -> impl Iterator<Item = usize> + '_ {
        (1..=self.threads * self.calls).take_while(|&calls| self.total.is_none_or(|most| calls <= most))
    }
}

/// Visits every way to distribute `total` over places with lower and upper bounds, after the numbers in `chosen`.
fn share(
    least: &[usize],
    most: usize,
    total: usize,
    chosen: &mut Vec<usize>,
    visit: &mut dyn FnMut(&[usize]) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let Some((&first, rest)) = least.split_first() else { return visit(chosen) };
    let Some(left) = total.checked_sub(rest.iter().sum()) else { return Ok(()) };
    for n in first.max(total.saturating_sub(rest.len() * most))..=most.min(left) {
        chosen.push(n);
        share(rest, most, total - n, chosen, visit)?;
        chosen.pop();
    }
    Ok(())
}

/// A client generator for a library: it generates the possible objects and calls. If there may be very many, it asks
/// now and then whether the deadline has passed (`expired`). After that the number of results does not matter.
pub trait Subject: Send + Sync {
    /// Returns the worlds with up to `bound.objects` objects on these nodes and threads.
    fn worlds(&self, empty: &World, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<World>;

    /// Returns the calls that a thread can make.
    fn calls(&self, world: &World, thread: Tid, bound: &Bound, expired: &dyn Fn() -> bool) -> Vec<Call>;
}

/// Iterates over names for the objects of a world. The given ones come first, then the first one with a number. An
/// example is `x`, `y`, `z`, `x4`, `x5`.
pub fn object_names(first: &'static [&'static str]) -> impl Iterator<Item = Loc> {
    let named = first.iter().copied().map(Loc::new);
    named.chain((first.len() + 1..).map(|n| Loc::new(&format!("{}{n}", first[0]))))
}

/// A client: straight-line programs of calls.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Client {
    /// The calls of each thread.
    pub threads: Vec<Vec<Call>>,
}

impl Client {
    /// Returns the code of each thread. Its value is the tuple of the results.
    #[must_use]
    pub fn programs(&self) -> Vec<Script> {
        self.programs_with(&|_| true)
    }

    /// Returns the same with the results of these calls only.
    pub fn programs_with(&self, is_shown: &dyn Fn(&Call) -> bool) -> Vec<Script> {
        let script = |calls: &Vec<Call>| {
            let (mut writer, mut results) = (ScriptWriter::default(), Vec::new());
            for call in calls {
                let result = writer.fresh();
                writer.call(CallOf::known(call.clone()), Some(result));
                results.extend(is_shown(call).then(|| ScriptWriter::value(result)));
            }
            writer.end(Expr::tuple(results));
            writer.finish()
        };
        self.threads.iter().map(script).collect()
    }

    /// True if the specification of the library covers the client.
    #[must_use]
    pub fn is_well_formed(&self, library: &dyn Library, world: &World) -> bool {
        let threads = world.tids().zip(&self.threads);
        let event = |thread, call: &Call| Event { thread, call: call.clone(), ret: Val::Unit };
        let events: Vec<Event> = threads.flat_map(|(t, calls)| calls.iter().map(move |c| event(t, c))).collect();
        library.covered().has(world, &events.iter().collect::<Vec<_>>())
    }

    /// Returns the number of calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// True if there are no calls.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Returns all placements of `threads` threads on the nodes `1..=nodes`.
pub fn placements(threads: usize, nodes: u8) -> impl Iterator<Item = Vec<Node>> {
    std::iter::repeat_n((1..=nodes).map(Node), threads).multi_cartesian_product()
}

/// Returns all worlds of a subject within a bound.
///
/// # Errors
/// If the deadline passes first.
pub fn worlds(subject: &dyn Subject, bound: &Bound, expired: &dyn Fn() -> bool) -> Result<Vec<World>, Stop> {
    let mut all = Vec::new();
    for threads in 1..=bound.threads {
        for nodes in 1..=bound.nodes {
            for placement in placements(threads, nodes) {
                all.extend(subject.worlds(&World::new(nodes, &placement), bound, expired));
                in_time(expired)?;
            }
        }
    }
    Ok(all)
}

/// The largest number of clients in memory at a time, because all clients are sorted into orbits before the search.
pub const MOST: usize = 500_000;

/// Returns all clients of a subject within a bound, smallest first, each with its world.
///
/// # Errors
/// If the deadline passes first, or there are more than [`MOST`] clients.
pub fn clients(subject: &dyn Subject, bound: &Bound, expired: &dyn Fn() -> bool) -> Result<Vec<(World, Client)>, Stop> {
    let mut all = Vec::new();
    for_each(subject, bound, expired, &mut |world, client| hold(&mut all, world, client))?;
    sort(&mut all);
    Ok(all)
}

fn in_time(expired: &dyn Fn() -> bool) -> Result<(), Stop> {
    if expired() { Err(Stop::Time) } else { Ok(()) }
}

fn hold(all: &mut Vec<(World, Client)>, world: &World, client: Client) -> Result<(), Stop> {
    if all.len() == MOST {
        return Err(Stop::Clients(MOST));
    }
    all.push((world.clone(), client));
    Ok(())
}

/// Returns the clients that the specification covers, smallest first, because all others may do anything. Also returns
/// the number of all clients.
///
/// # Errors
/// If the deadline passes first, or there are more than [`MOST`] clients.
pub fn well_formed(
    library: &dyn Library,
    subject: &dyn Subject,
    bounds: &[Bound],
    expired: &dyn Fn() -> bool,
) -> Found<(Vec<(World, Client)>, usize)> {
    let (mut all, mut generated) = (Vec::new(), 0);
    let mut add = |world: &World, client: Client| {
        if client.is_well_formed(library, world) {
            hold(&mut all, world, client)?;
        }
        generated += 1;
        Ok(())
    };
    let searched = bounds.iter().try_for_each(|bound| for_each(subject, bound, expired, &mut add));
    // After the deadline the order does not matter, and to sort takes long.
    if searched != Err(Stop::Time) {
        sort(&mut all);
        all.dedup();
    }
    Found::new((all, generated), searched.err())
}

/// Returns the same as [`well_formed`] for `wanted` clients only. If there are more than [`MOST`], it returns the
/// smallest.
pub(crate) fn wanted(
    library: &dyn Library,
    subject: &dyn Subject,
    bound: &Bound,
    expired: &dyn Fn() -> bool,
    wanted: &dyn Fn(&World, &Client) -> bool,
) -> Found<Vec<(World, Client)>> {
    let mut all = Vec::new();
    let searched = for_each(subject, bound, expired, &mut |world, client| {
        let is_held = wanted(world, &client) && client.is_well_formed(library, world);
        if is_held { hold(&mut all, world, client) } else { Ok(()) }
    });
    sort(&mut all);
    all.dedup();
    Found::new(all, searched.err())
}

fn sort(clients: &mut [(World, Client)]) {
    clients.sort_by(|(v, a), (w, b)| (size(v, a), &v.threads, a).cmp(&(size(w, b), &w.threads, b)));
}

/// Returns the size of a client: calls, threads, nodes. Checks visit clients in this order.
pub(crate) fn size(world: &World, client: &Client) -> (usize, usize, u8) {
    (client.len(), world.threads.len(), world.nodes)
}

/// True if a subject has at most `most` clients within a bound, well-formed or not. The count stops as soon as it
/// exceeds that.
#[must_use]
pub fn are_at_most(subject: &dyn Subject, bound: &Bound, most: u128) -> bool {
    let shapes = (1..=bound.threads).cartesian_product(1..=bound.nodes);
    let placements = shapes.flat_map(|(threads, nodes)| placements(threads, nodes).map(move |p| (nodes, p)));
    let worlds = placements.flat_map(|(nodes, p)| subject.worlds(&World::new(nodes, &p), bound, &|| false));
    let mut sum = 0u128;
    for world in worlds {
        let calls = world.tids().map(|t| subject.calls(&world, t, bound, &|| false).len() as u128).collect_vec();
        let mut add = |lengths: &[usize]| {
            let of_lengths = calls.iter().zip(lengths).map(|(c, &n)| c.saturating_pow(n as u32)).product::<u128>();
            sum = sum.saturating_add(of_lengths);
            if sum > most { Err(Stop::Clients(MOST)) } else { Ok(()) }
        };
        if bound.totals().try_for_each(|total| bound.share(&world, total, &mut add)).is_err() {
            return false;
        }
    }
    true
}

/// A visitor of clients. It returns an error to stop.
type VisitClient<'v> = &'v mut dyn FnMut(&World, Client) -> Result<(), Stop>;

/// Visits every client within a bound: those with fewer calls first, then those with fewer threads, then fewer nodes.
fn for_each(
    subject: &dyn Subject,
    bound: &Bound,
    expired: &dyn Fn() -> bool,
    visit: VisitClient<'_>,
) -> Result<(), Stop> {
    let calls = |world: World| {
        let calls: Vec<Vec<Call>> = world.tids().map(|t| subject.calls(&world, t, bound, expired)).collect();
        in_time(expired).map(|()| (world, calls))
    };
    let worlds: Vec<_> = worlds(subject, bound, expired)?.into_iter().map(calls).collect::<Result<_, _>>()?;
    for total in bound.totals() {
        for (world, calls) in &worlds {
            bound.share(world, total, &mut |lengths| for_each_of(world, calls, lengths, expired, visit))?;
        }
    }
    Ok(())
}

fn for_each_of(
    world: &World,
    calls: &[Vec<Call>],
    lengths: &[usize],
    expired: &dyn Fn() -> bool,
    visit: VisitClient<'_>,
) -> Result<(), Stop> {
    in_time(expired)?;
    let all_calls = calls.iter().zip(lengths).flat_map(|(calls, &n)| std::iter::repeat_n(calls.iter(), n));
    for chosen in all_calls.multi_cartesian_product() {
        in_time(expired)?;
        let mut rest = chosen.into_iter().cloned();
        let threads = lengths.iter().map(|&n| rest.by_ref().take(n).collect()).collect();
        visit(world, Client { threads })?;
    }
    Ok(())
}

/// Clients within a bound, for property tests: larger ones than can be enumerated. Shrinks to fewer threads, nodes and
/// calls.
#[cfg(feature = "proptest")]
pub fn strategy<'a>(
    subject: &'a dyn Subject,
    bound: &'a Bound,
) -> impl proptest::strategy::Strategy<Value = (World, Client)> + 'a {
    use proptest::prelude::*;
    use proptest::sample::Index;
    let threads = prop::collection::vec(
        (any::<Index>(), prop::collection::vec(any::<Index>(), 1..=bound.calls)),
        1..=bound.threads,
    );
    let all = (1..=bound.nodes, any::<Index>(), threads);
    all.prop_filter_map("there are objects for the threads", move |(nodes, world, threads)| {
        let placement: Vec<Node> = threads.iter().map(|(n, _)| Node(n.index(usize::from(nodes)) as u8 + 1)).collect();
        let worlds = subject.worlds(&World::new(nodes, &placement), bound, &|| false);
        let world = (!worlds.is_empty()).then(|| worlds[world.index(worlds.len())].clone())?;
        let of_thread = |(t, (_, picks)): (usize, &(Index, Vec<Index>))| {
            let calls = subject.calls(&world, Tid::from_index(t), bound, &|| false);
            let picks = if calls.is_empty() { &[][..] } else { &picks[..] };
            picks.iter().map(|pick| calls[pick.index(calls.len())].clone()).collect()
        };
        let client = Client { threads: threads.iter().enumerate().map(of_thread).collect() };
        Some((world, client))
    })
}

/// Turns a client into bodies in which values flow. An integer `k` of a call that `flows` becomes `k - 1` more than the last integer
/// that the thread got, if it got one. So 1 passes that value on, and 2 adds one to it. The output is `shown` of each result.
#[cfg(feature = "proptest")]
#[must_use]
pub fn flowing(client: &Client, flows: fn(&Call) -> bool, shown: fn(Val) -> Val) -> Vec<Body> {
    fn from(calls: &[Call], flows: fn(&Call) -> bool, shown: Opaque, got: Expr, results: Vec<Expr>) -> Body {
        let Some((call, rest)) = calls.split_first() else { return Expr::tuple(results).into() };
        let arg = |v: &Val| match v {
            Val::Int(k) if flows(call) => got + (k.wrapping_sub(1)),
            other => (*other).into(),
        };
        Body::call(call.library, call.method.text(), call.args.iter().map(arg).collect::<Vec<_>>()).bind("v", |v| {
            let results = [results.as_slice(), &[Expr::opaque("shown", shown, [v])]].concat();
            let is_integer = v.is(ExprTerm::Of(Function::Int, v));
            Body::branch(is_integer, v.into(), got.into()).bind("got", |got| from(rest, flows, shown, got, results))
        })
    }
    let shown = Opaque::new(move |args| shown(args[0]));
    client.threads.iter().map(|calls| from(calls, flows, shown, 1.into(), Vec::new())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_all_of_them() {
        let shown: Vec<Vec<u8>> = placements(2, 2).map(|p| p.iter().map(|n| n.0).collect()).collect();
        assert_eq!(shown, [vec![1, 1], vec![1, 2], vec![2, 1], vec![2, 2]]);
    }
}
