//! JSON text: a value, its parser and its printer.

use std::fmt;
use std::io;

/// The deepest nesting that is read: the parser calls itself once per level.
const DEPTH_MAX: usize = 128;

/// The reason why a text is not the JSON that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    /// From 1; 0: unknown.
    line: usize,
    column: usize,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Error { message: message.into(), line: 0, column: 0 }
    }

    /// The line, from 1; 0 if it is unknown.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The byte in the line, from 1; 0 if it is unknown.
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)?;
        if self.line > 0 {
            write!(out, " at line {} column {}", self.line, self.column)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, error)
    }
}

/// A JSON value. Numbers are kept as text, because 64-bit integers do not fit into an `f64`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// Members in the order of the text.
    Object(Vec<(String, Value)>),
}

/// A type that is made of a JSON value.
pub trait FromJson: Sized {
    /// Converts the value; fails if it has another shape.
    fn from_json(value: Value) -> Result<Self, Error>;
}

/// A type that is written as a JSON value.
pub trait ToJson {
    /// Converts to a value.
    fn to_json(&self) -> Value;
}

impl FromJson for Value {
    fn from_json(value: Value) -> Result<Self, Error> {
        Ok(value)
    }
}

impl ToJson for Value {
    fn to_json(&self) -> Value {
        self.clone()
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl FromJson for $type {
            fn from_json(value: Value) -> Result<Self, Error> {
                match value {
                    Value::Number(digits) => digits.parse().map_err(|_| {
                        Error::new(format!("expected a number of type {}, found {digits}", stringify!($type)))
                    }),
                    other => Err(other.is_no("a number")),
                }
            }
        }

        impl ToJson for $type {
            fn to_json(&self) -> Value {
                Value::Number(self.to_string())
            }
        }
    )*};
}

integers!(u32, u64, usize);

impl FromJson for bool {
    fn from_json(value: Value) -> Result<Self, Error> {
        match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(other.is_no("true or false")),
        }
    }
}

impl ToJson for bool {
    fn to_json(&self) -> Value {
        Value::Bool(*self)
    }
}

impl FromJson for String {
    fn from_json(value: Value) -> Result<Self, Error> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(other.is_no("a string")),
        }
    }
}

impl ToJson for str {
    fn to_json(&self) -> Value {
        Value::String(self.to_string())
    }
}

