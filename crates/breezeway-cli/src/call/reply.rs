//! Conversion of the bytes of a message to JSON, by the IDL.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use breezeway_idl::model::{Field, Method, Schema, Type, TypeKind};
use breezeway_thrift::{DecodeError, Fault, Limits, Slice, Source, WireType, skip};
use serde_json::{Value, json};

use super::request::type_name;
use crate::thrift::text::{short_name, uuid};

/// Error of a message that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplyError {
    #[error("the reply cannot be read: {0}")]
    Message(#[from] DecodeError),
    #[error("the reply does not match the IDL: {place} is {found}, not {expected}")]
    Type { place: String, found: &'static str, expected: String },
    #[error("the reply does not match the IDL: {0} is not UTF-8; declare it as binary")]
    Text(String),
    #[error("the reply has no result, nor an exception that the IDL declares")]
    Nothing,
}

/// Result of a method.
pub(super) enum Outcome {
    Value(String),
    Void,
    /// The exception's name, and its fields.
    Thrown(String, String),
}

/// Reads the reply of a call.
pub(super) fn read(schema: &Schema, method: &Method, bytes: &[u8]) -> Result<Outcome, ReplyError> {
    let fields = method.reply().fields;
    let mut reader = Reader { schema, from: slice(bytes)?, place: "the reply".to_owned() };
    let mut outcome = None;
    while let Some((wire_type, id)) = reader.field_header()? {
        let Some(field) = fields.iter().find(|field| field.id == id) else {
            skip(wire_type, &mut reader.from)?;
            continue;
        };
        let mut text = String::new();
        reader.field(field, wire_type, &mut text)?;
        outcome = Some(match field.id {
            0 => Outcome::Value(text),
            _ => Outcome::Thrown(type_name(schema, &field.ty), text),
        });
    }
    reader.from.end()?;
    match (outcome, &method.result) {
        (Some(outcome), _) => Ok(outcome),
        (None, None) => Ok(Outcome::Void),
        (None, Some(_)) => Err(ReplyError::Nothing),
    }
}

/// Reads a stream's message.
pub(super) fn message(schema: &Schema, ty: &Type, bytes: &[u8]) -> Result<String, ReplyError> {
    let mut reader = Reader { schema, from: slice(bytes)?, place: "the message".to_owned() };
    let mut text = String::new();
    reader.value(ty, &mut text)?;
    reader.from.end()?;
    Ok(text)
}

/// The limits protect programs from peers; the user of the command has requested this message.
fn slice(bytes: &[u8]) -> Result<Slice<'_>, DecodeError> {
    Slice::within(Limits { size: usize::MAX, ..Limits::default() }, bytes)
}

struct Reader<'a> {
    schema: &'a Schema,
    from: Slice<'a>,
    /// Place in the message that is being read.
    place: String,
}

