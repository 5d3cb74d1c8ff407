//! A word that is sent before a barrier and overwritten after it, over the machine, with the published barrier and a
//! broken one.
//!
//! `cargo run -p mowgli-fabric --example barrier` counts what the other thread reads.

use std::collections::BTreeMap;

use mowgli_fabric::{Fabric, Fault, Group};

/// Runs two threads on two nodes, and returns the word that each has read after the barrier. The first one writes the
/// word.
pub fn sent_before(variant: &str, fabric: Fabric) -> Result<Vec<i64>, Fault> {
    let mut group = Group::new(&[1, 2]).variant("bal", variant);
    let (barrier, x) = (group.barrier("b", &[0, 1]), group.shared_var("x"));
    group.run(fabric, |thread| {
        if thread.id().index() == 0 {
            x.write(thread, 1)?;
            x.broadcast(thread)?;
            barrier.wait(thread)?;
            x.write(thread, 2)?;
            return Ok(1);
        }
        barrier.wait(thread)?;
        x.read(thread)
    })
}

fn main() -> Result<(), Fault> {
    for variant in ["published", "no-fence"] {
        let mut read: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
        for seed in 0..1000 {
            let seen = sent_before(variant, Fabric::Machine { seed })?;
            read.entry(seen[1]).or_insert((0, seed)).0 += 1;
        }
        for (v, (times, seed)) in read {
            println!("{variant}: the other thread read {v} in {times} runs, first with seed {seed}");
        }
    }
    Ok(())
}
