//! Written by `mowgli emit rust sv:published bal:published bal-transitive:published bal-puts:published wlock:published slock:published nlock:published trylock:published sc-rmw:published rbl:one-put rbl-weak:fenced counter:published queue:published map:published`.
//!
//! Do not edit: change the library, check it, and write this again.

// A program need not make every call, and statements are those of the checked bodies.
#![allow(dead_code, clippy::all)]

use super::mowgli_port::*;

/// A thread that makes the calls of these libraries.
pub type Me<'a, P> = Thread<'a, P, Own>;

/// The parts of the libraries that belong to none of their objects.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// Those of `sv`.
    pub sv: sv::Own,
}

impl Own {
    /// Makes them: on every node, before all objects.
    pub fn new(world: &mut World) -> Self {
        Self { sv: sv::Own::new(world) }
    }
}

/// `sv`, as its variant `published`: LOCO §3.4
pub mod sv {
    use super::*;

    /// The parts that belong to the library, and to none of its objects.
    #[derive(Clone, Debug, Default)]
    pub struct Own {
        /// `sv.bot[n] for n in all_nodes`
        pub bot: Vec<Word>,
        /// An identifier of operations.
        pub d0: Id,
    }

    impl Own {
        /// Makes them: see [`super::Own`].
        pub fn new(world: &mut World) -> Self {
            let mut own = Self { bot: vec![Word::default(); (world.nodes + 1) as usize], ..Self::default() };
            for n in each(world.all_nodes()) {
                own.bot[n as usize] = world.word(n, 0);
            }
            own.d0 = world.id();
            own
        }
    }

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `initial(x)`
        pub initial: i64,
        /// `x.copy[n] for n in all_nodes`
        pub copy: Vec<Word>,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, initial: i64) -> Object {
        let mut x = Object { initial, ..Object::default() };
        x.copy = vec![Word::default(); (world.nodes + 1) as usize];
        for n in each(world.all_nodes()) {
            x.copy[n as usize] = world.word(n, x.initial);
        }
        x
    }

    /// `Write(x, v)`: writes the copy of the thread's node.
    pub fn write<P: Port>(me: &mut Me<'_, P>, x: &Object, v: i64) -> Result<(), P::Fault> {
        me.port.write(x.copy[me.node as usize], v)?;
        Ok(())
    }

    /// `Read(x)`: reads the copy of the thread's node.
    pub fn read<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<i64, P::Fault> {
        me.port.read(x.copy[me.node as usize])
    }

    /// `Bcast(x, d, ns)`: sends the copy of the thread's node to these nodes.
    pub fn bcast<P: Port>(me: &mut Me<'_, P>, x: &Object, d: Id, ns: Nodes) -> Result<(), P::Fault> {
        for n in each(ns) {
            me.port.put(x.copy[n as usize], x.copy[me.node as usize], d)?;
        }
        Ok(())
    }

    /// `Wait(d)`: waits until the copy of the thread's node may be written again.
    pub fn wait<P: Port>(me: &mut Me<'_, P>, d: Id) -> Result<(), P::Fault> {
        me.port.wait(d)?;
        Ok(())
    }

    /// `GF(ns)`: waits until everything towards these nodes has reached them.
    pub fn gf<P: Port>(me: &mut Me<'_, P>, ns: Nodes) -> Result<(), P::Fault> {
        let own = &me.own.sv;
        for n in each(ns) {
            me.port.get(own.bot[me.node as usize], own.bot[n as usize], own.d0)?;
        }
        me.port.wait(own.d0)?;
        Ok(())
    }
}

/// `bal`, as its variant `published`: LOCO §4.2
pub mod bal {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `members(x)`
        pub members: List,
        /// `x.count[t] for t in members(x)`
        pub count: Vec<sv::Object>,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, members: List) -> Object {
        let mut x = Object { members, ..Object::default() };
        x.count = vec![sv::Object::default(); (world.threads() + 1) as usize];
        for t in x.members.each() {
            x.count[t as usize] = sv::new(world, 0);
        }
        x
    }

    /// `BAR(x)` returns when all participants have called it.
    pub fn bar<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        let world = me.world;
        if x.members.has(me.thread) {
            sv::gf(me, world.nodes_of(&x.members))?;
            let v = sv::read(me, &x.count[me.thread as usize])?;
            sv::write(me, &x.count[me.thread as usize], v + 1)?;
            sv::bcast(me, &x.count[me.thread as usize], 0, world.nodes_of(&x.members) & !only(me.node))?;
            for t in x.members.each() {
                loop {
                    let seen = sv::read(me, &x.count[t as usize])?;
                    if v < seen {
                        break;
                    }
                    me.port.again()?;
                }
            }
        } else {
            return Err(me.port.never("bal"));
        }
        Ok(())
    }
}

