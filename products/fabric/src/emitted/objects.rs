//! Written by `mowgli emit rust sv:published bal:published wlock:published slock:published nlock:published sc-rmw:published rbl:hashed msw:published kvstore:slot-per-key`.
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

/// `rbl`, as its variant `hashed`: a message is one put, known by its hash
pub mod rbl {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `members(x)`
        pub members: List,
        /// `size(x)`
        pub size: i64,
        /// `x.written`
        pub written: Word,
        /// `x.word[n, k] for n in nodes(members(x)) for k in 0..(size(x) + size(x))`
        pub word: Vec<Word>,
        /// `x.seen[t] for t in rest(members(x))`
        pub seen: Vec<Word>,
        /// `x.tail[t] for t in rest(members(x))`
        pub tail: Vec<sv::Object>,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, members: List, size: i64) -> Object {
        let mut x = Object { members, size, ..Object::default() };
        x.word = vec![Word::default(); ((world.nodes + 1) * (x.size + x.size)) as usize];
        x.seen = vec![Word::default(); (world.threads() + 1) as usize];
        x.tail = vec![sv::Object::default(); (world.threads() + 1) as usize];
        x.written = world.word(world.node_of(x.members.first()), 0);
        for n in each(world.nodes_of(&x.members)) {
            for k in 0..x.size + x.size {
                x.word[(n * (x.size + x.size) + k) as usize] = world.word(n, 0);
            }
        }
        for t in x.members.rest().each() {
            x.seen[t as usize] = world.word(world.node_of(t), 0);
        }
        for t_2 in x.members.rest().each() {
            x.tail[t_2 as usize] = sv::new(world, 0);
        }
        x
    }

    /// `Submit(x, message)`, which returns whether there was room.
    pub fn submit<P: Port>(me: &mut Me<'_, P>, x: &Object, message: &List) -> Result<bool, P::Fault> {
        let world = me.world;
        if [x.members.first()].has(me.thread) {
            let v = me.port.read(x.written)?;
            let at = v;
            let mut tails = List::none();
            for t in x.members.rest().each() {
                tails.push(sv::read(me, &x.tail[t as usize])?);
            }
            let end = at + message.size() + 2;
            if x.size < end - tails.min() {
                Ok(false)
            } else {
                let begin = rem(at, x.size);
                let to = &x.word[(me.node * (x.size + x.size) + (begin + 2)) as usize..(me.node * (x.size + x.size) + (begin + 2 + message.size())) as usize];
                me.port.write_words(to, message.values())?;
                me.port.write(x.word[(me.node * (x.size + x.size) + (begin + 1)) as usize], world.checksum(&[end, world.checksum(message.as_slice())]))?;
                me.port.write(x.word[(me.node * (x.size + x.size) + begin) as usize], end)?;
                for n in each(world.nodes_of(&x.members.rest()) & !only(me.node)) {
                    let from = &x.word[(me.node * (x.size + x.size) + begin) as usize..(me.node * (x.size + x.size) + (begin + message.size() + 2)) as usize];
                    let to_2 = &x.word[(n * (x.size + x.size) + begin) as usize..(n * (x.size + x.size) + (begin + message.size() + 2)) as usize];
                    me.port.put_words(to_2, from, 0)?;
                }
                me.port.write(x.written, end)?;
                if x.members.rest().has(me.thread) {
                    sv::gf(me, only(me.node))?;
                }
                Ok(true)
            }
        } else {
            return Err(me.port.never("rbl"));
        }
    }

    /// `Receive(x)`, which returns the next message or bottom.
    pub fn receive<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<List, P::Fault> {
        let world = me.world;
        if x.members.rest().has(me.thread) {
            let v = me.port.read(x.seen[me.thread as usize])?;
            let at = v;
            let begin = rem(at, x.size);
            let v_2 = me.port.read(x.word[(me.node * (x.size + x.size) + begin) as usize])?;
            let end = v_2;
            if (end >= at + 2) && (at + x.size >= end) {
                let found = me.port.read(x.word[(me.node * (x.size + x.size) + (begin + 1)) as usize])?;
                let from = &x.word[(me.node * (x.size + x.size) + (begin + 2)) as usize..(me.node * (x.size + x.size) + (begin + end - at)) as usize];
                let mut words = List::none();
                me.port.read_words(from, &mut words)?;
                if found == world.checksum(&[end, world.checksum(words.as_slice())]) {
                    me.port.write(x.seen[me.thread as usize], end)?;
                    let v_3 = sv::read(me, &x.tail[me.thread as usize])?;
                    let reported = v_3;
                    if x.size < end - reported + end - reported + 1 {
                        sv::write(me, &x.tail[me.thread as usize], end)?;
                        sv::bcast(me, &x.tail[me.thread as usize], 0, world.nodes_of(&[x.members.first()]) & !only(me.node))?;
                    }
                    if words.size() == 1 {
                        Ok(List::of(&[words.first()]))
                    } else {
                        Ok(words)
                    }
                } else {
                    let v_4 = sv::read(me, &x.tail[me.thread as usize])?;
                    let reported_2 = v_4;
                    if reported_2 < at {
                        sv::write(me, &x.tail[me.thread as usize], at)?;
                        sv::bcast(me, &x.tail[me.thread as usize], 0, world.nodes_of(&[x.members.first()]) & !only(me.node))?;
                    }
                    Ok(List::bot())
                }
            } else {
                let v_5 = sv::read(me, &x.tail[me.thread as usize])?;
                let reported_3 = v_5;
                if reported_3 < at {
                    sv::write(me, &x.tail[me.thread as usize], at)?;
                    sv::bcast(me, &x.tail[me.thread as usize], 0, world.nodes_of(&[x.members.first()]) & !only(me.node))?;
                }
                Ok(List::bot())
            }
        } else {
            return Err(me.port.never("rbl"));
        }
    }
}

