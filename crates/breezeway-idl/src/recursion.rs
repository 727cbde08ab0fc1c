//! Structs that contain themselves.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Problem};
use crate::model::{Field, Id, Kind, Requiredness, Schema, Shape, TypeKind, Value};

/// Marks the fields that lead back to their own struct, and refuses structs that require
/// themselves.
pub(crate) fn mark(schema: &mut Schema) -> Result<(), Error> {
    for id in leading_to_cycles(schema) {
        refuse_infinite(schema, id)?;
        for (index, recursive) in recursive_fields(schema, id).into_iter().enumerate() {
            set_recursive(schema, id, index, recursive);
        }
    }
    Ok(())
}

/// Returns the structs from which fields lead to a cycle: nearly always few, and only they need a
/// search.
///
/// Removes structs whose fields lead nowhere, until there are none; the rest is the result.
fn leading_to_cycles(schema: &Schema) -> Vec<Id> {
    let mut open: HashMap<Id, usize> = HashMap::new();
    let mut parents: HashMap<Id, Vec<Id>> = HashMap::new();
    for id in schema.ids() {
        let targets: Vec<_> = fields(schema, id).iter().filter_map(target).collect();
        open.insert(id, targets.len());
        targets.into_iter().for_each(|inner| parents.entry(inner).or_default().push(id));
    }
    let mut ended: Vec<Id> = schema.ids().filter(|id| open[id] == 0).collect();
    while let Some(id) = ended.pop() {
        open.remove(&id);
        for parent in parents.get(&id).into_iter().flatten() {
            if let Some(count) = open.get_mut(parent) {
                *count -= 1;
                if *count == 0 {
                    ended.push(*parent);
                }
            }
        }
    }
    schema.ids().filter(|id| open.contains_key(id)).collect()
}

fn fields(schema: &Schema, id: Id) -> &[Field] {
    schema.structure(id).map_or(&[], |found| &found.fields)
}

fn recursive_fields(schema: &Schema, id: Id) -> Vec<bool> {
    let leads_back = |field: &Field| {
        target(field)
            .is_some_and(|target| target == id || reaches(schema, target, id, &|_, _| true))
    };
    fields(schema, id).iter().map(leads_back).collect()
}

fn set_recursive(schema: &mut Schema, id: Id, index: usize, recursive: bool) {
    let definition = &mut schema.files[id.file].definitions[id.index];
    if let Kind::Struct(found) = &mut definition.kind {
        found.fields[index].recursive = recursive;
        found.fields[index].boxed = recursive;
    }
}

fn refuse_infinite(schema: &Schema, id: Id) -> Result<(), Error> {
    let required = |shape, field: &Field| {
        shape != Shape::Union && field.requiredness == Requiredness::Required
    };
    if !reaches(schema, id, id, &required) {
        return Ok(());
    }
    let definition = schema.definition(id);
    Err(Error::Invalid {
        file: schema.files[id.file].path.clone(),
        position: definition.position,
        problem: Problem::InfiniteStruct(definition.name.clone()),
    })
}

/// Refuses structs whose default values contain themselves.
pub(crate) fn refuse_endless_defaults(schema: &Schema) -> Result<(), Error> {
    let presets = |id: &Id| fields(schema, *id).iter().any(|field| field.default.is_some());
    if !schema.ids().any(|id| presets(&id)) {
        return Ok(());
    }
    let mut done = HashSet::new();
    for id in schema.ids() {
        let mut next = vec![(id, false)];
        let mut open = Vec::new();
        while let Some((id, leaving)) = next.pop() {
            if leaving {
                open.pop();
                done.insert(id);
            } else if open.contains(&id) {
                let definition = schema.definition(id);
                return Err(Error::Invalid {
                    file: schema.files[id.file].path.clone(),
                    position: definition.position,
                    problem: Problem::EndlessDefault(definition.name.clone()),
                });
            } else if !done.contains(&id) {
                open.push(id);
                next.push((id, true));
                next.extend(defaults_within(schema, id).into_iter().map(|inner| (inner, false)));
            }
        }
    }
    Ok(())
}

/// Returns the structs whose defaults are built with the default of this one.
fn defaults_within(schema: &Schema, id: Id) -> Vec<Id> {
    let mut within = Vec::new();
    let Some(found) = schema.structure(id).filter(|found| found.shape != Shape::Union) else {
        return within;
    };
    for field in &found.fields {
        let absent = field.requiredness == Requiredness::Optional
            || field.recursive && field.requiredness != Requiredness::Required;
        match &field.default {
            Some(value) => defaults_of_value(schema, value, &mut within),
            None if !absent => within.extend(target(field)),
            None => {}
        }
    }
    within
}

/// Adds the structs of a value: it takes omitted fields from the struct's default.
fn defaults_of_value(schema: &Schema, value: &Value, within: &mut Vec<Id>) {
    match value {
        Value::List(values) => {
            values.iter().for_each(|value| defaults_of_value(schema, value, within));
        }
        Value::Map(pairs) => pairs.iter().for_each(|(key, value)| {
            defaults_of_value(schema, key, within);
            defaults_of_value(schema, value, within);
        }),
        Value::Struct(id, given) => {
            if given.len() < fields(schema, *id).len() {
                within.push(*id);
            }
            given.iter().for_each(|(_, value)| defaults_of_value(schema, value, within));
        }
        _ => {}
    }
}

/// Returns true if fields lead from one struct to another, in at least one step.
fn reaches(schema: &Schema, from: Id, to: Id, follow: &dyn Fn(Shape, &Field) -> bool) -> bool {
    let mut seen = HashSet::new();
    let mut next = vec![from];
    while let Some(id) = next.pop() {
        let Some(found) = schema.structure(id) else { continue };
        for field in found.fields.iter().filter(|field| follow(found.shape, field)) {
            match target(field) {
                Some(target) if target == to => return true,
                Some(target) if seen.insert(target) => next.push(target),
                _ => {}
            }
        }
    }
    false
}

/// Returns the struct that is stored in this field itself.
fn target(field: &Field) -> Option<Id> {
    match field.ty.kind {
        TypeKind::Struct(id) => Some(id),
        _ => None,
    }
}