impl ToJson for String {
    fn to_json(&self) -> Value {
        Value::String(self.clone())
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn from_json(value: Value) -> Result<Self, Error> {
        match value {
            Value::Array(items) => items.into_iter().map(T::from_json).collect(),
            other => Err(other.is_no("a list")),
        }
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        Value::Array(self.iter().map(T::to_json).collect())
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

impl Value {
    fn is_no(&self, expected: &str) -> Error {
        let found = match self {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Error::new(format!("expected {expected}, found {found}"))
    }
}

/// The members of an object, each taken once.
#[cfg(feature = "profiles")]
pub(crate) struct Members(Vec<(String, Value)>);

#[cfg(feature = "profiles")]
impl Members {
    pub(crate) fn of(value: Value) -> Result<Self, Error> {
        match value {
            Value::Object(members) => Ok(Members(members)),
            other => Err(other.is_no("an object")),
        }
    }

    pub(crate) fn take<T: FromJson>(&mut self, name: &str) -> Result<T, Error> {
        self.take_or(name, Err(Error::new(format!("the member `{name}` is missing"))))
    }

    pub(crate) fn take_or<T: FromJson>(&mut self, name: &str, missing: Result<T, Error>) -> Result<T, Error> {
        let at = match self.0.iter().position(|(member, _)| member == name) {
            Some(at) => at,
            None => return missing,
        };
        T::from_json(self.0.swap_remove(at).1).map_err(|error| Error::new(format!("`{name}`: {error}")))
    }
}

/// Makes an object of members.
pub(crate) fn object(members: Vec<(&str, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// Parses a text.
pub fn from_str<T: FromJson>(text: &str) -> Result<T, Error> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.whole().map_err(|message| parser.error(message))?;
    T::from_json(value)
}

/// Parses a text in UTF-8.
pub fn from_slice<T: FromJson>(bytes: &[u8]) -> Result<T, Error> {
    from_str(std::str::from_utf8(bytes).map_err(|error| Error::new(error.to_string()))?)
}

/// Reads to the end and parses the text.
pub fn from_reader<R: io::Read, T: FromJson>(mut reader: R) -> Result<T, Error> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| Error::new(error.to_string()))?;
    from_slice(&bytes)
}

/// Writes one line.
pub fn to_string<T: ToJson + ?Sized>(value: &T) -> Result<String, Error> {
    let mut out = String::new();
    print(&value.to_json(), None, &mut out);
    Ok(out)
}

/// Writes a line per value, indented by two spaces.
pub fn to_string_pretty<T: ToJson + ?Sized>(value: &T) -> Result<String, Error> {
    let mut out = String::new();
    print(&value.to_json(), Some(0), &mut out);
    Ok(out)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

type Parsed<T> = Result<T, String>;

impl Parser<'_> {
    fn error(&self, message: String) -> Error {
        let before = &self.text.as_bytes()[..self.at.min(self.text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        Error {
            message,
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            column: before.len() - line_start + 1,
        }
    }

    fn whole(&mut self) -> Parsed<Value> {
        let value = self.value(0)?;
        match self.peek() {
            None => Ok(value),
            Some(_) => Err("expected the end of the text".into()),
        }
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let skipped = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.at += skipped;
        rest.get(skipped).copied()
    }

    fn skip(&mut self, wanted: u8) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, wanted: u8) -> Parsed<()> {
        if self.skip(wanted) {
            Ok(())
        } else {
            Err(format!("expected `{}`", wanted as char))
        }
    }

    fn value(&mut self, depth: usize) -> Parsed<Value> {
        if depth == DEPTH_MAX {
            return Err(format!("more than {DEPTH_MAX} nested lists and objects"));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::String),
            Some(b'-' | b'0'..=b'9') => Ok(self.number()),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err("expected a value".into()),
            None => Err("the text ends too early".into()),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Parsed<Value> {
        if !self.text[self.at..].starts_with(word) {
            return Err(format!("expected `{word}`"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Value {
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        let len = rest.bytes().take_while(is_part).count();
        self.at += len;
        Value::Number(rest[..len].to_string())
    }

    fn array(&mut self, depth: usize) -> Parsed<Value> {
        let mut items = Vec::new();
        self.expect(b'[')?;
        if self.skip(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.skip(b']') {
                return Ok(Value::Array(items));
            }
            self.expect(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Parsed<Value> {
        let mut members = Vec::new();
        self.expect(b'{')?;
        if self.skip(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.peek();
            let name = self.string()?;
            self.expect(b':')?;
            members.push((name, self.value(depth + 1)?));
            if self.skip(b'}') {
                return Ok(Value::Object(members));
            }
            self.expect(b',')?;
        }
    }

    fn string(&mut self) -> Parsed<String> {
        let mut text = String::new();
        self.expect(b'"')?;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|letter| letter == '"' || letter == '\\').ok_or("a string does not end")?;
            text.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] == b'"' {
                return Ok(text);
            }
            text.push(self.escape()?);
        }
    }

    /// The letter of an escape, after its backslash.
    fn escape(&mut self) -> Parsed<char> {
        let kind = *self.text.as_bytes().get(self.at).ok_or("a string does not end")?;
        self.at += 1;
        Ok(match kind {
            b'"' | b'\\' | b'/' => kind as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err("unknown escape in a string".into()),
        })
    }

    /// Letters above 0xffff are two escapes. A half of one becomes U+FFFD.
    fn unicode(&mut self) -> Parsed<char> {
        let first = self.hex()?;
        if (0xd800..0xdc00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                let letter = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Parsed<u32> {
        let digits = self.text.get(self.at..self.at + 4).ok_or("an escape is incomplete")?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("an escape needs four hexadecimal digits".into());
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).map_err(|error| error.to_string())
    }
}

fn print_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Begins an item of a list or object; `indent` is the level of the list, if lines are indented.
fn print_separator(is_first: bool, indent: Option<usize>, out: &mut String) {
    if !is_first {
        out.push(',');
    }
    if let Some(level) = indent {
        out.push('\n');
        out.push_str(&"  ".repeat(level + 1));
    }
}

fn print_end(end: char, is_empty: bool, indent: Option<usize>, out: &mut String) {
    if let (false, Some(level)) = (is_empty, indent) {
        out.push('\n');
        out.push_str(&"  ".repeat(level));
    }
    out.push(end);
}

fn print(value: &Value, indent: Option<usize>, out: &mut String) {
    let inner = indent.map(|level| level + 1);
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(digits) => out.push_str(digits),
        Value::String(text) => print_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                print_separator(index == 0, indent, out);
                print(item, inner, out);
            }
            print_end(']', items.is_empty(), indent, out);
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                print_separator(index == 0, indent, out);
                print_text(name, out);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                print(member, inner, out);
            }
            print_end('}', members.is_empty(), indent, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> String {
        to_string(&from_str::<Value>(text).unwrap()).unwrap()
    }

    #[test]
    fn values_are_printed_as_they_were_read() {
        for text in
            ["null", "true", "[]", "{}", "[1,-2.5e9,18446744073709551615]", r#"{"a":[{"b":"c"}],"d":{}}"#]
        {
            assert_eq!(again(text), text);
        }
        assert_eq!(again(" [ 1 ,\n{ \"a\" : false } ] "), r#"[1,{"a":false}]"#);
    }

    #[test]
    fn escapes_become_letters() {
        assert_eq!(from_str::<String>(r#""\u00b5s \ud83d\ude00 \"\\\/\n""#).unwrap(), "µs 😀 \"\\/\n");
        assert_eq!(from_str::<String>(r#""\ud83d\u0041""#).unwrap(), "\u{fffd}A");
        assert_eq!(again(r#""\u0001\t""#), r#""\u0001\t""#);
    }

    #[test]
    fn pretty_text_has_a_line_per_value() {
        let value: Value = from_str(r#"{"a":[1,2],"b":[]}"#).unwrap();
        assert_eq!(to_string_pretty(&value).unwrap(), "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": []\n}");
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        let deep = "[".repeat(1000);
        for (text, message) in [
            ("", "the text ends too early at line 1 column 1"),
            ("{\n\"a\" 1}", "expected `:` at line 2 column 5"),
            ("[1,]", "expected a value at line 1 column 4"),
            ("[1] 2", "expected the end of the text at line 1 column 5"),
            ("\"ab", "a string does not end at line 1 column 2"),
            ("\"\\x\"", "unknown escape in a string at line 1 column 4"),
            ("\"\\u12\"", "an escape is incomplete at line 1 column 4"),
            ("nul", "expected `null` at line 1 column 1"),
            (&deep, "more than 128 nested lists and objects at line 1 column 129"),
        ] {
            assert_eq!(from_str::<Value>(text).unwrap_err().to_string(), message, "{text}");
        }
        assert_eq!(
            from_str::<u32>("4294967296").unwrap_err().to_string(),
            "expected a number of type u32, found 4294967296"
        );
        assert_eq!(from_str::<bool>("[]").unwrap_err().to_string(), "expected true or false, found a list");
    }
}
