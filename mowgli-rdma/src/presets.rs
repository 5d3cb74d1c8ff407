//! The networks that have a name, each with the source of what it promises, and those of `libfabric:BITS`.
//!
//! A source that is silent is read as a promise that is not made. Where it can be read in two ways, both readings are
//! presets: `rc` and `rc-visible`, `cxi` and `cxi-flushing`, `efa-direct` and `efa-direct-flushing`.

use mowgli_core::ids::Name;
use mowgli_core::unknown::Unknown;

use crate::error::Error;
use crate::network::Order::{Issued, None as Free, Placed};
use crate::network::{Completion, Fence, Network, Order};

/// Nothing is in order.
const UNORDERED: [[Order; 3]; 3] = [[Free; 3]; 3];

/// The bits of libfabric's `msg_order` about RMA and atomics, then those of the sizes up to which data are in order.
/// `RAW` is *a read after a write*.
const BITS: [&str; 15] = [
    "RAR",
    "RAW",
    "WAR",
    "WAW",
    "RMA_RAR",
    "RMA_RAW",
    "RMA_WAR",
    "RMA_WAW",
    "ATOMIC_RAR",
    "ATOMIC_RAW",
    "ATOMIC_WAR",
    "ATOMIC_WAW",
    "RAW_SIZE",
    "WAR_SIZE",
    "WAW_SIZE",
];

/// The networks that have a name, with the source of each.
pub const PRESETS: [(Network, &str); 18] = [
    (Network::RC, "InfiniBand's reliable connection as published: SYNC, Fig. 9 and Def. 3"),
    (VISIBLE, "rc, where ibv_reg_mr(3) is read so that the completion of a WRITE means that the target sees it"),
    (Network::RC_RELAXED, "IBV_ACCESS_RELAXED_ORDERING of all memory: ibv_reg_mr(3)"),
    (PCI_ATOMICS, "the same with atomics of PCIe, which may pass earlier writes: NVIDIA/nccl#2210, second hand"),
    (MLX5_OOO, "MLX5DV_QP_CREATE_OOO_DP: mlx5dv_create_qp(3)"),
    (EFA, "libfabric's efa, endpoints RDM: prov/efa/src/efa_prov_info.c, fi_efa(7)"),
    (EFA_DIRECT, "libfabric's efa-direct: EFA_MSG_ORDER is 0 in prov/efa/src/efa_prov_info.c"),
    (EFA_DIRECT_FLUSHING, "efa-direct, where a READ is taken to push what has arrived before it, as PCIe has it"),
    (CXI, "HPE Slingshot: fi_cxi(7), Message Ordering, Target Ordering, FI_TRANSMIT_COMPLETE"),
    (CXI_FLUSHING, "cxi, where a READ is taken to push what has arrived: fi_cxi(7) has it so for FI_DELIVERY_COMPLETE"),
    (Network { name: "falcon-strong", ..Network::RC }, "OCP RDMA over Falcon 0.9, 6.2: as InfiniBand verbs"),
    (FALCON_WEAK, "OCP RDMA over Falcon 0.9, 6.2: as iWARP, placed out of order and completed in order"),
    (FALCON_UNORDERED, "OCP RDMA over Falcon 0.9, 6.4: placed and completed out of order"),
    (UET_RUD, "Ultra Ethernet 1.0, 3.5.3.3, reliable unordered delivery: second hand"),
    (
        Network { name: "uet-rod", ..Network::RC },
        "Ultra Ethernet 1.0, reliable ordered delivery, read as rc: second hand",
    ),
    (TCP, "libfabric's tcp: prov/tcp/src/xnet_attr.c"),
    (SHM, "libfabric's shm, between processes of one node: prov/shm/src/smr_attr.c"),
    (PSM3, "libfabric's psm3: prov/psm3/src/psmx3.h"),
];

impl Network {
    /// The reliable connection of InfiniBand, as the papers model it.
    pub const RC: Self = Self {
        name: "rc",
        order: [[Free; 3], [Placed; 3], [Placed; 3]],
        returns: Placed,
        flushes: false,
        completion: Completion::Arrived,
        atomics_deliver: false,
        completes_in_order: true,
        fence: Fence::Reads,
        delivers: false,
        has_flags: true,
    };