/// `msw`, as its variant `published`: LOCO-X App. H.6
pub mod msw {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `node(x)`
        pub node: i64,
        /// `initial(x)`
        pub initial: List,
        /// `x.word[0]`, `x.word[k] for k in 1..(size(x) + 1)`
        pub word: Vec<Word>,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, node: i64, initial: List) -> Object {
        let mut x = Object { node, initial, ..Object::default() };
        x.word = vec![Word::default(); ((x.initial.size() + 1).max(1)) as usize];
        x.word[0] = world.word(x.node, world.checksum(x.initial.as_slice()));
        for k in 1..x.initial.size() + 1 {
            x.word[k as usize] = world.word(x.node, x.initial.item(k - 1));
        }
        x
    }

    /// `Write(x, (v1..vk))`.
    pub fn write<P: Port>(me: &mut Me<'_, P>, x: &Object, values: &List) -> Result<(), P::Fault> {
        let world = me.world;
        me.port.write(x.word[0], world.checksum(values.as_slice()))?;
        for k in 0..x.initial.size() {
            me.port.write(x.word[(k + 1) as usize], values.item(k))?;
        }
        Ok(())
    }

    /// `TryRead(x)`, which returns the tuple or bottom.
    pub fn try_read<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<List, P::Fault> {
        let world = me.world;
        let found = me.port.read(x.word[0])?;
        let mut words = List::none();
        for k in 0..x.initial.size() {
            words.push(me.port.read(x.word[(k + 1) as usize])?);
        }
        if found == world.checksum(words.as_slice()) {
            Ok(words)
        } else {
            Ok(List::bot())
        }
    }

    /// `Get(x, y, d)`: copies remote y to local x.
    pub fn get<P: Port>(me: &mut Me<'_, P>, x: &Object, y: &Object, d: Id) -> Result<(), P::Fault> {
        for k in 0..x.initial.size() + 1 {
            me.port.get(x.word[k as usize], y.word[k as usize], d)?;
        }
        Ok(())
    }

    /// `Put(x, y, d)`: copies local y to remote x.
    pub fn put<P: Port>(me: &mut Me<'_, P>, x: &Object, y: &Object, d: Id) -> Result<(), P::Fault> {
        for k in 0..x.initial.size() + 1 {
            me.port.put(x.word[k as usize], y.word[k as usize], d)?;
        }
        Ok(())
    }

    /// `Wait(d)`.
    pub fn wait<P: Port>(me: &mut Me<'_, P>, d: Id) -> Result<(), P::Fault> {
        me.port.wait(d)?;
        Ok(())
    }
}

/// `kvstore`, as its variant `slot-per-key`: fenced-delete, and an insertion does not search for a slot
pub mod kvstore {
    use super::*;

