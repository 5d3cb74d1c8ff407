//! The theorems, each in a file of its own, as one program, so that the generic parts of the search are compiled once
//! for them.

mod accepted;
mod common;
mod loco_theorem_3_15_sv;
mod loco_theorem_4_2_bal;
mod loco_theorem_5_3_rbl;
mod loco_x_theorem_h_3_msw;
mod loco_x_theorem_i_3_kvstore;
mod progress;
mod sync_section_5_sequential_objects;
mod sync_theorem_4_sc_rmw;
mod sync_theorems_1_to_3_locks;
mod table;
mod thorough;
