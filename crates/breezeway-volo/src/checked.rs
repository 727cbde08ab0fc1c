//! A protocol of pilota for messages of peers that are not trusted.

use breezeway_rpc::thrift::{Slice, Source, WireType, skip};
use bytes::{Buf, Bytes};
use pilota::thrift::binary::TBinaryProtocol;
use pilota::thrift::{
    ProtocolException, ProtocolExceptionKind, TFieldIdentifier, TInputProtocol, TLengthProtocol,
    TListIdentifier, TMapIdentifier, TMessageIdentifier, TSetIdentifier, TStructIdentifier, TType,
    ThriftException,
};
use volo::FastStr;

/// Maximum nesting of structs and containers.
const DEPTH: usize = 64;
/// Maximum weight of the elements of a message. A number weighs 1, another element [`HEAVY`].
/// pilota reserves memory for all elements of a container before it reads the first.
const WEIGHT: usize = 8 << 20;
const HEAVY: usize = 8;

/// A [`TBinaryProtocol`] that checks what pilota does not: lengths and counts against the rest of
/// the message, texts for UTF-8, nesting, and the types of elements and of a union's fields. Where
/// pilota would panic or return an invalid `str`, it fails.
///
/// Generated code reads all elements of a container alike, so that the type of the first suffices.
pub(crate) struct Checked<'m> {
    inner: TBinaryProtocol<&'m mut Bytes>,
    /// Announced types of the next value and of the one behind it; `Stop` if none is announced.
    next: [TType; 2],
    /// For each open struct and container, the announced type of the value behind it.
    open: [TType; DEPTH],
    depth: usize,
    /// Weight that the elements of further containers may have.
    weight: usize,
}

impl<'m> Checked<'m> {
    pub(crate) fn new(message: &'m mut Bytes) -> Self {
        Self {
            inner: TBinaryProtocol::new(message, true),
            next: [TType::Stop; 2],
            open: [TType::Stop; DEPTH],
            depth: 0,
            weight: WEIGHT,
        }
    }

    fn left(&mut self) -> usize {
        self.inner.buf().remaining()
    }

    /// Checks that a value of this type may be read.
    #[inline(always)]
    fn value(&mut self, is: TType) -> Result<(), ThriftException> {
        let [next, behind] = self.next;
        self.next = [behind, TType::Stop];
        if next == is || next == TType::Stop {
            return Ok(());
        }
        Err(invalid(format_args!("a value of type {next:?} where the IDL has {is:?}")))
    }

    fn begin(&mut self, is: TType) -> Result<(), ThriftException> {
        self.value(is)?;
        let Some(place) = self.open.get_mut(self.depth) else {
            return Err(invalid(format_args!("the message is nested deeper than {DEPTH}")));
        };
        *place = self.next[0];
        self.next = [TType::Stop; 2];
        self.depth += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<(), ThriftException> {
        let open =
            self.depth.checked_sub(1).ok_or_else(|| invalid("an end without a beginning"))?;
        self.depth = open;
        self.next = [self.open[open], TType::Stop];
        Ok(())
    }

    /// Checks the number of elements of a container that has begun: values of these types.
    fn elements(&mut self, types: [TType; 2], count: usize) -> Result<(), ThriftException> {
        if count == 0 {
            return Ok(());
        }
        let sizes = types.map(min_size);
        let left = self.left();
        if sizes[0] == 0 || count > left / (sizes[0] + sizes[1]) {
            let announced = count as i32;
            return Err(invalid(format_args!("{announced} elements in {left} bytes")));
        }
        let weight = count * types.map(weight).iter().sum::<usize>();
        self.weight = self.weight.checked_sub(weight).ok_or_else(|| {
            let most = WEIGHT / HEAVY;
            invalid(format_args!("a message has at most {WEIGHT} numbers or {most} other elements"))
        })?;
        self.next = types;
        Ok(())
    }
}

/// Returns the number of bytes that a value has at least; 0 if the type is none of a value.
fn min_size(of: TType) -> usize {
    match of {
        TType::Stop | TType::Void => 0,
        TType::Bool | TType::I8 | TType::Struct => 1,
        TType::I16 => 2,
        TType::I32 | TType::Binary => 4,
        TType::List | TType::Set => 5,
        TType::Map => 6,
        TType::I64 | TType::Double => 8,
        TType::Uuid => 16,
    }
}

fn weight(of: TType) -> usize {
    match of {
        TType::Stop | TType::Void => 0,
        TType::Bool | TType::I8 | TType::I16 | TType::I32 | TType::I64 | TType::Double => 1,
        _ => HEAVY,
    }
}

#[cold]
pub(crate) fn invalid(reason: impl ToString) -> ThriftException {
    ProtocolException::new(ProtocolExceptionKind::InvalidData, reason.to_string()).into()
}

/// Reads scalars by the methods of the inner protocol.
macro_rules! scalars {
    ($($name:ident, $of:ident -> $value:ty;)*) => {
        $(#[inline]
        fn $name(&mut self) -> Result<$value, ThriftException> {
            self.value(TType::$of)?;
            self.inner.$name()
        })*
    };
}

impl TInputProtocol for Checked<'_> {
    type Buf = Bytes;

    scalars! {
        read_bool, Bool -> bool;
        read_byte, I8 -> u8;
        read_i8, I8 -> i8;
        read_i16, I16 -> i16;
        read_i32, I32 -> i32;
        read_i64, I64 -> i64;
        read_double, Double -> f64;
        read_uuid, Uuid -> [u8; 16];
    }

    fn read_message_begin(&mut self) -> Result<TMessageIdentifier, ThriftException> {
        Err(invalid("a message of a session has no header"))
    }

