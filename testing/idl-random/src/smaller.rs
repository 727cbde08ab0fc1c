//! Smaller IDLs, to find the smallest that still shows a fault.

use crate::random_idl::{Definition, Field, RandomIdl, Type};

impl RandomIdl {
    /// IDLs that are smaller by one step, the smallest first. Some may be refused, as what they
    /// require has no end.
    pub fn smaller(&self) -> Vec<Self> {
        let places = 0..self.definitions.len();
        // One alone is as small as it gets by leaving others out.
        let parts = if places.len() > 1 { places.clone() } else { 0..0 };
        let alone = parts.clone().map(|index| self.alone(index));
        let without = parts.map(|index| self.without(index));
        let lessened = places.flat_map(|index| {
            let smaller = self.definitions[index].smaller();
            smaller.into_iter().map(move |definition| {
                let mut idl = self.clone();
                idl.definitions[index] = definition;
                idl
            })
        });
        alone.chain(without).chain(lessened).collect()
    }

    /// Returns the smallest IDL that still fails, one step after the other. `first_failing` returns
    /// the index of the first of those of one step that fails.
    pub fn smallest(mut self, mut first_failing: impl FnMut(&[Self]) -> Option<usize>) -> Self {
        loop {
            let mut smaller = self.smaller();
            match first_failing(&smaller) {
                Some(index) => self = smaller.swap_remove(index),
                None => return self,
            }
        }
    }

    /// One definition, with numbers for all that it refers to but itself.
    fn alone(&self, index: usize) -> Self {
        let mut definition = self.definitions[index].clone();
        definition.each_type(&mut |ty| ty.refer(|at| (at == index).then_some(0)));
        Self { definitions: vec![definition] }
    }

    /// All but one definition, with numbers where that is referred to.
    fn without(&self, index: usize) -> Self {
        let mut idl = self.clone();
        idl.definitions.remove(index);
        let moved = |at: usize| (at != index).then(|| at - usize::from(at > index));
        for definition in &mut idl.definitions {
            definition.each_type(&mut |ty| ty.refer(moved));
        }
        idl
    }
}

impl Definition {
    fn each_type(&mut self, change: &mut impl FnMut(&mut Type)) {
        match self {
            Self::Enum(_) => {}
            Self::Typedef(ty) => change(ty),
            Self::Struct(_, fields) => fields.iter_mut().for_each(|field| change(&mut field.ty)),
        }
    }

    fn smaller(&self) -> Vec<Self> {
        match self {
            Self::Enum(values) if values.len() > 1 => vec![Self::Enum(values[..1].to_vec())],
            Self::Enum(_) => Vec::new(),
            Self::Typedef(ty) => ty.smaller().into_iter().map(Self::Typedef).collect(),
            Self::Struct(word, fields) => smaller_struct(word, fields),
        }
    }
}

/// With half of the fields, without one of them, with a smaller one, as a struct.
fn smaller_struct(word: &'static str, fields: &[Field]) -> Vec<Definition> {
    let least = usize::from(word == "union");
    let (first, second) = fields.split_at(fields.len() / 2);
    let halves = [first, second].into_iter().filter(|half| half.len() < fields.len());
    let mut smaller: Vec<_> = halves.map(<[Field]>::to_vec).collect();
    for index in 0..fields.len() {
        smaller.push([&fields[..index], &fields[index + 1..]].concat());
    }
    for (index, field) in fields.iter().enumerate() {
        let before = fields[..index].iter().map(|field| field.id).max().unwrap_or(0);
        for field in field.smaller(before + 1) {
            let mut fields = fields.to_vec();
            fields[index] = field;
            smaller.push(fields);
        }
    }
    smaller.retain(|fields| fields.len() >= least);
    let mut all: Vec<_> = smaller.into_iter().map(|it| Definition::Struct(word, it)).collect();
    if word != "struct" {
        all.push(Definition::Struct("struct", fields.to_vec()));
    }
    all
}

impl Field {
    fn smaller(&self, least_id: i16) -> Vec<Self> {
        let mut smaller = Vec::new();
        if self.has_default {
            smaller.push(Self { has_default: false, ..self.clone() });
        }
        if !self.requiredness.is_empty() {
            smaller.push(Self { requiredness: "", ..self.clone() });
        }
        if self.id > least_id {
            smaller.push(Self { id: least_id, ..self.clone() });
        }
        smaller.extend(self.ty.smaller().into_iter().map(|ty| Self { ty, ..self.clone() }));
        smaller
    }
}

/// The smallest type.
const LEAST: Type = Type::Base("i64");

impl Type {
    /// Changes what is referred to, to a number where there is nothing.
    fn refer(&mut self, to: impl Fn(usize) -> Option<usize> + Copy) {
        match self {
            Self::Base(_) => {}
            Self::Named(index) => *self = to(*index).map_or(LEAST, Self::Named),
            Self::List(of) | Self::Set(of) => of.refer(to),
            Self::Map(key, value) => {
                key.refer(to);
                value.refer(to);
            }
        }
    }

    fn smaller(&self) -> Vec<Self> {
        let boxed = |types: Vec<Self>| types.into_iter().map(Box::new);
        let mut smaller = if *self == LEAST { Vec::new() } else { vec![LEAST] };
        match self {
            Self::Base(_) | Self::Named(_) => {}
            Self::List(of) => {
                smaller.push((**of).clone());
                smaller.extend(boxed(of.smaller()).map(Self::List));
            }
            Self::Set(of) => {
                smaller.extend([(**of).clone(), Self::List(of.clone())]);
                smaller.extend(boxed(of.smaller()).map(Self::Set));
            }
            Self::Map(key, value) => {
                smaller.extend([(**key).clone(), (**value).clone()]);
                smaller.extend(boxed(key.smaller()).map(|key| Self::Map(key, value.clone())));
                smaller.extend(boxed(value.smaller()).map(|value| Self::Map(key.clone(), value)));
            }
        }
        smaller
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the smallest IDL with all of these words in its text.
    fn smallest_with(seed: u64, words: &[&str]) -> String {
        let has = |idl: &RandomIdl| {
            let text = idl.to_string();
            words.iter().all(|word| text.contains(word))
        };
        let start = RandomIdl::new(seed);
        assert!(has(&start));
        start.smallest(|all| all.iter().position(has)).to_string()
    }

    #[test]
    fn minimised_idl_is_one_struct_with_failing_field() {
        let seed = |word: &str| (1..).find(|seed| RandomIdl::new(*seed).to_string().contains(word));
        let with_set = seed("set<map<").unwrap();
        let left = smallest_with(with_set, &["struct", "set<map<"]);
        assert!(left.starts_with("struct D0 {\n  1: set<map<"), "{left}");
        assert_eq!(left.lines().count(), 3, "{left}");
        assert_eq!(left.matches('<').count(), 2, "{left}");
        let with_default = seed("optional string f").unwrap();
        let left = smallest_with(with_default, &["optional string"]);
        assert_eq!(left.lines().count(), 3, "{left}");
    }

    #[test]
    fn smaller_idl_refers_to_no_removed_definition() {
        for seed in 1..8 {
            for idl in RandomIdl::new(seed).smaller() {
                let count = idl.definitions.len();
                let text = idl.to_string();
                let unknown = (count..20).find(|index| text.contains(&format!("D{index} ")));
                assert_eq!(unknown, None, "{text}");
            }
        }
    }

    #[test]
    fn becoming_smaller_ends() {
        for seed in 1..6 {
            let least = RandomIdl::new(seed).smallest(|all| (!all.is_empty()).then_some(0));
            assert_eq!(least.smaller(), []);
        }
    }
}
