//! Resolution of parsed files to a schema.

use std::collections::HashMap;

use crate::constant;
use crate::error::{Error, Position, Problem};
use crate::files::SourceFile;
use crate::model::{
    Definition, EnumValue, Field, File, Id, Kind, Method, Requiredness, Schema, Service, Shape,
    Streaming, Struct, Type, TypeKind,
};
use crate::nesting;
use crate::parse::{Fault, MAX_CHAIN};
use crate::recursion;
use crate::scope::{Scope, refuse_duplicates};
use crate::syntax::{self, Body, Name, TypeRef};

/// Resolves every name and evaluates every constant.
pub(crate) fn resolve(files: &[SourceFile], strings: Strings) -> Result<Schema, Error> {
    let scope = Scope::new(files)?;
    let mut schema = Schema::default();
    for (index, file) in files.iter().enumerate() {
        let definitions = Resolver { scope: &scope, file: index, strings }.definitions()?;
        schema.files.push(File {
            path: file.path.clone(),
            stem: file.stem.clone(),
            module: module_of(file, "rs"),
            go_package: module_of(file, "go"),
            docs: file.tree.docs.clone(),
            external: None,
            includes: file.includes.clone(),
            missing_includes: file.missing.clone(),
            definitions,
        });
    }
    recursion::mark(&mut schema)?;
    nesting::mark(&mut schema);
    recursion::refuse_endless_defaults(&schema)?;
    Ok(schema)
}

/// Returns the namespace for a language, else that for all, else the file's name.
fn module_of(file: &SourceFile, language: &str) -> Vec<String> {
    let named = |scope| file.tree.namespaces.iter().find(|namespace| namespace.scope == scope);
    named(language)
        .or_else(|| named("*"))
        .map_or_else(|| vec![file.stem.clone()], |found| found.path.clone())
}

/// Resolver in the scope of one file.
#[derive(Clone, Copy)]
pub(crate) struct Resolver<'a> {
    pub(crate) scope: &'a Scope<'a>,
    pub(crate) file: usize,
    pub(crate) strings: Strings,
}

/// Rust type for `string`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Strings {
    /// Text, which is UTF-8.
    #[default]
    Text,
    /// Bytes, as for `binary`: other implementations do not check UTF-8.
    Bytes,
}

impl<'a> Resolver<'a> {
    fn definitions(self) -> Result<Vec<Definition>, Error> {
        let file = &self.scope.files[self.file];
        let resolved = file.tree.items.iter().map(|item| {
            let kind = self.kind(item)?;
            Ok(Definition {
                name: item.name.text.clone(),
                position: item.name.at,
                docs: item.docs.clone(),
                annotations: item.annotations.clone(),
                kind,
            })
        });
        resolved.map(|found| found.map_err(|fault| file.error(fault))).collect()
    }

    fn kind(self, item: &syntax::Item) -> Result<Kind, Fault> {
        Ok(match &item.body {
            Body::Typedef(target) => {
                self.refuse_typedef_cycle(item)?;
                Kind::Typedef(self.value_type(target)?)
            }
            Body::Constant(ty, value) => {
                let ty = self.value_type(ty)?;
                let value = constant::evaluate(self, &ty, value)?;
                Kind::Constant(ty, value)
            }
            Body::Enum(values) => Kind::Enum(enum_values(values)?),
            Body::Struct(shape, fields) => {
                Kind::Struct(Struct { shape: *shape, fields: self.fields(*shape, fields)? })
            }
            Body::Service(service) => Kind::Service(self.service(item, service)?),
        })
    }

    fn refuse_typedef_cycle(self, item: &syntax::Item) -> Result<(), Fault> {
        let mut seen = Vec::new();
        let mut here = self;
        let mut body = &item.body;
        while let Body::Typedef(TypeRef { kind: syntax::TypeKind::Named(name), at }) = body {
            let Some(id) = here.scope.find(here.file, name) else { return Ok(()) };
            if seen.contains(&id) {
                let cycle = Problem::TypedefCycle(item.name.text.clone());
                return Err((if here.file == self.file { *at } else { item.name.at }, cycle));
            }
            seen.push(id);
            here.file = id.file;
            body = &self.scope.item(id).body;
        }
        Ok(())
    }

