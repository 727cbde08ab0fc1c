//! Strings that store short text inline.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::convert::Infallible;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::str::FromStr;

use crate::byteswap::ShortText;

/// A string that stores up to 30 bytes inline, and longer text on the heap. It takes 32 bytes
/// itself, where a `String` takes 24.
///
/// Text cannot be changed in place: make a new string.
///
/// ```
/// use breezeway_thrift::SmallString;
///
/// let name = SmallString::from("Ann");
/// assert!(name.starts_with('A') && name == "Ann");
/// ```
#[derive(Clone)]
pub struct SmallString(Text);

#[derive(Clone)]
enum Text {
    Short(ShortText),
    Long(Box<str>),
}

impl SmallString {
    /// Bytes stored inline.
    pub(crate) const ROOM: usize = ShortText::ROOM;

    /// Returns a copy of `text`.
    #[inline(always)]
    pub fn new(text: &str) -> Self {
        match ShortText::new(text) {
            Some(short) => Self(Text::Short(short)),
            None => Self(Text::Long(text.into())),
        }
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Text::Short(text) => text.as_str(),
            Text::Long(text) => text,
        }
    }
}

impl Default for SmallString {
    #[inline(always)]
    fn default() -> Self {
        Self(Text::Short(ShortText::default()))
    }
}

impl Deref for SmallString {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for SmallString {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for SmallString {
    fn borrow(&self) -> &str {
        self
    }
}

impl From<&str> for SmallString {
    #[inline]
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for SmallString {
    fn from(text: String) -> Self {
        match ShortText::new(&text) {
            Some(short) => Self(Text::Short(short)),
            None => Self(Text::Long(text.into())),
        }
    }
}

impl From<SmallString> for String {
    fn from(text: SmallString) -> Self {
        match text.0 {
            Text::Short(text) => text.as_str().to_owned(),
            Text::Long(text) => text.into(),
        }
    }
}

impl fmt::Debug for SmallString {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), to)
    }
}

impl fmt::Display for SmallString {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), to)
    }
}

impl PartialEq for SmallString {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for SmallString {}

impl PartialEq<str> for SmallString {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for SmallString {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for SmallString {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<SmallString> for str {
    fn eq(&self, other: &SmallString) -> bool {
        self == other.as_str()
    }
}

impl PartialEq<SmallString> for &str {
    fn eq(&self, other: &SmallString) -> bool {
        *self == other.as_str()
    }
}

impl PartialEq<SmallString> for String {
    fn eq(&self, other: &SmallString) -> bool {
        self == other.as_str()
    }
}

impl FromStr for SmallString {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl PartialOrd for SmallString {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SmallString {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other)
    }
}

impl Hash for SmallString {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.as_str().hash(hasher);
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for SmallString {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for SmallString {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self::from)
    }
}