/// `bal-transitive`, as its variant `published`: LOCO §4.2
pub mod bal_transitive {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `members(x)`
        pub members: List,
        /// `x.count[t] for t in members(x)`
        pub count: Vec<sv::Object>,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, members: List) -> Object {
        let mut x = Object { members, ..Object::default() };
        x.count = vec![sv::Object::default(); (world.threads() + 1) as usize];
        for t in x.members.each() {
            x.count[t as usize] = sv::new(world, 0);
        }
        x
    }

    /// `BAR(x)` returns when all participants have called it.
    pub fn bar<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        let world = me.world;
        if x.members.has(me.thread) {
            sv::gf(me, world.all_nodes())?;
            let v = sv::read(me, &x.count[me.thread as usize])?;
            sv::write(me, &x.count[me.thread as usize], v + 1)?;
            sv::bcast(me, &x.count[me.thread as usize], 0, world.all_nodes() & !only(me.node))?;
            for t in x.members.each() {
                loop {
                    let seen = sv::read(me, &x.count[t as usize])?;
                    if v < seen {
                        break;
                    }
                    me.port.again()?;
                }
            }
        } else {
            return Err(me.port.never("bal-transitive"));
        }
        Ok(())
    }
}

/// `bal-puts`, as its variant `published`: two passes over the network, in which counters follow puts
pub mod bal_puts {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `members(x)`
        pub members: List,
        /// `x.count[t] for t in members(x)`
        pub count: Vec<sv::Object>,
        /// `x.known[t] for t in members(x)`
        pub known: Vec<sv::Object>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, members: List) -> Object {
        let mut x = Object { members, ..Object::default() };
        x.count = vec![sv::Object::default(); (world.threads() + 1) as usize];
        x.known = vec![sv::Object::default(); (world.threads() + 1) as usize];
        for t in x.members.each() {
            x.count[t as usize] = sv::new(world, 0);
        }
        for t_2 in x.members.each() {
            x.known[t_2 as usize] = sv::new(world, 0);
        }
        x.d = world.id();
        x
    }

    /// `BAR(x)` returns when all participants have called it.
    pub fn bar<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        let world = me.world;
        if x.members.has(me.thread) {
            let v = sv::read(me, &x.count[me.thread as usize])?;
            sv::write(me, &x.count[me.thread as usize], v + 1)?;
            sv::bcast(me, &x.count[me.thread as usize], x.d, world.nodes_of(&x.members) & !only(me.node))?;
            sv::gf(me, only(me.node))?;
            for t in x.members.each() {
                loop {
                    let seen = sv::read(me, &x.count[t as usize])?;
                    if v < seen {
                        break;
                    }
                    me.port.again()?;
                }
            }
            sv::wait(me, x.d)?;
            sv::write(me, &x.known[me.thread as usize], v + 1)?;
            sv::bcast(me, &x.known[me.thread as usize], 0, world.nodes_of(&x.members) & !only(me.node))?;
            for t_2 in x.members.each() {
                loop {
                    let seen_2 = sv::read(me, &x.known[t_2 as usize])?;
                    if v < seen_2 {
                        break;
                    }
                    me.port.again()?;
                }
            }
        } else {
            return Err(me.port.never("bal-puts"));
        }
        Ok(())
    }
}

