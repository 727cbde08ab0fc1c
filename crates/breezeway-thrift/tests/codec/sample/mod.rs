//! What the generator makes of `sample.thrift`, written by hand.

use std::collections::BTreeMap;

use breezeway_thrift::{
    Decode, DecodeError, Elements, Encode, Entries, Fields, InPlace, Nested, NumberList, Pairs,
    Set, SetOf, Sink, Slice, Source, Uuid, View, Wire, open_enum,
};

/// A colour, which later versions may have more of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Color(pub i32);

impl Color {
    pub const RED: Self = Self(1);
    pub const GREEN: Self = Self(2);
}

open_enum!(Color);

/// The other one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ano {
    pub a: i64,
}

impl Wire for Ano {}

impl Encode for Ano {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.put(1, self.a);
        to.stop();
    }
}

impl Decode for Ano {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read(1, &mut self.a)?;
            if fields.end()? {
                return Ok(());
            }
        }
    }
}

/// An [`Ano`], read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnoView {
    pub a: i64,
}

impl Wire for AnoView {}

impl<'a> View<'a> for AnoView {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut ano = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.view(1, &mut ano.a)?;
            if fields.end()? {
                return Ok(ano);
            }
        }
    }
}

/// Writes an [`Ano`], field by field.
#[must_use = "a struct ends with end()"]
pub struct AnoWriter<'w, S>(&'w mut S);

impl<'w, 'a, S: Sink<'a>> AnoWriter<'w, S> {
    pub fn new(to: &'w mut S) -> Self {
        Self(to)
    }

    pub fn a(self, a: i64) -> Self {
        self.0.put(1, a);
        self
    }

    pub fn end(self) {
        self.0.stop();
    }
}

/// Small fields of many kinds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mixed {
    pub flag: bool,
    pub count: i32,
    pub stamp: i64,
    pub ratio: f64,
    pub name: String,
    pub numbers: Vec<i64>,
}

impl Wire for Mixed {}

impl Encode for Mixed {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.group(((1, self.flag), (2, self.count), (3, self.stamp), (4, self.ratio)));
        to.field(5, &self.name);
        to.field(6, &self.numbers);
        to.stop();
    }
}

impl Decode for Mixed {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        loop {
            fields.group((
                (1, &mut self.flag),
                (2, &mut self.count),
                (3, &mut self.stamp),
                (4, &mut self.ratio),
            ))?;
            fields.read(5, &mut self.name)?;
            fields.read(6, &mut self.numbers)?;
            if fields.end()? {
                return Ok(());
            }
        }
    }
}

/// A [`Mixed`], read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MixedView<'a> {
    pub flag: bool,
    pub count: i32,
    pub stamp: i64,
    pub ratio: f64,
    pub name: &'a str,
    pub numbers: NumberList<'a, i64>,
}

impl Wire for MixedView<'_> {}

impl<'a> View<'a> for MixedView<'a> {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut mixed = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.group((
                (1, &mut mixed.flag),
                (2, &mut mixed.count),
                (3, &mut mixed.stamp),
                (4, &mut mixed.ratio),
            ))?;
            fields.view(5, &mut mixed.name)?;
            fields.view(6, &mut mixed.numbers)?;
            if fields.end()? {
                return Ok(mixed);
            }
        }
    }
}

/// Writes a [`Mixed`], field by field.
#[must_use = "a struct ends with end()"]
pub struct MixedWriter<'w, S>(&'w mut S);

impl<'w, 'a, S: Sink<'a>> MixedWriter<'w, S> {
    pub fn new(to: &'w mut S) -> Self {
        Self(to)
    }

    pub fn flag(self, flag: bool) -> Self {
        self.0.put(1, flag);
        self
    }

    pub fn count(self, count: i32) -> Self {
        self.0.put(2, count);
        self
    }

    pub fn stamp(self, stamp: i64) -> Self {
        self.0.put(3, stamp);
        self
    }

    pub fn ratio(self, ratio: f64) -> Self {
        self.0.put(4, ratio);
        self
    }

