//! The common part of the locks over x86-TSO: their specification, and probes that see critical sections overlap.

use mowgli_core::algebra::set;
use mowgli_core::event::Call;
use mowgli_core::ids::{Loc, Name};
use mowgli_core::library::Libraries;
use mowgli_core::soundness::client::Client;
use mowgli_core::soundness::verdict::Probes;
use mowgli_core::term::shape::shapes;
use mowgli_core::value::Val;
use mowgli_core::world::{DeclarationForm, World};
use mowgli_x86::stamp::X86Stamp::{F, W};
use mowgli_x86::to;
use mowgli_x86::tso::{X86, X86Tso, word};

use crate::entry::{Entry, Memory, OneMachine, Variant};
use crate::lock::{Lock, Method, inside, pairs};

/// The lock of SYNC §4.1 over x86-TSO: Acq {F}, Rel {W}, `so = {<<e1, W>, <e2, F>> | match(e0, e1), e0 lo e2}`. A release
/// need not be seen before a later read: it may wait in the store buffer.
#[must_use]
pub const fn lock(name: Name) -> Lock {
    Lock {
        name,
        form: DeclarationForm { kind: name.text(), parts: &[] },
        fence: || F.into(),
        shapes: || shapes! { Method: Acq { .. } => { F } Rel { .. } => { W } },
        lets_in: || set!(W),
        first: |_| {},
    }
}

/// The entry of the catalogue for a lock over words, with these variants.
#[must_use]
pub fn entry(name: Name, variants: Vec<Variant>) -> Entry {
    Entry {
        name: name.text(),
        specification: Libraries::over(to).with(lock(name)),
        below: Libraries::over(to).with(X86Tso),
        memory: Memory::x86_tso(),
        subject: Box::new(OneMachine(lock(name))),
        probes: vec![Box::new(X86Sections { library: name })],
        variants,
    }
}

/// Probes inside critical sections: a section writes a word twice while another reads it, or two sections each write a
/// word and read the other's.
#[derive(Clone, Copy, Debug)]
pub struct X86Sections {
    /// The kind of lock.
    pub library: Name,
}

impl Probes for X86Sections {
    fn stages(&self) -> usize {
        1
    }

    fn extend(&self, world: &World, client: &Client, _: usize) -> Vec<(World, Client)> {
        let [x, y] = ["px", "py"].map(|x| Val::Loc(Loc::new(x)));
        let write = |x: Val, v: i64| Call::new(X86, "Write", &[x, v.into()]);
        let read = |x: Val| Call::new(X86, "Read", &[x]);
        let mut world = world.clone();
        world.objects.extend([x, y].into_iter().filter_map(Val::loc).map(|x| (x, word())));
        let with = |client: &Client, section, calls: &[Call]| inside(client, section, calls.to_vec(), Vec::new());
        let of_pair = |[one, two]: [_; 2]| {
            let torn = with(&with(client, one, &[write(x, 1), write(x, 2)]), two, &[read(x)]);
            let exchange = with(&with(client, one, &[write(x, 1), read(y)]), two, &[write(y, 1), read(x)]);
            [(world.clone(), torn), (world.clone(), exchange)]
        };
        pairs(self.library, client).into_iter().flat_map(of_pair).collect()
    }
}
