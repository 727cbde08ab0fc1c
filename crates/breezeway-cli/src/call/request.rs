//! Conversion of JSON to the bytes of a message, by the IDL.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use breezeway_idl::model::{self, Field, Requiredness, Schema, Shape, Struct, Type, TypeKind};
use serde_json::{Map, Value, json};

use super::method::all;

/// Error of a value, with its place in the text.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", if path.is_empty() { "the JSON" } else { path })]
pub(super) struct JsonError {
    path: String,
    problem: String,
}

/// The bytes of a struct.
pub(super) fn encode(schema: &Schema, of: &Struct, json: &Value) -> Result<Vec<u8>, JsonError> {
    let mut encoder = Encoder { schema, bytes: Vec::new(), path: Vec::new() };
    encoder.structure(of, "the arguments", json)?;
    Ok(encoder.bytes)
}

/// The bytes of a value that is a struct.
pub(super) fn encode_message(
    schema: &Schema,
    ty: &Type,
    json: &Value,
) -> Result<Vec<u8>, JsonError> {
    let mut encoder = Encoder { schema, bytes: Vec::new(), path: Vec::new() };
    encoder.value(ty, json)?;
    Ok(encoder.bytes)
}

struct Encoder<'s> {
    schema: &'s Schema,
    bytes: Vec<u8>,
    path: Vec<String>,
}

