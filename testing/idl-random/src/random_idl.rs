//! Random IDLs.

use std::fmt;

use crate::dice::Dice;

/// A file of enums, typedefs, structs, unions and exceptions that refer to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomIdl {
    pub(crate) definitions: Vec<Definition>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Definition {
    Enum(Vec<i32>),
    Typedef(Type),
    /// A struct, union or exception.
    Struct(&'static str, Vec<Field>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) id: i16,
    pub(crate) requiredness: &'static str,
    pub(crate) ty: Type,
    pub(crate) has_default: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Base(&'static str),
    /// The definition with this index.
    Named(usize),
    List(Box<Type>),
    Set(Box<Type>),
    Map(Box<Type>, Box<Type>),
}

/// The base types, and a value of each. The last two are not for every generator.
const BASE: [(&str, &str); 9] = [
    ("bool", "true"),
    ("string", "\"a text\""),
    ("i8", "-8"),
    ("i16", "300"),
    ("i32", "-70000"),
    ("i64", "5000000000"),
    ("binary", "\"bytes\""),
    ("double", "2.5"),
    ("uuid", "\"00010203-0405-0607-0809-0a0b0c0d0e0f\""),
];

impl RandomIdl {
    /// Returns the IDL of `seed`.
    pub fn new(seed: u64) -> Self {
        Self::of(seed, false)
    }

    /// Returns the IDL of `seed` within the subset for which other generators make Rust that
    /// compiles: no cycles, no structs, containers or doubles as keys, and no `uuid`.
    pub fn common(seed: u64) -> Self {
        Self::of(seed, true)
    }

    fn of(seed: u64, common: bool) -> Self {
        let mut dice = Dice(seed);
        let count = 6 + dice.below(5);
        let mut rolling = Rolling { definitions: Vec::new(), count, common, dice };
        for index in 0..count {
            let definition = rolling.definition(index);
            rolling.definitions.push(definition);
        }
        Self { definitions: rolling.definitions }
    }
}

/// An IDL in the making.
struct Rolling {
    definitions: Vec<Definition>,
    /// Final number of definitions.
    count: usize,
    /// True if the IDL must be accepted by other generators, too.
    common: bool,
    dice: Dice,
}

impl Rolling {
    fn definition(&mut self, index: usize) -> Definition {
        match self.dice.below(8) {
            0 => {
                Definition::Enum((0..1 + self.dice.below(4)).map(|at| at as i32 * 3 - 2).collect())
            }
            1 if index > 0 => Definition::Typedef(self.ty(index, 2)),
            2 => Definition::Struct("union", self.fields(index, "union")),
            3 => Definition::Struct("exception", self.fields(index, "exception")),
            _ => Definition::Struct("struct", self.fields(index, "struct")),
        }
    }

    fn fields(&mut self, index: usize, word: &str) -> Vec<Field> {
        let many = self.dice.below(7) == 0;
        let count = if many { 20 + self.dice.below(50) } else { self.dice.below(9) };
        let widest = [1, 1, 1, 3, 90][self.dice.below(5)];
        let mut id = 0;
        let mut fields: Vec<_> = (0..count.max(usize::from(word == "union")))
            .map(|at| {
                id += 1 + self.dice.below(widest) as i16;
                match word {
                    // So that every union has a value that ends.
                    "union" if at == 0 => Field::plain(id, Type::Base("i64")),
                    "union" => Field::plain(id, self.ty(self.known(index), 2)),
                    _ => self.field(index, id, if many { 1 } else { 3 }),
                }
            })
            .collect();
        if word != "union" && self.dice.below(4) == 0 {
            fields.reverse();
        }
        fields
    }

    fn field(&mut self, index: usize, id: i16, depth: usize) -> Field {
        let requiredness = ["", "", "optional ", "optional ", "required "][self.dice.below(5)];
        // A type that requires itself has no end.
        let known = if requiredness == "required " { index } else { self.known(index) };
        let ty = self.ty(known, depth);
        let has_default = self.dice.below(4) == 0 && ty.value(&self.definitions).is_some();
        Field { id, requiredness, ty, has_default }
    }

    /// Returns the number of definitions that the one at `index` may refer to.
    fn known(&self, index: usize) -> usize {
        if self.common { index } else { self.count }
    }

    fn base(&mut self) -> Type {
        let count = if self.common { BASE.len() - 1 } else { BASE.len() };
        Type::Base(BASE[self.dice.below(count)].0)
    }

    /// A type that leads to none but the first `known` definitions.
    fn ty(&mut self, known: usize, depth: usize) -> Type {
        match self.dice.below(if depth == 0 { 6 } else { 10 }) {
            4 | 5 if known > 0 => Type::Named(self.dice.below(known)),
            6 | 7 => Type::List(Box::new(self.ty(known, depth - 1))),
            8 => Type::Set(Box::new(self.key(known, depth - 1))),
            9 => {
                let key = self.key(known, depth - 1);
                Type::Map(Box::new(key), Box::new(self.ty(known, depth - 1)))
            }
            _ => self.base(),
        }
    }

    fn key(&mut self, known: usize, depth: usize) -> Type {
        match self.dice.below(3) {
            _ if self.common => Type::Base(BASE[self.dice.below(BASE.len() - 2)].0),
            0 => self.ty(known, depth),
            _ => self.base(),
        }
    }
}

impl Field {
    fn plain(id: i16, ty: Type) -> Self {
        Self { id, requiredness: "", ty, has_default: false }
    }
}

impl Type {
    /// Returns a value, if it is short.
    fn value(&self, known: &[Definition]) -> Option<String> {
        match self {
            Self::Base(name) => {
                BASE.iter().find(|(base, _)| base == name).map(|(_, value)| (*value).to_owned())
            }
            Self::Named(index) => match known.get(*index)? {
                Definition::Enum(_) => Some(format!("D{index}.V0")),
                Definition::Typedef(ty) => ty.value(known),
                Definition::Struct(..) => None,
            },
            Self::List(of) | Self::Set(of) => Some(format!("[{}]", of.value(known)?)),
            Self::Map(key, value) => {
                Some(format!("{{{}: {}}}", key.value(known)?, value.value(known)?))
            }
        }
    }
}

impl fmt::Display for RandomIdl {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, definition) in self.definitions.iter().enumerate() {
            match definition {
                Definition::Typedef(ty) => writeln!(to, "typedef {ty} D{index}")?,
                Definition::Enum(values) => {
                    let value = |(at, number)| format!("V{at} = {number}");
                    let values: Vec<_> = values.iter().enumerate().map(value).collect();
                    writeln!(to, "enum D{index} {{ {} }}", values.join(", "))?;
                }
                Definition::Struct(word, fields) => {
                    writeln!(to, "{word} D{index} {{")?;
                    for field in fields {
                        write!(to, "  {}: {}{} f{0}", field.id, field.requiredness, field.ty)?;
                        match field.ty.value(&self.definitions).filter(|_| field.has_default) {
                            Some(value) => writeln!(to, " = {value}")?,
                            None => writeln!(to)?,
                        }
                    }
                    writeln!(to, "}}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Type {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Base(name) => to.write_str(name),
            Self::Named(index) => write!(to, "D{index}"),
            Self::List(of) => write!(to, "list<{of}>"),
            Self::Set(of) => write!(to, "set<{of}>"),
            Self::Map(key, value) => write!(to, "map<{key}, {value}>"),
        }
    }
}
