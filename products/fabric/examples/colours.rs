//! A map from bytes to bytes: one thread inserts, and another one on another node gets.
//!
//! `cargo run -p mowgli-fabric --example colours`

use mowgli_fabric::{Fabric, Fault, Group};

/// Inserts a value on node 1. Returns what node 2 gets.
pub fn got(fabric: Fabric) -> Result<Option<Vec<u8>>, Fault> {
    let mut group = Group::new(&[1, 2]);
    let map = group.byte_map("colours", 100, 16);
    let barrier = group.barrier("barrier", &[0, 1]);
    let got = group.run(fabric, |thread| {
        if thread.node().0 == 1 {
            map.insert(thread, b"sky", b"blue")?;
        }
        barrier.wait(thread)?;
        map.get(thread, b"sky")
    })?;
    Ok(got[1].clone())
}

fn main() -> Result<(), Fault> {
    let got = got(Fabric::Local)?.unwrap_or_default();
    println!("the sky is {}", String::from_utf8_lossy(&got));
    Ok(())
}
