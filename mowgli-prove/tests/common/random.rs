//! Random bodies: guards on data, threads and nodes; loops in loops; sets that may be empty; effects behind breaks.
//! They search through all threads, use the values of loops and of `for`s, and make some statements twice.

use fastrand::Rng;
use mowgli_core::expr::{Expr, all_threads, here, me};
use mowgli_core::ids::{Node, Tid};
use mowgli_core::term::body::{Body, body};

/// A call that a random body may make: a function of a datum, and of the element of a `for` around it.
pub type Operation = Box<dyn Fn(Expr, Option<Expr>) -> Body>;

/// Returns an operation.
pub fn operation(of: impl Fn(Expr, Option<Expr>) -> Body + 'static) -> Operation {
    Box::new(of)
}

/// The pieces of random bodies.
pub struct Pieces {
    /// Calls with a result.
    pub reads: Vec<Operation>,
    /// Calls without a result.
    pub effects: Vec<Operation>,
    /// Calls with a result that a search through all threads makes for each thread.
    pub searched: Vec<Operation>,
    /// The sets that a `for` goes through.
    pub sets: Vec<Expr>,
    /// Literals, few enough to be results of random runs.
    pub literals: Vec<i64>,
}

/// The surroundings of a statement.
#[derive(Clone)]
struct Around {
    data: Vec<Expr>,
    element: Option<Expr>,
    in_loop: bool,
    depth: usize,
}

impl Pieces {
    /// Returns a body that may use these data.
    pub fn body(&self, rng: &mut Rng, data: &[Expr]) -> Body {
        let length = rng_length(rng);
        self.statements(rng, length, Around { data: data.to_vec(), element: None, in_loop: false, depth: 3 })
    }

    /// Returns one call that may use these data.
    #[allow(dead_code, reason = "not every program of tests needs one")]
    pub fn call(&self, rng: &mut Rng, data: &[Expr]) -> Body {
        let of = if rng.bool() { &self.reads } else { &self.effects };
        self.operation(rng, of, &Around { data: data.to_vec(), element: None, in_loop: false, depth: 0 })
    }

    /// Returns a condition on these data, or on the thread.
    #[allow(dead_code, reason = "not every program of tests needs one")]
    pub fn condition_on(&self, rng: &mut Rng, data: &[Expr]) -> Expr {
        self.condition(rng, &Around { data: data.to_vec(), element: None, in_loop: false, depth: 0 })
    }

    fn datum(&self, rng: &mut Rng, around: &Around) -> Expr {
        let literal = Expr::from(*rng.choice(&self.literals).expect("there are literals"));
        match rng.choice(&around.data) {
            Some(datum) if rng.u8(..3) > 0 => {
                if rng.u8(..6) == 0 {
                    *datum + 1
                } else {
                    *datum
                }
            }
            _ => literal,
        }
    }

    fn condition(&self, rng: &mut Rng, around: &Around) -> Expr {
        let last = around.data.last().filter(|_| rng.bool());
        let one = |rng: &mut Rng| *last.or(rng.choice(&around.data)).unwrap_or(&0.into());
        match rng.u8(..17) {
            0 => me().is(Tid(1)),
            1 => here().is(Node(1)),
            16 => match around.element {
                Some(element) => element.is(if rng.bool() { me() } else { here() }),
                None => one(rng).is(self.datum(rng, around)),
            },
            2 => one(rng).above(self.datum(rng, around)),
            3 => self.condition(rng, around) & self.condition(rng, around),
            4 => self.condition(rng, around) | self.condition(rng, around),
            5 | 6 => one(rng).is_not(self.datum(rng, around)),
            7 => (one(rng) + 1).is(self.datum(rng, around)),
            _ => one(rng).is(self.datum(rng, around)),
        }
    }

    fn operation(&self, rng: &mut Rng, of: &[Operation], around: &Around) -> Body {
        rng.choice(of).expect("there are operations")(self.datum(rng, around), around.element)
    }

