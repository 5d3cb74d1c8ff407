//! Roles: the properties of the subevents at one position of a template on which all runs agree.

use std::collections::BTreeSet;

use itertools::Itertools;
use mowgli_core::event::{Reads, Writes};
use mowgli_core::ids::Loc;
use mowgli_core::library::Libraries;
use mowgli_core::value::Val;
use mowgli_judge::ids::Node;

use crate::kind::{Instance, Read, Role, Seen, Write};
use crate::pattern::{Datum, Each, Env, Segment, Times, datum, expanded, pattern, segmentations, word_of};

/// Returns the roles of the subevents of the event at one position, from all its instances.
pub(crate) fn subevents(
    instances: &[Instance],
    event: usize,
    times: Times,
    objects: &BTreeSet<Loc>,
    libraries: &Libraries,
) -> Result<(Vec<Segment>, Vec<Role>), String> {
    let each_event = if let Times::Each(each) = times { Some(each) } else { None };
    let ended = (times == Times::Ended).then_some(Each::Ended(event));
    let lengths: Vec<(&Env, usize)> = instances.iter().map(|(s, subs)| (&s.env, subs.len())).collect();
    let mut why = "how many subevents it has is nothing that depends on the nodes in question".to_owned();
    for segments in segmentations(&lengths) {
        if each_event.or(ended).is_some() && segments.iter().any(|s| s.each().is_some()) {
            why = "it is there for each node, and each has subevents for each node".to_owned();
            continue;
        }
        // A subevent that exists if a set has a node is indexed by the set, if another one is.
        if let Times::IfAny(set) = times
            && segments.iter().any(|s| s.each() != Some(Each::Nodes(set)))
        {
            why = "it is there for some sets of nodes, and not for each of them".to_owned();
            continue;
        }
        let positions: usize = segments.iter().map(|s| s.len).sum();
        let each: Vec<Option<Each>> = segments.iter().flat_map(|s| std::iter::repeat_n(s.each(), s.len)).collect();
        let mut seen: Vec<Vec<(Seen, Option<usize>)>> = vec![Vec::new(); positions];
        let mut fits = true;
        for (instance, subs) in instances {
            let places = expanded(&segments, &instance.env);
            for (&(position, at), sub) in places.iter().zip(subs) {
                let env = Env { at: at.or(instance.env.at), ..instance.env.clone() };
                let copied = match sub.writes {
                    Some(Writes::Copy(from) | Writes::Step(from)) => {
                        let (from, there) = places[from];
                        fits &= there.is_none() || there == at;
                        Some(from)
                    }
                    _ => None,
                };
                seen[position].push((Seen { sub: *sub, env, ..instance.clone() }, copied));
            }
        }
        if !fits {
            why = "what a subevent copies is read for another node".to_owned();
            continue;
        }
        let all: Result<Vec<Role>, String> = seen
            .into_iter()
            .enumerate()
            .map(|(sub, seen)| {
                let each = each[sub].or(each_event).or(ended);
                role(seen, (event, sub), each, each_event, objects, libraries)
            })
            .collect();
        match all {
            Ok(roles) => return Ok((segments, roles)),
            Err(reason) => why = reason,
        }
    }
    Err(why)
}

fn one<T: PartialEq + Clone>(all: impl IntoIterator<Item = T>, what: &str) -> Result<T, String> {
    let mut all = all.into_iter();
    let first = all.next().ok_or_else(|| format!("{what} was never seen"))?;
    if all.all(|other| other == first) { Ok(first) } else { Err(format!("{what} depends on the call")) }
}

/// Returns the initial value of a cell: a datum, that of an object as a whole, or always the same tuple.
fn initial(cases: Vec<(&Env, Val)>, objects: &BTreeSet<Loc>) -> Option<Datum> {
    let (env, first) = cases[0];
    if !matches!(first, Val::Tuple(_)) {
        return datum(cases, objects).ok();
    }
    if cases.iter().all(|(_, v)| *v == first) {
        return Some(Datum::Constant(first));
    }
    let is_it = |i: &usize| cases.iter().all(|(env, v)| env.initial[*i] == Some(*v));
    (0..env.initial.len()).find(is_it).map(Datum::Initial)
}

/// Values of several sorts. The written value for each shows whether an event writes a sum, and with which number.
const READ: [Val; 8] =
    [Val::Int(0), Val::Int(1), Val::Int(-1), Val::Int(41), Val::Int(i64::MAX), Val::Bool(true), Val::Bot, Val::Unit];

