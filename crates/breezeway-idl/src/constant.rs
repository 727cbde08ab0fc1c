//! Evaluation of constants and defaults, checked against their types.

use crate::error::{Position, Problem};
use crate::model::{Id, Requiredness, Shape, Type, TypeKind, Value};
use crate::parse::{Fault, MAX_CHAIN};
use crate::resolve::Resolver;
use crate::syntax::{self, Body, ValueKind};

/// Evaluates a value as written, for a type.
pub(crate) fn evaluate(
    resolver: Resolver<'_>,
    ty: &Type,
    written: &syntax::Value,
) -> Result<Value, Fault> {
    Evaluation { resolver, constants: Vec::new(), structs: Vec::new() }.value(ty, written)
}

struct Evaluation<'a> {
    resolver: Resolver<'a>,
    /// Constants that are being evaluated, to detect a cycle.
    constants: Vec<Id>,
    /// Structs whose default values are being built.
    structs: Vec<Id>,
}

impl Evaluation<'_> {
    fn value(&mut self, ty: &Type, written: &syntax::Value) -> Result<Value, Fault> {
        if let ValueKind::Named(name) = &written.kind {
            return self.named(ty, name, written.at);
        }
        self.literal(ty, written)?.ok_or_else(|| (written.at, self.wrong(ty, show(written))))
    }

    /// Evaluates a literal. Returns `None` if it does not fit the type.
    fn literal(&mut self, ty: &Type, written: &syntax::Value) -> Result<Option<Value>, Fault> {
        use ValueKind as Written;
        Ok(match (&ty.kind, &written.kind) {
            (TypeKind::Bool, Written::Bool(value)) => Some(Value::Bool(*value)),
            (TypeKind::Bool, Written::Int(value @ (0 | 1))) => Some(Value::Bool(*value == 1)),
            (TypeKind::I8, Written::Int(value)) => fitting::<i8>(*value),
            (TypeKind::I16, Written::Int(value)) => fitting::<i16>(*value),
            (TypeKind::I32, Written::Int(value)) => fitting::<i32>(*value),
            (TypeKind::I64, Written::Int(value)) => Some(Value::Int(*value)),
            (TypeKind::Double, Written::Int(value)) => Some(Value::Double(*value as f64)),
            (TypeKind::Double, Written::Double(value)) => Some(Value::Double(*value)),
            (TypeKind::String, Written::Text(text)) => Some(Value::String(text.clone())),
            (TypeKind::Binary, Written::Text(text)) => {
                Some(Value::Binary(text.clone().into_bytes()))
            }
            (TypeKind::Uuid, Written::Text(text)) => uuid(text).map(Value::Uuid),
            (TypeKind::Enum(id), Written::Int(number)) => self.enum_number(*id, *number),
            (TypeKind::List(of) | TypeKind::Set(of), Written::List(values)) => {
                let values: Result<_, _> =
                    values.iter().map(|value| self.value(of, value)).collect();
                Some(Value::List(values?))
            }
            (TypeKind::Map(key, value), Written::Map(pairs)) => Some(self.map(key, value, pairs)?),
            // Other compilers accept either kind of empty brackets for any container.
            (TypeKind::Map(..), Written::List(values)) if values.is_empty() => {
                Some(Value::Map(Vec::new()))
            }
            (TypeKind::List(_) | TypeKind::Set(_), Written::Map(pairs)) if pairs.is_empty() => {
                Some(Value::List(Vec::new()))
            }
            (TypeKind::Struct(id), Written::Map(pairs)) => {
                Some(self.structure(*id, pairs, written.at)?)
            }
            _ => None,
        })
    }

    fn map(
        &mut self,
        key: &Type,
        value: &Type,
        pairs: &[(syntax::Value, syntax::Value)],
    ) -> Result<Value, Fault> {
        let mut evaluated = Vec::with_capacity(pairs.len());
        for (left, right) in pairs {
            evaluated.push((self.value(key, left)?, self.value(value, right)?));
        }
        Ok(Value::Map(evaluated))
    }

    fn structure(
        &mut self,
        id: Id,
        pairs: &[(syntax::Value, syntax::Value)],
        at: Position,
    ) -> Result<Value, Fault> {
        let item = self.resolver.scope.item(id);
        let Body::Struct(shape, fields) = &item.body else {
            return Err((at, Problem::UnknownType(item.name.text.clone())));
        };
        if *shape == Shape::Union && pairs.len() != 1 {
            let (name, count) = (item.name.text.clone(), pairs.len());
            return Err((at, Problem::UnionValue { name, count }));
        }
        let there = Resolver { file: id.file, ..self.resolver };
        let mut given: Vec<(usize, Value)> = Vec::new();
        for (key, value) in pairs {
            let index = field_index(item, fields, key)?;
            refuse_repeated(fields, index, &given, pairs, key)?;
            let ty = there.field_type(&fields[index]).map_err(|(_, problem)| (key.at, problem))?;
            given.push((index, self.value(&ty, value)?));
        }
        for (index, field) in fields.iter().enumerate() {
            let required = field.requiredness == Requiredness::Required && field.default.is_none();
            if required && given.iter().all(|(other, _)| *other != index) {
                let ty = there.field_type(field).map_err(|(_, problem)| (at, problem))?;
                let missing = || {
                    let (name, field) = (item.name.text.clone(), field.name.text.clone());
                    (at, Problem::MissingField { name, field })
                };
                given.push((index, self.zero(&ty, at)?.ok_or_else(missing)?));
            }
        }
        Ok(Value::Struct(id, given))
    }

    /// Returns the value of a required field that a constant omits: its type's default. A union has
    /// none, and an enum only if one of its values is zero.
    fn zero(&mut self, ty: &Type, at: Position) -> Result<Option<Value>, Fault> {
        Ok(match ty.kind {
            TypeKind::Bool => Some(Value::Bool(false)),
            TypeKind::I8 | TypeKind::I16 | TypeKind::I32 | TypeKind::I64 => Some(Value::Int(0)),
            TypeKind::Double => Some(Value::Double(0.0)),
            TypeKind::String => Some(Value::String(String::new())),
            TypeKind::Binary => Some(Value::Binary(Vec::new())),
            TypeKind::Uuid => Some(Value::Uuid([0; 16])),
            TypeKind::List(_) | TypeKind::Set(_) => Some(Value::List(Vec::new())),
            TypeKind::Map(..) => Some(Value::Map(Vec::new())),
            TypeKind::Enum(id) => self.enum_number(id, 0),
            TypeKind::Struct(id) => {
                if matches!(&self.resolver.scope.item(id).body, Body::Struct(Shape::Union, _)) {
                    return Ok(None);
                }
                if self.structs.contains(&id) {
                    let name = self.resolver.scope.item(id).name.text.clone();
                    return Err((at, Problem::InfiniteStruct(name)));
                }
                self.structs.push(id);
                let value = self.structure(id, &[], at)?;
                self.structs.pop();
                Some(value)
            }
        })
    }

    /// Evaluates a constant, or an enum's value: `VALUE`, `Enum.VALUE`, `include.Enum.VALUE`.
    fn named(&mut self, ty: &Type, name: &str, at: Position) -> Result<Value, Fault> {
        if let Some(value) = self.enum_value(ty, name) {
            return value.map_err(|shown| (at, self.wrong(ty, shown)));
        }
        let scope = self.resolver.scope;
        let unknown = || Problem::UnknownConstant(name.to_owned());
        let missing = || (at, self.missing(name, unknown()));
        let id = scope.find(self.resolver.file, name).ok_or_else(missing)?;
        let Body::Constant(_, value) = &scope.item(id).body else { return Err((at, unknown())) };
        if self.constants.contains(&id) {
            return Err((at, Problem::ConstantCycle(name.to_owned())));
        }
        if self.constants.len() == MAX_CHAIN {
            return Err((at, Problem::TooDeep { what: "constants", limit: MAX_CHAIN }));
        }
        self.constants.push(id);
        let here = std::mem::replace(&mut self.resolver.file, id.file);
        let found = self.value(ty, value);
        self.resolver.file = here;
        self.constants.pop();
        found.map_err(|(_, problem)| (at, problem))
    }

    /// Returns the reason why a constant is missing: for `file.Enum.VALUE`, two files may define
    /// the enum, or its file is missing.
    fn missing(&self, name: &str, unknown: Problem) -> Problem {
        let scope = self.resolver.scope;
        let owner = name.rsplit_once('.').map_or("", |(owner, _)| owner);
        let reasons =
            [owner, name].map(|part| scope.missing(self.resolver.file, part, unknown.clone()));
        let of_files = |reason: &Problem| {
            matches!(reason, Problem::AmbiguousName { .. } | Problem::IncludeNotFound { .. })
        };
        reasons.into_iter().find(of_files).unwrap_or(unknown)
    }

    /// Returns an enum's value of this name, if there is one; an error with its name if it belongs
    /// to another enum.
    fn enum_value(&self, ty: &Type, name: &str) -> Option<Result<Value, String>> {
        let (id, value) = match (name.rsplit_once('.'), &ty.kind) {
            (Some((owner, value)), _) => (self.enum_of(ty, owner)?, value),
            (None, TypeKind::Enum(id)) => (*id, name),
            (None, _) => return None,
        };
        let entry = |id| self.enum_entry(id, |other, _| other == value);
        // Apache's compiler skips the enum's name where it has no such value.
        let (id, (index, number)) = match (entry(id), &ty.kind) {
            (Some(found), _) => (id, found),
            (None, TypeKind::Enum(wanted)) => (*wanted, entry(*wanted)?),
            (None, _) => return None,
        };
        Some(match ty.kind {
            TypeKind::Enum(wanted) if wanted == id => Ok(Value::Enum(id, index)),
            TypeKind::I32 | TypeKind::I64 => Ok(Value::Int(number)),
            _ => Err(name.to_owned()),
        })
    }

    /// Returns the enum named before the dot. Where the type determines the enum, its file's name
    /// may be used instead, and its name without the file's.
    fn enum_of(&self, ty: &Type, owner: &str) -> Option<Id> {
        let scope = self.resolver.scope;
        let stands_for =
            |id: Id| scope.item(id).name.text == owner || scope.files[id.file].stem == owner;
        let known = match ty.kind {
            TypeKind::Enum(id) if stands_for(id) => Some(id),
            _ => None,
        };
        self.enum_named(owner).or(known)
    }

    fn enum_named(&self, name: &str) -> Option<Id> {
        let scope = self.resolver.scope;
        let mut id = scope.find(self.resolver.file, name)?;
        // A typedef of an enum also gives access to its values; a cycle of typedefs ends the
        // search.
        for _ in 0..64 {
            match &scope.item(id).body {
                Body::Enum(_) => return Some(id),
                Body::Typedef(syntax::TypeRef {
                    kind: syntax::TypeKind::Named(target), ..
                }) => {
                    id = scope.find(id.file, target)?;
                }
                _ => return None,
            }
        }
        None
    }

    fn enum_number(&self, id: Id, number: i64) -> Option<Value> {
        let (index, _) = self.enum_entry(id, |_, other| other == number)?;
        Some(Value::Enum(id, index))
    }

    fn enum_entry(&self, id: Id, wanted: impl Fn(&str, i64) -> bool) -> Option<(usize, i64)> {
        let Body::Enum(values) = &self.resolver.scope.item(id).body else { return None };
        let mut next = 0;
        for (index, value) in values.iter().enumerate() {
            let number = value.number.map_or(next, |(number, _)| number);
            if wanted(&value.name.text, number) {
                return Some((index, number));
            }
            next = number.saturating_add(1);
        }
        None
    }

    fn wrong(&self, ty: &Type, value: String) -> Problem {
        Problem::WrongValue { value, expected: self.type_name(ty) }
    }

    fn type_name(&self, ty: &Type) -> String {
        let name = |id: Id| self.resolver.scope.item(id).name.text.clone();
        match &ty.kind {
            TypeKind::List(of) => format!("list<{}>", self.type_name(of)),
            TypeKind::Set(of) => format!("set<{}>", self.type_name(of)),
            TypeKind::Map(key, value) => {
                format!("map<{}, {}>", self.type_name(key), self.type_name(value))
            }
            TypeKind::Enum(id) | TypeKind::Struct(id) => name(*id),
            base => format!("{base:?}").to_lowercase(),
        }
    }
}

