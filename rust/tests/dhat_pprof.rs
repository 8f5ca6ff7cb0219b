//! The API of the crate dhat-pprof: its examples, with the name of the crate changed.

use std::fs;
use std::path::{Path, PathBuf};

/// The examples run in this folder.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("allotrope-{}-{name}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("dhat-heap.json"), PROFILE).unwrap();
    folder
}

const PROFILE: &str = r#"{"dhatFileVersion":2,"mode":"rust-heap","verb":"Allocated","bklt":true,"bkacc":false
,"tu":"µs","Mtu":"s","tuth":10,"cmd":"./server --port 80","pid":4711,"tg":150,"te":400
,"pps":[{"tb":1000,"tbk":1,"tl":80,"mb":1000,"mbk":1,"gb":1000,"gbk":1,"eb":0,"ebk":0,"fs":[1,2,3]}
,{"tb":600,"tbk":2,"tl":90,"mb":400,"mbk":1,"gb":300,"gbk":1,"eb":200,"ebk":1,"fs":[4,3]}]
,"ftbl":["[root]","0x10: alloc::alloc::alloc (src/alloc.rs:98:9)","0x11: server::parse (src/parse.rs:12:5)"
,"0x20: server::main (src/main.rs:3:1)","0x30: <T as core::fmt::Display>::fmt (src/fmt.rs:7:2)"]}"#;

/// An example in its own words: `use allotrope::dhat_pprof` is what a program adds.
macro_rules! example {
    ($name:ident, $file:literal, $result:ty) => {
        pub mod $name {
            #[allow(unused_imports)]
            use allotrope::dhat_pprof;
            #[allow(dead_code)]
            fn run_application() {}
            include!($file);
            pub fn run() -> $result {
                main()
            }
        }
    };
}

type Outcome = Result<(), Box<dyn std::error::Error>>;
example!(simple_conversion, "cases/dhat_pprof_simple_conversion.rs", crate::Outcome);
example!(custom_processing, "cases/dhat_pprof_custom_processing.rs", crate::Outcome);
#[allow(unexpected_cfgs, unused_imports)]
mod without_the_feature {
    example!(integration_with_profiling, "cases/dhat_pprof_integration_with_profiling.rs", crate::Outcome);
    example!(workflow, "cases/dhat_pprof_workflow.rs", ());
}

/// The third example with its feature.  The profile is there once the profiler is dropped.
mod integration_with_profiling {
    use allotrope as dhat;
    use allotrope::dhat_pprof::convert;

    #[global_allocator]
    static ALLOC: dhat::Alloc = dhat::Alloc;

    fn run_application() {
        drop(Vec::<u8>::with_capacity(1009));
    }

    pub fn main() -> Result<(), Box<dyn std::error::Error>> {
        let profiler = dhat::Profiler::new_heap();

        // Your application code here
        run_application();

        // After profiling completes, convert to pprof
        drop(profiler);
        convert("dhat-heap.json", "profiled.pb.gz")?;

        Ok(())
    }
}

use allotrope::dhat_pprof::profiles::{Profile, ValueType};
use allotrope::dhat_pprof::{self, convert_profile, serde_json, write_pprof, DhatProfile};