    /// Resolves a type with values: any but `void`.
    pub(crate) fn value_type(self, written: &TypeRef) -> Result<Type, Fault> {
        self.typed(written, &mut Vec::new())?.ok_or((written.at, Problem::VoidValue))
    }

    fn typed(self, written: &TypeRef, typedefs: &mut Vec<Id>) -> Result<Option<Type>, Fault> {
        use syntax::TypeKind as Written;
        let mut element = |of: &TypeRef| {
            let found = self.typed(of, typedefs)?;
            found.map(Box::new).ok_or((of.at, Problem::VoidValue))
        };
        Ok(Some(Type::plain(match &written.kind {
            Written::Void => return Ok(None),
            Written::Bool => TypeKind::Bool,
            Written::I8 => TypeKind::I8,
            Written::I16 => TypeKind::I16,
            Written::I32 => TypeKind::I32,
            Written::I64 => TypeKind::I64,
            Written::Double => TypeKind::Double,
            Written::String if self.strings == Strings::Bytes => TypeKind::Binary,
            Written::String => TypeKind::String,
            Written::Binary => TypeKind::Binary,
            Written::Uuid => TypeKind::Uuid,
            Written::List(of) => TypeKind::List(element(of)?),
            Written::Set(of) => TypeKind::Set(element(of)?),
            Written::Map(key, value) => TypeKind::Map(element(key)?, element(value)?),
            Written::Named(name) => return self.named(name, written.at, typedefs).map(Some),
        })))
    }

    fn named(self, name: &str, at: Position, typedefs: &mut Vec<Id>) -> Result<Type, Fault> {
        let found = self.scope.find(self.file, name);
        let id = found.ok_or_else(|| {
            let unknown = Problem::UnknownType(name.to_owned());
            (at, self.scope.missing(self.file, name, unknown))
        })?;
        let wrong =
            |kind| (at, Problem::WrongKind { name: name.to_owned(), kind, needed: "a type" });
        match &self.scope.item(id).body {
            Body::Enum(_) => Ok(Type::plain(TypeKind::Enum(id))),
            Body::Struct(..) => Ok(Type::plain(TypeKind::Struct(id))),
            Body::Typedef(target) => {
                if typedefs.contains(&id) {
                    return Err((at, Problem::TypedefCycle(name.to_owned())));
                }
                if typedefs.len() == MAX_CHAIN {
                    return Err((at, Problem::TooDeep { what: "typedefs", limit: MAX_CHAIN }));
                }
                typedefs.push(id);
                let there = Self { file: id.file, ..self };
                let resolved =
                    there.typed(target, typedefs).map_err(|fault| self.seen_from(at, id, fault))?;
                typedefs.pop();
                let kind = resolved.ok_or((at, Problem::VoidValue))?.kind;
                Ok(Type { kind, alias: Some(id) })
            }
            Body::Constant(..) => Err(wrong("a constant")),
            Body::Service(_) => Err(wrong("a service")),
        }
    }

    /// Converts a fault in another file's typedef to the place where this file uses it: that file's
    /// own definitions were resolved before without a fault, so this happens in cycles only.
    fn seen_from(self, at: Position, id: Id, (position, problem): Fault) -> Fault {
        (if id.file == self.file { position } else { at }, problem)
    }

    fn fields(self, shape: Shape, written: &[syntax::Field]) -> Result<Vec<Field>, Fault> {
        refuse_duplicates("field", written.iter().map(|field| &field.name))?;
        check_ids(written)?;
        written.iter().map(|field| self.field(shape, field)).collect()
    }

    pub(crate) fn field_type(self, written: &syntax::Field) -> Result<Type, Fault> {
        let ty = self.value_type(&written.ty)?;
        Ok(if says_bytes(written)? { as_bytes(ty) } else { ty })
    }

