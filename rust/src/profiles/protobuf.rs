//! The wire format of protocol buffers, as far as pprof needs it.

use crate::error::Error;

/// A field's value: a number, or the bytes of a string, of a message or of packed numbers.
pub enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// A message, field by field.
pub trait Message: Default {
    fn put_fields(&self, out: &mut Vec<u8>);
    fn take_field(&mut self, tag: u64, wire: Wire<'_>) -> Result<(), Error>;
}

/// A field of a message. Default values are not written.
pub trait Field {
    fn put(&self, tag: u64, out: &mut Vec<u8>);
    fn take(&mut self, wire: Wire<'_>) -> Result<(), Error>;
}

const NUMBER: u64 = 0;
const FIXED_64: u64 = 1;
const BYTES: u64 = 2;
const FIXED_32: u64 = 5;

fn broken(problem: &str) -> Error {
    Error::Failed(format!("not a pprof profile: {problem}"))
}

pub fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, Error> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or_else(|| broken("a number ends too early"))?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(broken("a number has more than 64 bits"))
}

fn take_bytes<'a>(bytes: &mut &'a [u8], len: u64) -> Result<&'a [u8], Error> {
    if len > bytes.len() as u64 {
        return Err(broken("a field is longer than the message"));
    }
    let (taken, rest) = bytes.split_at(len as usize);
    *bytes = rest;
    Ok(taken)
}

fn put_bytes(tag: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(tag << 3 | BYTES, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_message<M: Message>(tag: u64, message: &M, out: &mut Vec<u8>) {
    put_bytes(tag, &encode(message), out);
}

pub fn encode<M: Message>(message: &M) -> Vec<u8> {
    let mut out = Vec::new();
    message.put_fields(&mut out);
    out
}

pub fn decode<M: Message>(mut bytes: &[u8]) -> Result<M, Error> {
    let mut message = M::default();
    while !bytes.is_empty() {
        let key = take_varint(&mut bytes)?;
        let wire = match key & 7 {
            NUMBER => Wire::Number(take_varint(&mut bytes)?),
            BYTES => {
                let len = take_varint(&mut bytes)?;
                Wire::Bytes(take_bytes(&mut bytes, len)?)
            }
            // pprof has no such fields; those of later versions are skipped.
            FIXED_64 => {
                take_bytes(&mut bytes, 8)?;
                continue;
            }
            FIXED_32 => {
                take_bytes(&mut bytes, 4)?;
                continue;
            }
            _ => return Err(broken("unknown type of a field")),
        };
        message.take_field(key >> 3, wire)?;
    }
    Ok(message)
}

fn number(wire: Wire<'_>) -> Result<u64, Error> {
    match wire {
        Wire::Number(number) => Ok(number),
        Wire::Bytes(_) => Err(broken("a number was expected")),
    }
}

fn bytes(wire: Wire<'_>) -> Result<&[u8], Error> {
    match wire {
        Wire::Bytes(bytes) => Ok(bytes),
        Wire::Number(_) => Err(broken("a message or a string was expected")),
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn put(&self, tag: u64, out: &mut Vec<u8>) {
                if *self != <$type>::default() {
                    put_varint(tag << 3 | NUMBER, out);
                    put_varint(*self as u64, out);
                }
            }

            fn take(&mut self, wire: Wire<'_>) -> Result<(), Error> {
                *self = number(wire)? as $type;
                Ok(())
            }
        }

        impl Field for Vec<$type> {
            fn put(&self, tag: u64, out: &mut Vec<u8>) {
                let mut packed = Vec::new();
                for number in self {
                    put_varint(*number as u64, &mut packed);
                }
                if !packed.is_empty() {
                    put_bytes(tag, &packed, out);
                }
            }

            fn take(&mut self, wire: Wire<'_>) -> Result<(), Error> {
                match wire {
                    Wire::Number(number) => self.push(number as $type),
                    Wire::Bytes(mut packed) => {
                        while !packed.is_empty() {
                            self.push(take_varint(&mut packed)? as $type);
                        }
                    }
                }
                Ok(())
            }
        }
    )*};
}

numbers!(i64, u64);

impl Field for bool {
    fn put(&self, tag: u64, out: &mut Vec<u8>) {
        u64::from(*self).put(tag, out);
    }

    fn take(&mut self, wire: Wire<'_>) -> Result<(), Error> {
        *self = number(wire)? != 0;
        Ok(())
    }
}

impl Field for Vec<String> {
    fn put(&self, tag: u64, out: &mut Vec<u8>) {
        for text in self {
            put_bytes(tag, text.as_bytes(), out);
        }
    }

    fn take(&mut self, wire: Wire<'_>) -> Result<(), Error> {
        self.push(String::from_utf8_lossy(bytes(wire)?).into_owned());
        Ok(())
    }
}

impl<M: Message> Field for Vec<M> {
    fn put(&self, tag: u64, out: &mut Vec<u8>) {
        for message in self {
            put_message(tag, message, out);
        }
    }

    fn take(&mut self, wire: Wire<'_>) -> Result<(), Error> {
        self.push(decode(bytes(wire)?)?);
        Ok(())
    }
}

impl<M: Message> Field for Option<M> {
    fn put(&self, tag: u64, out: &mut Vec<u8>) {
        if let Some(message) = self {
            put_message(tag, message, out);
        }
    }

    fn take(&mut self, wire: Wire<'_>) -> Result<(), Error> {
        *self = Some(decode(bytes(wire)?)?);
        Ok(())
    }
}
