//! A thread of `mowgli-fabric` as the port of emitted code.

use std::sync::Mutex;

use mowgli_core::ids::{Loc, Name, Node, Wid};
use mowgli_core::value::Val;
use mowgli_core::world::Object;
use mowgli_fabric::{Fault, Group};
use mowgli_rdma::Way;
use mowgli_rdma::wait::{Method, WAIT, row};

use crate::mowgli_port::{BOT, Id, Port, Word, World};

/// The words and the identifiers of a world in a group of `mowgli-fabric`.
pub struct FabricNames {
    words: Vec<Loc>,
    ids: Vec<Val>,
    /// The large numbers so far, for example checksums. Operations by name have integers of 62 bits, so each large number has a small
    /// one in its place.
    large: Mutex<Vec<i64>>,
}

/// The least large number, and the one that is in its place.
const LARGE: i64 = 1 << 60;

impl FabricNames {
    /// Adds the words of a world to a group.
    pub fn add(group: &mut Group, world: &World) -> Self {
        let id = |d: Id| if d == 0 { Val::NoWid } else { Wid(Name::new(&format!("d{d}"))).into() };
        let ids = (0..=world.ids).map(id).collect();
        let mut names = Self { words: Vec::new(), ids, large: Mutex::default() };
        for (number, (at, initial)) in world.words.iter().enumerate() {
            let word = Object::new(WAIT).at(node(*at)).init(names.value(*initial));
            names.words.push(group.object(&format!("w{number}"), word));
        }
        names
    }

    /// Returns an identifier as a value of `mowgli-fabric`.
    pub fn id(&self, d: Id) -> Val {
        self.ids[d as usize]
    }

    /// Returns a number as a value of `mowgli-fabric`.
    fn value(&self, v: i64) -> Val {
        if v == BOT {
            return Val::Bot;
        }
        if (-LARGE..LARGE).contains(&v) {
            return Val::Int(v);
        }
        let mut large = self.large.lock().unwrap();
        let known = large.iter().position(|other| *other == v);
        let at = known.unwrap_or_else(|| {
            large.push(v);
            large.len() - 1
        });
        Val::Int(LARGE + at as i64)
    }

    /// Returns the number that [`Self::value`] made into a value.
    fn number(&self, v: Val) -> i64 {
        let number = numbers(v)[0];
        let place = usize::try_from(number.saturating_sub(LARGE)).ok();
        place.map_or(number, |at| self.large.lock().unwrap()[at])
    }
}

/// A thread of `mowgli-fabric` as a port.
pub struct FabricThread<'t, 'a> {
    pub thread: &'t mut mowgli_fabric::Thread<'a>,
    pub names: &'t FabricNames,
}

impl FabricThread<'_, '_> {
    fn at(&self, x: Word) -> Loc {
        self.names.words[x.at]
    }

    fn rows(&self, to: &[Word], from: &[Word]) -> [Val; 2] {
        [to, from].map(|words| row(&words.iter().map(|x| self.at(*x)).collect::<Vec<_>>()))
    }

    fn number(&mut self, operation: Method) -> Result<i64, Fault> {
        self.thread.operation(operation).map(|v| self.names.number(v))
    }

    fn nothing(&mut self, operation: Method) -> Result<(), Fault> {
        self.thread.operation(operation).map(|_| ())
    }
}

/// Returns a value of `mowgli-fabric` as numbers: those of a tuple, or one.
pub fn numbers(v: Val) -> Vec<i64> {
    match v {
        Val::Tuple(parts) => parts.parts().iter().flat_map(|v| numbers(*v)).collect(),
        Val::Int(i) => vec![i],
        Val::Bool(b) => vec![b.into()],
        Val::Unit => Vec::new(),
        Val::Bot => vec![BOT],
        v => panic!("{v} is no number"),
    }
}

impl Port for FabricThread<'_, '_> {
    type Fault = Fault;

    fn read(&mut self, x: Word) -> Result<i64, Fault> {
        self.number(Method::Read { x: self.at(x) })
    }

    fn write(&mut self, x: Word, v: i64) -> Result<(), Fault> {
        self.nothing(Method::Write { x: self.at(x), v: self.names.value(v) })
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        self.number(Method::CAS { x: self.at(x), v1: self.names.value(old), v2: self.names.value(new) })
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.number(Method::Xchg { x: self.at(x), v: self.names.value(v) })
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.number(Method::FAA { x: self.at(x), v: self.names.value(v) })
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        self.nothing(Method::Mfence {})
    }

    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Get { x: self.at(to), y: self.at(from), d: self.names.id(d) })
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Put { x: self.at(to), y: self.at(from), d: self.names.id(d) })
    }

    fn get_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        let [xs, ys] = self.rows(to, from);
        self.nothing(Method::GetWords { w: Way::USUAL.into(), xs, ys, d: self.names.id(d) })
    }

    fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        let [xs, ys] = self.rows(to, from);
        self.nothing(Method::PutWords { w: Way::USUAL.into(), xs, ys, d: self.names.id(d) })
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), Fault> {
        let (v1, v2) = (self.names.value(old), self.names.value(new));
        self.nothing(Method::RCAS { x: self.at(to), y: self.at(on), v1, v2, d: self.names.id(d) })
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Fault> {
        self.nothing(Method::RFAA { x: self.at(to), y: self.at(on), v: self.names.value(v), d: self.names.id(d) })
    }

    fn wait(&mut self, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Wait { d: self.names.id(d) })
    }

    fn rfence(&mut self, n: i64) -> Result<(), Fault> {
        self.nothing(Method::Rfence { n: node(n) })
    }

    fn again(&mut self) -> Result<(), Fault> {
        self.thread.again()
    }
}

fn node(n: i64) -> Node {
    Node(u8::try_from(n).expect("a node"))
}