    fn field(self, shape: Shape, written: &syntax::Field) -> Result<Field, Fault> {
        let ty = self.field_type(written)?;
        if shape == Shape::Union {
            check_union_field(written)?;
        }
        let default = written.default.as_ref();
        let default = default.map(|value| constant::evaluate(self, &ty, value)).transpose()?;
        // Defaults would hide which field of a union is set.
        let default = default.filter(|_| shape != Shape::Union);
        Ok(Field {
            id: i16::try_from(written.id).map_err(|_| (written.id_at, Problem::TooManyFields))?,
            name: written.name.text.clone(),
            requiredness: written.requiredness,
            ty,
            default,
            docs: written.docs.clone(),
            annotations: written.annotations.clone(),
            recursive: false,
            boxed: false,
        })
    }

    fn service(self, item: &syntax::Item, written: &syntax::Service) -> Result<Service, Fault> {
        let extends = written.extends.as_ref().map(|parent| self.parent(parent)).transpose()?;
        self.refuse_service_cycle(item, extends)?;
        refuse_duplicates("method", written.methods.iter().map(|method| &method.name))?;
        self.refuse_inherited(extends, &written.methods)?;
        let methods = written.methods.iter().map(|method| self.method(method));
        Ok(Service { extends, methods: methods.collect::<Result<_, _>>()? })
    }

    fn parent(self, name: &Name) -> Result<Id, Fault> {
        let unknown = || Problem::UnknownService(name.text.clone());
        let missing = || (name.at, self.scope.missing(self.file, &name.text, unknown()));
        let id = self.scope.find(self.file, &name.text).ok_or_else(missing)?;
        match self.scope.item(id).body {
            Body::Service(_) => Ok(id),
            _ => Err((name.at, unknown())),
        }
    }

    fn refuse_service_cycle(self, item: &syntax::Item, parent: Option<Id>) -> Result<(), Fault> {
        let mut seen = Vec::new();
        let mut next = parent;
        while let Some(id) = next {
            let ancestor = self.scope.item(id);
            if std::ptr::eq(ancestor, item) || seen.contains(&id) {
                return Err((item.name.at, Problem::ServiceCycle(item.name.text.clone())));
            }
            seen.push(id);
            next = self.parent_of(id);
        }
        Ok(())
    }

    fn refuse_inherited(self, parent: Option<Id>, own: &[syntax::Method]) -> Result<(), Fault> {
        let mut next = parent;
        while let Some(id) = next {
            let Body::Service(service) = &self.scope.item(id).body else { break };
            for method in &service.methods {
                if let Some(again) = own.iter().find(|again| again.name.text == method.name.text) {
                    let first = format!("{}:{}", self.scope.files[id.file].stem, method.name.at);
                    let name = again.name.text.clone();
                    let problem = Problem::DuplicateName { what: "method", name, first };
                    return Err((again.name.at, problem));
                }
            }
            next = self.parent_of(id);
        }
        Ok(())
    }

    fn parent_of(self, id: Id) -> Option<Id> {
        let Body::Service(service) = &self.scope.item(id).body else { return None };
        self.scope.find(id.file, &service.extends.as_ref()?.text)
    }

    fn method(self, written: &syntax::Method) -> Result<Method, Fault> {
        let result = self.typed(&written.result, &mut Vec::new())?;
        let name = || written.name.text.clone();
        if written.oneway && result.is_some() {
            return Err((written.result.at, Problem::OnewayResult(name())));
        }
        if let Some(thrown) = written.throws.first().filter(|_| written.oneway) {
            return Err((thrown.ty.at, Problem::OnewayThrows(name())));
        }
        let arguments = self.fields(Shape::Struct, &written.arguments)?;
        Ok(Method {
            name: name(),
            oneway: written.oneway,
            result,
            arguments: Struct { shape: Shape::Struct, fields: arguments },
            throws: self.throws(&written.throws)?,
            streaming: streaming(written)?,
            docs: written.docs.clone(),
            annotations: written.annotations.clone(),
        })
    }

