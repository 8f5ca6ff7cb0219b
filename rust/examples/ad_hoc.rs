//! Profiles the program's own events instead of allocations. Writes dhat-ad-hoc.json.

fn is_equal(left: &[u8], right: &[u8]) -> bool {
    allotrope::ad_hoc_event(left.len());
    left == right
}

fn main() {
    let _profiler = allotrope::Profiler::new_ad_hoc();
    let words = ["allocate", "allotrope", "alloy"];
    for word in words {
        is_equal(word.as_bytes(), b"allotrope");
    }
}
