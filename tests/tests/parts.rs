//! The names of a client do not change the behaviour of an implementation, because its own locations and identifiers
//! are not the client's.

use std::collections::BTreeSet;

use mowgli::catalogue::Catalogue;
use mowgli::litmus::parse::parse;
use mowgli::litmus::run::solve;
use mowgli_core::ids::{Loc, Node};
use mowgli_core::search::problem::Limits;
use mowgli_core::term::bound::Bound;
use mowgli_core::term::implementation::{Implementation, add_parts};
use mowgli_core::world::World;
use mowgli_libraries::catalogue::catalogue;
use mowgli_tests::outcomes;

/// Implementations, declarations, statements of one thread, and names in place of `?`. Implementations once used these
/// names for their own locations and identifiers.
const CLIENTS: &[(&str, &str, &str, &[&str])] = &[
    ("sv", "svar x = 0; ?@1 = 5;", "x.write(1); a := ?;", &["x_1", "bot_1"]),
    ("sv", "svar x = 0; y@2 = 7; r@1 = 0;", "get(r, y, ?); gf({1}); a := r;", &["d0"]),
    ("msw", "msw m@1[2] = (0, 0); ?@1 = 5;", "m.write((1, 2)); a := ?;", &["m_0", "m_1", "m_2"]),
    ("msw:guard-backward", "msw m@1[2] = (0, 0); ?@1 = 5;", "m.write((1, 2)); a := ?;", &["guards_P1"]),
    ("wlock", "weak lock l@1; ?@1 = 5;", "acq(l); a := ?;", &["l_a", "p_l_P1"]),
    ("wlock", "weak lock l@1; svar ? = 5;", "acq(l); a := ?.read;", &["l_P1"]),
    ("wlock", "weak lock l@1; y@2 = 7; r@1 = 0;", "get(r, y, ?); acq(l); a := r;", &["d_l"]),
    ("nlock", "node lock l@1; ?@1 = 5;", "acq(l); a := ?;", &["l_a", "l_r", "p_l_P1"]),
    ("nlock", "node lock l@1; y@2 = 7; r@1 = 0;", "get(r, y, ?); acq(l); a := r;", &["d_l"]),
    ("slock,wlock", "strong lock l@1; weak lock ?@1;", "acq(l); acq(?); a := 1;", &["l_weak"]),
    ("sc-rmw", "sc x = 0; ?@1 = 5;", "x.write(1); a := ?;", &["x_word", "r_x_P1", "p_x_P1_v"]),
    ("sc-rmw,nlock", "sc x = 0; node lock ?@1;", "acq(?); x.write(1); a := 1;", &["x_lock"]),
    ("sc-rmw", "sc x = 0; y@2 = 7; r@1 = 0;", "get(r, y, ?); b := x.read; a := r;", &["d_x_word_v"]),
    ("rbl", "ring q = P1 -> {P1} size 4; svar ? = 5;", "b := submit(q, 1); a := ?.read;", &["q_0", "h_q", "h_q_P1"]),
    (
        "rbl,sv",
        "ring q = P1 -> {P1} size 4; y@2 = 7; r@1 = 0;",
        "b := submit(q, 1); get(r, y, ?); c := submit(q, 2); a := r;",
        &["d_q"],
    ),
    ("bal", "barrier z = {P1}; svar ? = 5;", "bar(z); a := ?.read;", &["z_P1"]),
    ("counter", "counter c at 1; ?@1 = 5;", "b := c.inc; a := ?;", &["c_0", "r_c_0_P1", "p_c_0_P1"]),
    ("counter,nlock", "counter c at 1; node lock ?@1;", "acq(?); b := c.inc; a := 1;", &["c_lock"]),
    ("counter", "counter c at 1; y@2 = 7; r@1 = 0;", "get(r, y, ?); b := c.inc; a := r;", &["d_c"]),
    ("kvstore,wlock", "kvstore m = (bot); weak lock ?@1;", "acq(?); b := m.insert(0, 1); a := 1;", &["m_lock_0"]),
    ("kvstore", "kvstore m = (bot); ?@1 = 5;", "b := m.insert(0, 1); a := ?;", &["m_index_0_1"]),
    (
        "kvstore",
        "kvstore m = (bot); msw ?@1[3] = (5, 5, 5);",
        "b := m.insert(0, 1); a := ?.tryread;",
        &["m_slot_1_0", "m_got_1", "m_put_1"],
    ),
];

/// Returns the outcomes of a client that uses this name, with these libraries implemented.
fn implemented(chain: &str, declarations: &str, statements: &str, name: &str) -> BTreeSet<String> {
    let rows = statements.replace("; ", ";\n");
    let text = format!("RDMA_WAIT names\n{{ nodes 2; {declarations} }}\nP1@1;\n{rows}\n").replace('?', name);
    let test = parse("names", &text).unwrap_or_else(|e| panic!("{e}"));
    let chain: Vec<_> = chain.split(',').map(|of| Catalogue::builtin().implementation(of).unwrap()).collect();
    let answer = solve(&test, &chain, Limits::default());
    assert_eq!(answer.explored.stop, None, "{text}");
    outcomes(&test, &answer)
}

#[test]
fn no_name_of_a_client_changes_an_implementation() {
    for &(chain, declarations, statements, names) in CLIENTS {
        let fresh = implemented(chain, declarations, statements, "w");
        assert!(!fresh.is_empty(), "{chain}: {statements}");
        for name in names {
            assert_eq!(implemented(chain, declarations, statements, name), fresh, "{chain}: {statements} with {name}");
        }
    }
}

#[test]
fn no_part_can_be_declared() {
    let declared = |name: &str| parse("name", &format!("RDMA_WAIT name\n{{ {name}@1 = 0; }}\nP1@1;\na := {name};\n"));
    assert!(declared("w").is_ok());
    let bound = Bound { threads: 2, nodes: 2, calls: 1, objects: 1, ..Bound::default() };
    for entry in catalogue() {
        for variant in &entry.variants {
            let worlds = entry.subject.worlds(&World::new(2, &[Node(1), Node(2)]), &bound, &|| false);
            assert!(!worlds.is_empty(), "{}", entry.name);
            for mut world in worlds {
                let clients: BTreeSet<Loc> = world.objects.keys().copied().collect();
                add_parts(&*variant.implementation, &mut world);
                let parts: Vec<_> = world.objects.keys().filter(|x| !clients.contains(x)).collect();
                assert!(!parts.is_empty(), "{} {}", entry.name, variant.name);
                for x in parts {
                    assert!(declared(&x.to_string()).is_err(), "{} {}: {x}", entry.name, variant.name);
                }
            }
        }
    }
}

/// An implementation that makes an object of a name that a client can give, or has given.
struct Careless(Loc);

impl Implementation for Careless {
    fn target(&self) -> mowgli_core::ids::Name {
        mowgli_libraries::bal::BAL
    }

    fn declare(&self, world: &mut World) {
        world.objects.insert(self.0, mowgli_libraries::sv::variable());
    }
}

#[test]
#[should_panic(expected = "the implementation of bal makes seen, which a client could name")]
fn an_implementation_cannot_make_what_a_client_can_name() {
    add_parts(&Careless(Loc::new("seen")), &mut World::new(1, &[Node(1)]));
}

#[test]
#[should_panic(expected = "the implementation of bal changes x, which is its client's")]
fn an_implementation_cannot_change_what_a_client_has() {
    let mut world = World::new(1, &[Node(1)]);
    world.objects.insert(Loc::new("x"), mowgli_rdma::wait::word(Node(1)));
    add_parts(&Careless(Loc::new("x")), &mut world);
}