impl Encoder<'_> {
    fn structure(&mut self, of: &Struct, name: &str, json: &Value) -> Result<(), JsonError> {
        let Value::Object(object) = json else { return Err(self.expected(name, json)) };
        self.check_names(of, name, object)?;
        for field in &of.fields {
            let preset;
            let value = match object.get(&field.name).filter(|value| !value.is_null()) {
                Some(value) => value,
                None if field.requiredness == Requiredness::Optional => continue,
                None => match &field.default {
                    Some(default) => {
                        preset = as_json(self.schema, default);
                        &preset
                    }
                    None if field.requiredness == Requiredness::Required => {
                        let problem = format!("{name} needs field '{}'", field.name);
                        return Err(self.error(problem));
                    }
                    None => continue,
                },
            };
            self.bytes.push(field.ty.kind.wire_type());
            self.bytes.extend(field.id.to_be_bytes());
            self.inside(dotted(&self.path, &field.name), |this| this.value(&field.ty, value))?;
        }
        self.bytes.push(0);
        Ok(())
    }

    /// Refuses unknown names, so that no given value is left out silently.
    fn check_names(
        &self,
        of: &Struct,
        name: &str,
        object: &Map<String, Value>,
    ) -> Result<(), JsonError> {
        let known = |key: &str| of.fields.iter().any(|field| field.name == key);
        if let Some(unknown) = object.keys().find(|key| !known(key)) {
            let names: Vec<_> = of.fields.iter().map(|field: &Field| field.name.as_str()).collect();
            let problem =
                format!("unknown field '{unknown}' of {name}; there are: {}", all(&names));
            return Err(self.error(problem));
        }
        let given = object.values().filter(|value| !value.is_null()).count();
        if of.shape == Shape::Union && given != 1 {
            let problem = format!("expected one field of union {name}, found {given}");
            return Err(self.error(problem));
        }
        Ok(())
    }

    fn value(&mut self, ty: &Type, json: &Value) -> Result<(), JsonError> {
        match &ty.kind {
            TypeKind::Bool => match json {
                Value::Bool(value) => self.bytes.push(u8::from(*value)),
                _ => return Err(self.expected("bool", json)),
            },
            TypeKind::I8 => self.integer("i8", json, i8::to_be_bytes)?,
            TypeKind::I16 => self.integer("i16", json, i16::to_be_bytes)?,
            TypeKind::I32 => self.integer("i32", json, i32::to_be_bytes)?,
            TypeKind::I64 => self.integer("i64", json, i64::to_be_bytes)?,
            TypeKind::Double => {
                let number = double(json).ok_or_else(|| self.expected("double", json))?;
                self.bytes.extend(number.to_be_bytes());
            }
            TypeKind::String => match json {
                Value::String(text) => self.text(text.as_bytes())?,
                _ => return Err(self.expected("string", json)),
            },
            TypeKind::Binary => {
                let bytes = json.as_str().and_then(|text| BASE64_STANDARD.decode(text).ok());
                let bytes = bytes.ok_or_else(|| self.expected("binary (in base64)", json))?;
                self.text(&bytes)?;
            }
            TypeKind::Uuid => {
                let bytes = json.as_str().and_then(uuid);
                self.bytes.extend(bytes.ok_or_else(|| self.expected("uuid", json))?);
            }
            TypeKind::Enum(id) => self.enumerated(*id, json)?,
            TypeKind::Struct(id) => {
                let (schema, id) = (self.schema, *id);
                let Some(of) = schema.structure(id) else { unreachable!("the IDL is resolved") };
                self.structure(of, &schema.definition(id).name, json)?;
            }
            TypeKind::List(of) | TypeKind::Set(of) => self.list(ty, of, json)?,
            TypeKind::Map(key, item) => self.map(ty, key, item, json)?,
        }
        Ok(())
    }

    fn integer<T, const N: usize>(
        &mut self,
        name: &str,
        json: &Value,
        bytes: impl FnOnce(T) -> [u8; N],
    ) -> Result<(), JsonError>
    where
        T: TryFrom<i64>,
    {
        let number = integer(json).and_then(|number| T::try_from(number).ok());
        self.bytes.extend(bytes(number.ok_or_else(|| self.expected(name, json))?));
        Ok(())
    }

    fn enumerated(&mut self, id: model::Id, json: &Value) -> Result<(), JsonError> {
        let values = self.schema.enum_values(id);
        let named = json.as_str().and_then(|name| values.iter().find(|value| value.name == name));
        let number = match (named, integer(json).map(i32::try_from)) {
            (Some(value), _) => value.number,
            (None, Some(Ok(number))) => number,
            _ => {
                let names: Vec<_> = values.iter().map(|value| value.name.as_str()).collect();
                let name = &self.schema.definition(id).name;
                return Err(self.expected(&format!("{name} ({})", all(&names)), json));
            }
        };
        self.bytes.extend(number.to_be_bytes());
        Ok(())
    }

    fn list(&mut self, ty: &Type, of: &Type, json: &Value) -> Result<(), JsonError> {
        let Value::Array(items) = json else {
            return Err(self.expected(&type_name(self.schema, ty), json));
        };
        self.bytes.push(of.kind.wire_type());
        self.count(items.len())?;
        for (index, item) in items.iter().enumerate() {
            self.inside(format!("[{index}]"), |this| this.value(of, item))?;
        }
        Ok(())
    }

    /// An object, or, as keys may be anything, an array of pairs.
    fn map(&mut self, ty: &Type, key: &Type, item: &Type, json: &Value) -> Result<(), JsonError> {
        let expected = |this: &Self, json| this.expected(&type_name(this.schema, ty), json);
        self.bytes.extend([key.kind.wire_type(), item.kind.wire_type()]);
        match json {
            Value::Object(object) => {
                self.count(object.len())?;
                for (name, value) in object {
                    self.inside(format!("[{name:?}]"), |this| {
                        this.value(key, &key_of(key, name))?;
                        this.value(item, value)
                    })?;
                }
            }
            Value::Array(pairs) => {
                self.count(pairs.len())?;
                for (index, pair) in pairs.iter().enumerate() {
                    let Some([name, value]) = pair.as_array().map(Vec::as_slice) else {
                        return Err(expected(self, json));
                    };
                    self.inside(format!("[{index}]"), |this| {
                        this.value(key, name)?;
                        this.value(item, value)
                    })?;
                }
            }
            _ => return Err(expected(self, json)),
        }
        Ok(())
    }

    fn text(&mut self, bytes: &[u8]) -> Result<(), JsonError> {
        self.count(bytes.len())?;
        self.bytes.extend(bytes);
        Ok(())
    }

    fn count(&mut self, count: usize) -> Result<(), JsonError> {
        let count = i32::try_from(count).map_err(|_| self.error("is too long".to_owned()))?;
        self.bytes.extend(count.to_be_bytes());
        Ok(())
    }

    fn inside<T>(
        &mut self,
        step: String,
        work: impl FnOnce(&mut Self) -> Result<T, JsonError>,
    ) -> Result<T, JsonError> {
        self.path.push(step);
        let outcome = work(self);
        self.path.pop();
        outcome
    }

    fn expected(&self, expected: &str, found: &Value) -> JsonError {
        self.error(format!("expected {expected}, found {}", shown(found)))
    }

    fn error(&self, problem: String) -> JsonError {
        JsonError { path: self.path.concat(), problem }
    }
}

