//! Profiles in memory: those of liballotrope, and the messages of the pprof format.

pub(crate) mod library;
pub mod pprof;
mod protobuf;
