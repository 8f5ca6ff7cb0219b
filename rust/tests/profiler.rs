//! The API of the crate dhat: profiles, statistics, assertions and error messages.

mod cases;

#[global_allocator]
static ALLOC: allotrope::Alloc = allotrope::Alloc;

use allotrope::{ad_hoc_event, AdHocStats, HeapStats, Profiler};
use cases::{allo, Ended};
use std::panic::{catch_unwind, AssertUnwindSafe};

fn main() {
    cases::run(&[
        ("heap", heap, look_at_heap),
        ("ad_hoc", ad_hoc, look_at_ad_hoc),
        ("frames", frames, look_at_frames),
        ("all_frames", all_frames, look_at_all_frames),
        ("few_frames", few_frames, look_at_few_frames),
        ("testing", testing, look_at_testing),
        ("failing", failing, look_at_failing),
        ("misuse", misuse, look_at_misuse),
        ("exiting", exiting, look_at_exiting),
        ("exiting_ad_hoc", exiting_ad_hoc, look_at_exiting_ad_hoc),
        ("exiting_from_a_test", exiting_from_a_test, look_at_testing),
        ("moving", moving, look_at_moving),
        ("moving_and_failing", moving_and_failing, look_at_moving_and_failing),
        ("after_a_kill", after_a_kill, look_at_after_a_kill),
        ("beside_a_living_one", beside_a_living_one, look_at_beside_a_living_one),
        ("aborting", aborting, look_at_aborting),
        ("without_allo", without_allo, look_at_without_allo),
        ("names", names, look_at_names),
        ("part", part, look_at_part),
    ]);
}

#[inline(never)]
fn block(size: usize) -> Vec<u8> {
    Vec::with_capacity(size)
}

/// Allocates known blocks.
fn heap() {
    let _kept = block(16);
    let freed_inside = block(16);
    let mut grown_inside = block(16);
    let freed_after = block(16);

    let profiler = Profiler::new_heap();
    drop(freed_inside);
    grown_inside.reserve_exact(32);
    let big = block(1000);
    let mut growing = block(200);
    growing.reserve_exact(400);
    drop(big);
    for _ in 0..10 {
        drop(block(1));
    }
    let stats = HeapStats::get();
    assert_eq!((stats.total_blocks, stats.total_bytes), (14, 1642));
    assert_eq!((stats.curr_blocks, stats.curr_bytes), (2, 432));
    assert_eq!((stats.max_blocks, stats.max_bytes), (3, 1432));
    drop(growing);
    drop(profiler);
    drop(freed_after);
}

fn look_at_heap(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-heap.json"]);
    assert_eq!(
        ended.said(),
        "allo: Total:     1,642 bytes in 14 blocks\n\
         allo: At t-gmax: 1,432 bytes in 3 blocks\n\
         allo: At t-end:  32 bytes in 1 blocks\n\
         allo: The data has been saved to dhat-heap.json, and is viewable with dhat/dh_view.html\n"
    );
    let profile = ended.read("dhat-heap.json");
    assert_eq!(
        points(&profile, &["tb", "tbk", "mb", "mbk", "gb", "gbk", "eb", "ebk"]),
        [
            vec![1000, 1, 1000, 1, 1000, 1, 0, 0],
            vec![600, 2, 400, 1, 400, 1, 0, 0],
            vec![32, 1, 32, 1, 32, 1, 32, 1],
            vec![10, 10, 1, 1, 0, 0, 0, 0],
        ]
    );
    assert!(number(&profile, "te") >= number(&profile, "tg"));
    for unit in ["\"bu\"", "\"bsu\"", "\"bksu\""] {
        assert!(!profile.contains(unit));
    }
}

/// Some numbers of a profile's points, the largest first.
fn points(profile: &str, keys: &[&str]) -> Vec<Vec<u64>> {
    let lines = profile.lines().filter(|line| line.contains("\"tb\":"));
    let mut points: Vec<Vec<u64>> =
        lines.map(|line| keys.iter().map(|key| number(line, key)).collect()).collect();
    points.sort_by(|a, b| b.cmp(a));
    points
}

