//! The API of the crate dhat-pprof: converts profiles of DHAT to the pprof format.
//!
//! ```
//! use allotrope::dhat_pprof::{convert_profile, write_pprof, DhatProfile};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # std::env::set_current_dir(std::env::temp_dir())?;
//! let json = r#"{"dhatFileVersion":2,"mode":"rust-heap","verb":"Allocated","bklt":true,"bkacc":false,
//!     "tu":"µs","Mtu":"s","tuth":10,"cmd":"server","pid":7,"tg":10,"te":20,
//!     "pps":[{"tb":100,"tbk":2,"tl":5,"mb":60,"mbk":1,"gb":60,"gbk":1,"eb":0,"ebk":0,"fs":[1,2]}],
//!     "ftbl":["[root]","0x10: app::parse (src/app.rs:5:9)","0x20: app::main (src/app.rs:9:1)"]}"#;
//! let dhat_profile: DhatProfile = allotrope::dhat_pprof::serde_json::from_str(json)?;
//! println!("{} of {}", dhat_profile.pps.len(), dhat_profile.cmd);
//! let profile = convert_profile(dhat_profile)?;
//! assert_eq!(profile.sample[0].value[..4], [2, 100, 1, 60]);
//! write_pprof(&profile, "parse.pb.gz")?;
//! # std::fs::remove_file("parse.pb.gz")?;
//! # Ok(())
//! # }
//! ```
//!
//! The first four sample types are those of dhat-pprof: `alloc_objects`, `alloc_space`, and DHAT's maximum per site as
//! `inuse_objects` and `inuse_space`. The values at the peak and at the end, and lifetimes, follow. Stacks begin at the
//! innermost frame, as pprof requires, and inlined calls share a location.

mod dhat;

pub use crate::profiles::pprof::Profile;
pub use dhat::{DhatProfile, ProfilePoint};

/// The other messages of a [`Profile`].
pub mod profiles {
    pub use crate::profiles::pprof::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
}

/// The functions of the crate serde_json that read and write a [`DhatProfile`].
pub mod serde_json {
    pub use crate::json::{
        from_reader, from_slice, from_str, to_string, to_string_pretty, Error, FromJson, ToJson, Value,
    };
}

use crate::profiles::library;
use std::error::Error;
use std::path::Path;

/// Converts a file of DHAT to a file of pprof, which it replaces. Large files are streamed.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// allotrope::dhat_pprof::convert("dhat-heap.json", "dhat-heap.pb.gz")?;
/// # Ok(())
/// # }
/// ```
pub fn convert<P: AsRef<Path>>(input_path: P, output_path: P) -> Result<(), Box<dyn Error>> {
    Ok(library::convert_dhat(input_path.as_ref(), output_path.as_ref())?)
}

/// Converts a parsed profile of DHAT.
pub fn convert_profile(dhat: DhatProfile) -> Result<Profile, Box<dyn Error>> {
    let json = serde_json::to_string(&dhat)?;
    let profile = library::Profile::read(json.as_bytes(), "dhat", "DhatProfile")?;
    Ok(Profile::decode(&profile.plain_pprof()?)?)
}

/// Writes a profile to a gzipped file, which it replaces. Fails if ids or indexes of the profile are wrong.
pub fn write_pprof<P: AsRef<Path>>(profile: &Profile, output_path: P) -> Result<(), Box<dyn Error>> {
    let bytes = profile.encode_to_vec();
    Ok(library::Profile::read(&bytes, "pprof", "Profile")?.write_pprof_file(output_path.as_ref())?)
}
