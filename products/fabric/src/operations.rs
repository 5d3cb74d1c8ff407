//! The operations of interpreted programs: they name words and identifiers, and words hold values.

use mowgli_core::ids::Loc;
use mowgli_core::value::Val;
use mowgli_rdma::Way;
use mowgli_rdma::wait::{Method, words};
use rustc_hash::FxHashMap;

use crate::emitted::mowgli_port::{Id, Word};
use crate::port::{Fault, ONE_QUEUE_PAIR, Port};
use crate::stack::Stack;

/// The numbers of the identifiers that a thread's programs have used. They count down from the largest one, because those of
/// emitted code count up.
#[derive(Default)]
pub(crate) struct UsedIds(FxHashMap<Val, Id>);

impl UsedIds {
    /// Returns the number of an identifier; 0 for none.
    fn number(&mut self, d: Val) -> Id {
        if d == Val::NoWid {
            return 0;
        }
        let next = Id::MAX - self.0.len() as Id;
        *self.0.entry(d).or_insert(next)
    }
}

/// True if words are in the order in which they were made, or a fabric takes them in any order. A program may name words in any order.
/// If a fabric does not take them so, each word is an operation of its own.
fn are_in_order(port: &dyn Port, to: &[Word], from: &[Word]) -> bool {
    let is_sorted = |words: &[Word]| words.is_sorted_by(|x, y| x.node == y.node && x.at < y.at);
    !port.wants_order() || is_sorted(to) && is_sorted(from)
}

/// Makes an operation, which is legal.
pub(crate) fn made(port: &mut dyn Port, stack: &Stack, ids: &mut UsedIds, operation: Method) -> Result<Val, Fault> {
    let (at, word) = (|x: Loc| stack.word(x), |v: Val| stack.encoded(v));
    let value = |x: Loc, content: i64| stack.decoded(x, content);
    let number = |v: Val| v.int().ok_or_else(|| Fault::Wrong(format!("{v} is no number, and cannot be added")));
    let row = |xs: Val| words(xs).into_iter().map(at).collect::<Result<Vec<_>, _>>();
    let mut id = |d: Val| ids.number(d);
    match operation {
        Method::Read { x } => return value(x, port.read(at(x)?)?),
        Method::CAS { x, v1, v2 } => return value(x, port.cas(at(x)?, word(v1)?, word(v2)?)?),
        Method::Xchg { x, v } => return value(x, port.xchg(at(x)?, word(v)?)?),
        Method::FAA { x, v } => {
            let was = value(x, port.faa(at(x)?, number(v)?)?)?;
            return number(was).map(Val::Int);
        }
        Method::Write { x, v } => port.write(at(x)?, word(v)?)?,
        Method::Mfence {} => port.mfence()?,
        Method::Get { x, y, d } => port.get(at(x)?, at(y)?, id(d))?,
        Method::Put { x, y, d } => port.put(at(x)?, at(y)?, id(d))?,
        Method::RCAS { x, y, v1, v2, d } => port.rcas(at(x)?, at(y)?, word(v1)?, word(v2)?, id(d))?,
        Method::RFAA { x, y, v, d } => port.rfaa(at(x)?, at(y)?, number(v)?, id(d))?,
        Method::RXchg { x, y, v, d } => port.rxchg(at(x)?, at(y)?, word(v)?, id(d))?,
        Method::GetWords { w, xs, ys, d } if Way::of(w) == Ok(Way::USUAL) => {
            let (to, from, d) = (row(xs)?, row(ys)?, id(d));
            if are_in_order(port, &to, &from) {
                port.get_words(&to, &from, d)?;
            } else {
                to.iter().zip(&from).try_for_each(|(&to, &from)| port.get(to, from, d))?;
            }
        }
        Method::PutWords { w, xs, ys, d } if Way::of(w) == Ok(Way::USUAL) => {
            let (to, from, d) = (row(xs)?, row(ys)?, id(d));
            if are_in_order(port, &to, &from) {
                port.put_words(&to, &from, d)?;
            } else {
                to.iter().zip(&from).try_for_each(|(&to, &from)| port.put(to, from, d))?;
            }
        }
        Method::Wait { d } => port.wait(id(d))?,
        Method::Rfence { n } => port.rfence(n.0.into())?,
        Method::GetBy { .. }
        | Method::PutBy { .. }
        | Method::RfenceBy { .. }
        | Method::RCASBy { .. }
        | Method::RFAABy { .. }
        | Method::RXchgBy { .. }
        | Method::GetWords { .. }
        | Method::PutWords { .. } => return Err(Fault::Wrong(ONE_QUEUE_PAIR.to_owned())),
    }
    Ok(Val::Unit)
}
