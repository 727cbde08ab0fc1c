//! Generation of Go from a schema.

mod context;
mod docs;
mod enumeration;
mod fields;
mod length;
mod names;
mod naming;
mod read;
mod service;
mod source;
mod structure;
mod text;
mod types;
mod value;
mod view;
mod write;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::builder::{check_streams, resolved};
use crate::error::Error;
use crate::model::{Definition, Field, Id, Kind, Schema, Type, TypeKind, Value};
use context::Context;
use naming::Naming;
use text::Text;

/// A generated file of Go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoFile {
    /// Path in the folder of all packages, such as `acme/user/user.go`.
    pub path: PathBuf,
    /// Path of its .thrift file.
    pub(crate) source: PathBuf,
    /// Contents.
    pub text: String,
    /// Names of its structs, unions and exceptions.
    pub structs: Vec<(Id, String)>,
}

impl GoFile {
    /// Writes the file below the folder of all packages.
    fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(&self.path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        written
            .and_then(|()| fs::write(&path, &self.text))
            .map_err(|source| Error::Write { path, source })
    }
}

/// Writes the Go files of a schema, or none of them if one would replace a file of another source.
pub(crate) fn write_files(schema: &Schema, folder: &Path, root: &str) -> Result<(), Error> {
    let files = generate(schema, folder, root)?;
    for file in &files {
        source::refuse_other(&folder.join(&file.path), &file.text, &file.source)?;
    }
    files.iter().try_for_each(|file| file.write(folder))
}

/// Returns the Go files of a schema, one for each of its files. `root` is the import path of the
/// folder that all packages lie in.
pub(crate) fn generate(schema: &Schema, folder: &Path, root: &str) -> Result<Vec<GoFile>, Error> {
    check_streams(schema)?;
    check_requests(schema)?;
    check_names(schema)?;
    let naming = Naming::new(schema);
    let folder = resolved(folder);
    let (mut files, mut imports) = (Vec::new(), HashMap::<String, Vec<String>>::new());
    for file in 0..schema.files.len() {
        if schema.files[file].external.is_some() {
            continue;
        }
        let context = Context::new(schema, &naming, file, root);
        let package: PathBuf = naming.packages[file].iter().collect();
        let source = schema.files[file].path.clone();
        let text = file_text(&context, &source::line(&source, &folder.join(&package)));
        imports.entry(context.import_path(file)).or_default().extend(context.imported());
        let path = package.join(format!("{}.go", naming.files[file]));
        let ids = schema.ids().filter(|id| id.file == file && schema.structure(*id).is_some());
        let structs = ids.map(|id| (id, naming.names[&id].clone())).collect();
        files.push(GoFile { path, source, text, structs });
    }
    refuse_cycle(&imports)?;
    Ok(files)
}

/// Checks that the messages of streams are structs, as on the wire.
fn check_requests(schema: &Schema) -> Result<(), Error> {
    for id in schema.ids() {
        let definition = schema.definition(id);
        let Kind::Service(service) = &definition.kind else { continue };
        let streams = service.methods.iter().filter(|method| method.streaming.is_stream());
        for method in streams {
            let is_struct = |field: &Field| matches!(field.ty.kind, TypeKind::Struct(_));
            if !method.arguments.fields.iter().all(is_struct) {
                let name = format!("{}.{}", definition.name, method.name);
                return Err(Error::GoStreamsNoStruct(name));
            }
        }
    }
    Ok(())
}

/// Refuses files of one package that define one name: its number would depend on the files' order.
fn check_names(schema: &Schema) -> Result<(), Error> {
    let mut known = HashMap::new();
    for id in schema.ids().filter(|id| schema.files[id.file].external.is_none()) {
        let (file, name) = (&schema.files[id.file], &schema.definition(id).name);
        let first = *known.entry((&file.go_package, names::exported(name))).or_insert(id.file);
        if first != id.file {
            return Err(Error::GoNameOfTwoFiles {
                name: name.clone(),
                package: file.go_package.join("."),
                first: schema.files[first].path.clone(),
                second: file.path.clone(),
            });
        }
    }
    Ok(())
}

/// Refuses packages that import each other: Go does not compile them.
fn refuse_cycle(imports: &HashMap<String, Vec<String>>) -> Result<(), Error> {
    fn visit<'a>(
        imports: &'a HashMap<String, Vec<String>>,
        path: &'a str,
        open: &mut Vec<&'a str>,
        done: &mut Vec<&'a str>,
    ) -> Result<(), Error> {
        if let Some(first) = open.iter().position(|other| *other == path) {
            let chain: Vec<_> = open[first..].iter().copied().chain([path]).collect();
            return Err(Error::GoImportCycle(chain.join(" → ")));
        }
        if done.contains(&path) {
            return Ok(());
        }
        open.push(path);
        for next in imports.get(path).into_iter().flatten() {
            visit(imports, next, open, done)?;
        }
        done.extend(open.pop());
        Ok(())
    }
    let mut paths: Vec<_> = imports.keys().collect();
    paths.sort();
    let mut done = Vec::new();
    paths.into_iter().try_for_each(|path| visit(imports, path, &mut Vec::new(), &mut done))
}

fn file_text(context: &Context<'_>, first_line: &str) -> String {
    let found = &context.schema.files[context.file];
    let mut body = Text::default();
    for (index, definition) in found.definitions.iter().enumerate() {
        body.blank();
        let id = Id { file: context.file, index };
        body.docs(&docs::lines(&definition.docs, &definition.annotations));
        self::definition(&mut body, context, id, definition);
    }
    let mut text = Text::default();
    text.line(first_line);
    text.blank();
    text.docs(&docs::lines(&found.docs, &[]));
    text.line(&format!("package {}", context.naming.package(context.file)));
    let imports = context.imports();
    if !imports.is_empty() {
        text.blank();
        text.line("import (");
        text.indented(|text| imports.iter().for_each(|line| text.line(line)));
        text.line(")");
    }
    text.append(body);
    text.finish()
}

fn definition(text: &mut Text, context: &Context<'_>, id: Id, definition: &Definition) {
    let name = &context.naming.names[&id];
    match &definition.kind {
        Kind::Typedef(target) => {
            let shown = match target.kind {
                TypeKind::Struct(_) => context.struct_name(target),
                _ => context.ty(target),
            };
            text.line(&format!("type {name} = {shown}"));
        }
        Kind::Constant(ty, value) => constant(text, context, name, ty, value),
        Kind::Enum(values) => enumeration::write(text, context, id, values),
        Kind::Struct(found) => {
            let fields = structure::fields_of(context, id, found);
            structure::write(text, context, id, definition, &fields);
            if context.schema.views {
                text.blank();
                view::write(text, context, id, &definition.name, &fields);
            }
        }
        Kind::Service(found) => service::write(text, context, id, definition, found),
    }
}

fn constant(text: &mut Text, context: &Context<'_>, name: &str, ty: &Type, value: &Value) {
    let shown = value::of_type(context, ty, value);
    if !value::is_variable(ty, value) {
        return text.line(&format!("const {name} {} = {shown}", context.ty(ty)));
    }
    match ty.kind {
        TypeKind::Double => text.line(&format!("var {name} {} = {shown}", context.ty(ty))),
        _ => text.line(&format!("var {name} = {shown}")),
    }
}