/// `wlock`, as its variant `published`: SYNC §4.1
pub mod wlock {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `x.dispenser`
        pub dispenser: Word,
        /// `x.ticket[t] for t in all_threads`
        pub ticket: Vec<Word>,
        /// `x.passed[t] for t in all_threads`
        pub passed: Vec<sv::Object>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64) -> Object {
        let mut x = Object { node, ..Object::default() };
        x.ticket = vec![Word::default(); (world.threads() + 1) as usize];
        x.passed = vec![sv::Object::default(); (world.threads() + 1) as usize];
        x.dispenser = world.word(x.node, 0);
        for t in world.all_threads().each() {
            x.ticket[t as usize] = world.word(world.node_of(t), 0);
        }
        for t_2 in world.all_threads().each() {
            x.passed[t_2 as usize] = sv::new(world, 0);
        }
        x.d = world.id();
        x
    }

    /// `Acq(x)` of this kind of lock.
    pub fn acq<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        let world = me.world;
        me.port.rfaa(x.ticket[me.thread as usize], x.dispenser, 1, x.d)?;
        me.port.wait(x.d)?;
        let v = me.port.read(x.ticket[me.thread as usize])?;
        'found_1: loop {
            for t in world.all_threads().each() {
                let passed_on = sv::read(me, &x.passed[t as usize])?;
                if passed_on == v {
                    break 'found_1;
                }
            }
            me.port.again()?;
        }
        Ok(())
    }

    /// `Rel(x)` of this kind of lock.
    pub fn rel<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        let world = me.world;
        let v = me.port.read(x.ticket[me.thread as usize])?;
        sv::write(me, &x.passed[me.thread as usize], v + 1)?;
        sv::bcast(me, &x.passed[me.thread as usize], 0, world.all_nodes() & !only(me.node))?;
        Ok(())
    }
}

/// `slock`, as its variant `published`: SYNC §4.2
pub mod slock {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `x.weak`
        pub weak: wlock::Object,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64) -> Object {
        let mut x = Object { node, ..Object::default() };
        x.weak = wlock::new(world, x.node);
        x
    }

    /// `Acq(x)` of this kind of lock.
    pub fn acq<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        wlock::acq(me, &x.weak)?;
        Ok(())
    }

    /// `Rel(x)` of this kind of lock.
    pub fn rel<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        let world = me.world;
        sv::gf(me, world.all_nodes())?;
        wlock::rel(me, &x.weak)?;
        Ok(())
    }
}

/// `nlock`, as its variant `published`: SYNC §4.3
pub mod nlock {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `x.dispenser`
        pub dispenser: Word,
        /// `x.released`
        pub released: Word,
        /// `x.ticket[t] for t in all_threads`
        pub ticket: Vec<Word>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64) -> Object {
        let mut x = Object { node, ..Object::default() };
        x.ticket = vec![Word::default(); (world.threads() + 1) as usize];
        x.dispenser = world.word(x.node, 0);
        x.released = world.word(x.node, 0);
        for t in world.all_threads().each() {
            x.ticket[t as usize] = world.word(world.node_of(t), 0);
        }
        x.d = world.id();
        x
    }

    /// `Acq(x)` of this kind of lock.
    pub fn acq<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        me.port.rfaa(x.ticket[me.thread as usize], x.dispenser, 1, x.d)?;
        me.port.wait(x.d)?;
        let v = me.port.read(x.ticket[me.thread as usize])?;
        loop {
            me.port.get(x.ticket[me.thread as usize], x.released, x.d)?;
            me.port.wait(x.d)?;
            let w = me.port.read(x.ticket[me.thread as usize])?;
            if w == v {
                break;
            }
            me.port.again()?;
        }
        me.port.write(x.ticket[me.thread as usize], v + 1)?;
        Ok(())
    }

    /// `Rel(x)` of this kind of lock.
    pub fn rel<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        me.port.rfence(x.node)?;
        me.port.put(x.released, x.ticket[me.thread as usize], 0)?;
        Ok(())
    }
}