    /// The same with relaxed ordering of all memory: its writes reach memory in any order.
    pub const RC_RELAXED: Self = Self {
        name: "rc-relaxed",
        order: [[Free; 3], [Placed, Issued, Placed], [Placed; 3]],
        returns: Issued,
        ..Self::RC
    };

    /// Returns the network of a name.
    ///
    /// # Errors
    /// If no network has this name. The message lists the presets.
    pub fn named(name: &str) -> Result<Self, Error> {
        if let Some(bits) = name.strip_prefix("libfabric:") {
            return of_bits(bits);
        }
        let all = || PRESETS.into_iter().map(|(network, _)| network);
        let names = || all().map(|network| network.name).chain(["libfabric:BITS, as libfabric:RAW,WAW"]);
        all().find(|network| network.name == name).ok_or_else(|| Unknown::new("network", name, names()).into())
    }
}

/// Returns the network with these bits.
fn of_bits(bits: &str) -> Result<Network, Error> {
    let all: Vec<&str> = bits.split(',').filter(|bit| !bit.is_empty() && *bit != "NONE").collect();
    if let Some(unknown) = all.iter().find(|bit| !BITS.contains(bit)) {
        return Err(Unknown::new("bit of libfabric", unknown, BITS.into_iter().chain(["NONE"])).into());
    }
    let mut set = [false; BITS.len()];
    all.iter().filter_map(|bit| BITS.iter().position(|known| known == bit)).for_each(|at| set[at] = true);
    let name = Name::new(&format!("libfabric:{}", if all.is_empty() { "NONE" } else { bits })).text();
    Ok(Network { name, ..of_libfabric(set) })
}

/// Returns the network of some [`BITS`]. Every atomic operation of the models returns the old value, so it is one of
/// libfabric's reads. A bit for RMA or atomics alone orders nothing between the two. What is transmitted in order is in
/// order in memory only up to the sizes: `fi_endpoint(3)`. A message order of a write behind a read means nothing without
/// one, since the data of the read may be fetched later. Completions have no order: `comp_order` is deprecated.
const fn of_libfabric(set: [bool; BITS.len()]) -> Network {
    const fn level(transmitted: bool, placed: bool) -> Order {
        match (transmitted, placed) {
            (false, _) => Free,
            (true, false) => Issued,
            (true, true) => Placed,
        }
    }
    let [rar, raw, war, waw, rma_rar, rma_raw, rma_war, rma_waw, at_rar, .., raw_size, war_size, waw_size] = set;
    let reads = [level(rar || rma_rar, true), level((war || rma_war) && war_size, true), level(rar, true)];
    let writes = [level(raw || rma_raw, raw_size), level(waw || rma_waw, waw_size), level(raw, raw_size)];
    let atomics = [level(rar, true), level(war && war_size, true), level(rar || at_rar, true)];
    Network {
        name: "libfabric",
        order: [reads, writes, atomics],
        returns: Free,
        atomics_deliver: true,
        completes_in_order: false,
        fence: Fence::None,
        delivers: true,
        ..Network::RC
    }
}

/// The bits RAR, RAW and WAW, and WAR if asked for, each for all kinds of operations and any size.
const fn of_software(name: &'static str, war: bool) -> Network {
    let set = [true, true, war, true, true, true, war, true, true, true, war, true, true, war, true];
    Network { name, completion: Completion::Sent, ..of_libfabric(set) }
}

const VISIBLE: Network = Network { name: "rc-visible", completion: Completion::Placed, ..Network::RC };

const PCI_ATOMICS: Network = Network {
    name: "rc-relaxed-pci-atomics",
    order: [[Free; 3], [Placed, Issued, Issued], [Placed; 3]],
    ..Network::RC_RELAXED
};

const MLX5_OOO: Network = Network {
    name: "mlx5-ooo",
    order: [[Placed, Free, Placed], [Placed, Free, Placed], [Placed, Free, Placed]],
    returns: Free,
    ..Network::RC
};