    pub fn name(self, name: &'a str) -> Self {
        self.0.field(5, name);
        self
    }

    pub fn name_in_place(self, length: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        self.0.bytes_in_place(5, length, fill);
        self
    }

    pub fn numbers<I>(self, numbers: I) -> Self
    where
        I: IntoIterator<Item = i64, IntoIter: ExactSizeIterator>,
    {
        self.0.numbers_in_place(6, numbers);
        self
    }

    pub fn end(self) {
        self.0.stop();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MyTest {
    pub num: i64,
    pub ano: Ano,
    pub nums: Vec<i64>,
}

impl Wire for MyTest {}

impl Encode for MyTest {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.put(1, self.num);
        to.field(2, &self.ano);
        to.field(3, &self.nums);
        to.stop();
    }
}

impl Decode for MyTest {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read(1, &mut self.num)?;
            fields.read(2, &mut self.ano)?;
            fields.read(3, &mut self.nums)?;
            if fields.end()? {
                return Ok(());
            }
        }
    }
}

/// A [`MyTest`], read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MyTestView<'a> {
    pub num: i64,
    pub ano: AnoView,
    pub nums: NumberList<'a, i64>,
}

impl Wire for MyTestView<'_> {}

impl<'a> View<'a> for MyTestView<'a> {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut my_test = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.view(1, &mut my_test.num)?;
            fields.view(2, &mut my_test.ano)?;
            fields.view(3, &mut my_test.nums)?;
            if fields.end()? {
                return Ok(my_test);
            }
        }
    }
}

/// Writes a [`MyTest`], field by field.
#[must_use = "a struct ends with end()"]
pub struct MyTestWriter<'w, S>(&'w mut S);

impl<'w, 'a, S: Sink<'a>> MyTestWriter<'w, S> {
    pub fn new(to: &'w mut S) -> Self {
        Self(to)
    }

    pub fn num(self, num: i64) -> Self {
        self.0.put(1, num);
        self
    }

    pub fn ano(self, write: impl FnOnce(AnoWriter<'_, S>) -> AnoWriter<'_, S>) -> Self {
        self.0.struct_in_place(2, |to| write(AnoWriter::new(to)).end());
        self
    }

    pub fn nums<I>(self, nums: I) -> Self
    where
        I: IntoIterator<Item = i64, IntoIter: ExactSizeIterator>,
    {
        self.0.numbers_in_place(3, nums);
        self
    }

    pub fn end(self) {
        self.0.stop();
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// No field that this version knows.
    #[default]
    Unset,
    Side(i64),
    Name(String),
    Ano(Ano),
}

impl Wire for Shape {}

impl Encode for Shape {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        match self {
            Self::Unset => {}
            Self::Side(side) => to.field(1, side),
            Self::Name(name) => to.field(2, name),
            Self::Ano(ano) => to.field(3, ano),
        }
        to.stop();
    }
}

impl Decode for Shape {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read_as(1, self, Self::Side)?;
            fields.read_as(2, self, Self::Name)?;
            fields.read_as(3, self, Self::Ano)?;
            if fields.end()? {
                return Ok(());
            }
        }
    }
}

/// A [`Shape`], read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ShapeView<'a> {
    /// No field that this version knows.
    #[default]
    Unset,
    Side(i64),
    Name(&'a str),
    Ano(AnoView),
}

impl Wire for ShapeView<'_> {}

impl<'a> View<'a> for ShapeView<'a> {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut shape = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.view_as(1, &mut shape, Self::Side)?;
            fields.view_as(2, &mut shape, Self::Name)?;
            fields.view_as(3, &mut shape, Self::Ano)?;
            if fields.end()? {
                return Ok(shape);
            }
        }
    }
}

/// Writes a [`Shape`].
#[must_use = "a union ends with end()"]
pub struct ShapeWriter<'w, S>(&'w mut S);

impl<'w, 'a, S: Sink<'a>> ShapeWriter<'w, S> {
    pub fn new(to: &'w mut S) -> Self {
        Self(to)
    }

