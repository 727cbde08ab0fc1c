//! The `use` lines of a module.

use super::context::Context;
use crate::layout::Code;

/// Writes the imports of the module's text, in rustfmt's order.
pub(crate) fn write(code: &mut Code, context: &Context<'_>) {
    let groups = [traits(context), modules(context)];
    for group in groups.iter().filter(|group| !group.is_empty()) {
        for (path, names) in group {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            code.import(path, &names);
        }
        code.blank();
    }
}

type Group = Vec<(String, Vec<String>)>;

/// Imports traits without a name, which an IDL could have too.
fn traits(context: &Context<'_>) -> Group {
    let traits = context.traits.borrow();
    let names: Vec<_> = traits.iter().map(|name| format!("{name} as _")).collect();
    if names.is_empty() { Vec::new() } else { vec![(context.schema.runtime().to_owned(), names)] }
}

fn modules(context: &Context<'_>) -> Group {
    let here = &context.module.path;
    let mut lines = Vec::new();
    for (path, called) in context.modules.borrow().iter() {
        let Some((own, parent)) = path.split_last() else { continue };
        if parent == here && own == called {
            continue;
        }
        // From the nearest module that contains both; a plain name needs one to be found in.
        let shared = here.iter().zip(parent).take_while(|(one, other)| one == other).count();
        let mut steps = vec!["super"; here.len() - shared];
        if steps.is_empty() {
            steps.push("self");
        }
        steps.extend(parent[shared..].iter().map(String::as_str));
        let name = if own == called { own.clone() } else { format!("{own} as {called}") };
        lines.push((steps.join("::"), vec![name]));
    }
    lines.sort_by_key(|(path, names)| (order(path), names.clone()));
    lines
}

/// Returns the sort key of a path: rustfmt puts `self` and `super` before names.
fn order(path: &str) -> Vec<(u8, String)> {
    let rank = |step: &str| match step {
        "self" => 0,
        "super" => 1,
        _ => 2,
    };
    path.split("::").map(|step| (rank(step), step.to_owned())).collect()
}