fn number(text: &str, key: &str) -> u64 {
    let key = format!("\"{key}\":");
    let at = text.find(&key).unwrap_or_else(|| panic!("no {key} in {text}")) + key.len();
    text[at..].chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

fn ad_hoc() {
    ad_hoc_event(1_000_000);
    let profiler = Profiler::new_ad_hoc();
    ad_hoc_event(100);
    let _not_counted = block(33);
    for weight in 1..4 {
        ad_hoc_event(weight);
    }
    let stats = AdHocStats::get();
    assert_eq!((stats.total_events, stats.total_units), (4, 106));
    drop(profiler);
    ad_hoc_event(1_000_000);
}

fn look_at_ad_hoc(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-ad-hoc.json"]);
    assert_eq!(
        ended.said(),
        "allo: Total:     106 units in 4 events\n\
         allo: The data has been saved to dhat-ad-hoc.json, and is viewable with dhat/dh_view.html\n"
    );
    let profile = ended.read("dhat-ad-hoc.json");
    assert_eq!(points(&profile, &["tb", "tbk"]), [[100, 1], [6, 3]]);
    for key in ["tl", "mb", "gb", "eb", "tg", "tuth"] {
        assert!(!profile.contains(&format!("\"{key}\":")), "{key}");
    }
}

#[inline(never)]
fn calls(depth: usize) -> Vec<u8> {
    let mut held = if depth == 0 { block(77) } else { calls(depth - 1) };
    held.push(1); // not a tail call, which would leave no frame
    held
}

fn frames() {
    let _profiler = Profiler::new_heap();
    calls(20);
    std::thread::spawn(|| calls(3)).join().unwrap();
}

/// The functions of a profile, without file and line.
fn functions(profile: &str) -> Vec<String> {
    let table = &profile[profile.find("\"ftbl\":").unwrap()..];
    let names = table.lines().filter_map(|line| line.split_once(": "));
    names.map(|(_, rest)| rest.split(" (").next().unwrap().to_string()).collect()
}

fn has(functions: &[String], part: &str) -> bool {
    functions.iter().any(|function| function.contains(part))
}

/// The frames of each stack, innermost first.
fn stacks(profile: &str) -> Vec<Vec<usize>> {
    let lists = profile.lines().filter_map(|line| line.split_once("\"fs\":["));
    lists
        .map(|(_, list)| list.trim_end_matches("]}").split(',').map(|frame| frame.parse().unwrap()).collect())
        .collect()
}

/// The outermost frames of the stacks.
fn outermost(profile: &str) -> Vec<String> {
    let functions = functions(profile);
    stacks(profile).iter().map(|stack| functions[stack.last().unwrap() - 1].clone()).collect()
}

fn longest(profile: &str) -> usize {
    stacks(profile).iter().map(Vec::len).max().unwrap()
}

fn look_at_frames(ended: &Ended) {
    ended.must_succeed();
    let profile = ended.read("dhat-heap.json");
    let functions = functions(&profile);
    assert!(has(&functions, "profiler::block") && has(&functions, "profiler::calls"), "{functions:?}");
    assert!(has(&functions, "profiler::frames"), "{functions:?}");
    for unwanted in [
        "allotrope::",
        "GlobalAlloc",
        "allo_on_",
        "__rg_",
        "__rust_",
        "alloc::alloc::",
        "lang_start",
        "catch_unwind",
        "panic",
        "start_thread",
        "_start",
    ] {
        assert!(!has(&functions, unwanted), "{unwanted} in {functions:?}");
    }
    assert!(outermost(&profile).iter().all(|name| name.starts_with("profiler::")), "{profile}");
    assert!(longest(&profile) >= 22, "{profile}");
}

fn all_frames() {
    let _profiler = Profiler::builder().trim_backtraces(None).build();
    calls(1);
}

fn look_at_all_frames(ended: &Ended) {
    let functions = functions(&ended.read("dhat-heap.json"));
    // Rust 1.63 calls the allocator as __rg_alloc, later versions as __rust_alloc.
    assert!(has(&functions, "__rust_alloc") || has(&functions, "__rg_alloc"), "{functions:?}");
    assert!(has(&functions, "lang_start"), "{functions:?}");
    assert!(!has(&functions, "allotrope::"), "{functions:?}");
}

fn few_frames() {
    let _profiler = Profiler::builder().trim_backtraces(Some(6)).build();
    calls(20);
}

fn look_at_few_frames(ended: &Ended) {
    let profile = ended.read("dhat-heap.json");
    let functions = functions(&profile);
    assert!(has(&functions, "profiler::calls") && !has(&functions, "profiler::few_frames"), "{functions:?}");
    assert!(!has(&functions, "GlobalAlloc"), "{functions:?}");
}

fn testing() {
    let _profiler = Profiler::builder().testing().build();
    let kept = block(10);
    let before = HeapStats::get();
    // Allocations of a condition are not recorded.
    allotrope::assert!(format!("{}", block(99).capacity()) == "99");
    allotrope::assert_eq!(HeapStats::get().total_bytes, 10, "of {} blocks", 1);
    allotrope::assert_ne!(HeapStats::get().curr_blocks, 0);
    allotrope::assert_eq!(HeapStats::get() - before.clone(), allotrope::HeapChange::default());
    drop(kept);
    let since = HeapStats::get().since(&before);
    assert_eq!((since.total_blocks, since.curr_blocks, since.curr_bytes), (0, -1, -10));
}

fn look_at_testing(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&[]);
    assert_eq!(ended.said(), "");
}