    /// An object. All threads may share it.
    #[derive(Clone, Debug, Default)]
    pub struct Object {
        /// `size(x)`
        pub size: i64,
        /// `x.lock[key] for key in 0..size(x)`
        pub lock: Vec<wlock::Object>,
        /// `x.index[key, n] for key in 0..size(x) for n in nodes(all_threads)`
        pub index: Vec<Word>,
        /// `x.slot[number(t), nth] for t in all_threads for nth in 0..size(x)`
        pub slot: Vec<msw::Object>,
        /// `x.got[number(t)] for t in all_threads`
        pub got: Vec<msw::Object>,
        /// `x.put[number(t)] for t in all_threads`
        pub put: Vec<msw::Object>,
        /// `x.tracker[number(t)] for t in all_threads`
        pub tracker: Vec<rbl::Object>,
        /// `x.ack[number(t), n] for t in all_threads for n in nodes(all_threads) \ {node(t)}`
        pub ack: Vec<sv::Object>,
        /// An identifier of operations.
        pub d: Id,
    }

    /// Makes an object: on every node, with the same arguments and in the same order.
    pub fn new(world: &mut World, size: i64) -> Object {
        let mut x = Object { size, ..Object::default() };
        x.lock = vec![wlock::Object::default(); x.size as usize];
        x.index = vec![Word::default(); (x.size * (world.nodes + 1)) as usize];
        x.slot = vec![msw::Object::default(); ((world.threads() + 1) * x.size) as usize];
        x.got = vec![msw::Object::default(); (world.threads() + 1) as usize];
        x.put = vec![msw::Object::default(); (world.threads() + 1) as usize];
        x.tracker = vec![rbl::Object::default(); (world.threads() + 1) as usize];
        x.ack = vec![sv::Object::default(); ((world.threads() + 1) * (world.nodes + 1)) as usize];
        for key in 0..x.size {
            x.lock[key as usize] = wlock::new(world, 1);
        }
        for key_2 in 0..x.size {
            for n in each(world.nodes_of(&world.all_threads())) {
                x.index[(key_2 * (world.nodes + 1) + n) as usize] = world.word(n, BOT);
            }
        }
        for t in world.all_threads().each() {
            for nth in 0..x.size {
                x.slot[(t * x.size + nth) as usize] = msw::new(world, world.node_of(t), List::of(&[0, 0, 0]));
            }
        }
        for t_2 in world.all_threads().each() {
            x.got[t_2 as usize] = msw::new(world, world.node_of(t_2), List::of(&[0, 0, 0]));
        }
        for t_3 in world.all_threads().each() {
            x.put[t_3 as usize] = msw::new(world, world.node_of(t_3), List::of(&[0, 0, 0]));
        }
        for t_4 in world.all_threads().each() {
            x.tracker[t_4 as usize] = rbl::new(world, world.servers(t_4), 10);
        }
        for t_5 in world.all_threads().each() {
            for n_2 in each(world.nodes_of(&world.all_threads()) & !only(world.node_of(t_5))) {
                x.ack[(t_5 * (world.nodes + 1) + n_2) as usize] = sv::new(world, 0);
            }
        }
        x.d = world.id();
        x
    }