impl Reader<'_> {
    /// Returns the next field; None at the struct's end.
    fn field_header(&mut self) -> Result<Option<(WireType, i16)>, ReplyError> {
        let byte = self.from.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        let wire_type = self.wire_type(byte, 1)?;
        Ok(Some((wire_type, i16::from_be_bytes(self.from.array()?))))
    }

    fn field(
        &mut self,
        field: &Field,
        wire_type: WireType,
        to: &mut String,
    ) -> Result<(), ReplyError> {
        let before = std::mem::replace(&mut self.place, format!("field '{}'", field.name));
        self.check(&field.ty, wire_type)?;
        self.value(&field.ty, to)?;
        self.place = before;
        Ok(())
    }

    fn check(&self, ty: &Type, wire_type: WireType) -> Result<(), ReplyError> {
        if ty.kind.wire_type() == wire_type as u8 {
            return Ok(());
        }
        let expected = type_name(self.schema, ty);
        Err(ReplyError::Type { place: self.place.clone(), found: short_name(wire_type), expected })
    }

    fn value(&mut self, ty: &Type, to: &mut String) -> Result<(), ReplyError> {
        match &ty.kind {
            TypeKind::Struct(id) => self.structure(*id, to),
            TypeKind::List(of) | TypeKind::Set(of) => self.list(of, to),
            TypeKind::Map(key, item) => self.map(key, item, to),
            _ => {
                let value = self.scalar(ty)?;
                *to += &value.to_string();
                Ok(())
            }
        }
    }

    fn structure(
        &mut self,
        id: breezeway_idl::model::Id,
        to: &mut String,
    ) -> Result<(), ReplyError> {
        let schema = self.schema;
        let fields = schema.structure(id).map_or(&[][..], |found| &found.fields);
        self.from.enter()?;
        to.push('{');
        let mut is_first = true;
        while let Some((wire_type, id)) = self.field_header()? {
            let Some(field) = fields.iter().find(|field| field.id == id) else {
                skip(wire_type, &mut self.from)?;
                continue;
            };
            comma(&mut is_first, to);
            *to += &json!(field.name).to_string();
            to.push(':');
            self.field(field, wire_type, to)?;
        }
        self.from.leave();
        to.push('}');
        Ok(())
    }

    fn list(&mut self, of: &Type, to: &mut String) -> Result<(), ReplyError> {
        self.from.enter()?;
        let byte = self.from.byte()?;
        let count = self.from.count(1)?;
        if count > 0 {
            self.check(of, self.wire_type(byte, 5)?)?;
        }
        to.push('[');
        let mut is_first = true;
        for _ in 0..count {
            comma(&mut is_first, to);
            self.value(of, to)?;
        }
        self.from.leave();
        to.push(']');
        Ok(())
    }

    /// An object where keys are scalars, else pairs.
    fn map(&mut self, key: &Type, item: &Type, to: &mut String) -> Result<(), ReplyError> {
        self.from.enter()?;
        let bytes: [u8; 2] = self.from.array()?;
        let count = self.from.count(2)?;
        if count > 0 {
            self.check(key, self.wire_type(bytes[0], 6)?)?;
            self.check(item, self.wire_type(bytes[1], 5)?)?;
        }
        let is_object = is_scalar(key);
        to.push(if is_object { '{' } else { '[' });
        let mut is_first = true;
        for _ in 0..count {
            comma(&mut is_first, to);
            if is_object {
                *to += &name_of(self.scalar(key)?);
                to.push(':');
                self.value(item, to)?;
            } else {
                to.push('[');
                self.value(key, to)?;
                to.push(',');
                self.value(item, to)?;
                to.push(']');
            }
        }
        self.from.leave();
        to.push(if is_object { '}' } else { ']' });
        Ok(())
    }

    fn scalar(&mut self, ty: &Type) -> Result<Value, ReplyError> {
        let from = &mut self.from;
        Ok(match &ty.kind {
            TypeKind::Bool => json!(from.fixed::<bool>()?),
            TypeKind::I8 => json!(from.fixed::<i8>()?),
            TypeKind::I16 => json!(from.fixed::<i16>()?),
            TypeKind::I32 => json!(from.fixed::<i32>()?),
            TypeKind::I64 => json!(from.fixed::<i64>()?),
            TypeKind::Double => double(from.fixed()?),
            TypeKind::Uuid => json!(uuid(from.array()?)),
            TypeKind::Enum(id) => {
                let number: i32 = from.fixed()?;
                let values = self.schema.enum_values(*id);
                let known = values.iter().find(|value| value.number == number);
                known.map_or(json!(number), |value| json!(value.name))
            }
            TypeKind::Binary => {
                let length = from.length()?;
                json!(BASE64_STANDARD.encode(from.take(length)?))
            }
            _ => {
                let length = from.length()?;
                let text = str::from_utf8(from.take(length)?);
                json!(text.map_err(|_| ReplyError::Text(self.place.clone()))?)
            }
        })
    }

    /// Returns the type of a byte that was read `distance` bytes ago.
    fn wire_type(&self, byte: u8, distance: usize) -> Result<WireType, DecodeError> {
        let offset = self.from.offset() - distance;
        WireType::try_from(byte).map_err(|fault: Fault| DecodeError { offset, fault })
    }
}

fn comma(is_first: &mut bool, to: &mut String) {
    if !std::mem::take(is_first) {
        to.push(',');
    }
}

fn is_scalar(ty: &Type) -> bool {
    !matches!(
        ty.kind,
        TypeKind::Struct(_) | TypeKind::List(_) | TypeKind::Set(_) | TypeKind::Map(..)
    )
}

/// JSON has no words for the others.
fn double(number: f64) -> Value {
    match number {
        number if number.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        number => json!(number),
    }
}

/// The name of an object's member, in quotes.
fn name_of(key: Value) -> String {
    match key {
        Value::String(_) => key.to_string(),
        other => format!("\"{other}\""),
    }
}