    pub fn side(self, side: i64) -> Self {
        self.0.put(1, side);
        self
    }

    pub fn name(self, name: &'a str) -> Self {
        self.0.field(2, name);
        self
    }

    pub fn ano(self, write: impl FnOnce(AnoWriter<'_, S>) -> AnoWriter<'_, S>) -> Self {
        self.0.struct_in_place(3, |to| write(AnoWriter::new(to)).end());
        self
    }

    pub fn end(self) {
        self.0.stop();
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct NotFound {
    pub message: String,
    pub color: Option<Color>,
}

impl Default for NotFound {
    fn default() -> Self {
        Self { message: String::new(), color: Some(Color::RED) }
    }
}

impl std::fmt::Display for NotFound {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl std::error::Error for NotFound {}

impl Wire for NotFound {}

impl Encode for NotFound {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.field(1, &self.message);
        to.optional(2, &self.color);
        to.stop();
    }
}

impl Decode for NotFound {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read(1, &mut self.message)?;
            fields.read(2, &mut self.color)?;
            if fields.end()? {
                fields.require(1, "message")?;
                return Ok(());
            }
        }
    }
}

/// Every way to nest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub value: i64,
    pub next: Option<Box<Node>>,
    pub children: Vec<Node>,
    pub table: BTreeMap<String, Vec<i32>>,
    pub set_of_numbers: Set<i64>,
    pub blob: Vec<u8>,
    pub mixed: Vec<Mixed>,
    pub shape: Option<Shape>,
    pub id: Option<Uuid>,
    pub colors: Vec<Color>,
    pub limit: Option<i32>,
    pub tags: Set<String>,
    pub by_number: Pairs<f64, Ano>,
}

impl Wire for Node {
    const MIN_SIZE: usize = 12;
}

impl Encode for Node {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.put(1, self.value);
        to.optional(2, &self.next);
        to.field(3, &self.children);
        to.field(4, &self.table);
        to.field(5, &self.set_of_numbers);
        to.field(6, &self.blob);
        to.field(7, &self.mixed);
        to.optional(8, &self.shape);
        to.optional(9, &self.id);
        to.field(10, &self.colors);
        to.optional(11, &self.limit);
        to.field(12, &self.tags);
        to.field(13, &self.by_number);
        to.stop();
    }
}

impl Decode for Node {
    fn decode_into<S: Source>(&mut self, from: &mut S) -> Result<(), DecodeError> {
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read(1, &mut self.value)?;
            fields.read(2, &mut self.next)?;
            fields.read(3, &mut self.children)?;
            fields.read(4, &mut self.table)?;
            fields.read(5, &mut self.set_of_numbers)?;
            fields.read(6, &mut self.blob)?;
            fields.read(7, &mut self.mixed)?;
            fields.read(8, &mut self.shape)?;
            fields.read(9, &mut self.id)?;
            fields.read(10, &mut self.colors)?;
            fields.read(11, &mut self.limit)?;
            fields.read(12, &mut self.tags)?;
            fields.read(13, &mut self.by_number)?;
            if fields.end()? {
                fields.require(1, "value")?;
                return Ok(());
            }
        }
    }
}

/// A [`Node`], read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeView<'a> {
    pub value: i64,
    pub next: Option<Nested<'a, NodeView<'a>>>,
    pub children: Elements<'a, NodeView<'a>>,
    pub table: Entries<'a, &'a str, NumberList<'a, i32>>,
    pub set_of_numbers: SetOf<NumberList<'a, i64>>,
    pub blob: &'a [u8],
    pub mixed: Elements<'a, MixedView<'a>>,
    pub shape: Option<ShapeView<'a>>,
    pub id: Option<Uuid>,
    pub colors: NumberList<'a, Color>,
    pub limit: Option<i32>,
    pub tags: SetOf<Elements<'a, &'a str>>,
    pub by_number: Entries<'a, f64, AnoView>,
}