    fn read_message_end(&mut self) -> Result<(), ThriftException> {
        self.inner.read_message_end()
    }

    #[inline]
    fn read_struct_begin(&mut self) -> Result<Option<TStructIdentifier>, ThriftException> {
        self.begin(TType::Struct)?;
        self.inner.read_struct_begin()
    }

    #[inline]
    fn read_struct_end(&mut self) -> Result<(), ThriftException> {
        self.end()
    }

    #[inline]
    fn read_field_begin(&mut self) -> Result<TFieldIdentifier, ThriftException> {
        let field = self.inner.read_field_begin()?;
        // Generated code does not check the types of a union's fields.
        self.next = [field.field_type, TType::Stop];
        Ok(field)
    }

    #[inline]
    fn read_field_end(&mut self) -> Result<(), ThriftException> {
        self.inner.read_field_end()
    }

    #[inline]
    fn read_bytes(&mut self) -> Result<Bytes, ThriftException> {
        self.value(TType::Binary)?;
        let length = self.inner.read_i32()?;
        self.get_bytes(None, usize::try_from(length).unwrap_or(usize::MAX))
    }

    #[inline]
    fn read_bytes_vec(&mut self) -> Result<Vec<u8>, ThriftException> {
        self.read_bytes().map(Vec::from)
    }

    #[inline]
    fn read_string(&mut self) -> Result<String, ThriftException> {
        String::from_utf8(self.read_bytes_vec()?).map_err(|error| invalid(error.utf8_error()))
    }

    #[inline]
    fn read_faststr(&mut self) -> Result<FastStr, ThriftException> {
        FastStr::from_bytes(self.read_bytes()?).map_err(invalid)
    }

    #[inline]
    fn read_list_begin(&mut self) -> Result<TListIdentifier, ThriftException> {
        self.begin(TType::List)?;
        let list = self.inner.read_list_begin()?;
        self.elements([list.element_type, TType::Stop], list.size)?;
        Ok(list)
    }

    #[inline]
    fn read_list_end(&mut self) -> Result<(), ThriftException> {
        self.end()
    }

    #[inline]
    fn read_set_begin(&mut self) -> Result<TSetIdentifier, ThriftException> {
        self.begin(TType::Set)?;
        let set = self.inner.read_set_begin()?;
        self.elements([set.element_type, TType::Stop], set.size)?;
        Ok(set)
    }

    #[inline]
    fn read_set_end(&mut self) -> Result<(), ThriftException> {
        self.end()
    }

    #[inline]
    fn read_map_begin(&mut self) -> Result<TMapIdentifier, ThriftException> {
        self.begin(TType::Map)?;
        let map = self.inner.read_map_begin()?;
        self.elements([map.key_type, map.value_type], map.size)?;
        if map.size > 0 && min_size(map.value_type) == 0 {
            return Err(invalid(format_args!("{} values without a type", map.size)));
        }
        Ok(map)
    }

    #[inline]
    fn read_map_end(&mut self) -> Result<(), ThriftException> {
        self.end()
    }

    fn skip_till_depth(&mut self, of: TType, _: i8) -> Result<usize, ThriftException> {
        self.next = [TType::Stop; 2];
        let of = WireType::try_from(u8::from(of)).map_err(invalid)?;
        let message = self.inner.buf();
        let mut from = Slice::new(message).map_err(invalid)?;
        skip(of, &mut from).map_err(invalid)?;
        let length = from.offset();
        message.advance(length);
        Ok(length)
    }

    #[inline]
    fn get_bytes(
        &mut self,
        start: Option<*const u8>,
        length: usize,
    ) -> Result<Bytes, ThriftException> {
        let left = self.left();
        // With a start, it copies bytes that generated code has passed.
        if start.is_none() && length > left {
            return Err(invalid(format_args!("a value is longer than the {left} bytes left")));
        }
        self.inner.get_bytes(start, length)
    }

    #[inline]
    fn buf(&mut self) -> &mut Bytes {
        self.inner.buf()
    }
}

/// Passes the lengths of values on to the inner protocol.
macro_rules! lengths {
    ($($name:ident($($argument:ident: $of:ty),*);)*) => {
        impl TLengthProtocol for Checked<'_> {
            $(#[inline]
            fn $name(&mut self $(, $argument: $of)*) -> usize {
                self.inner.$name($($argument),*)
            })*
        }
    };
}

lengths! {
    message_begin_len(identifier: &TMessageIdentifier);
    message_end_len();
    struct_begin_len(identifier: &TStructIdentifier);
    struct_end_len();
    field_begin_len(field_type: TType, id: Option<i16>);
    field_end_len();
    field_stop_len();
    bool_len(value: bool);
    bytes_len(value: &[u8]);
    bytes_vec_len(value: &[u8]);
    byte_len(value: u8);
    uuid_len(value: [u8; 16]);
    i8_len(value: i8);
    i16_len(value: i16);
    i32_len(value: i32);
    i64_len(value: i64);
    double_len(value: f64);
    string_len(value: &str);
    faststr_len(value: &FastStr);
    list_begin_len(identifier: TListIdentifier);
    list_end_len();
    set_begin_len(identifier: TSetIdentifier);
    set_end_len();
    map_begin_len(identifier: TMapIdentifier);
    map_end_len();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_of_values_without_a_type_is_refused() {
        for (value_type, is_read) in [(11, true), (0, false), (1, false)] {
            let map = [8, value_type, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
            let mut map = Bytes::copy_from_slice(&map);
            let read = Checked::new(&mut map).read_map_begin();
            assert_eq!(read.is_ok(), is_read, "{value_type}");
        }
    }
}
