//! What the generator makes of `idl/bench.thrift`.

use breezeway_thrift::{
    Decode, DecodeError, Elements, Encode, Fields, InPlace, NumberList, Sink, Slice, Source, View,
    Wire,
};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ano {
    pub a: i64,
}

impl Wire for Ano {
    const MIN_SIZE: usize = 12;
}

impl Encode for Ano {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.put(1, self.a);
        to.stop();
    }
}

impl Decode for Ano {
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let mut ano = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read(1, &mut ano.a)?;
            if fields.end()? {
                fields.require(1, "a")?;
                return Ok(ano);
            }
        }
    }
}

/// An [`Ano`], read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnoView {
    pub a: i64,
}

impl Wire for AnoView {
    const MIN_SIZE: usize = 12;
}

impl<'a> View<'a> for AnoView {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut ano = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.view(1, &mut ano.a)?;
            if fields.end()? {
                fields.require(1, "a")?;
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
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let mut my_test = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read(1, &mut my_test.num)?;
            fields.read(2, &mut my_test.ano)?;
            fields.read(3, &mut my_test.nums)?;
            if fields.end()? {
                fields.require(1, "Num")?;
                fields.require(2, "Ano")?;
                fields.require(3, "Nums")?;
                return Ok(my_test);
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
                fields.require(1, "Num")?;
                fields.require(2, "Ano")?;
                fields.require(3, "Nums")?;
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
pub struct Mixed {
    pub flag: bool,
    pub count: i32,
    pub stamp: i64,
    pub ratio: f64,
    pub name: String,
    pub numbers: Vec<i64>,
}

impl Wire for Mixed {
    const MIN_SIZE: usize = 49;
}

impl Encode for Mixed {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.group(((1, self.flag), (2, self.count), (3, self.stamp), (4, self.ratio)));
        to.field(5, &self.name);
        to.field(6, &self.numbers);
        to.stop();
    }
}

impl Decode for Mixed {
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let mut mixed = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.group((
                (1, &mut mixed.flag),
                (2, &mut mixed.count),
                (3, &mut mixed.stamp),
                (4, &mut mixed.ratio),
            ))?;
            fields.read(5, &mut mixed.name)?;
            fields.read(6, &mut mixed.numbers)?;
            if fields.end()? {
                fields.require(1, "flag")?;
                fields.require(2, "count")?;
                fields.require(3, "stamp")?;
                fields.require(4, "ratio")?;
                fields.require(5, "name")?;
                fields.require(6, "numbers")?;
                return Ok(mixed);
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

impl Wire for MixedView<'_> {
    const MIN_SIZE: usize = 49;
}

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
                fields.require(1, "flag")?;
                fields.require(2, "count")?;
                fields.require(3, "stamp")?;
                fields.require(4, "ratio")?;
                fields.require(5, "name")?;
                fields.require(6, "numbers")?;
                return Ok(mixed);
            }
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub items: Vec<Mixed>,
}

impl Wire for Batch {}

impl Encode for Batch {
    fn encode<'a, S: Sink<'a>>(&'a self, to: &mut S) {
        to.field(1, &self.items);
        to.stop();
    }
}

impl Decode for Batch {
    fn decode<S: Source>(from: &mut S) -> Result<Self, DecodeError> {
        let mut batch = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.read(1, &mut batch.items)?;
            if fields.end()? {
                fields.require(1, "items")?;
                return Ok(batch);
            }
        }
    }
}

/// A [`Batch`], read in place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchView<'a> {
    pub items: Elements<'a, MixedView<'a>>,
}

impl Wire for BatchView<'_> {}

impl<'a> View<'a> for BatchView<'a> {
    fn view(from: &mut Slice<'a>) -> Result<Self, DecodeError> {
        let mut batch = Self::default();
        let mut fields = Fields::begin(from)?;
        loop {
            fields.view(1, &mut batch.items)?;
            if fields.end()? {
                fields.require(1, "items")?;
                return Ok(batch);
            }
        }
    }
}
