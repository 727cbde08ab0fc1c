//! Finding the end of a message that has no length before it, while its bytes are still coming.

use crate::wire_type::STOP;
use crate::{DecodeError, Fault, Limits, WireType};

/// Looks for the end of a message: its header and one struct, in a buffer that grows.
///
/// Each byte is looked at once, however many pieces the message comes in.
///
/// ```
/// use breezeway_thrift::{Limits, MessageScan};
///
/// let message = b"\x80\x01\x00\x01\0\0\0\x04ping\0\0\0\x01\0";
/// let mut scan = MessageScan::new(Limits::default());
/// assert_eq!(scan.end(&message[..9]), Ok(None));
/// assert_eq!(scan.end(message), Ok(Some(message.len())));
/// ```
#[derive(Clone, Debug)]
pub struct MessageScan {
    limits: Limits,
    /// What was looked at; more than there is while a string is passed over.
    at: usize,
    /// What is open, from the outside in. Empty before the header, and when all is done.
    open: Vec<Level>,
}

#[derive(Clone, Copy, Debug)]
enum Level {
    /// A struct, before a field or its end.
    Struct,
    /// So many values, of these types in turn.
    Values { left: u64, types: [WireType; 2] },
}

impl MessageScan {
    /// Looks for the end of one message, which keeps to these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, at: 0, open: Vec::new() }
    }

    /// Where the message ends that `bytes` begin with. Nothing if more bytes must come; what has
    /// come stays where it is.
    pub fn end(&mut self, bytes: &[u8]) -> Result<Option<usize>, DecodeError> {
        if self.at == 0 && !self.header(bytes)? {
            return Ok(None);
        }
        while let Some(level) = self.open.last().copied() {
            let went_on = match level {
                Level::Struct => self.field(bytes)?,
                Level::Values { left: 0, .. } => {
                    self.open.pop();
                    true
                }
                Level::Values { left, types } => self.element(bytes, left, types)?,
            };
            if self.at > self.limits.size {
                return Err(Fault::Size { size: self.at, limit: self.limits.size }.at(0));
            }
            if !went_on {
                return Ok(None);
            }
        }
        Ok((self.at <= bytes.len()).then_some(self.at))
    }

    /// The bytes from where it is, if they are there.
    fn next<const N: usize>(&self, bytes: &[u8]) -> Option<[u8; N]> {
        from(bytes, self.at)
    }

    /// Passes over the header: version and kind, name, sequence number.
    fn header(&mut self, bytes: &[u8]) -> Result<bool, DecodeError> {
        let Some(first) = self.next::<8>(bytes) else { return Ok(false) };
        let [0x80, 0x01, 0x00, _, length @ ..] = first else {
            let [one, two, three, four, ..] = first;
            return Err(Fault::Version([one, two, three, four]).at(0));
        };
        self.at = 8 + self.length(length, 4)? + 4;
        self.open.push(Level::Struct);
        Ok(true)
    }

    /// Passes over a field's header and begins its value, or ends the struct.
    fn field(&mut self, bytes: &[u8]) -> Result<bool, DecodeError> {
        let Some([byte]) = self.next(bytes) else { return Ok(false) };
        if byte == STOP {
            self.at += 1;
            self.open.pop();
            return Ok(true);
        }
        let wire_type = WireType::try_from(byte).map_err(|fault| fault.at(self.at))?;
        self.value(bytes, wire_type, 3)
    }

    /// Begins the next of a list's or map's values.
    fn element(
        &mut self,
        bytes: &[u8],
        left: u64,
        types: [WireType; 2],
    ) -> Result<bool, DecodeError> {
        let [next, after] = types;
        let place = self.open.len() - 1;
        let went_on = self.value(bytes, next, 0)?;
        if went_on {
            self.open[place] = Level::Values { left: left - 1, types: [after, next] };
        }
        Ok(went_on)
    }

    /// Passes over a value that begins `behind` bytes on, or over what it begins with.
    fn value(
        &mut self,
        bytes: &[u8],
        wire_type: WireType,
        behind: usize,
    ) -> Result<bool, DecodeError> {
        if let Some(size) = wire_type.fixed_size() {
            self.at += behind + size;
            return Ok(true);
        }
        let start = self.at + behind;
        match wire_type {
            WireType::String => {
                let Some(length) = from(bytes, start) else { return Ok(false) };
                self.at = start + 4 + self.length(length, start)?;
            }
            WireType::Struct => {
                self.at = start;
                self.enter(Level::Struct)?;
            }
            WireType::Map => {
                let Some([key, value, count @ ..]) = from::<6>(bytes, start) else {
                    return Ok(false);
                };
                self.at = start + 6;
                self.values([key, value], self.length(count, start + 2)? as u64 * 2)?;
            }
            _ => {
                let Some([of, count @ ..]) = from::<5>(bytes, start) else { return Ok(false) };
                self.at = start + 5;
                self.values([of, of], self.length(count, start + 1)? as u64)?;
            }
        }
        Ok(true)
    }

    /// Begins so many values, or passes over them if all are of fixed size.
    fn values(&mut self, types: [u8; 2], count: u64) -> Result<(), DecodeError> {
        if count == 0 {
            return Ok(());
        }
        let of = |byte| WireType::try_from(byte).map_err(|fault: Fault| fault.at(self.at));
        let types = [of(types[0])?, of(types[1])?];
        if let [Some(one), Some(other)] = types.map(WireType::fixed_size) {
            // Of a list both are the same, of a map the count is of both.
            self.at = self.at.saturating_add(count as usize * (one + other) / 2);
            return Ok(());
        }
        self.enter(Level::Values { left: count, types })
    }

    fn enter(&mut self, level: Level) -> Result<(), DecodeError> {
        if self.open.len() >= self.limits.depth as usize {
            return Err(Fault::Depth.at(self.at));
        }
        self.open.push(level);
        Ok(())
    }

    fn length(&self, bytes: [u8; 4], at: usize) -> Result<usize, DecodeError> {
        let length = i32::from_be_bytes(bytes);
        usize::try_from(length).map_err(|_| Fault::NegativeLength(length).at(at))
    }
}

/// The bytes at `start`, if they are there.
fn from<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    bytes.get(start..)?.first_chunk().copied()
}
