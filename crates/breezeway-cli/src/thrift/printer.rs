//! Printing the fields of a message while reading them.

use std::io::{self, Write};

use breezeway_idl::model::{Field, Schema, Type, TypeKind};
use breezeway_thrift::{DecodeError, Fault, Slice, Source, WireType};
use thiserror::Error;

use super::text::{long_name, short_name, uuid};
use crate::printable::bytes;

/// Lines of numbers are broken when they are as wide.
const LINE: usize = 100;

/// Reason why a dump ended early.
#[derive(Debug, Error)]
pub(crate) enum Problem {
    /// The bytes do not form a message.
    #[error("{0}")]
    Message(DecodeError),
    /// The envelope announces more bytes than there are.
    #[error("at byte {at}: the {what} ends here, too early")]
    CutOff { what: &'static str, at: usize },
    /// Another message follows, or something else.
    #[error("at byte {at}: {more} bytes follow the end of the message")]
    More { more: usize, at: usize },
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl From<DecodeError> for Problem {
    fn from(error: DecodeError) -> Self {
        Self::Message(error)
    }
}

impl Problem {
    /// Returns the same problem, for a message that begins later in the file.
    pub(crate) fn shifted(self, start: usize) -> Self {
        match self {
            Self::Message(error) => {
                Self::Message(DecodeError { offset: error.offset + start, ..error })
            }
            other => other,
        }
    }
}

/// Reads a message and prints it.
pub(crate) struct Printer<'a, W> {
    from: Slice<'a>,
    schema: Option<&'a Schema>,
    out: W,
    level: usize,
}

impl<'a, W: Write> Printer<'a, W> {
    pub(crate) fn new(from: Slice<'a>, schema: Option<&'a Schema>, out: W) -> Self {
        Self { from, schema, out, level: 0 }
    }

    /// The one struct of a message, and that nothing follows it.
    pub(crate) fn message(&mut self, fields: Option<&[Field]>) -> Result<(), Problem> {
        self.structure(fields)?;
        writeln!(self.out)?;
        Ok(self.from.end()?)
    }

    fn structure(&mut self, fields: Option<&[Field]>) -> Result<(), Problem> {
        self.from.enter()?;
        write!(self.out, "{{")?;
        self.level += 1;
        let mut empty = true;
        while let Some((wire_type, id)) = self.field_header()? {
            self.new_line()?;
            self.field(wire_type, id, fields)?;
            empty = false;
        }
        self.level -= 1;
        self.from.leave();
        self.close("}", empty)
    }

    /// Returns the next field; None at the struct's end.
    fn field_header(&mut self) -> Result<Option<(WireType, i16)>, Problem> {
        let byte = self.from.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        let wire_type = wire_type(byte, 1, &self.from)?;
        Ok(Some((wire_type, i16::from_be_bytes(self.from.array()?))))
    }

    fn field(
        &mut self,
        wire_type: WireType,
        id: i16,
        fields: Option<&[Field]>,
    ) -> Result<(), Problem> {
        let field = fields.and_then(|fields| fields.iter().find(|field| field.id == id));
        let ty = field.map(|field| &field.ty).filter(|ty| is(ty, wire_type));
        match (field, ty) {
            (Some(field), Some(_)) => write!(self.out, "{id} {}: ", field.name)?,
            (Some(field), None) => {
                write!(self.out, "{id} {} ({} here): ", field.name, short_name(wire_type))?;
            }
            (None, _) => write!(self.out, "{id} {}: ", short_name(wire_type))?,
        }
        self.value(wire_type, ty)
    }

    fn value(&mut self, wire_type: WireType, ty: Option<&Type>) -> Result<(), Problem> {
        match wire_type {
            WireType::Struct => {
                if let Some(name) =
                    self.schema.zip(ty).and_then(|(schema, ty)| long_name(schema, ty))
                {
                    write!(self.out, "{name} ")?;
                }
                self.structure(ty.zip(self.schema).and_then(|(ty, schema)| fields(schema, ty)))
            }
            WireType::List | WireType::Set => self.list(ty),
            WireType::Map => self.map(ty),
            _ => {
                let text = self.scalar(wire_type, ty)?;
                Ok(write!(self.out, "{text}")?)
            }
        }
    }