/// `trylock`, as its variant `published`: NLOCK with attempts
pub mod trylock {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `x.dispenser`
        pub dispenser: Word,
        /// `x.released`
        pub released: Word,
        /// `x.ticket[t] for t in all_threads`
        pub ticket: Vec<Word>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64) -> Object {
        let mut x = Object { node, ..Object::default() };
        x.ticket = vec![Word::default(); (world.threads() + 1) as usize];
        x.dispenser = world.word(x.node, 0);
        x.released = world.word(x.node, 0);
        for t in world.all_threads().each() {
            x.ticket[t as usize] = world.word(world.node_of(t), 0);
        }
        x.d = world.id();
        x
    }

    /// `Acq(x)`, which waits.
    pub fn acq<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        me.port.rfaa(x.ticket[me.thread as usize], x.dispenser, 1, x.d)?;
        me.port.wait(x.d)?;
        let v = me.port.read(x.ticket[me.thread as usize])?;
        loop {
            me.port.get(x.ticket[me.thread as usize], x.released, x.d)?;
            me.port.wait(x.d)?;
            let w = me.port.read(x.ticket[me.thread as usize])?;
            if w == v {
                break;
            }
            me.port.again()?;
        }
        me.port.write(x.ticket[me.thread as usize], v + 1)?;
        Ok(())
    }

    /// `TryAcq(x)`, which does not wait, and returns whether the thread now holds the lock.
    pub fn try_acq<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<bool, P::Fault> {
        me.port.get(x.ticket[me.thread as usize], x.released, x.d)?;
        me.port.wait(x.d)?;
        let v = me.port.read(x.ticket[me.thread as usize])?;
        me.port.rcas(x.ticket[me.thread as usize], x.dispenser, v, v + 1, x.d)?;
        me.port.wait(x.d)?;
        let w = me.port.read(x.ticket[me.thread as usize])?;
        if w == v {
            me.port.write(x.ticket[me.thread as usize], v + 1)?;
            Ok(true)
        } else {
            me.port.write(x.ticket[me.thread as usize], 0)?;
            Ok(false)
        }
    }

    /// `Rel(x)`, which returns whether the thread held the lock. After an attempt that failed it does nothing.
    pub fn rel<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<bool, P::Fault> {
        let v = me.port.read(x.ticket[me.thread as usize])?;
        if v == 0 {
            Ok(false)
        } else {
            me.port.rfence(x.node)?;
            me.port.put(x.released, x.ticket[me.thread as usize], 0)?;
            Ok(true)
        }
    }
}

/// `sc-rmw`, as its variant `published`: SYNC §5
pub mod sc_rmw {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `initial(x)`
        pub initial: i64,
        /// `x.word`
        pub word: Word,
        /// `x.lock`
        pub lock: nlock::Object,
        /// `x.got[t] for t in all_threads`
        pub got: Vec<Word>,
        /// `x.put[t] for t in all_threads`
        pub put: Vec<Word>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64, initial: i64) -> Object {
        let mut x = Object { node, initial, ..Object::default() };
        x.got = vec![Word::default(); (world.threads() + 1) as usize];
        x.put = vec![Word::default(); (world.threads() + 1) as usize];
        x.word = world.word(x.node, x.initial);
        x.lock = nlock::new(world, x.node);
        for t in world.all_threads().each() {
            x.got[t as usize] = world.word(world.node_of(t), 0);
        }
        for t_2 in world.all_threads().each() {
            x.put[t_2 as usize] = world.word(world.node_of(t_2), 0);
        }
        x.d = world.id();
        x
    }

    /// `Write(x, v)`.
    pub fn write<P: Port>(me: &mut Me<'_, P>, x: &Object, v: i64) -> Result<(), P::Fault> {
        nlock::acq(me, &x.lock)?;
        me.port.write(x.put[me.thread as usize], v)?;
        me.port.put(x.word, x.put[me.thread as usize], 0)?;
        nlock::rel(me, &x.lock)?;
        Ok(())
    }

    /// `Read(x)`.
    pub fn read<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<i64, P::Fault> {
        nlock::acq(me, &x.lock)?;
        me.port.get(x.got[me.thread as usize], x.word, x.d)?;
        nlock::rel(me, &x.lock)?;
        me.port.wait(x.d)?;
        me.port.read(x.got[me.thread as usize])
    }

    /// `CAS(x, v1, v2)`, which returns the old value.
    pub fn cas<P: Port>(me: &mut Me<'_, P>, x: &Object, v1: i64, v2: i64) -> Result<i64, P::Fault> {
        nlock::acq(me, &x.lock)?;
        me.port.rcas(x.got[me.thread as usize], x.word, v1, v2, x.d)?;
        nlock::rel(me, &x.lock)?;
        me.port.wait(x.d)?;
        me.port.read(x.got[me.thread as usize])
    }

    /// `FAA(x, v)`, which returns the old value.
    pub fn faa<P: Port>(me: &mut Me<'_, P>, x: &Object, v: i64) -> Result<i64, P::Fault> {
        nlock::acq(me, &x.lock)?;
        me.port.rfaa(x.got[me.thread as usize], x.word, v, x.d)?;
        nlock::rel(me, &x.lock)?;
        me.port.wait(x.d)?;
        me.port.read(x.got[me.thread as usize])
    }
}

