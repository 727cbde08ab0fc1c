//! Structs for the vectors.

use std::collections::BTreeMap;

use breezeway_thrift::{
    Decode, DecodeError, Elements, Encode, Entries, Fields, NumberList, Set, SetOf, Sink, Slice,
    Source, Uuid, View, Wire,
};

/// An owned struct of fields that are always written.
macro_rules! owned {
    ($name:ident { $($id:literal $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $(pub $field: $type),* }

        impl Wire for $name {}

        impl Encode for $name {
            fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
                $(to.field($id, &self.$field);)*
                to.stop();
            }
        }

        impl Decode for $name {
            fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
                let mut fields = Fields::begin(from)?;
                $(fields.read($id, &mut self.$field)?;)*
                while let Some(id) = fields.next_id()? {
                    match id {
                        $($id => fields.read_next(&mut self.$field)?,)*
                        _ => fields.skip_next()?,
                    };
                }
                Ok(())
            }
        }
    };
}

/// A view of such a struct.
macro_rules! view {
    ($name:ident { $($id:literal $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name<'a> { $(pub $field: $type),* }

        impl Wire for $name<'_> {}

        impl<'a> View<'a> for $name<'a> {
            fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
                let mut value = Self::default();
                let mut fields = Fields::begin(from)?;
                $(fields.view($id, &mut value.$field)?;)*
                while let Some(id) = fields.next_id()? {
                    match id {
                        $($id => fields.view_next(&mut value.$field)?,)*
                        _ => fields.skip_next()?,
                    };
                }
                Ok(value)
            }
        }
    };
}

owned!(Empty {});
owned!(Echo { 1 text: String, 2 number: i32 });
owned!(EchoArguments { 1 request: Echo });
owned!(Failure { 1 reason: String });
owned!(FailureResult { 1 failure: Failure });
owned!(NumberResult { 0 success: i32 });

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flag {
    pub flag: Option<bool>,
}

impl Wire for Flag {}

impl Encode for Flag {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.optional(1, &self.flag);
        to.stop();
    }
}

impl Decode for Flag {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        fields.read(1, &mut self.flag)?;
        while let Some(id) = fields.next_id()? {
            match id {
                1 => fields.read_next(&mut self.flag)?,
                _ => fields.skip_next()?,
            };
        }
        Ok(())
    }
}

owned!(Identified { 1 id: Uuid });

owned!(AllTypes {
    1 bool: bool,
    2 byte: i8,
    3 i16: i16,
    4 i32: i32,
    5 i64: i64,
    6 double: f64,
    7 string: String,
    8 binary: Vec<u8>,
    9 list: Vec<i64>,
    10 set: Set<i32>,
    11 map: BTreeMap<String, i32>,
    12 empty: BTreeMap<String, i32>,
    -1 negative: i16,
});

owned!(Nesting {
    1 map: BTreeMap<String, Vec<Flag>>,
    2 flags: Vec<bool>,
    3 strings: Vec<String>,
    4 doubles: Set<f64>,
});

view!(EchoView { 1 text: &'a str, 2 number: i32 });
view!(EchoArgumentsView { 1 request: EchoView<'a> });

view!(AllTypesView {
    1 bool: bool,
    2 byte: i8,
    3 i16: i16,
    4 i32: i32,
    5 i64: i64,
    6 double: f64,
    7 string: &'a str,
    8 binary: &'a [u8],
    9 list: NumberList<'a, i64>,
    10 set: SetOf<NumberList<'a, i32>>,
    11 map: Entries<'a, &'a str, i32>,
    12 empty: Entries<'a, &'a str, i32>,
    -1 negative: i16,
});

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlagView {
    pub flag: Option<bool>,
}

impl Wire for FlagView {}

impl<'a> View<'a> for FlagView {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut value = Self::default();
        let mut fields = Fields::begin(from)?;
        fields.view(1, &mut value.flag)?;
        while let Some(id) = fields.next_id()? {
            match id {
                1 => fields.view_next(&mut value.flag)?,
                _ => fields.skip_next()?,
            };
        }
        Ok(value)
    }
}

view!(NestingView {
    1 map: Entries<'a, &'a str, Elements<'a, FlagView>>,
    2 flags: NumberList<'a, bool>,
    3 strings: Elements<'a, &'a str>,
    4 doubles: SetOf<NumberList<'a, f64>>,
});

impl From<AllTypesView<'_>> for AllTypes {
    fn from(view: AllTypesView<'_>) -> Self {
        let pairs = |entries: Entries<'_, &str, i32>| {
            entries.iter().map(|(key, value)| (key.to_owned(), value)).collect()
        };
        Self {
            bool: view.bool,
            byte: view.byte,
            i16: view.i16,
            i32: view.i32,
            i64: view.i64,
            double: view.double,
            string: view.string.to_owned(),
            binary: view.binary.to_owned(),
            list: view.list.to_vec(),
            set: view.set.to_vec().into(),
            map: pairs(view.map),
            empty: pairs(view.empty),
            negative: view.negative,
        }
    }
}

impl From<NestingView<'_>> for Nesting {
    fn from(view: NestingView<'_>) -> Self {
        let flags = |flags: Elements<'_, FlagView>| {
            flags.iter().map(|view| Flag { flag: view.flag }).collect()
        };
        Self {
            map: view.map.iter().map(|(key, list)| (key.to_owned(), flags(list))).collect(),
            flags: view.flags.to_vec(),
            strings: view.strings.iter().map(str::to_owned).collect(),
            doubles: view.doubles.to_vec().into(),
        }
    }
}
