//! Values as Thrift Binary, for views of defaults.

use crate::model::{Requiredness, Schema, Type, TypeKind, Value};

/// Returns the encoding of a value, without a field header.
pub(crate) fn of(schema: &Schema, ty: &Type, value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(schema, ty, value, &mut bytes);
    bytes
}

fn write(schema: &Schema, ty: &Type, value: &Value, to: &mut Vec<u8>) {
    match (&ty.kind, value) {
        (_, Value::Bool(value)) => to.push(u8::from(*value)),
        (kind, Value::Int(value)) => to.extend(integer(kind, *value)),
        (_, Value::Double(value)) => to.extend(value.to_be_bytes()),
        (_, Value::String(text)) => counted(text.as_bytes(), to),
        (_, Value::Binary(bytes)) => counted(bytes, to),
        (_, Value::Uuid(bytes)) => to.extend(bytes),
        (_, Value::Enum(id, index)) => {
            to.extend(schema.enum_values(*id)[*index].number.to_be_bytes())
        }
        (TypeKind::List(of) | TypeKind::Set(of), Value::List(values)) => {
            to.push(of.kind.wire_type());
            count(values.len(), to);
            values.iter().for_each(|value| write(schema, of, value, to));
        }
        (TypeKind::Map(key, item), Value::Map(pairs)) => {
            to.extend([key.kind.wire_type(), item.kind.wire_type()]);
            count(pairs.len(), to);
            for (left, right) in pairs {
                write(schema, key, left, to);
                write(schema, item, right, to);
            }
        }
        (_, Value::Struct(id, given)) => {
            let fields = schema.structure(*id).map_or(&[][..], |found| &found.fields);
            for (index, field) in fields.iter().enumerate() {
                let given = given.iter().find(|(other, _)| *other == index);
                let preset =
                    field.default.as_ref().filter(|_| field.requiredness == Requiredness::Required);
                let Some(value) = given.map(|(_, value)| value).or(preset) else { continue };
                to.push(field.ty.kind.wire_type());
                to.extend(field.id.to_be_bytes());
                write(schema, &field.ty, value, to);
            }
            to.push(0);
        }
        _ => debug_assert!(false, "the value was checked against its type"),
    }
}

fn integer(kind: &TypeKind, value: i64) -> Vec<u8> {
    let size = match kind {
        TypeKind::I8 => 1,
        TypeKind::I16 => 2,
        TypeKind::I32 => 4,
        _ => 8,
    };
    value.to_be_bytes()[8 - size..].to_vec()
}

fn counted(bytes: &[u8], to: &mut Vec<u8>) {
    count(bytes.len(), to);
    to.extend(bytes);
}

fn count(count: usize, to: &mut Vec<u8>) {
    // No .thrift file contains a longer constant.
    to.extend(u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes());
}
