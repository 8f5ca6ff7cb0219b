//! A crate with a test whose memory CI checks.

/// The numbers of a text, which are separated by commas.
pub fn parse(text: &str) -> Vec<i64> {
    text.split(',').filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn numbers_are_separated_by_commas() {
    assert_eq!(parse("1,2,3"), [1, 2, 3]);
}
