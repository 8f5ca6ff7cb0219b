//! Recordings: their contents, beginning and end.

mod cases;

#[global_allocator]
static ALLOC: allotrope::Alloc = allotrope::Alloc::system();

use allotrope::{Config, Error, TrackerConfig};
use cases::{allo, Ended};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

fn main() {
    cases::run(&[
        ("start_and_stop", start_and_stop, look_at_start_and_stop),
        ("one_at_a_time", one_at_a_time, Ended::must_succeed),
        ("forms", forms, look_at_forms),
        ("dumps", dumps, look_at_dumps),
        ("sessions", sessions, look_at_sessions),
        ("restarts", restarts, look_at_restarts),
        ("rheaper", rheaper, look_at_rheaper),
        ("failures", failures, look_at_failures),
        ("moving", moving, look_at_moving),
    ]);
}

#[inline(never)]
fn block(size: usize) -> Vec<u8> {
    Vec::with_capacity(size)
}

fn blocks(count: usize, size: usize) {
    for _ in 0..count {
        drop(block(size));
    }
}

/// The sum of a metric of a recording.
fn sum(folder: &Path, name: &str, metric: &str) -> u64 {
    let folded = allo(folder, &["convert", "-q", "--to", "folded", "-M", metric, name]);
    folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

fn start_and_stop() {
    blocks(1, 1);
    let recording = allotrope::start(Config::new().path("a.allo").stats()).unwrap();
    assert_eq!(recording.path(), Path::new("a.allo"));
    blocks(23, 1009);
    assert_eq!(recording.heap_stats().unwrap().total_bytes, 23 * 1009);
    assert_eq!(recording.stop().unwrap(), PathBuf::from("a.allo"));
    blocks(1, 1);
    {
        let _recording = allotrope::start(Config::new().path("b.allo").min_size(100)).unwrap();
        blocks(7, 99);
        blocks(7, 101);
    }
    blocks(1, 1);
}

fn look_at_start_and_stop(ended: &Ended) {
    ended.must_succeed();
    assert_eq!(ended.said(), "");
    ended.must_leave(&["a.allo", "b.allo"]);
    assert_eq!(sum(&ended.folder, "a.allo", "alloc_bytes"), 23 * 1009);
    assert_eq!(sum(&ended.folder, "a.allo", "end_bytes"), 0);
    assert_eq!(sum(&ended.folder, "b.allo", "alloc_blocks"), 7);
    let top = allo(&ended.folder, &["top", "a.allo", "-M", "alloc_bytes", "-n", "1"]);
    assert!(top.contains("recording::block") || top.contains("with_capacity"), "{top}");
}

fn one_at_a_time() {
    let recording = allotrope::start(Config::new().counters()).unwrap();
    assert_eq!(recording.path(), Path::new(""));
    assert_eq!(allotrope::start(Config::new()).err(), Some(Error::AlreadyEnabled));
    assert_eq!(allotrope::enable_tracking(TrackerConfig::default()), Err(Error::AlreadyEnabled));
    let scope = allotrope::Scope::begin();
    blocks(2, 5);
    assert_eq!(scope.stats().total_bytes, 10);
    drop(scope);
    assert_eq!(allotrope::HeapStats::get().total_blocks, 2);
    drop(recording);
    drop(allotrope::start(Config::new().counters()).unwrap());
}

fn forms() {
    let recording = allotrope::start(Config::new().path("x.pb.gz").format("pprof")).unwrap();
    blocks(5, 1009);
    assert_eq!(recording.stop().unwrap(), PathBuf::from("x.pb.gz"));
    let config = Config::new().path("x.folded").format("folded").options("-M alloc_bytes --trim-allocator");
    let recording = allotrope::start(config).unwrap();
    blocks(5, 1009);
    drop(recording);
}

fn look_at_forms(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["x.folded", "x.pb.gz"]);
    assert_eq!(sum(&ended.folder, "x.pb.gz", "alloc_bytes"), 5 * 1009);
    assert!(ended.read("x.folded").ends_with(" 5045\n"));
}

fn dumps() {
    let recording = allotrope::start(Config::new().path("all.allo")).unwrap();
    blocks(3, 1009);
    recording.dump("so-far.pb.gz").unwrap();
    blocks(3, 1009);
    let folded = allotrope::dump_bytes("folded").unwrap();
    assert!(String::from_utf8(folded).unwrap().lines().count() > 0);
    assert_eq!(allotrope::generate_pprof().unwrap()[..2], [0x1f, 0x8b]);
    assert!(allotrope::dump_bytes("nonsense").is_err());
}

fn look_at_dumps(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["all.allo", "so-far.pb.gz"]);
    assert_eq!(sum(&ended.folder, "so-far.pb.gz", "alloc_blocks"), 3);
    assert_eq!(sum(&ended.folder, "all.allo", "alloc_blocks"), 6);
}

/// A thread older than the recordings allocates in each of them.
fn sessions() {
    let (ask, asked) = mpsc::sync_channel::<usize>(0);
    let (done, wait) = mpsc::sync_channel(0);
    let worker = std::thread::spawn(move || {
        for count in asked {
            blocks(count, 1009);
            done.send(()).unwrap();
        }
    });
    for count in 1..4 {
        let path = format!("{count}.allo");
        let recording = allotrope::start(Config::new().path(path).min_size(1000)).unwrap();
        ask.send(count).unwrap();
        wait.recv().unwrap();
        drop(recording);
    }
    drop(ask);
    worker.join().unwrap();
}

fn look_at_sessions(ended: &Ended) {
    ended.must_succeed();
    for count in 1..4 {
        assert_eq!(sum(&ended.folder, &format!("{count}.allo"), "alloc_blocks"), count);
    }
}