/// Returns the number that the events add to the read value, if that is how they make the written one.
fn added(seen: &[&Seen], objects: &BTreeSet<Loc>, libraries: &Libraries) -> Result<Datum, String> {
    let step = |s: &Seen, read| libraries.of(&s.event.call).step(&s.event, read);
    let cases = || seen.iter().filter_map(|s| Some((*s, step(s, Val::Int(0))?)));
    let added = datum(cases().map(|(s, v)| (&s.env, v)), objects)?;
    let is_sum = |(s, v): (&Seen, Val)| {
        let sum = |read: Val| v.int().and_then(|k| read.plus(k));
        READ.into_iter().all(|read| step(s, read) == sum(read))
    };
    let is_none = |s: &&Seen| READ.into_iter().all(|read| step(s, read).is_none());
    let sums = cases().all(is_sum) && seen.iter().filter(|s| step(s, Val::Int(0)).is_none()).all(is_none);
    if sums { Ok(added) } else { Err("what it writes is computed from what it read, and no sum".to_owned()) }
}

/// A value in terms of the call.
enum Said {
    One(Datum),
    Words(Vec<Datum>),
}

/// Returns a value in terms of the call, the same in all cases: a datum, or a tuple of data. A result may be a whole
/// tuple.
fn said(cases: Vec<(&Env, Val)>, objects: &BTreeSet<Loc>) -> Result<Said, String> {
    let (env, first) = cases.first().ok_or("there is no case")?;
    if !cases.iter().any(|(_, v)| matches!(v, Val::Tuple(_))) {
        return datum(cases, objects).map(Said::One);
    }
    let is_whole = |event: &usize| cases.iter().all(|(env, v)| env.results.get(*event) == Some(v));
    if let Some(event) = (0..env.results.len()).find(is_whole) {
        return Ok(Said::One(Datum::Result(event)));
    }
    if cases.iter().all(|(env, v)| env.returned == Some(*v)) {
        return Ok(Said::One(Datum::Returned));
    }
    let size = if let Val::Tuple(all) = first { all.parts().len() } else { 0 };
    let is_of_size = |v: &Val| matches!(v, Val::Tuple(all) if all.parts().len() == size);
    if !cases.iter().all(|(_, v)| is_of_size(v)) {
        return Err("a value is now a tuple and now something else".to_owned());
    }
    let word = |word: usize| datum(cases.iter().filter_map(|(env, v)| Some((*env, word_of(*v, word)?))), objects);
    (0..size).map(word).collect::<Result<Vec<Datum>, String>>().map(Said::Words)
}

/// Returns the words of a state, if each event updates a cell that has some. The read words are results of the calls
/// below, and the written words are data.
fn words(
    seen: &[(Seen, Option<usize>)],
    objects: &BTreeSet<Loc>,
    libraries: &Libraries,
) -> Option<(Vec<Datum>, Vec<Datum>)> {
    let first = &seen[0].0;
    let (Some(Reads::Any), Some(Writes::Step(_))) = (first.sub.reads, first.sub.writes) else { return None };
    let Val::Tuple(start) = libraries.of(&first.event.call).init(&first.world, first.sub.cell?) else { return None };
    let is_result = |event: &usize| seen.iter().all(|(s, _)| s.env.results[*event] != Val::Top);
    let results: Vec<usize> = (0..first.env.results.len()).filter(is_result).collect();
    results.into_iter().permutations(start.parts().len()).find_map(|before| {
        let after: Vec<(&Env, Vec<Val>)> =
            seen.iter().map(|(s, _)| Some((&s.env, applied(s, &before, libraries)?))).collect::<Option<_>>()?;
        let word = |w: usize| datum(after.iter().map(|(env, all)| (*env, all[w])), objects).ok();
        let after = (0..before.len()).map(word).collect::<Option<Vec<Datum>>>()?;
        Some((before.into_iter().map(Datum::Result).collect(), after))
    })
}

/// Returns the words that an event makes of the words with these results.
fn applied(seen: &Seen, before: &[usize], libraries: &Libraries) -> Option<Vec<Val>> {
    let words: Vec<Val> = before.iter().map(|event| seen.env.results[*event]).collect();
    let after = libraries.of(&seen.event.call).step(&seen.event, Val::tuple(&words))?;
    let Val::Tuple(after) = after else { return None };
    Some(after.parts().to_vec()).filter(|after| after.len() == before.len())
}

