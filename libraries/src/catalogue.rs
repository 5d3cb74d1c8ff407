//! The libraries that are built in, in the order of their dependencies.

use mowgli_core::unknown::Unknown;

use crate::bal::{self, Bal};
use crate::entry::Entry;
use crate::rbl::{self, Rbl};
use crate::{kvstore, msw, nlock, sc_rmw, sequential, slock, sv, wlock};

/// Returns the entry of this name.
///
/// # Errors
/// If no entry has this name; the message lists the names.
pub fn named<'a>(all: &'a [Entry], name: &str) -> Result<&'a Entry, Unknown> {
    let known = || all.iter().map(|e| e.name);
    all.iter().find(|e| e.name == name).ok_or_else(|| Unknown::new("library", name, known()))
}

/// All libraries over RDMA, in the order of their dependencies. Those over x86-TSO are in [`catalogue`](crate::x86::catalogue).
#[must_use]
pub fn catalogue() -> Vec<Entry> {
    let mut all = vec![
        sv::entry(),
        bal::entry(Bal::Plain),
        bal::entry(Bal::Transitive),
        msw::entry(),
        rbl::entry(Rbl::Strong),
        rbl::entry(Rbl::Weak),
        wlock::entry(),
        slock::entry(),
        nlock::entry(),
        sc_rmw::entry(),
    ];
    all.extend(sequential::objects().iter().map(sequential::entry));
    all.push(kvstore::entry());
    all
}

#[cfg(test)]
mod tests {
    use itertools::Itertools;
    use mowgli_core::ids::Name;
    use mowgli_core::soundness::client::{Bound, worlds};
    use mowgli_core::world::World;

    use super::*;
    use crate::entry::bound;
    use crate::x86;

    /// Compares the largest worlds of an entry with the numbers of a bound, as a verdict prints it.
    fn has_worlds_as_large(entry: &Entry, bound: &Bound) {
        let printed = entry.covered(bound, &|| false);
        let all = worlds(&*entry.subject, bound, &|| false).expect("there is no deadline");
        let most = |of: &dyn Fn(&World) -> usize| all.iter().map(of).max().unwrap_or(0);
        let largest = (
            most(&|world| world.threads.len()),
            most(&|world| usize::from(world.nodes)),
            most(&|world| world.locations(Name::literal(entry.name)).len()),
        );
        assert_eq!(largest, (printed.threads, usize::from(printed.nodes), printed.objects), "{} {bound:?}", entry.name);
        assert_eq!(bound.objects, printed.objects, "{} {bound:?}", entry.name);
    }

    #[test]
    fn the_largest_worlds_have_what_is_printed() {
        for entry in catalogue() {
            entry.variants.iter().flat_map(|v| &v.bounds).unique_by(|b| format!("{b:?}")).for_each(|bound| {
                has_worlds_as_large(&entry, bound);
                assert_eq!(entry.covered(bound, &|| false), *bound, "{}", entry.name);
            });
            has_worlds_as_large(&entry, &Bound { homes: vec![1], objects: 4, ..bound(2, 2, 1) });
        }
        for entry in x86::catalogue() {
            entry.variants.iter().flat_map(|v| &v.bounds).for_each(|bound| {
                assert_eq!(entry.covered(bound, &|| false), *bound, "{}", entry.name);
            });
            has_worlds_as_large(&entry, &Bound { objects: 7, ..bound(2, 2, 1) });
            assert_eq!(entry.covered(&bound(2, 2, 1), &|| false).nodes, 1, "there is one machine");
        }
    }
}
