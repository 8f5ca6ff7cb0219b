//! Profiles of a program's own making: stacks of addresses with values, written in the pprof format.

use crate::profiles::library;
use std::fmt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

pub use super::mapped_files::mappings;

/// A stack with one value per sample type.
#[derive(Clone, Debug)]
pub struct WeightedStack {
    /// Addresses of calls in this process, the innermost first: return addresses minus 1. Zeros are skipped.
    pub addrs: Vec<u64>,
    /// The values.
    pub values: Vec<i64>,
}

/// A mapped file.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The first address.
    pub memory_start: usize,
    /// The address after the last.
    pub memory_end: usize,
    /// The first address's offset in the file.
    pub file_offset: u64,
    /// The path.
    pub pathname: PathBuf,
    /// The build-id; profiles with build-ids can be symbolized elsewhere.
    pub build_id: Option<BuildId>,
}

/// The build-id of a program or library.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BuildId(pub Vec<u8>);

impl fmt::Display for BuildId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// Stacks with values.
///
/// ```
/// use allotrope::pprof_alloc::{mappings, StackProfile, WeightedStack};
///
/// fn parse() {}
///
/// let mut profile = StackProfile { mappings: mappings(), ..Default::default() };
/// profile.push_stack(WeightedStack { addrs: vec![parse as *const () as u64 + 1], values: vec![2, 100] }, Some("GET /"));
/// let gzipped = profile.to_pprof_with_period(
///     &[("alloc_objects", "count"), ("alloc_space", "bytes")],
///     ("space", "bytes"),
///     1,
///     Some("request".to_string()),
/// );
/// assert_eq!(gzipped[..2], [0x1f, 0x8b]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct StackProfile {
    /// The annotations of stacks, each once.
    pub annotations: Vec<String>,
    /// The stacks, with the index of an annotation.
    pub stacks: Vec<(WeightedStack, Option<usize>)>,
    /// The mapped files that the addresses are in; see [`mappings`].
    pub mappings: Vec<Mapping>,
}

impl StackProfile {
    /// Adds a stack, perhaps with an annotation, which becomes a label.
    pub fn push_stack(&mut self, stack: WeightedStack, annotation: Option<&str>) {
        let index = annotation.map(|text| self.annotation(text));
        self.stacks.push((stack, index));
    }

    fn annotation(&mut self, text: &str) -> usize {
        let known = self.annotations.iter().position(|known| known == text);
        known.unwrap_or_else(|| {
            self.annotations.push(text.to_string());
            self.annotations.len() - 1
        })
    }

    /// The stacks with their annotations.
    pub fn iter(&self) -> StackProfileIter<'_> {
        StackProfileIter { profile: self, next: 0 }
    }

    /// Writes gzipped pprof. Each sample type is a name and a unit; the last one is shown first. Annotations become labels
    /// with the key `anno_key` (default: `annotation`). Addresses get the names of the files in `mappings`. Stacks that
    /// are equal become one sample.
    ///
    /// # Panics
    ///
    /// If there is no sample type, if a stack does not have one value for each, or if memory is short.
    pub fn to_pprof_with_period(
        &self,
        sample_types: &[(&str, &str)],
        period_type: (&str, &str),
        period: i64,
        anno_key: Option<String>,
    ) -> Vec<u8> {
        assert!(!sample_types.is_empty(), "pprof needs at least one sample type");
        for (stack, _) in &self.stacks {
            let count = stack.values.len();
            assert_eq!(count, sample_types.len(), "each sample must provide one value per sample type");
        }
        let key = anno_key.as_deref().unwrap_or("annotation");
        let built = self.build(sample_types, period_type, period, key);
        built.and_then(|profile| profile.gzipped_pprof()).unwrap_or_else(|error| panic!("allo: {error}"))
    }

    fn build(
        &self,
        sample_types: &[(&str, &str)],
        period_type: (&str, &str),
        period: i64,
        key: &str,
    ) -> Result<library::Profile, crate::Error> {
        let mut profile = library::Profile::new()?;
        let mut last_metric = 0;
        for (name, unit) in sample_types {
            last_metric = profile.add_metric(name, unit)?;
        }
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        profile.set_meta(period_type, period, since_1970.as_nanos() as i64, last_metric)?;
        for mapping in &self.mappings {
            profile.add_module(&library::Module {
                path: &mapping.pathname,
                build_id: mapping.build_id.as_ref().map_or(&[], |id| &id.0),
                start: mapping.memory_start as u64,
                limit: mapping.memory_end as u64,
                offset: mapping.file_offset,
            })?;
        }
        for (stack, annotation) in self.iter() {
            profile.add_sample(&stack.addrs, annotation.map(|text| (key, text)), &stack.values)?;
        }
        profile.add_names()?;
        Ok(profile)
    }
}

/// The stacks of a [`StackProfile`] with their annotations.
pub struct StackProfileIter<'a> {
    profile: &'a StackProfile,
    next: usize,
}

impl<'a> Iterator for StackProfileIter<'a> {
    type Item = (&'a WeightedStack, Option<&'a str>);

    fn next(&mut self) -> Option<Self::Item> {
        let (stack, annotation) = self.profile.stacks.get(self.next)?;
        self.next += 1;
        Some((stack, annotation.map(|index| self.profile.annotations[index].as_str())))
    }
}