/// `rbl`, as its variant `one-put`: the words of a message are one put, in any order
pub mod rbl {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `members(x)`
        pub members: List,
        /// `size(x)`
        pub size: i64,
        /// `x.head`
        pub head: sv::Object,
        /// `x.word[n, k] for n in nodes(members(x)) for k in 0..size(x)`
        pub word: Vec<Word>,
        /// `x.tail[t] for t in rest(members(x))`
        pub tail: Vec<sv::Object>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, members: List, size: i64) -> Object {
        let mut x = Object { members, size, ..Object::default() };
        x.word = vec![Word::default(); ((world.nodes + 1) * x.size) as usize];
        x.tail = vec![sv::Object::default(); (world.threads() + 1) as usize];
        x.head = sv::new(world, 0);
        for n in each(world.nodes_of(&x.members)) {
            for k in 0..x.size {
                x.word[(n * x.size + k) as usize] = world.word(n, 0);
            }
        }
        for t in x.members.rest().each() {
            x.tail[t as usize] = sv::new(world, 0);
        }
        x.d = world.id();
        x
    }

    /// `Submit(x, message)`, which returns whether there was room.
    pub fn submit<P: Port>(me: &mut Me<'_, P>, x: &Object, message: &List) -> Result<bool, P::Fault> {
        let world = me.world;
        let done = if [x.members.first()].has(me.thread) {
            let v = sv::read(me, &x.head)?;
            let at = v;
            let mut tails = List::none();
            for t in x.members.rest().each() {
                tails.push(sv::read(me, &x.tail[t as usize])?);
            }
            if x.size < at - tails.min() + message.size() + 1 {
                false
            } else {
                let begin = rem(at, x.size);
                me.port.write(x.word[(me.node * x.size + rem(begin, x.size)) as usize], message.size())?;
                for k in 0..message.size() {
                    me.port.write(x.word[(me.node * x.size + rem(begin + 1 + k, x.size)) as usize], message.item(k))?;
                }
                let end = begin + (message.size() + 1);
                for n in each(world.nodes_of(&x.members.rest()) & !only(me.node)) {
                    if x.size < end {
                        let from = &x.word[(me.node * x.size + begin) as usize..(me.node * x.size + x.size) as usize];
                        let to = &x.word[(n * x.size + begin) as usize..(n * x.size + x.size) as usize];
                        me.port.put_words(to, from, 0)?;
                        let from_2 = &x.word[(me.node * x.size) as usize..(me.node * x.size + (end - x.size)) as usize];
                        let to_2 = &x.word[(n * x.size) as usize..(n * x.size + (end - x.size)) as usize];
                        me.port.put_words(to_2, from_2, 0)?;
                    } else {
                        let from_3 = &x.word[(me.node * x.size + begin) as usize..(me.node * x.size + end) as usize];
                        let to_3 = &x.word[(n * x.size + begin) as usize..(n * x.size + end) as usize];
                        me.port.put_words(to_3, from_3, 0)?;
                    }
                }
                sv::wait(me, x.d)?;
                sv::write(me, &x.head, at + message.size() + 1)?;
                sv::bcast(me, &x.head, x.d, world.nodes_of(&x.members.rest()) & !only(me.node))?;
                true
            }
        } else {
            return Err(me.port.never("rbl"));
        };
        if done {
            sv::gf(me, only(me.node))?;
        }
        Ok(done)
    }

    /// `Receive(x)`, which returns the next message or bottom.
    pub fn receive<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<List, P::Fault> {
        let world = me.world;
        if x.members.rest().has(me.thread) {
            let v = sv::read(me, &x.tail[me.thread as usize])?;
            let at = v;
            let v_2 = sv::read(me, &x.head)?;
            let end = v_2;
            if at < end {
                let begin = rem(at, x.size);
                let v_3 = me.port.read(x.word[(me.node * x.size + rem(begin, x.size)) as usize])?;
                let length = v_3;
                let mut words = List::none();
                for k in 1..length + 1 {
                    words.push(me.port.read(x.word[(me.node * x.size + rem(begin + k, x.size)) as usize])?);
                }
                sv::write(me, &x.tail[me.thread as usize], at + length + 1)?;
                sv::bcast(me, &x.tail[me.thread as usize], 0, world.nodes_of(&[x.members.first()]) & !only(me.node))?;
                if words.size() == 1 {
                    Ok(List::of(&[words.first()]))
                } else {
                    Ok(words)
                }
            } else {
                Ok(List::bot())
            }
        } else {
            return Err(me.port.never("rbl"));
        }
    }
}