    fn throws(self, written: &[syntax::Field]) -> Result<Vec<Field>, Fault> {
        let fields = self.fields(Shape::Struct, written)?;
        for (field, written) in fields.iter().zip(written) {
            let thrown = match field.ty.kind {
                TypeKind::Struct(id) => Some(&self.scope.item(id).body),
                _ => None,
            };
            if !matches!(thrown, Some(Body::Struct(Shape::Exception, _))) {
                let name = type_name(&written.ty);
                return Err((written.ty.at, Problem::ThrowsNoException(name)));
            }
        }
        // Only one of them is sent, whatever the IDL declares.
        let optional = |field| Field { requiredness: Requiredness::Optional, ..field };
        Ok(fields.into_iter().map(optional).collect())
    }
}

fn type_name(ty: &TypeRef) -> String {
    match &ty.kind {
        syntax::TypeKind::Named(name) => name.clone(),
        other => format!("{other:?}").split('(').next().unwrap_or_default().to_lowercase(),
    }
}

/// Returns true if a field's annotation makes its strings bytes.
fn says_bytes(field: &syntax::Field) -> Result<bool, Fault> {
    match field.annotations.iter().find(|(key, _)| key == "strings") {
        None => Ok(false),
        Some((_, how)) if how == "bytes" => Ok(true),
        Some((_, how)) if how == "text" => Ok(false),
        Some((_, other)) => Err((field.name.at, Problem::Strings(other.clone()))),
    }
}

/// Returns the type with every string in it as bytes.
fn as_bytes(ty: Type) -> Type {
    let inside = |of: Box<Type>| Box::new(as_bytes(*of));
    Type::plain(match ty.kind {
        TypeKind::String => TypeKind::Binary,
        TypeKind::List(of) => TypeKind::List(inside(of)),
        TypeKind::Set(of) => TypeKind::Set(inside(of)),
        TypeKind::Map(key, value) => TypeKind::Map(inside(key), inside(value)),
        _ => return ty,
    })
}

fn check_ids(fields: &[syntax::Field]) -> Result<(), Fault> {
    let mut seen = HashMap::new();
    for field in fields {
        if let Some(first) = seen.insert(field.id, &field.name.text) {
            let id = i16::try_from(field.id).unwrap_or_default();
            return Err((field.id_at, Problem::DuplicateFieldId { id, first: first.clone() }));
        }
    }
    Ok(())
}

fn check_union_field(field: &syntax::Field) -> Result<(), Fault> {
    match field.requiredness {
        Requiredness::Required => {
            Err((field.name.at, Problem::UnionRequired(field.name.text.clone())))
        }
        _ => Ok(()),
    }
}

/// Returns the values of an enum. One without a number is one more than the one before it.
fn enum_values(written: &[syntax::EnumValue]) -> Result<Vec<EnumValue>, Fault> {
    refuse_duplicates("enum value", written.iter().map(|value| &value.name))?;
    let mut next = 0_i64;
    let mut values = Vec::new();
    for value in written {
        let (number, at) = value.number.unwrap_or((next, value.name.at));
        let fits = i32::try_from(number).map_err(|_| (at, Problem::EnumNumberTooLarge(number)))?;
        next = number + 1;
        values.push(EnumValue {
            name: value.name.text.clone(),
            number: fits,
            docs: value.docs.clone(),
            annotations: value.annotations.clone(),
        });
    }
    Ok(values)
}

fn streaming(method: &syntax::Method) -> Result<Streaming, Fault> {
    let mode = method.annotations.iter().find(|(key, _)| key == "streaming.mode");
    let Some((_, mode)) = mode else { return Ok(Streaming::None) };
    match mode.as_str() {
        "unary" => Ok(Streaming::Unary),
        "client" => Ok(Streaming::Client),
        "server" => Ok(Streaming::Server),
        "bidirectional" => Ok(Streaming::Bidirectional),
        other => Err((method.name.at, Problem::StreamingMode(other.to_owned()))),
    }
}
