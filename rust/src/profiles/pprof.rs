//! The messages of the pprof format, with the names of its `profile.proto`. Texts are indexes into
//! [`Profile::string_table`].

use super::protobuf::{self, Field, Message, Wire};
use crate::error::Error;

/// Defines a message: each field with its number.
macro_rules! message {
    ($(#[$about:meta])* $name:ident { $($(#[$meaning:meta])* $tag:literal $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$meaning])* pub $field: $type,)*
        }

        impl Message for $name {
            fn put_fields(&self, out: &mut Vec<u8>) {
                $(Field::put(&self.$field, $tag, out);)*
            }

            fn take_field(&mut self, tag: u64, wire: Wire<'_>) -> Result<(), Error> {
                match tag {
                    $($tag => Field::take(&mut self.$field, wire),)*
                    _ => Ok(()),
                }
            }
        }
    };
}

message! {
    /// A profile.
    Profile {
        /// The meaning of each value of a sample.
        1 sample_type: Vec<ValueType>,
        /// Stacks with their values.
        2 sample: Vec<Sample>,
        /// Mapped files; the first is the program.
        3 mapping: Vec<Mapping>,
        /// Places in the code.
        4 location: Vec<Location>,
        /// Functions.
        5 function: Vec<Function>,
        /// All texts; the first is empty.
        6 string_table: Vec<String>,
        /// Frames to drop, as a regular expression.
        7 drop_frames: i64,
        /// Frames to keep all the same.
        8 keep_frames: i64,
        /// Nanoseconds since 1970.
        9 time_nanos: i64,
        /// Nanoseconds.
        10 duration_nanos: i64,
        /// The unit of the sampling interval.
        11 period_type: Option<ValueType>,
        /// The sampling interval; 1: not sampled.
        12 period: i64,
        /// Texts for people.
        13 comment: Vec<i64>,
        /// The name of the sample type that is shown first.
        14 default_sample_type: i64,
        /// A page about the profile.
        15 doc_url: i64,
    }
}

message! {
    /// A name and a unit.
    #[derive(Copy)]
    ValueType {
        /// The name.
        1 r#type: i64,
        /// The unit.
        2 unit: i64,
    }
}

message! {
    /// A stack with one value per sample type.
    Sample {
        /// Ids of locations, the innermost first.
        1 location_id: Vec<u64>,
        /// The values.
        2 value: Vec<i64>,
        /// Labels.
        3 label: Vec<Label>,
    }
}

message! {
    /// A label of a sample: a text or a number.
    #[derive(Copy)]
    Label {
        /// The key.
        1 key: i64,
        /// The text; 0 if it is a number.
        2 str: i64,
        /// The number.
        3 num: i64,
        /// The number's unit.
        4 num_unit: i64,
    }
}

message! {
    /// A mapped file.
    #[derive(Copy)]
    Mapping {
        /// Its id, not 0.
        1 id: u64,
        /// The first address.
        2 memory_start: u64,
        /// The address after the last.
        3 memory_limit: u64,
        /// The first address's offset in the file.
        4 file_offset: u64,
        /// The path.
        5 filename: i64,
        /// The build-id in hexadecimal digits.
        6 build_id: i64,
        /// Locations have functions.
        7 has_functions: bool,
        /// Functions have files.
        8 has_filenames: bool,
        /// Locations have lines.
        9 has_line_numbers: bool,
        /// Locations have inlined calls.
        10 has_inline_frames: bool,
    }
}

message! {
    /// A place in the code.
    Location {
        /// Its id, not 0.
        1 id: u64,
        /// The mapped file; 0: unknown.
        2 mapping_id: u64,
        /// The address; 0: unknown.
        3 address: u64,
        /// Calls inlined here, the innermost first, and the function that contains them.
        4 line: Vec<Line>,
        /// The linker merged several functions.
        5 is_folded: bool,
    }
}

message! {
    /// A line of a function.
    #[derive(Copy)]
    Line {
        /// The function's id.
        1 function_id: u64,
        /// The line in the source.
        2 line: i64,
        /// The column.
        3 column: i64,
    }
}

message! {
    /// A function.
    #[derive(Copy)]
    Function {
        /// Its id, not 0.
        1 id: u64,
        /// The readable name.
        2 name: i64,
        /// The linker's name.
        3 system_name: i64,
        /// The source file.
        4 filename: i64,
        /// The line at which it begins.
        5 start_line: i64,
    }
}

impl Profile {
    /// Encodes the profile as a protocol buffer, without compression.
    pub fn encode_to_vec(&self) -> Vec<u8> {
        protobuf::encode(self)
    }

    /// Decodes a protocol buffer that is not compressed.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        protobuf::decode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Profile {
        Profile {
            sample_type: vec![ValueType { r#type: 1, unit: 2 }],
            sample: vec![Sample {
                location_id: vec![1, 300],
                value: vec![-1, i64::MAX],
                label: vec![Label { key: 1, num: -5, ..Default::default() }],
            }],
            location: vec![Location {
                id: 300,
                address: u64::MAX,
                line: vec![Line { function_id: 7, line: 12, column: 3 }, Line::default()],
                is_folded: true,
                ..Default::default()
            }],
            string_table: vec!["".into(), "µ".into()],
            period_type: Some(ValueType::default()),
            comment: vec![0, 1],
            ..Default::default()
        }
    }

    #[test]
    fn a_decoded_profile_equals_the_encoded_one() {
        assert_eq!(Profile::decode(&example().encode_to_vec()).unwrap(), example());
        assert_eq!(Profile::decode(&[]).unwrap(), Profile::default());
    }

    #[test]
    fn a_cut_profile_fails_or_is_shorter() {
        let whole = example().encode_to_vec();
        for len in 0..whole.len() {
            if let Ok(cut) = Profile::decode(&whole[..len]) {
                assert_ne!(cut, example());
            }
        }
    }

    #[test]
    fn unknown_fields_are_skipped() {
        let mut bytes = example().encode_to_vec();
        // Fields 100 of all four types.
        bytes.extend([0xa0, 6, 1, 0xa1, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0xa2, 6, 1, 0, 0xa5, 6, 0, 0, 0, 0]);
        assert_eq!(Profile::decode(&bytes).unwrap(), example());
        assert!(Profile::decode(&[0xa3, 6]).is_err());
    }
}
