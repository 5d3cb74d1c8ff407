//! A thread of `mowgli-fabric` as the port of emitted code.

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
}

impl FabricNames {
    /// Adds the words of a world to a group.
    pub fn add(group: &mut Group, world: &World) -> Self {
        let word = |(number, (at, initial)): (usize, &(i64, i64))| {
            group.object(&format!("w{number}"), Object::new(WAIT).at(node(*at)).init(value(*initial)))
        };
        let words = world.words.iter().enumerate().map(word).collect();
        let id = |d: Id| if d == 0 { Val::NoWid } else { Wid(Name::new(&format!("d{d}"))).into() };
        Self { words, ids: (0..=world.ids).map(id).collect() }
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

    fn id(&self, d: Id) -> Val {
        self.names.ids[d as usize]
    }

    fn number(&mut self, operation: Method) -> Result<i64, Fault> {
        self.thread.operation(operation).map(|v| numbers(v)[0])
    }

    fn nothing(&mut self, operation: Method) -> Result<(), Fault> {
        self.thread.operation(operation).map(|_| ())
    }
}

/// Returns a number as a value of `mowgli-fabric`.
fn value(v: i64) -> Val {
    if v == BOT { Val::Bot } else { Val::Int(v) }
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
        self.nothing(Method::Write { x: self.at(x), v: value(v) })
    }

    fn cas(&mut self, x: Word, old: i64, new: i64) -> Result<i64, Fault> {
        self.number(Method::CAS { x: self.at(x), v1: value(old), v2: value(new) })
    }

    fn xchg(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.number(Method::Xchg { x: self.at(x), v: value(v) })
    }

    fn faa(&mut self, x: Word, v: i64) -> Result<i64, Fault> {
        self.number(Method::FAA { x: self.at(x), v: value(v) })
    }

    fn mfence(&mut self) -> Result<(), Fault> {
        self.nothing(Method::Mfence {})
    }

    fn get(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Get { x: self.at(to), y: self.at(from), d: self.id(d) })
    }

    fn put(&mut self, to: Word, from: Word, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Put { x: self.at(to), y: self.at(from), d: self.id(d) })
    }

    fn put_words(&mut self, to: &[Word], from: &[Word], d: Id) -> Result<(), Fault> {
        let [xs, ys] = [to, from].map(|words| row(&words.iter().map(|x| self.at(*x)).collect::<Vec<_>>()));
        self.nothing(Method::PutWords { w: Way::USUAL.into(), xs, ys, d: self.id(d) })
    }

    fn rcas(&mut self, to: Word, on: Word, old: i64, new: i64, d: Id) -> Result<(), Fault> {
        let (v1, v2) = (value(old), value(new));
        self.nothing(Method::RCAS { x: self.at(to), y: self.at(on), v1, v2, d: self.id(d) })
    }

    fn rfaa(&mut self, to: Word, on: Word, v: i64, d: Id) -> Result<(), Fault> {
        self.nothing(Method::RFAA { x: self.at(to), y: self.at(on), v: value(v), d: self.id(d) })
    }

    fn wait(&mut self, d: Id) -> Result<(), Fault> {
        self.nothing(Method::Wait { d: self.id(d) })
    }

    fn rfence(&mut self, n: i64) -> Result<(), Fault> {
        self.nothing(Method::Rfence { n: node(n) })
    }

    fn again(&mut self) -> Result<(), Fault> {
        self.thread.pause();
        Ok(())
    }
}

fn node(n: i64) -> Node {
    Node(u8::try_from(n).expect("a node"))
}