fn dotted(path: &[String], name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!(".{name}") }
}

/// A value in an error's words, not all of a long one.
fn shown(json: &Value) -> impl fmt::Display {
    const MOST: usize = 40;
    let text = json.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A number, or one in a string, as some write those of 64 bits.
fn integer(json: &Value) -> Option<i64> {
    json.as_i64().or_else(|| json.as_str()?.parse().ok())
}

fn double(json: &Value) -> Option<f64> {
    match json.as_str() {
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
        None => json.as_f64(),
    }
}

/// 32 hexadecimal digits, with hyphens or without.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|char| *char != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then(|| number.to_be_bytes())
}

/// The key that an object's name stands for.
fn key_of(ty: &Type, name: &str) -> Value {
    match ty.kind {
        TypeKind::Bool => name.parse().map_or_else(|_| json!(name), Value::Bool),
        TypeKind::Double => {
            name.parse::<f64>().map_or_else(|_| json!(name), |number| json!(number))
        }
        _ => json!(name),
    }
}

/// Returns a default in the form in which the command line takes it.
fn as_json(schema: &Schema, value: &model::Value) -> Value {
    let all = |values: &[model::Value]| values.iter().map(|value| as_json(schema, value)).collect();
    match value {
        model::Value::Bool(value) => json!(value),
        model::Value::Int(value) => json!(value),
        model::Value::Double(value) => json!(value),
        model::Value::String(value) => json!(value),
        model::Value::Binary(bytes) => json!(BASE64_STANDARD.encode(bytes)),
        model::Value::Uuid(bytes) => json!(crate::thrift::text::uuid(*bytes)),
        model::Value::List(values) => Value::Array(all(values)),
        model::Value::Map(pairs) => {
            let pair = |(key, item): &(_, _)| json!([as_json(schema, key), as_json(schema, item)]);
            Value::Array(pairs.iter().map(pair).collect())
        }
        model::Value::Enum(id, index) => json!(schema.enum_values(*id)[*index].number),
        model::Value::Struct(id, given) => {
            let fields = schema.structure(*id).map_or(&[][..], |found| &found.fields);
            let field =
                |(index, value): &(usize, _)| (fields[*index].name.clone(), as_json(schema, value));
            Value::Object(given.iter().map(field).collect())
        }
    }
}

/// A type in the IDL's words.
pub(super) fn type_name(schema: &Schema, ty: &Type) -> String {
    let name = |ty| type_name(schema, ty);
    match &ty.kind {
        TypeKind::Bool => "bool".to_owned(),
        TypeKind::I8 => "i8".to_owned(),
        TypeKind::I16 => "i16".to_owned(),
        TypeKind::I32 => "i32".to_owned(),
        TypeKind::I64 => "i64".to_owned(),
        TypeKind::Double => "double".to_owned(),
        TypeKind::String => "string".to_owned(),
        TypeKind::Binary => "binary".to_owned(),
        TypeKind::Uuid => "uuid".to_owned(),
        TypeKind::List(of) => format!("list<{}>", name(of)),
        TypeKind::Set(of) => format!("set<{}>", name(of)),
        TypeKind::Map(key, item) => format!("map<{}, {}>", name(key), name(item)),
        TypeKind::Enum(id) | TypeKind::Struct(id) => schema.definition(*id).name.clone(),
    }
}
