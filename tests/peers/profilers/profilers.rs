//! Strings, maps and shared pointers, with the profiler that a feature selects: `profilers ROUNDS FOLDER`.
//! The profile goes into the folder.

use std::collections::{BTreeMap, HashMap};
use std::hint::black_box;
use std::path::Path;
use std::rc::Rc;

#[cfg(feature = "dhat")]
#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

#[cfg(feature = "pprof-alloc")]
#[global_allocator]
static ALLOCATOR: pprof_alloc::PprofAlloc = pprof_alloc::PprofAlloc::new().with_pprof_sample_rate_from_env(1);

#[cfg(feature = "rheaper")]
#[global_allocator]
static ALLOCATOR: rheaper::Allocator<std::alloc::System> = rheaper::Allocator::from_allocator(std::alloc::System);

struct Node {
    name: String,
    parent: Option<Rc<Node>>,
}

fn chain(length: usize) -> Option<Rc<Node>> {
    (0..length).fold(None, |parent, i| Some(Rc::new(Node { name: format!("node {i} of a chain"), parent })))
}

fn count_words(text: &str) -> HashMap<String, usize> {
    let mut words = HashMap::new();
    for word in text.split(' ') {
        *words.entry(word.to_string()).or_insert(0) += 1;
    }
    words
}

fn text_of(round: usize) -> String {
    (0..4000).map(|i| format!("word{} ", (i * 7919 + round) % 997)).collect()
}

fn work(rounds: usize) -> usize {
    let mut kept = BTreeMap::new();
    let mut sum = 0;
    for round in 0..rounds {
        let words = count_words(&text_of(round));
        sum += words.len();
        let chain = chain(2000);
        sum += chain.as_ref().map_or(0, |node| node.name.len() + usize::from(node.parent.is_some()));
        if round % 4 == 0 {
            kept.insert(round, (words, chain));
        }
        if kept.len() > 8 {
            kept.pop_first();
        }
    }
    black_box(kept.len()) + sum
}

fn run(rounds: usize, folder: &Path) -> usize {
    #[cfg(feature = "dhat")]
    let _profiler = dhat::Profiler::builder().file_name(folder.join("dhat-heap.json")).build();
    #[cfg(feature = "rheaper")]
    let _path = rheaper::enable_tracking(rheaper::TrackerConfig {
        max_stack_depth: 30,
        max_trackers: 200,
        tracker_event_buffer_size: 5000,
        sample_rate: 1.0,
        profile_dir: folder.to_path_buf(),
    });
    let sum = work(rounds);
    #[cfg(feature = "rheaper")]
    rheaper::disable_tracking();
    #[cfg(feature = "pprof-alloc")]
    std::fs::write(folder.join("heap.pb.gz"), pprof_alloc::generate_pprof().expect("a profile")).expect("a file");
    let _ = folder;
    sum
}

fn main() {
    let mut words = std::env::args().skip(1);
    let rounds = words.next().and_then(|word| word.parse().ok()).unwrap_or(1);
    let folder = words.next().unwrap_or_else(|| ".".into());
    println!("{}", run(rounds, Path::new(&folder)));
}