    /// `Insert(x, key, v)` if the key has no value; returns whether it had none.
    pub fn insert<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64, v: i64) -> Result<bool, P::Fault> {
        let world = me.world;
        wlock::acq(me, &x.lock[key as usize])?;
        me.port.mfence()?;
        let word = me.port.read(x.index[(key * (world.nodes + 1) + me.node) as usize])?;
        let found = unpacked(word, &[8, 23, 32]);
        if ((found.size() == 3) && (found.item(0) == found.item(0))) && ((found.item(1) == found.item(1)) && (found.item(1) >= 0)) {
            wlock::rel(me, &x.lock[key as usize])?;
            Ok(false)
        } else {
            let old = loop {
                let old_2 = msw::try_read(me, &x.slot[(me.thread * x.size + key) as usize])?;
                if !((&old_2) == (&List::bot())) {
                    break old_2.clone();
                }
                me.port.again()?;
            };
            if ((1 < old.size()) && (old.item(1) == old.item(1))) && (old.item(1) < 4294967295) {
                let counter = old.item(1) + 1;
                let message = List::of(&[key, me.thread, key, counter]);
                msw::write(me, &x.slot[(me.thread * x.size + key) as usize], &List::of(&[v, counter, 0]))?;
                if !((world.nodes_of(&world.all_threads()) & !only(me.node)) == 0) {
                    loop {
                        let done = rbl::submit(me, &x.tracker[me.thread as usize], &message)?;
                        if done {
                            break;
                        }
                        me.port.again()?;
                    }
                }
                me.port.mfence()?;
                me.port.write(x.index[(key * (world.nodes + 1) + me.node) as usize], packed(&List::of(&[me.thread, key, counter]), &[8, 23, 32]))?;
                for n in each(world.nodes_of(&world.all_threads()) & !only(me.node)) {
                    loop {
                        let seen = sv::read(me, &x.ack[(me.thread * (world.nodes + 1) + n) as usize])?;
                        if seen == world.checksum(message.as_slice()) {
                            break;
                        }
                        me.port.again()?;
                    }
                }
                msw::write(me, &x.slot[(me.thread * x.size + key) as usize], &List::of(&[v, counter, 1]))?;
                sv::gf(me, world.nodes_of(&[me.thread]))?;
                wlock::rel(me, &x.lock[key as usize])?;
                Ok(true)
            } else {
                return Err(me.port.never("kvstore"));
            }
        }
    }

    /// `Update(x, key, v)` if the key has a value; returns whether it had one.
    pub fn update<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64, v: i64) -> Result<bool, P::Fault> {
        let world = me.world;
        wlock::acq(me, &x.lock[key as usize])?;
        me.port.mfence()?;
        let word = me.port.read(x.index[(key * (world.nodes + 1) + me.node) as usize])?;
        let found = unpacked(word, &[8, 23, 32]);
        if ((found.size() == 3) && (found.item(0) == found.item(0))) && ((found.item(1) == found.item(1)) && (found.item(1) >= 0)) {
            if (!(world.all_threads().has(found.item(0)))) || (world.node_of(found.item(0)) == me.node) {
                msw::write(me, &x.slot[(found.item(0) * x.size + found.item(1)) as usize], &List::of(&[v, found.item(2), 1]))?;
            } else {
                msw::write(me, &x.put[me.thread as usize], &List::of(&[v, found.item(2), 1]))?;
                msw::put(me, &x.slot[(found.item(0) * x.size + found.item(1)) as usize], &x.put[me.thread as usize], 0)?;
            }
            if (!(world.all_threads().has(found.item(0)))) || (world.node_of(found.item(0)) == me.node) {
                sv::gf(me, world.nodes_of(&[me.thread]))?;
            } else {
                sv::gf(me, world.nodes_of(&[found.item(0)]))?;
            }
            wlock::rel(me, &x.lock[key as usize])?;
            Ok(true)
        } else {
            wlock::rel(me, &x.lock[key as usize])?;
            Ok(false)
        }
    }

    /// `Delete(x, key)` if the key has a value; returns whether it had one.
    pub fn delete<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64) -> Result<bool, P::Fault> {
        let world = me.world;
        wlock::acq(me, &x.lock[key as usize])?;
        me.port.mfence()?;
        let word = me.port.read(x.index[(key * (world.nodes + 1) + me.node) as usize])?;
        let found = unpacked(word, &[8, 23, 32]);
        if ((found.size() == 3) && (found.item(0) == found.item(0))) && ((found.item(1) == found.item(1)) && (found.item(1) >= 0)) {
            let message = List::of(&[key, found.item(0), found.item(1), 0 - found.item(2)]);
            if (!(world.all_threads().has(found.item(0)))) || (world.node_of(found.item(0)) == me.node) {
                msw::write(me, &x.slot[(found.item(0) * x.size + found.item(1)) as usize], &List::of(&[0, found.item(2), 0]))?;
                sv::gf(me, only(x.slot[(found.item(0) * x.size + found.item(1)) as usize].node))?;
            } else {
                msw::write(me, &x.put[me.thread as usize], &List::of(&[0, found.item(2), 0]))?;
                msw::put(me, &x.slot[(found.item(0) * x.size + found.item(1)) as usize], &x.put[me.thread as usize], 0)?;
                sv::gf(me, only(x.slot[(found.item(0) * x.size + found.item(1)) as usize].node))?;
            }
            if !((world.nodes_of(&world.all_threads()) & !only(me.node)) == 0) {
                loop {
                    let done = rbl::submit(me, &x.tracker[me.thread as usize], &message)?;
                    if done {
                        break;
                    }
                    me.port.again()?;
                }
            }
            for n in each(world.nodes_of(&world.all_threads()) & !only(me.node)) {
                loop {
                    let seen = sv::read(me, &x.ack[(me.thread * (world.nodes + 1) + n) as usize])?;
                    if seen == world.checksum(message.as_slice()) {
                        break;
                    }
                    me.port.again()?;
                }
            }
            me.port.mfence()?;
            me.port.write(x.index[(key * (world.nodes + 1) + me.node) as usize], BOT)?;
            if (!(world.all_threads().has(found.item(0)))) || (world.node_of(found.item(0)) == me.node) {
                sv::gf(me, world.nodes_of(&[me.thread]))?;
            } else {
                sv::gf(me, world.nodes_of(&[found.item(0)]))?;
            }
            wlock::rel(me, &x.lock[key as usize])?;
            Ok(true)
        } else {
            wlock::rel(me, &x.lock[key as usize])?;
            Ok(false)
        }
    }

    /// `Lookup(x, key)`: the value or bottom.
    pub fn lookup<P: Port>(me: &mut Me<'_, P>, x: &Object, key: i64) -> Result<i64, P::Fault> {
        let world = me.world;
        loop {
            me.port.mfence()?;
            let word = me.port.read(x.index[(key * (world.nodes + 1) + me.node) as usize])?;
            let found = unpacked(word, &[8, 23, 32]);
            if ((found.size() == 3) && (found.item(0) == found.item(0))) && ((found.item(1) == found.item(1)) && (found.item(1) >= 0)) {
                let content = if (!(world.all_threads().has(found.item(0)))) || (world.node_of(found.item(0)) == me.node) {
                    msw::try_read(me, &x.slot[(found.item(0) * x.size + found.item(1)) as usize])?
                } else {
                    msw::get(me, &x.got[me.thread as usize], &x.slot[(found.item(0) * x.size + found.item(1)) as usize], x.d)?;
                    msw::wait(me, x.d)?;
                    msw::try_read(me, &x.got[me.thread as usize])?
                };
                if content.size() == 3 {
                    if (content.item(1) == found.item(2)) && (content.item(2) == 1) {
                        return Ok(content.item(0));
                    } else {
                        return Ok(BOT);
                    }
                }
            } else {
                return Ok(BOT);
            }
            me.port.again()?;
        }
    }

    /// `Serve(x)`: one step of the dedicated thread, for one message.
    pub fn serve<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<(), P::Fault> {
        let world = me.world;
        'found_1: loop {
            for writer in world.all_threads().each() {
                if world.node_of(writer) != me.node {
                    let message = rbl::receive(me, &x.tracker[writer as usize])?;
                    if 1 < message.size() {
                        if 0 < message.item(3) {
                            me.port.mfence()?;
                            me.port.write(x.index[(message.first() * (world.nodes + 1) + me.node) as usize], packed(&message.rest(), &[8, 23, 32]))?;
                        } else {
                            me.port.mfence()?;
                            me.port.write(x.index[(message.first() * (world.nodes + 1) + me.node) as usize], BOT)?;
                        }
                        sv::write(me, &x.ack[(writer * (world.nodes + 1) + me.node) as usize], world.checksum(message.as_slice()))?;
                        sv::bcast(me, &x.ack[(writer * (world.nodes + 1) + me.node) as usize], 0, world.nodes_of(&[writer]))?;
                        break 'found_1;
                    }
                }
            }
            me.port.again()?;
        }
        Ok(())
    }

    /// `TryServe(x)`: the same if there is a message; returns whether there was.
    pub fn try_serve<P: Port>(me: &mut Me<'_, P>, x: &Object) -> Result<bool, P::Fault> {
        let world = me.world;
        loop {
            for writer in world.all_threads().each() {
                if world.node_of(writer) != me.node {
                    let message = rbl::receive(me, &x.tracker[writer as usize])?;
                    if 1 < message.size() {
                        if 0 < message.item(3) {
                            me.port.mfence()?;
                            me.port.write(x.index[(message.first() * (world.nodes + 1) + me.node) as usize], packed(&message.rest(), &[8, 23, 32]))?;
                        } else {
                            me.port.mfence()?;
                            me.port.write(x.index[(message.first() * (world.nodes + 1) + me.node) as usize], BOT)?;
                        }
                        sv::write(me, &x.ack[(writer * (world.nodes + 1) + me.node) as usize], world.checksum(message.as_slice()))?;
                        sv::bcast(me, &x.ack[(writer * (world.nodes + 1) + me.node) as usize], 0, world.nodes_of(&[writer]))?;
                        return Ok(true);
                    }
                }
            }
            return Ok(false);
        }
    }
}