/// Returns the role of the subevent at one position, from its instances. Each instance comes with the position of the
/// subevent that it copies, if it copies one.
fn role(
    seen: Vec<(Seen, Option<usize>)>,
    position: (usize, usize),
    each: Option<Each>,
    each_event: Option<Each>,
    objects: &BTreeSet<Loc>,
    libraries: &Libraries,
) -> Result<Role, String> {
    let stamps = seen.iter().map(|(s, _)| {
        let text = s.sub.stamp.to_string();
        let parts =
            text.rsplit_once('_').and_then(|(family, n)| Some((family.to_owned(), Some(n.parse::<u8>().ok()?))));
        (&s.env, parts.unwrap_or((text, None)))
    });
    let stamps: Vec<(&Env, (String, Option<u8>))> = stamps.collect();
    let family = one(stamps.iter().map(|(_, (family, _))| family.clone()), "a stamp")?;
    let nodes: Vec<(&Env, Val)> =
        stamps.iter().filter_map(|(env, (_, n))| Some((*env, Val::Node(Node((*n)?))))).collect();
    let stamp_node = match nodes.len() {
        0 => None,
        n if n == stamps.len() => match &pattern(nodes, objects)?.leaves[..] {
            [leaf] => Some(*leaf),
            _ => return Err(format!("the node of {family} is always the same")),
        },
        _ => return Err(format!("{family} has a node only now and then")),
    };
    let cell = match one(seen.iter().map(|(s, _)| s.sub.cell.is_some()), "whether it touches memory")? {
        false => None,
        true => {
            let cells = seen
                .iter()
                .filter_map(|(s, _)| s.sub.cell.map(|c| (&s.env, Val::tuple(&[Val::Loc(c.loc), Val::Node(c.node)]))));
            Some(pattern(cells, objects)?)
        }
    };
    let (before, after) = words(&seen, objects, libraries).unzip();
    let reads = match one(seen.iter().map(|(s, _)| s.sub.reads.map(|r| std::mem::discriminant(&r))), "what it reads")? {
        None => None,
        Some(_) => {
            let values = seen.iter().filter_map(|(s, _)| match s.sub.reads? {
                Reads::Is(v) | Reads::IsNot(v) => Some((&s.env, v)),
                Reads::Any => None,
            });
            match seen[0].0.sub.reads {
                Some(Reads::Is(_)) => Some(match said(values.collect(), objects)? {
                    Said::One(datum) => Read::Is(datum),
                    Said::Words(words) => Read::Words(words),
                }),
                Some(Reads::IsNot(_)) => Some(Read::IsNot(datum(values, objects)?)),
                _ => Some(before.map_or(Read::Any, Read::Words)),
            }
        }
    };
    let writes =
        match one(seen.iter().map(|(s, _)| s.sub.writes.map(|w| std::mem::discriminant(&w))), "what it writes")? {
            None => None,
            Some(_) => match seen[0].0.sub.writes {
                Some(Writes::Is(_)) => {
                    let values = seen.iter().filter_map(|(s, _)| match s.sub.writes {
                        Some(Writes::Is(v)) => Some((&s.env, v)),
                        _ => None,
                    });
                    Some(match said(values.collect(), objects)? {
                        Said::One(datum) => Write::Is(datum),
                        Said::Words(words) => Write::Words(words),
                    })
                }
                Some(Writes::Copy(_)) => {
                    let from = one(seen.iter().map(|(_, copied)| *copied), "what it copies")?;
                    Some(Write::Copy(from.ok_or("it copies nothing")?))
                }
                Some(Writes::Step(_)) if after.is_some() => after.map(Write::Words),
                Some(Writes::Step(_)) => {
                    let from = one(seen.iter().map(|(_, from)| *from), "what it depends on")?;
                    let from = from.ok_or("it depends on nothing")?;
                    let seen: Vec<&Seen> = seen.iter().map(|(s, _)| s).collect();
                    Some(Write::Plus(from, added(&seen, objects, libraries)?))
                }
                None => unreachable!("all of them write"),
            },
        };
    if (reads.is_some() || writes.is_some()) && cell.is_none() {
        return Err("it reads or writes no cell".to_owned());
    }
    let first = &seen[0].0;
    let initials = seen.iter().filter_map(|(s, _)| {
        let cell = s.sub.cell?;
        Some((&s.env, libraries.of(&s.event.call).init(&s.world, cell)))
    });
    // An initial value that is not in terms of the call stays unknown.
    let initial = reads.as_ref().and_then(|_| initial(initials.collect(), objects));
    let method = first.event.call.method;
    let library = first.event.call.library;
    Ok(Role {
        name: format!("{method}.{family}"),
        words: format!("{family} of {method}"),
        library,
        position,
        each,
        each_event: each_event.is_some(),
        family,
        stamp_node,
        cell,
        reads,
        writes,
        initial,
        in_loop: false,
        above: Vec::new(),
        seen: seen.into_iter().map(|(s, _)| s).collect(),
    })
}