/// `rbl-weak`, as its variant `fenced`: a submit ends with a fence of the own node
pub mod rbl_weak {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `members(x)`
        pub members: List,
        /// `size(x)`
        pub size: i64,
        /// `x.head`
        pub head: sv::Object,
        /// `x.word[k] for k in 0..size(x)`
        pub word: Vec<sv::Object>,
        /// `x.tail[t] for t in rest(members(x))`
        pub tail: Vec<sv::Object>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, members: List, size: i64) -> Object {
        let mut x = Object { members, size, ..Object::default() };
        x.word = vec![sv::Object::default(); x.size as usize];
        x.tail = vec![sv::Object::default(); (world.threads() + 1) as usize];
        x.head = sv::new(world, 0);
        for k in 0..x.size {
            x.word[k as usize] = sv::new(world, 0);
        }
        for t in x.members.rest().each() {
            x.tail[t as usize] = sv::new(world, 0);
        }
        x.d = world.id();
        x
    }

    /// `Submit(x, message)`, which returns whether there was room.
    pub fn submit<P: Port>(me: &mut Me<'_, P>, x: &Object, message: &List) -> Result<bool, P::Fault> {
        let world = me.world;
        let done = if [x.members.first()].has(me.thread) {
            let v = sv::read(me, &x.head)?;
            let at = v;
            let mut tails = List::none();
            for t in x.members.rest().each() {
                tails.push(sv::read(me, &x.tail[t as usize])?);
            }
            if x.size < at - tails.min() + message.size() + 1 {
                false
            } else {
                sv::write(me, &x.word[rem(at, x.size) as usize], message.size())?;
                sv::bcast(me, &x.word[rem(at, x.size) as usize], 0, world.nodes_of(&x.members.rest()) & !only(me.node))?;
                for k in 0..message.size() {
                    sv::write(me, &x.word[rem(at + 1 + k, x.size) as usize], message.item(k))?;
                    sv::bcast(me, &x.word[rem(at + 1 + k, x.size) as usize], 0, world.nodes_of(&x.members.rest()) & !only(me.node))?;
                }
                sv::wait(me, x.d)?;
                sv::write(me, &x.head, at + message.size() + 1)?;
                sv::bcast(me, &x.head, x.d, world.nodes_of(&x.members.rest()) & !only(me.node))?;
                true
            }
        } else {
            return Err(me.port.never("rbl-weak"));
        };
        if done {
            sv::gf(me, only(me.node))?;
        }
        Ok(done)
    }

    /// `Receive(x)`, which returns the next message or bottom.
    pub fn receive<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<List, P::Fault> {
        let world = me.world;
        if x.members.rest().has(me.thread) {
            let v = sv::read(me, &x.tail[me.thread as usize])?;
            let at = v;
            let v_2 = sv::read(me, &x.head)?;
            let end = v_2;
            if at < end {
                let begin = rem(at, x.size);
                let v_3 = sv::read(me, &x.word[rem(begin, x.size) as usize])?;
                let length = v_3;
                let mut words = List::none();
                for k in 1..length + 1 {
                    words.push(sv::read(me, &x.word[rem(begin + k, x.size) as usize])?);
                }
                sv::write(me, &x.tail[me.thread as usize], at + length + 1)?;
                sv::bcast(me, &x.tail[me.thread as usize], 0, world.nodes_of(&[x.members.first()]) & !only(me.node))?;
                if words.size() == 1 {
                    Ok(List::of(&[words.first()]))
                } else {
                    Ok(words)
                }
            } else {
                Ok(List::bot())
            }
        } else {
            return Err(me.port.never("rbl-weak"));
        }
    }
}