/// The names of the sample types.
fn types(profile: &Profile) -> Vec<&str> {
    let text = |index: i64| profile.string_table[index as usize].as_str();
    profile.sample_type.iter().map(|ValueType { r#type, .. }| text(*r#type)).collect()
}

/// The functions of a sample, innermost first.
fn functions(profile: &Profile, sample: usize) -> Vec<&str> {
    let location = |id: &u64| profile.location.iter().find(|location| location.id == *id).unwrap();
    let function = |id: u64| profile.function.iter().find(|function| function.id == id).unwrap();
    let lines = profile.sample[sample].location_id.iter().flat_map(|id| &location(id).line);
    lines.map(|line| profile.string_table[function(line.function_id).name as usize].as_str()).collect()
}

fn parsed() -> DhatProfile {
    serde_json::from_str(PROFILE).unwrap()
}

#[test]
fn the_examples_of_its_readme_work() {
    let folder = folder("readme");
    std::env::set_current_dir(&folder).unwrap();
    for run in [simple_conversion::run, custom_processing::run] {
        run().unwrap();
        assert_eq!(fs::read("output.pb.gz").unwrap()[..2], [0x1f, 0x8b]);
        fs::remove_file("output.pb.gz").unwrap();
    }
    without_the_feature::integration_with_profiling::run().unwrap();
    without_the_feature::workflow::run();
    integration_with_profiling::main().unwrap();
    assert_eq!(fs::read("profiled.pb.gz").unwrap()[..2], [0x1f, 0x8b]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn all_fields_are_public() {
    let profile = parsed();
    assert_eq!((profile.dhat_file_version, profile.mode.as_str()), (2, "rust-heap"));
    assert_eq!((profile.verb.as_str(), profile.bklt, profile.bkacc), ("Allocated", true, false));
    assert_eq!((profile.tu.as_str(), profile.mtu.as_str(), profile.tuth), ("µs", "s", 10));
    assert_eq!((profile.cmd.as_str(), profile.pid), ("./server --port 80", 4711));
    assert_eq!((profile.tg, profile.te, profile.ftbl.len()), (150, 400, 5));
    let point = &profile.pps[1];
    assert_eq!((point.tb, point.tbk, point.tl, point.mb, point.mbk), (600, 2, 90, 400, 1));
    assert_eq!((point.gb, point.gbk, point.eb, point.ebk), (300, 1, 200, 1));
    assert_eq!(point.fs, [4, 3]);
}

#[test]
fn a_converted_profile_has_its_values_and_stacks() {
    let profile = convert_profile(parsed()).unwrap();
    assert_eq!(types(&profile)[..4], ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]);
    let sample = profile.sample.iter().position(|sample| sample.value[1] == 600).unwrap();
    assert_eq!(profile.sample[sample].value[..4], [2, 600, 1, 400]);
    assert_eq!(functions(&profile, sample), ["<T as core::fmt::Display>::fmt", "server::main"]);
    assert_eq!(functions(&profile, 1 - sample), ["alloc::alloc::alloc", "server::parse", "server::main"]);
    assert!(profile.string_table.iter().any(|text| text == "src/parse.rs"));
}

#[test]
fn changes_of_a_profile_are_written() {
    let folder = folder("changes");
    let mut profile = convert_profile(parsed()).unwrap();
    let name = profile.string_table.iter_mut().find(|text| *text == "server::parse").unwrap();
    *name = "renamed".into();
    profile.sample.retain(|sample| sample.value[1] == 1000);
    profile.time_nanos = 1234;
    write_pprof(&profile, folder.join("x.pb.gz")).unwrap();
    let written = decoded(&folder.join("x.pb.gz"));
    assert_eq!((written.sample.len(), written.time_nanos), (1, 1234));
    assert!(written.string_table.iter().any(|text| text == "renamed"));
    assert!(!written.string_table.iter().any(|text| text == "server::parse"));
    fs::remove_dir_all(folder).unwrap();
}

/// Has `allo` decompress a profile.
fn decoded(path: &Path) -> Profile {
    let program = std::env::var_os("ALLO_PROGRAM").unwrap_or_else(|| "allo".into());
    let plain = path.with_extension("pb");
    let mut command = std::process::Command::new(program);
    let status = command.args(["convert", "-q", "--to", "pprof", "-o"]).arg(&plain).arg(path).status();
    assert!(status.unwrap().success());
    Profile::decode(&fs::read(plain).unwrap()).unwrap()
}

#[test]
fn a_wrong_profile_is_refused() {
    let folder = folder("wrong");
    let output = folder.join("x.pb.gz");
    let mut profile = convert_profile(parsed()).unwrap();
    profile.sample[0].location_id[0] = 999;
    assert!(write_pprof(&profile, &output).is_err());
    assert!(!output.exists());

    let missing = dhat_pprof::convert(folder.join("none.json"), output.clone()).unwrap_err();
    assert!(missing.to_string().contains("none.json"), "{missing}");
    let error = serde_json::from_str::<DhatProfile>("{\"bklt\":true,\"pps\":[]}").unwrap_err();
    assert_eq!(error.to_string(), "the member `dhatFileVersion` is missing");
    let error = serde_json::from_str::<DhatProfile>("{\n]").unwrap_err();
    assert_eq!((error.line(), error.column()), (2, 1));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_profile_without_lifetimes_is_read() {
    let text = r#"{"dhatFileVersion":2,"mode":"rust-ad-hoc","verb":"Allocated","bklt":false,"bkacc":false,"tu":"µs",
        "Mtu":"s","cmd":"x","pid":1,"te":5,"pps":[{"tb":7,"tbk":3,"fs":[1]}],"ftbl":["[root]","0x1: a (b.rs:1:1)"]}"#;
    let profile: DhatProfile = serde_json::from_str(text).unwrap();
    assert_eq!((profile.tg, profile.pps[0].tl, profile.pps[0].tb), (0, 0, 7));
    let converted = convert_profile(profile).unwrap();
    assert!(converted.sample[0].value.contains(&7) && converted.sample[0].value.contains(&3));
}