fn field_index(
    item: &syntax::Item,
    fields: &[syntax::Field],
    key: &syntax::Value,
) -> Result<usize, Fault> {
    let ValueKind::Text(name) = &key.kind else {
        return Err((
            key.at,
            Problem::WrongValue { value: show(key), expected: "field name".into() },
        ));
    };
    let unknown = || {
        let (name, field) = (item.name.text.clone(), name.clone());
        (key.at, Problem::UnknownField { name, field })
    };
    fields.iter().position(|field| field.name.text == *name).ok_or_else(unknown)
}

/// Fails if the field of `key` was given by an earlier key.
fn refuse_repeated(
    fields: &[syntax::Field],
    index: usize,
    given: &[(usize, Value)],
    pairs: &[(syntax::Value, syntax::Value)],
    key: &syntax::Value,
) -> Result<(), Fault> {
    let Some(first) = given.iter().position(|(other, _)| *other == index) else { return Ok(()) };
    let (name, first) = (fields[index].name.text.clone(), pairs[first].0.at.to_string());
    Err((key.at, Problem::DuplicateName { what: "the value of field", name, first }))
}

fn fitting<T: TryFrom<i64>>(value: i64) -> Option<Value> {
    T::try_from(value).ok().map(|_| Value::Int(value))
}

/// Parses thirty-two hexadecimal digits, with or without hyphens and braces.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let text = text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let digits: Vec<u8> = text
        .chars()
        .filter(|char| *char != '-')
        .map(|char| char.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if digits.len() == 32 { bytes.try_into().ok() } else { None }
}

fn show(value: &syntax::Value) -> String {
    match &value.kind {
        ValueKind::Bool(value) => value.to_string(),
        ValueKind::Int(value) => value.to_string(),
        ValueKind::Double(value) => value.to_string(),
        ValueKind::Text(text) => format!("{text:?}"),
        ValueKind::Named(name) => name.clone(),
        ValueKind::List(_) => "a list".to_owned(),
        ValueKind::Map(_) => "a map".to_owned(),
    }
}