/// `counter`, as its variant `published`: SYNC §5, last remark
pub mod counter {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `x.lock`
        pub lock: nlock::Object,
        /// `x.word[0]`
        pub word: Vec<Word>,
        /// `x.got[k, t] for t in all_threads for k in 0..1`
        pub got: Vec<Word>,
        /// `x.put[k, t] for t in all_threads for k in 0..1`
        pub put: Vec<Word>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64) -> Object {
        let mut x = Object { node, ..Object::default() };
        x.word = vec![Word::default(); 1];
        x.got = vec![Word::default(); (world.threads() + 1) as usize];
        x.put = vec![Word::default(); (world.threads() + 1) as usize];
        x.lock = nlock::new(world, x.node);
        x.word[0] = world.word(x.node, 0);
        for t in world.all_threads().each() {
            for k in 0..1 {
                x.got[(k * (world.threads() + 1) + t) as usize] = world.word(world.node_of(t), 0);
            }
        }
        for t_2 in world.all_threads().each() {
            for k_2 in 0..1 {
                x.put[(k_2 * (world.threads() + 1) + t_2) as usize] = world.word(world.node_of(t_2), 0);
            }
        }
        x.d = world.id();
        x
    }

    /// `Inc(x)` returns the number and adds one.
    pub fn inc<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<i64, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..1 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..1 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        if before.item(0) == before.item(0) {
            if before.item(0) + 1 != before.item(0) {
                me.port.write(x.put[me.thread as usize], before.item(0) + 1)?;
                me.port.put(x.word[0], x.put[me.thread as usize], 0)?;
            }
        } else {
            return Err(me.port.never("counter"));
        }
        nlock::rel(me, &x.lock)?;
        if before.item(0) == before.item(0) {
            Ok(before.item(0))
        } else {
            return Err(me.port.never("counter"));
        }
    }

    /// `Get(x)` returns the number.
    pub fn get<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<i64, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..1 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..1 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        nlock::rel(me, &x.lock)?;
        Ok(before.item(0))
    }
}

/// `queue`, as its variant `published`: SYNC §5, last remark
pub mod queue {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `x.lock`
        pub lock: nlock::Object,
        /// `x.word[0]`, `x.word[1]`
        pub word: Vec<Word>,
        /// `x.got[k, t] for t in all_threads for k in 0..2`
        pub got: Vec<Word>,
        /// `x.put[k, t] for t in all_threads for k in 0..2`
        pub put: Vec<Word>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64) -> Object {
        let mut x = Object { node, ..Object::default() };
        x.word = vec![Word::default(); 2];
        x.got = vec![Word::default(); (2 * (world.threads() + 1)) as usize];
        x.put = vec![Word::default(); (2 * (world.threads() + 1)) as usize];
        x.lock = nlock::new(world, x.node);
        x.word[0] = world.word(x.node, BOT);
        x.word[1] = world.word(x.node, BOT);
        for t in world.all_threads().each() {
            for k in 0..2 {
                x.got[(k * (world.threads() + 1) + t) as usize] = world.word(world.node_of(t), 0);
            }
        }
        for t_2 in world.all_threads().each() {
            for k_2 in 0..2 {
                x.put[(k_2 * (world.threads() + 1) + t_2) as usize] = world.word(world.node_of(t_2), 0);
            }
        }
        x.d = world.id();
        x
    }

    /// `Enq(x, v)` returns whether there was room.
    pub fn enq<P: Port>(me: &mut Me<'_, P>, x: &Object, v: i64) -> Result<bool, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..2 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..2 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        if before.item(0) == BOT {
            if v != before.item(0) {
                me.port.write(x.put[me.thread as usize], v)?;
                me.port.put(x.word[0], x.put[me.thread as usize], 0)?;
            }
        } else if before.item(1) == BOT {
            if v != before.item(1) {
                me.port.write(x.put[(world.threads() + 1 + me.thread) as usize], v)?;
                me.port.put(x.word[1], x.put[(world.threads() + 1 + me.thread) as usize], 0)?;
            }
        }
        nlock::rel(me, &x.lock)?;
        if before.item(0) == BOT {
            Ok(true)
        } else if before.item(1) == BOT {
            Ok(true)
        } else {
            Ok(false)
        }
    }

    /// `Deq(x)` returns the oldest value or bottom.
    pub fn deq<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<i64, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..2 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..2 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        if before.item(1) != before.item(0) {
            me.port.write(x.put[me.thread as usize], before.item(1))?;
            me.port.put(x.word[0], x.put[me.thread as usize], 0)?;
        }
        if BOT != before.item(1) {
            me.port.write(x.put[(world.threads() + 1 + me.thread) as usize], BOT)?;
            me.port.put(x.word[1], x.put[(world.threads() + 1 + me.thread) as usize], 0)?;
        }
        nlock::rel(me, &x.lock)?;
        Ok(before.item(0))
    }
}

