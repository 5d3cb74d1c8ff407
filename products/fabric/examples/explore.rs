//! A message and a flag behind it, under every execution: with a wait before the message is overwritten, and without.
//!
//! `cargo run -p mowgli-fabric --example explore` prints the messages received, and an execution with a wrong one.

use std::collections::BTreeSet;

use mowgli_fabric::{Exploration, Fault, Group};

/// Explores two threads. The first one writes a second message into the word from which it has put the first one, at
/// once or after a wait. The other one waits for the number of the message, and then reads the message.
pub fn sent_twice(waits: bool) -> Result<Exploration<Vec<i64>>, Fault> {
    let mut group = Group::new(&[1, 2]);
    let (message, number) = (group.word("message", 2, 0), group.word("number", 2, 0));
    let (own, first) = (group.word("own", 1, 7), group.word("first", 1, 1));
    group.explore(move |thread| {
        if thread.id().index() == 0 {
            let sent = message.put(thread, own)?;
            if waits {
                sent.wait(thread)?;
            }
            number.put(thread, first)?;
            own.write(thread, 8)?;
            return Ok(vec![]);
        }
        thread.until(|thread| Ok((number.read(thread)? == 1).then_some(())))?;
        let received = message.read(thread)?;
        assert_eq!(received, 7, "the first message is not what was received");
        Ok(vec![received])
    })
}

fn main() -> Result<(), Fault> {
    for waits in [true, false] {
        let explored = sent_twice(waits)?;
        println!("{}", if waits { "with a wait:" } else { "without a wait:" });
        match explored.all() {
            Ok(all) => {
                let received: BTreeSet<&Vec<i64>> = all.iter().map(|results| results[1]).collect();
                println!("  the other thread receives {received:?}, and nothing else");
            }
            Err(why) => println!("{why}"),
        }
    }
    Ok(())
}