const FALCON_WEAK: Network = Network {
    name: "falcon-weak",
    order: [[Free; 3], [Placed, Free, Placed], [Placed, Free, Placed]],
    returns: Free,
    ..Network::RC
};

const FALCON_UNORDERED: Network = Network {
    name: "falcon-unordered",
    order: UNORDERED,
    returns: Free,
    completes_in_order: false,
    fence: Fence::None,
    ..Network::RC
};

const UET_RUD: Network = Network { name: "uet-rud", ..FALCON_UNORDERED };

const EFA_DIRECT: Network = Network { name: "efa-direct", atomics_deliver: true, ..FALCON_UNORDERED };

const EFA_DIRECT_FLUSHING: Network = Network { name: "efa-direct-flushing", flushes: true, ..EFA_DIRECT };

/// The provider brings atomics into order by software, and has puts that are delivered.
const EFA: Network =
    Network { name: "efa", order: [[Free; 3], [Free; 3], [Free, Free, Placed]], delivers: true, ..EFA_DIRECT };

const CXI: Network = Network {
    name: "cxi",
    order: [[Placed, Free, Free], [Free, Placed, Free], [Free, Free, Placed]],
    returns: Free,
    atomics_deliver: true,
    completes_in_order: false,
    fence: Fence::All,
    delivers: true,
    ..Network::RC
};

const CXI_FLUSHING: Network = Network { name: "cxi-flushing", flushes: true, ..CXI };

const TCP: Network = of_software("tcp", false);

const SHM: Network = of_software("shm", true);

const PSM3: Network = of_software("psm3", true);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RdmaStamp;
    use crate::network::Remote::Write;
    use mowgli_core::stamp::StampKind as _;

    /// Returns the pairs that only one of two networks has in its stamp order, those of the first before those of the
    /// second.
    fn differences(a: Network, b: Network) -> (String, String) {
        let all = RdmaStamp::all(1);
        let pairs = || all.iter().flat_map(|&x| all.iter().map(move |&y| (x, y)));
        let only = |has: Network, lacks: Network| {
            let only = pairs().filter(|&(x, y)| has.to(x, y) && !lacks.to(x, y));
            only.map(|(x, y)| format!("{x} {y}").replace("_1", "")).collect::<Vec<_>>().join(", ")
        };
        (only(a, b), only(b, a))
    }

    #[test]
    fn relaxed_ordering_takes_two_cells() {
        let (gone, more) = differences(Network::RC, Network::RC_RELAXED);
        assert_eq!((gone.as_str(), more.as_str()), ("aNRW aNRW, aNLW aNLW", ""));
    }

    /// Presets that promise all that another one promises have its stamp order.
    #[test]
    fn presets_that_promise_more_order_more() {
        let named = |name| Network::named(name).expect("a preset");
        let chains: [&[&'static str]; 2] = [
            &["rc", "rc-relaxed", "falcon-weak", "falcon-unordered"],
            &["rc-visible", "efa-direct-flushing", "efa-direct"],
        ];
        for chain in chains {
            let promises = |a: &'static str, b: &'static str| named(a).promises(named(b));
            assert!(chain.windows(2).all(|two| promises(two[0], two[1]) && !promises(two[1], two[0])), "{chain:?}");
        }
        for ((a, _), (b, _)) in PRESETS.iter().flat_map(|a| PRESETS.iter().map(move |b| (a, b))) {
            assert!(!a.promises(*b) || differences(*b, *a).0.is_empty(), "{a} {b}");
        }
    }

    #[test]
    fn bits_are_those_of_libfabric() {
        let named = |name| Network::named(name).expect("a network");
        assert_eq!(named("libfabric:").order, named("efa-direct").order);
        let cxi = named("libfabric:RMA_WAW,RMA_RAR,ATOMIC_RAR,WAW_SIZE");
        assert_eq!(cxi.order, named("cxi").order);
        assert_eq!(named("libfabric:WAW").remote(Write, Write), Issued);
        for (name, error) in [
            ("libfabric:FAST", "no bit of libfabric FAST; there are RAR, RAW"),
            ("fast", "no network fast; there are rc, rc-visible"),
        ] {
            assert!(Network::named(name).unwrap_err().to_string().starts_with(error), "{name}");
        }
    }
}