    /// Returns at most so many statements, and then a value.
    fn statements(&self, rng: &mut Rng, length: usize, around: Around) -> Body {
        if length == 0 {
            return self.datum(rng, &around).into();
        }
        let inner = |rng: &mut Rng, around: Around| {
            let length = rng_length(rng);
            self.statements(rng, length, Around { depth: around.depth - 1, ..around })
        };
        let rest = |rng: &mut Rng| self.statements(rng, length - 1, around.clone());
        let with = |rng: &mut Rng, value: Expr| {
            let data = [&around.data[..], &[value]].concat();
            self.statements(rng, length - 1, Around { data, ..around.clone() })
        };
        match rng.u8(if around.depth == 0 { ..10 } else { ..22 }) {
            0..=2 => self.operation(rng, &self.effects, &around).then(rest(rng)),
            3..=6 => self.operation(rng, &self.reads, &around).bind("w", |w| with(rng, w)),
            7 if around.in_loop && rng.bool() => Body::leave(self.datum(rng, &around)),
            // The others do not return.
            7..=9 => {
                let returns = self.condition(rng, &around);
                Body::branch(returns, rest(rng), Body::never())
            }
            10..=12 => {
                let (yes, no) = (inner(rng, around.clone()), rng.bool());
                let no = if no { inner(rng, around.clone()) } else { Body::unit() };
                Body::branch(self.condition(rng, &around), yes, no).then(rest(rng))
            }
            13..=15 => {
                let set = *rng.choice(&self.sets).expect("there are sets");
                let (collects, item) = (rng.u8(..3) == 0, rng.i64(..2));
                let round = |n: Expr| inner(rng, Around { element: Some(n), ..around.clone() });
                if collects {
                    return Body::collect("n", set, round).bind("all", |all| with(rng, all.item(item)));
                }
                Body::each("n", set, round).then(rest(rng))
            }
            16 if !self.searched.is_empty() => {
                let search = self.search(rng, &around);
                if rng.bool() { search.bind("found", |found| with(rng, found)) } else { search.then(rest(rng)) }
            }
            16 | 17 => {
                let (once, item) = (inner(rng, around.clone()), rng.i64(..2));
                if rng.bool() {
                    let two_of =
                        |one: Expr| once.clone().bind("two", |two| with(rng, if item == 0 { one } else { two }));
                    return once.clone().bind("one", two_of);
                }
                let both = Body::collect("k", Expr::tuple([1.into(), 2.into()]), |_| once);
                both.bind("both", |both| with(rng, both.item(item)))
            }
            _ => {
                let inside = Around { in_loop: true, ..around.clone() };
                let first = inner(rng, inside.clone());
                let round = self.operation(rng, &self.reads, &inside).bind("s", |s| {
                    let data = [&inside.data[..], &[s]].concat();
                    let inside = Around { data, ..inside.clone() };
                    let ends = self.condition(rng, &inside);
                    body! { if (ends) { break } }
                });
                let turns = if rng.bool() { first.then(round) } else { round.then(first) }.repeat();
                if rng.bool() { turns.bind("end", |end| with(rng, end)) } else { turns.then(rest(rng)) }
            }
        }
    }

    /// Returns a loop through all threads that ends at one of them, perhaps with a value.
    fn search(&self, rng: &mut Rng, around: &Around) -> Body {
        let round = |t: Expr| {
            let inside = Around { element: Some(t), in_loop: true, depth: 0, ..around.clone() };
            self.operation(rng, &self.searched, &inside).bind("p", |p| {
                let inside = Around { data: [&inside.data[..], &[p]].concat(), ..inside.clone() };
                let end = |rng: &mut Rng| {
                    let leaves = Body::leave(self.datum(rng, &inside));
                    Body::branch(self.condition(rng, &inside), leaves, Body::unit())
                };
                let first = end(rng);
                match rng.u8(..3) {
                    0 => first,
                    1 => first.then(end(rng)),
                    _ => Body::branch(self.condition(rng, &inside), first, end(rng)),
                }
            })
        };
        Body::each("t", all_threads(), round).repeat()
    }
}

fn rng_length(rng: &mut Rng) -> usize {
    rng.usize(1..4)
}
