//! The `use` lines of a module.

use std::collections::BTreeMap;

use super::context::{Context, RUNTIME};
use crate::layout::Code;

/// Writes what the module's text refers to, in rustfmt's order.
pub(crate) fn write(code: &mut Code, context: &Context<'_>) {
    let groups = [standard(context), runtime(context), modules(context)];
    for group in groups.iter().filter(|group| !group.is_empty()) {
        for (path, names) in group {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            code.import(path, &names);
        }
        code.blank();
    }
}

type Group = Vec<(String, Vec<String>)>;

fn standard(context: &Context<'_>) -> Group {
    let mut group = words(context, |path| path.starts_with("std"));
    if context.formats.get() {
        group.entry("std".to_owned()).or_default().push("fmt".to_owned());
    }
    // `std::fmt` stands among the paths by its whole name.
    let mut lines: Vec<_> = group.into_iter().collect();
    lines.sort_by_key(
        |(path, names)| if path == "std" { format!("std::{}", names[0]) } else { path.clone() },
    );
    lines
}

fn runtime(context: &Context<'_>) -> Group {
    words(context, |path| !path.starts_with("std")).into_iter().collect()
}

fn words(context: &Context<'_>, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, Vec<String>> {
    let mut group: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for &word in context.words.borrow().iter().filter(|word| wanted(word.path)) {
        let called = context.called(word);
        let is_runtime = word.path == RUNTIME;
        let path = if is_runtime { context.schema.runtime() } else { word.path }.to_owned();
        if called != word.name {
            let name = format!("{} as {called}", word.name);
            group.entry(path).or_default().push(name);
        } else if !word.prelude {
            group.entry(path).or_default().push(called);
        }
    }
    group
}

fn modules(context: &Context<'_>) -> Group {
    let here = &context.module.path;
    let mut lines = Vec::new();
    for (path, called) in context.modules.borrow().iter() {
        let Some((own, parent)) = path.split_last() else { continue };
        if parent == here && own == called {
            continue;
        }
        // From the nearest module that both are in; a name needs one to be found in.
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

/// rustfmt puts `self` and `super` before names.
fn order(path: &str) -> Vec<(u8, String)> {
    let rank = |step: &str| match step {
        "self" => 0,
        "super" => 1,
        _ => 2,
    };
    path.split("::").map(|step| (rank(step), step.to_owned())).collect()
}