impl Wire for NodeView<'_> {
    const MIN_SIZE: usize = 12;
}

impl<'a> View<'a> for NodeView<'a> {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut node = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.view(1, &mut node.value)?;
            fields.view(2, &mut node.next)?;
            fields.view(3, &mut node.children)?;
            fields.view(4, &mut node.table)?;
            fields.view(5, &mut node.set_of_numbers)?;
            fields.view(6, &mut node.blob)?;
            fields.view(7, &mut node.mixed)?;
            fields.view(8, &mut node.shape)?;
            fields.view(9, &mut node.id)?;
            fields.view(10, &mut node.colors)?;
            fields.view(11, &mut node.limit)?;
            fields.view(12, &mut node.tags)?;
            fields.view(13, &mut node.by_number)?;
            if fields.end()? {
                fields.require(1, "value")?;
                return Ok(node);
            }
        }
    }
}

/// Writes a [`Node`], field by field.
#[must_use = "a struct ends with end()"]
pub struct NodeWriter<'w, S>(&'w mut S);

impl<'w, 'a, S: Sink<'a>> NodeWriter<'w, S> {
    pub fn new(to: &'w mut S) -> Self {
        Self(to)
    }

    pub fn value(self, value: i64) -> Self {
        self.0.put(1, value);
        self
    }

    pub fn next(self, write: impl FnOnce(NodeWriter<'_, S>) -> NodeWriter<'_, S>) -> Self {
        self.0.struct_in_place(2, |to| write(NodeWriter::new(to)).end());
        self
    }

    pub fn children<I: IntoIterator<IntoIter: ExactSizeIterator>>(
        self,
        children: I,
        mut write: impl FnMut(NodeWriter<'_, S>, I::Item) -> NodeWriter<'_, S>,
    ) -> Self {
        self.0.list_in_place::<Node, _>(3, children, |to, item| {
            write(NodeWriter::new(to), item).end();
        });
        self
    }

    pub fn table(self, table: &'a BTreeMap<String, Vec<i32>>) -> Self {
        self.0.field(4, table);
        self
    }

    pub fn set_of_numbers<I>(self, numbers: I) -> Self
    where
        I: IntoIterator<Item = i64, IntoIter: ExactSizeIterator>,
    {
        self.0.number_set_in_place(5, numbers);
        self
    }

    pub fn blob(self, blob: &'a [u8]) -> Self {
        self.0.field(6, blob);
        self
    }

    pub fn blob_in_place(self, length: usize, fill: impl FnOnce(&mut [u8])) -> Self {
        self.0.bytes_in_place(6, length, fill);
        self
    }

    pub fn mixed<I: IntoIterator<IntoIter: ExactSizeIterator>>(
        self,
        mixed: I,
        mut write: impl FnMut(MixedWriter<'_, S>, I::Item) -> MixedWriter<'_, S>,
    ) -> Self {
        self.0.list_in_place::<Mixed, _>(7, mixed, |to, item| {
            write(MixedWriter::new(to), item).end();
        });
        self
    }

    pub fn shape(self, write: impl FnOnce(ShapeWriter<'_, S>) -> ShapeWriter<'_, S>) -> Self {
        self.0.struct_in_place(8, |to| write(ShapeWriter::new(to)).end());
        self
    }

    pub fn id(self, id: Uuid) -> Self {
        self.0.put(9, id);
        self
    }

    pub fn colors<I>(self, colors: I) -> Self
    where
        I: IntoIterator<Item = Color, IntoIter: ExactSizeIterator>,
    {
        self.0.numbers_in_place(10, colors);
        self
    }

    pub fn limit(self, limit: i32) -> Self {
        self.0.put(11, limit);
        self
    }

    pub fn tags(self, tags: &'a Set<String>) -> Self {
        self.0.field(12, tags);
        self
    }

    pub fn by_number(self, by_number: &'a Pairs<f64, Ano>) -> Self {
        self.0.field(13, by_number);
        self
    }

    pub fn end(self) {
        self.0.stop();
    }
}