fn failing() {
    let _profiler = Profiler::builder().testing().file_name("failed-100%%.json").build();
    let _kept = block(1234);
    allotrope::assert_eq!(HeapStats::get().total_bytes, 0, "in {} step", 1);
}

fn look_at_failing(ended: &Ended) {
    assert!(!ended.output.status.success());
    ended.must_leave(&["failed-100%.json"]);
    let said = ended.said();
    for line in [
        "allo: Total:     1,234 bytes in 1 blocks\n",
        "allo: The data has been saved to failed-100%.json, and",
        "allo: assertion failed: `(left == right)`\n  left: `1234`,\n right: `0`: in 1 step",
        "tests/profiler.rs:",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert_eq!(points(&ended.read("failed-100%.json"), &["tb", "tbk"]), [[1234, 1]]);
}

/// The message of a panic.
fn panics(work: impl FnOnce()) -> String {
    let said = catch_unwind(AssertUnwindSafe(work)).expect_err("it does not panic");
    match said.downcast_ref::<String>() {
        Some(text) => text.clone(),
        None => said.downcast_ref::<&str>().unwrap().to_string(),
    }
}

fn misuse() {
    std::panic::set_hook(Box::new(|_| ()));
    let heap_stats = || panics(|| assert!(HeapStats::get().total_blocks > 0));
    let ad_hoc_stats = || panics(|| assert!(AdHocStats::get().total_events > 0));

    assert_eq!(heap_stats(), "allo: getting heap stats when no profiler is running");
    assert_eq!(ad_hoc_stats(), "allo: getting ad hoc stats when no profiler is running");
    assert_eq!(panics(|| allotrope::assert!(true)), "allo: asserting when no profiler is running");

    let heap = Profiler::new_heap();
    assert_eq!(ad_hoc_stats(), "allo: getting ad hoc stats while doing heap profiling");
    assert_eq!(panics(|| allotrope::assert!(true)), "allo: asserting while not in testing mode");
    for build in [Profiler::new_heap, Profiler::new_ad_hoc] {
        assert_eq!(panics(|| drop(build())), "allo: creating a profiler while a profiler is already running");
    }
    drop(heap);

    let ad_hoc = Profiler::new_ad_hoc();
    assert_eq!(heap_stats(), "allo: getting heap stats while doing ad hoc profiling");
    drop(ad_hoc);

    let testing = Profiler::builder().testing().build();
    let one = 1;
    assert_eq!(panics(|| allotrope::assert!(one > 1)), "allo: assertion failed: one > 1");
    assert_eq!(heap_stats(), "allo: getting heap stats after the profiler has asserted");
    assert_eq!(ad_hoc_stats(), "allo: getting ad hoc stats after the profiler has asserted");
    assert_eq!(panics(|| allotrope::assert!(true)), "allo: asserting after the profiler has asserted");
    drop(testing);

    let _again = Profiler::builder().ad_hoc().testing().build();
    assert_eq!(
        panics(|| allotrope::assert!(one > 1, "{one} is {}", "one")),
        "allo: assertion failed: one > 1: 1 is one"
    );
    drop(_again);
    let _again = Profiler::builder().testing().build();
    assert_eq!(
        panics(|| allotrope::assert_ne!(one, 1)),
        "allo: assertion failed: `(left != right)`\n  left: `1`,\n right: `1`"
    );
}

fn look_at_misuse(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-ad-hoc.json", "dhat-heap.json"]);
}

fn exiting() {
    let _profiler = Profiler::new_heap();
    std::mem::forget(block(4321));
    std::process::exit(0);
}

fn look_at_exiting(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-heap.json"]);
    assert_eq!(points(&ended.read("dhat-heap.json"), &["tb", "eb"]), [[4321, 4321]]);
    assert_eq!(
        ended.said(),
        "allo: Total:     4,321 bytes in 1 blocks\n\
         allo: At t-gmax: 4,321 bytes in 1 blocks\n\
         allo: At t-end:  4,321 bytes in 1 blocks\n\
         allo: The data has been saved to dhat-heap.json, and is viewable with dhat/dh_view.html\n"
    );
}

fn exiting_ad_hoc() {
    let _profiler = Profiler::new_ad_hoc();
    ad_hoc_event(7);
    std::thread::spawn(|| std::process::exit(0)).join().unwrap();
}

fn look_at_exiting_ad_hoc(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-ad-hoc.json"]);
    assert!(ended.said().starts_with("allo: Total:     7 units in 1 events\n"), "{}", ended.said());
}

fn exiting_from_a_test() {
    let _profiler = Profiler::builder().testing().build();
    drop(block(5));
    std::process::exit(0);
}

/// In Rust 1.63, set_current_dir() itself allocates two bytes.
fn moving() {
    let _profiler = Profiler::new_heap();
    drop(block(1009));
    std::env::set_current_dir("/").unwrap();
}

fn look_at_moving(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-heap.json"]);
    let path = ended.folder.canonicalize().unwrap().join("dhat-heap.json");
    assert!(ended.said().contains(&format!("saved to {}, and", path.display())), "{}", ended.said());
    assert_eq!(points(&ended.read("dhat-heap.json"), &["tb", "tbk"])[0], [1009, 1]);
}

fn moving_and_failing() {
    std::env::set_var("ALLO_PROGRAM", "/nowhere");
    let _profiler = Profiler::builder().file_name("x.json").build();
    drop(block(1009));
    std::env::set_current_dir("/").unwrap();
}

fn look_at_moving_and_failing(ended: &Ended) {
    ended.must_leave(&["x.json.allo"]);
    let said = ended.said();
    let how = said.lines().find_map(|line| line.strip_prefix("allo: to write it, run: allo ")).expect(&said);
    allo(std::path::Path::new("/"), &how.split(' ').collect::<Vec<_>>());
    assert_eq!(points(&ended.read("x.json"), &["tb", "tbk"])[0], [1009, 1]);
}

/// Runs another case in this folder.
fn run_beside(case: &str) -> std::process::Command {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.arg(case);
    command
}

fn after_a_kill() {
    run_beside("aborting").status().unwrap();
    for _ in 0..2 {
        let _profiler = Profiler::new_heap();
        drop(block(1009));
    }
}

fn look_at_after_a_kill(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-heap.json", "dhat-heap.json.allo"]);
    assert_eq!(points(&ended.read("dhat-heap.json"), &["tb", "tbk"]), [[1009, 1]]);
    assert_eq!(ended.said().matches("saved to dhat-heap.json, and").count(), 2, "{}", ended.said());
}

/// The other process still runs, so its profile must not be overwritten.
fn beside_a_living_one() {
    let profiler = Profiler::new_heap();
    drop(block(77));
    let status = run_beside("exiting").status();
    assert!(status.unwrap().success());
    drop(profiler);
}

fn look_at_beside_a_living_one(ended: &Ended) {
    ended.must_succeed();
    assert_eq!(std::fs::read_dir(&ended.folder).unwrap().count(), 2, "{}", ended.said());
    assert!(points(&ended.read("dhat-heap.json"), &["tb", "tbk"]).contains(&vec![77, 1]));
}

fn aborting() {
    let _profiler = Profiler::new_heap();
    std::mem::forget(block(4321));
    std::process::abort();
}

fn look_at_aborting(ended: &Ended) {
    ended.must_leave(&["dhat-heap.json.allo"]);
    let folded =
        allo(&ended.folder, &["convert", "-q", "--to", "folded", "-M", "end_bytes", "dhat-heap.json.allo"]);
    assert!(folded.ends_with(" 4321\n") && folded.lines().count() == 1, "{folded}");
}

fn without_allo() {
    std::env::remove_var("ALLO_PROGRAM");
    std::env::set_var("PATH", "/nowhere");
    let _profiler = Profiler::new_heap();
    drop(block(5));
}

fn look_at_without_allo(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dhat-heap.json.allo"]);
    let said = ended.said();
    assert!(said.contains("allo: Total:     5 bytes in 1 blocks\n"), "{said}");
    assert!(said.contains("cannot find the program allo in PATH; set ALLO_PROGRAM to its path"), "{said}");
    let how = said.lines().find_map(|line| line.strip_prefix("allo: to write it, run: allo ")).expect(&said);
    allo(&ended.folder, &how.split(' ').collect::<Vec<_>>());
    assert_eq!(points(&ended.read("dhat-heap.json"), &["tb"]), [[5]]);
}

fn names() {
    let _profiler = Profiler::builder().file_name("heap of %p, 100%%.json").build();
    println!("{}", std::process::id());
}

fn look_at_names(ended: &Ended) {
    ended.must_succeed();
    let process = String::from_utf8_lossy(&ended.output.stdout);
    ended.must_leave(&[&format!("heap of {}, 100%.json", process.trim())]);
}

/// The environment records the whole program.
fn part() {
    if std::env::var_os("ALLO_OUTPUT").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let status = again.arg("part").env("ALLO_OUTPUT", "whole.allo").status();
        assert!(status.unwrap().success());
        return;
    }
    let testing = Profiler::builder().testing().build();
    drop(block(1009));
    allotrope::assert_eq!(HeapStats::get().total_bytes, 1009);
    drop(testing);
    let _profiler = Profiler::new_heap();
    drop(block(1009));
}

fn look_at_part(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["whole.allo"]);
    assert!(ended.said().ends_with("allo: It is a part of whole.allo\n"), "{}", ended.said());
}
