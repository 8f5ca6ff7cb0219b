//! Profiles of a program's own making, and the examples of the crate pprof-alloc with the name of the crate changed.

use allotrope::dhat_pprof::profiles::Profile;
use allotrope::pprof_alloc::{self, mappings, serde_json, StackProfile, WeightedStack};
use std::fs;

#[global_allocator]
static GLOBAL: pprof_alloc::PprofAlloc =
    pprof_alloc::PprofAlloc::new().with_default(pprof_alloc::Allocator::Jemalloc).with_pprof().with_stats();

mod sample_rate_of_the_environment {
    use allotrope::pprof_alloc;

    #[allow(dead_code)]
    static GLOBAL: pprof_alloc::PprofAlloc = pprof_alloc::PprofAlloc::new()
        .with_pprof_sample_rate_from_env(pprof_alloc::DEFAULT_PPROF_SAMPLE_RATE)
        .with_stats();
}

#[test]
fn the_examples_of_its_readme_work() -> Result<(), Box<dyn std::error::Error>> {
    pprof_alloc::configure_with_default(pprof_alloc::Allocator::Jemalloc)?;
    pprof_alloc::configure()?;

    let profile = pprof_alloc::generate_pprof()?;
    let path = std::env::temp_dir().join(format!("{}.memprof", std::process::id()));
    std::fs::write(&path, profile)?;
    assert_eq!(fs::read(&path)?[..2], [0x1f, 0x8b]);
    fs::remove_file(path)?;

    let statistics = || -> Result<_, Box<dyn std::error::Error>> {
        let malloc = pprof_alloc::stats::malloc::info()?;
        let cgroup = pprof_alloc::stats::cgroups::get_stats()?;
        let smaps = pprof_alloc::stats::smaps::rollup()?;
        Ok((malloc, cgroup, smaps))
    };
    match statistics() {
        Ok((malloc, cgroup, smaps)) => {
            assert!(malloc.system_current() > 0 && cgroup.usage > 0 && smaps.rss > 0)
        }
        Err(error) => assert!(pprof_alloc::stats::cgroups::get_memory().is_err(), "{error}"),
    }

    let snapshot = pprof_alloc::snapshot();
    let json = serde_json::to_string_pretty(&snapshot)?;
    for member in ["captured_at_unix_ms", "allocation_stats", "comparable", "smaps", "private_dirty"] {
        assert!(json.contains(&format!("\"{member}\": ")), "{json}");
    }

    println!("{:?}", pprof_alloc::capture_mode());
    Ok(())
}

#[test]
fn statistics_are_exact() {
    let before = pprof_alloc::allocation_stats();
    let kept = vec![1u8; 1 << 20];
    let after = pprof_alloc::allocation_stats();
    assert!(after.allocated - before.allocated >= 1 << 20);
    assert!(after.in_use_bytes() > 1 << 20 && after.in_use_allocations() > 0);
    drop(kept);
}

#[inline(never)]
fn callee() -> u64 {
    3
}

/// An address in the code of a function.
fn address(function: fn() -> u64) -> u64 {
    function as *const () as u64 + 1
}

/// Decompresses and decodes a profile.
fn decoded(gzipped: &[u8]) -> Profile {
    let folder = std::env::temp_dir();
    let name = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    let (packed, plain) = (folder.join(format!("{name}.pb.gz")), folder.join(format!("{name}.pb")));
    fs::write(&packed, gzipped).unwrap();
    let program = std::env::var_os("ALLO_PROGRAM").unwrap_or_else(|| "allo".into());
    let mut command = std::process::Command::new(program);
    let status = command.args(["convert", "-q", "-o"]).arg(&plain).arg(&packed).status();
    assert!(status.unwrap().success());
    let profile = Profile::decode(&fs::read(&plain).unwrap()).unwrap();
    fs::remove_file(packed).unwrap();
    fs::remove_file(plain).unwrap();
    profile
}

fn example() -> StackProfile {
    let mut profile = StackProfile { mappings: mappings(), ..Default::default() };
    let addrs = vec![address(callee), 0, 0x1000];
    profile.push_stack(WeightedStack { addrs: addrs.clone(), values: vec![42, 7] }, Some("GET /"));
    profile.push_stack(WeightedStack { addrs, values: vec![1, -2] }, Some("GET /"));
    profile.push_stack(WeightedStack { addrs: vec![0x1000], values: vec![5, 6] }, None);
    profile
}

#[test]
fn a_profile_has_types_values_labels_and_names() {
    assert_eq!(example().annotations, ["GET /"]);
    assert_eq!(example().iter().filter(|(_, annotation)| *annotation == Some("GET /")).count(), 2);
    let types = [("alloc_space", "bytes"), ("inuse_space", "bytes")];
    let profile = decoded(&example().to_pprof_with_period(&types, ("space", "bytes"), 512, None));
    let text = |index: i64| profile.string_table[index as usize].as_str();
    let names: Vec<_> = profile.sample_type.iter().map(|kind| (text(kind.r#type), text(kind.unit))).collect();
    assert_eq!(names, types);
    assert_eq!((profile.period, text(profile.default_sample_type)), (512, "inuse_space"));
    assert!(profile.time_nanos > 0);

    // Equal stacks are one sample, with one label.
    assert_eq!(profile.sample.len(), 2);
    let labelled = profile.sample.iter().find(|sample| !sample.label.is_empty()).unwrap();
    assert_eq!((labelled.value.as_slice(), labelled.label.len()), (&[43, 5][..], 1));
    assert_eq!((text(labelled.label[0].key), text(labelled.label[0].str)), ("annotation", "GET /"));

    // The innermost frame comes first, with its name, its file and the address in this process.
    let location = |id| profile.location.iter().find(|location| location.id == id).unwrap();
    let leaf = location(labelled.location_id[0]);
    assert_eq!((labelled.location_id.len(), leaf.address), (2, address(callee)));
    assert_eq!(location(labelled.location_id[1]).address, 0x1000);
    let function = profile.function.iter().find(|function| function.id == leaf.line[0].function_id).unwrap();
    assert_eq!(text(function.name), "stack_profile::callee");
    assert!(text(function.filename).ends_with("stack_profile.rs"));

    let mapping = profile.mapping.iter().find(|mapping| mapping.id == leaf.mapping_id).unwrap();
    assert!((mapping.memory_start..mapping.memory_limit).contains(&leaf.address));
    let own = mappings().into_iter().find(|own| own.memory_start as u64 == mapping.memory_start).unwrap();
    assert_eq!(own.pathname.to_string_lossy(), text(mapping.filename));
    assert_eq!(own.build_id.map_or_else(String::new, |id| id.to_string()), text(mapping.build_id));
    assert_eq!(own.file_offset, mapping.file_offset);
    assert_eq!(callee(), 3);
}

#[test]
fn the_key_of_annotations_can_be_chosen() {
    let key = Some("request".to_string());
    let types = [("objects", "count"), ("space", "bytes")];
    let profile = decoded(&example().to_pprof_with_period(&types, ("space", "bytes"), 0, key));
    assert!(profile.string_table.iter().any(|text| text == "request"));
}

#[test]
#[should_panic(expected = "pprof needs at least one sample type")]
fn a_profile_without_types_is_refused() {
    example().to_pprof_with_period(&[], ("space", "bytes"), 0, None);
}

#[test]
#[should_panic(expected = "each sample must provide one value per sample type")]
fn a_stack_with_too_few_values_is_refused() {
    example().to_pprof_with_period(&[("space", "bytes")], ("space", "bytes"), 0, None);
}