/// `map`, as its variant `published`: SYNC §5, last remark
pub mod map {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `x.lock`
        pub lock: nlock::Object,
        /// `x.word[0]`
        pub word: Vec<Word>,
        /// `x.got[k, t] for t in all_threads for k in 0..1`
        pub got: Vec<Word>,
        /// `x.put[k, t] for t in all_threads for k in 0..1`
        pub put: Vec<Word>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64) -> Object {
        let mut x = Object { node, ..Object::default() };
        x.word = vec![Word::default(); 1];
        x.got = vec![Word::default(); (world.threads() + 1) as usize];
        x.put = vec![Word::default(); (world.threads() + 1) as usize];
        x.lock = nlock::new(world, x.node);
        x.word[0] = world.word(x.node, BOT);
        for t in world.all_threads().each() {
            for k in 0..1 {
                x.got[(k * (world.threads() + 1) + t) as usize] = world.word(world.node_of(t), 0);
            }
        }
        for t_2 in world.all_threads().each() {
            for k_2 in 0..1 {
                x.put[(k_2 * (world.threads() + 1) + t_2) as usize] = world.word(world.node_of(t_2), 0);
            }
        }
        x.d = world.id();
        x
    }

    /// `Insert(x, key, v)` if the key has no value; returns whether it had none.
    pub fn insert<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64, v: i64) -> Result<bool, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..1 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..1 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        if (key == 0) && (before.item(0) == BOT) {
            if v != before.item(0) {
                me.port.write(x.put[me.thread as usize], v)?;
                me.port.put(x.word[0], x.put[me.thread as usize], 0)?;
            }
        } else if key != 0 {
            return Err(me.port.never("map"));
        }
        nlock::rel(me, &x.lock)?;
        if (key == 0) && (before.item(0) == BOT) {
            Ok(true)
        } else if key == 0 {
            Ok(false)
        } else {
            return Err(me.port.never("map"));
        }
    }

    /// `Update(x, key, v)` if the key has a value; returns whether it had one.
    pub fn update<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64, v: i64) -> Result<bool, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..1 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..1 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        if (key == 0) && (before.item(0) != BOT) {
            if v != before.item(0) {
                me.port.write(x.put[me.thread as usize], v)?;
                me.port.put(x.word[0], x.put[me.thread as usize], 0)?;
            }
        } else if key != 0 {
            return Err(me.port.never("map"));
        }
        nlock::rel(me, &x.lock)?;
        if (key == 0) && (before.item(0) != BOT) {
            Ok(true)
        } else if key == 0 {
            Ok(false)
        } else {
            return Err(me.port.never("map"));
        }
    }

    /// `Delete(x, key)` if the key has a value; returns whether it had one.
    pub fn delete<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64) -> Result<bool, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..1 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..1 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        if (key == 0) && (before.item(0) != BOT) {
            if BOT != before.item(0) {
                me.port.write(x.put[me.thread as usize], BOT)?;
                me.port.put(x.word[0], x.put[me.thread as usize], 0)?;
            }
        } else if key != 0 {
            return Err(me.port.never("map"));
        }
        nlock::rel(me, &x.lock)?;
        if (key == 0) && (before.item(0) != BOT) {
            Ok(true)
        } else if key == 0 {
            Ok(false)
        } else {
            return Err(me.port.never("map"));
        }
    }

    /// `Lookup(x, key)`: the value or bottom.
    pub fn lookup<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64) -> Result<i64, P::Fault> {
        let world = me.world;
        nlock::acq(me, &x.lock)?;
        for k in 0..1 {
            me.port.get(x.got[(k * (world.threads() + 1) + me.thread) as usize], x.word[k as usize], x.d)?;
        }
        me.port.wait(x.d)?;
        let mut before = List::none();
        for k_2 in 0..1 {
            before.push(me.port.read(x.got[(k_2 * (world.threads() + 1) + me.thread) as usize])?);
        }
        if key != 0 {
            return Err(me.port.never("map"));
        }
        nlock::rel(me, &x.lock)?;
        if key == 0 {
            Ok(before.item(0))
        } else {
            return Err(me.port.never("map"));
        }
    }
}