    fn scalar(&mut self, wire_type: WireType, ty: Option<&Type>) -> Result<String, Problem> {
        let from = &mut self.from;
        Ok(match wire_type {
            WireType::Bool => from.fixed::<bool>()?.to_string(),
            WireType::I8 => from.fixed::<i8>()?.to_string(),
            WireType::I16 => from.fixed::<i16>()?.to_string(),
            WireType::I64 => from.fixed::<i64>()?.to_string(),
            WireType::Double => format!("{:?}", from.fixed::<f64>()?),
            WireType::Uuid => uuid(from.array()?),
            WireType::I32 => {
                let number: i32 = from.fixed()?;
                self.schema.zip(ty).map_or_else(
                    || number.to_string(),
                    |(schema, ty)| enumerated(schema, ty, number),
                )
            }
            _ => {
                let length = from.length()?;
                let is_binary = ty.is_some_and(|ty| matches!(ty.kind, TypeKind::Binary));
                bytes(from.take(length)?, is_binary)
            }
        })
    }

    fn list(&mut self, ty: Option<&Type>) -> Result<(), Problem> {
        self.from.enter()?;
        let byte = self.from.byte()?;
        let count = self.from.count(1)?;
        write!(self.out, "[")?;
        if count > 0 {
            let element = wire_type(byte, 5, &self.from)?;
            let of = ty.and_then(|ty| match &ty.kind {
                TypeKind::List(of) | TypeKind::Set(of) => Some(&**of).filter(|of| is(of, element)),
                _ => None,
            });
            self.level += 1;
            if is_scalar(element) {
                self.scalars(element, of, count)?;
            } else {
                self.items(element, of, count)?;
            }
            self.level -= 1;
        }
        self.from.leave();
        self.close("]", count == 0 || is_scalar(wire_type(byte, 0, &self.from)?))
    }

    /// Elements that fit many into a line.
    fn scalars(
        &mut self,
        element: WireType,
        of: Option<&Type>,
        count: usize,
    ) -> Result<(), Problem> {
        let mut width = 0;
        for index in 0..count {
            let text = self.scalar(element, of)?;
            let comma = if index + 1 < count { "," } else { "" };
            if width > 0 && width + text.len() > LINE {
                self.new_line()?;
                width = 0;
            } else if index > 0 {
                write!(self.out, " ")?;
            }
            write!(self.out, "{text}{comma}")?;
            width += text.len() + 2;
        }
        Ok(())
    }

    fn items(&mut self, element: WireType, of: Option<&Type>, count: usize) -> Result<(), Problem> {
        for _ in 0..count {
            self.new_line()?;
            self.value(element, of)?;
        }
        Ok(())
    }

    fn map(&mut self, ty: Option<&Type>) -> Result<(), Problem> {
        self.from.enter()?;
        let [key, item] = self.from.array()?;
        let count = self.from.count(2)?;
        write!(self.out, "{{")?;
        self.level += 1;
        for _ in 0..count {
            let (key, item) = (wire_type(key, 0, &self.from)?, wire_type(item, 0, &self.from)?);
            let types = ty.and_then(|ty| match &ty.kind {
                TypeKind::Map(key, item) => Some((&**key, &**item)),
                _ => None,
            });
            self.new_line()?;
            self.value(key, types.map(|(ty, _)| ty).filter(|ty| is(ty, key)))?;
            write!(self.out, ": ")?;
            self.value(item, types.map(|(_, ty)| ty).filter(|ty| is(ty, item)))?;
        }
        self.level -= 1;
        self.from.leave();
        self.close("}", count == 0)
    }

    fn close(&mut self, mark: &str, same_line: bool) -> Result<(), Problem> {
        if !same_line {
            self.new_line()?;
        }
        Ok(write!(self.out, "{mark}")?)
    }

    fn new_line(&mut self) -> Result<(), Problem> {
        Ok(write!(self.out, "\n{:width$}", "", width = 2 * self.level)?)
    }
}

/// Returns the type of a byte that was read `distance` bytes ago.
fn wire_type(byte: u8, distance: usize, from: &Slice<'_>) -> Result<WireType, DecodeError> {
    let offset = from.offset() - distance;
    WireType::try_from(byte).map_err(|fault: Fault| DecodeError { offset, fault })
}

fn is(ty: &Type, wire_type: WireType) -> bool {
    ty.kind.wire_type() == wire_type as u8
}

fn is_scalar(wire_type: WireType) -> bool {
    !matches!(wire_type, WireType::Struct | WireType::Map | WireType::List | WireType::Set)
}

fn fields<'s>(schema: &'s Schema, ty: &Type) -> Option<&'s [Field]> {
    match ty.kind {
        TypeKind::Struct(id) => schema.structure(id).map(|found| found.fields.as_slice()),
        _ => None,
    }
}

/// An enum's number with its name, if it has one.
fn enumerated(schema: &Schema, ty: &Type, number: i32) -> String {
    let TypeKind::Enum(id) = ty.kind else { return number.to_string() };
    let known = schema.enum_values(id).iter().find(|value| value.number == number);
    known.map_or_else(|| number.to_string(), |value| format!("{} ({number})", value.name))
}
