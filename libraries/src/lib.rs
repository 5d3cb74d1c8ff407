//! LOCO's libraries: one file each, its specification beside its implementation and its broken variants.

pub mod bal;
pub mod catalogue;
pub mod sv;
