//! The assertion macros, with the names of std's.

/// Asserts a condition in a [profiler for tests](crate::ProfilerBuilder::testing). If it fails, the profile is
/// written before the panic. Allocations of the condition itself are not recorded.
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
///
/// let _profiler = allotrope::Profiler::builder().testing().build();
/// let boxed = Box::new(1);
/// allotrope::assert!(allotrope::HeapStats::get().total_blocks < 10);
/// allotrope::assert!(*boxed == 1, "boxed is {boxed}");
/// ```
#[macro_export]
macro_rules! assert {
    ($condition:expr $(,)?) => {
        $crate::assert_nothing_wrong(|| {
            if $condition {
                ::std::option::Option::None
            } else {
                ::std::option::Option::Some(::std::string::String::from(::std::stringify!($condition)))
            }
        })
    };
    ($condition:expr, $($message:tt)+) => {
        $crate::assert_nothing_wrong(|| {
            if $condition {
                ::std::option::Option::None
            } else {
                ::std::option::Option::Some(::std::format!(
                    "{}: {}",
                    ::std::stringify!($condition),
                    ::std::format_args!($($message)+)
                ))
            }
        })
    };
}

/// Asserts that two values are equal, like [`assert!`](crate::assert!).
///
/// ```
/// #[global_allocator]
/// static ALLOC: allotrope::Alloc = allotrope::Alloc;
///
/// let _profiler = allotrope::Profiler::builder().testing().build();
/// let sum: u64 = (0..10).sum();
/// allotrope::assert_eq!(allotrope::HeapStats::get().total_blocks, 0, "adding up to {sum}");
/// ```
#[macro_export]
macro_rules! assert_eq {
    ($left:expr, $right:expr $(,)?) => {
        $crate::assert_compared!($left, ==, $right, "")
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::assert_compared!($left, ==, $right, ": {}", ::std::format_args!($($message)+))
    };
}

/// Asserts that two values differ, like [`assert!`](crate::assert!).
///
/// ```
/// let _profiler = allotrope::Profiler::builder().ad_hoc().testing().build();
/// allotrope::ad_hoc_event(5);
/// allotrope::assert_ne!(allotrope::AdHocStats::get().total_events, 0);
/// ```
#[macro_export]
macro_rules! assert_ne {
    ($left:expr, $right:expr $(,)?) => {
        $crate::assert_compared!($left, !=, $right, "")
    };
    ($left:expr, $right:expr, $($message:tt)+) => {
        $crate::assert_compared!($left, !=, $right, ": {}", ::std::format_args!($($message)+))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! assert_compared {
    ($left:expr, $compare:tt, $right:expr, $($message:tt)+) => {
        $crate::assert_nothing_wrong(|| match (&$left, &$right) {
            (left, right) if *left $compare *right => ::std::option::Option::None,
            (left, right) => ::std::option::Option::Some(::std::format!(
                "`(left {} right)`\n  left: `{:?}`,\n right: `{:?}`{}",
                ::std::stringify!($compare),
                left,
                right,
                ::std::format_args!($($message)+)
            )),
        })
    };
}