static IS_OVER: AtomicBool = AtomicBool::new(false);
static ROUNDS: AtomicUsize = AtomicUsize::new(0);

/// Stops the other threads even if the test fails.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        IS_OVER.store(true, Ordering::Relaxed);
    }
}

/// Recordings of all modes begin and end while threads allocate.
fn restarts() {
    std::thread::scope(|scope| {
        let _ending = Ending;
        for _ in 0..4 {
            scope.spawn(|| {
                while !IS_OVER.load(Ordering::Relaxed) {
                    let _label = allotrope::label("size", "1009");
                    blocks(10, 1009);
                    let mut growing = block(100);
                    growing.reserve_exact(200);
                    ROUNDS.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..40 {
            let config = match round % 4 {
                0 => Config::new(),
                1 => Config::new().stats(),
                2 => Config::new().sampled(1 << 16),
                _ => Config::new().counters(),
            };
            let recording = allotrope::start(config.path("all-%n.allo")).unwrap();
            let begun = ROUNDS.load(Ordering::Relaxed);
            while ROUNDS.load(Ordering::Relaxed) < begun + 100 {
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            if let Ok(heap) = recording.heap_stats() {
                assert!(heap.curr_bytes <= heap.max_bytes && heap.max_bytes < 1 << 20, "{heap:?}");
                assert!(heap.total_blocks > 0, "{heap:?}");
            }
            recording.stop().unwrap();
        }
    });
}

fn look_at_restarts(ended: &Ended) {
    ended.must_succeed();
    for number in 1..=30 {
        let name = format!("all-{number}.allo");
        assert!(ended.folder.join(&name).exists(), "{name}");
    }
    assert!(sum(&ended.folder, "all-1.allo", "alloc_blocks") > 0);
}

fn rheaper() {
    let config = TrackerConfig { profile_dir: "profiles".into(), max_stack_depth: 30, ..Default::default() };
    allotrope::disable_tracking();
    for _ in 0..2 {
        let path = allotrope::enable_tracking(config.clone()).unwrap();
        assert_eq!(allotrope::enable_tracking(config.clone()), Err(Error::AlreadyEnabled));
        std::mem::forget(block(1009));
        blocks(4, 1009);
        allotrope::disable_tracking();
        println!("{}", path.display());
    }
    let sampled = TrackerConfig { sample_rate: 0.5, ..config };
    allotrope::enable_tracking(sampled).unwrap();
    allotrope::disable_tracking();
}

fn look_at_rheaper(ended: &Ended) {
    ended.must_succeed();
    let printed = String::from_utf8_lossy(&ended.output.stdout);
    let paths: Vec<&str> = printed.lines().collect();
    assert_ne!(paths[0], paths[1]);
    for path in paths {
        assert!(path.starts_with("profiles/rip-"));
        let query =
            "select sum(size), count(*), sum(dealloc_after is null) from allocations where size = 1009";
        assert_eq!(allo(&ended.folder, &["sql", path, query, "--csv"]).lines().nth(1), Some("5045,5,1"));
    }
}

fn failures() {
    let nowhere = allotrope::start(Config::new().path("/nowhere/at/all.allo"));
    assert!(nowhere.unwrap_err().to_string().contains("/nowhere/at/all.allo"));
    assert!(allotrope::dump("x.pb.gz").is_err());
    assert!(allotrope::generate_pprof().is_err());
    assert!(allotrope::thread_stats().is_err());
    std::fs::write("file", "").unwrap();
    let config = TrackerConfig { profile_dir: "file".into(), ..Default::default() };
    assert!(allotrope::enable_tracking(config).unwrap_err().to_string().starts_with("file: "));
    let profiler = allotrope::Profiler::builder().file_name("/nowhere/x.json").build();
    blocks(3, 10);
    assert_eq!(allotrope::HeapStats::get().total_bytes, 30, "numbers can be had all the same");
    drop(profiler);
}

fn look_at_failures(ended: &Ended) {
    ended.must_succeed();
    let said = ended.said();
    let (error, numbers) = said.split_once('\n').unwrap();
    assert!(error.starts_with("allo: error: cannot record to /nowhere/x.json.allo"), "{said}");
    assert_eq!(
        numbers,
        "allo: Total:     30 bytes in 3 blocks\n\
         allo: At t-gmax: 10 bytes in 1 blocks\n\
         allo: At t-end:  0 bytes in 0 blocks\n"
    );
}

/// A recording with a relative path stays where it began.
fn moving() {
    let folder = std::env::current_dir().unwrap();
    let recording = allotrope::start(Config::new().path("moved.allo")).unwrap();
    blocks(3, 1009);
    std::env::set_current_dir("/").unwrap();
    assert_eq!(allotrope::generate_pprof().unwrap()[..2], [0x1f, 0x8b]);
    recording.dump(folder.join("dumped.pb.gz")).unwrap();
    blocks(100_000, 10); // several slots of the file
    assert_eq!(recording.stop().unwrap(), folder.join("moved.allo"));
}

fn look_at_moving(ended: &Ended) {
    ended.must_succeed();
    ended.must_leave(&["dumped.pb.gz", "moved.allo"]);
    for (name, bytes) in [("dumped.pb.gz", 3 * 1009), ("moved.allo", 3 * 1009 + 1_000_000)] {
        let options =
            ["convert", "-q", "--to", "folded", "-M", "alloc_bytes", "-F", "=recording::block", name];
        let folded = allo(&ended.folder, &options);
        let found: u64 =
            folded.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(found, bytes, "{folded}");
    }
}
