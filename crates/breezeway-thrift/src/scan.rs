//! Detection of the end of a message without a length prefix, while its bytes arrive.

use crate::wire_type::STOP;
use crate::{DecodeError, Fault, Limits, WireType};

/// Searches for the end of a message: its header and one struct, in a buffer that grows.
///
/// Each byte is examined once, however many pieces the message arrives in.
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
    /// Bytes examined so far; past the end of the buffer while a string is skipped.
    at: usize,
    /// Open levels, from the outside in. Empty before the header, and at the end.
    open: Vec<Level>,
}

#[derive(Clone, Copy, Debug)]
enum Level {
    /// A struct, before a field or its end.
    Struct,
    /// `left` values, of these types in turn.
    Values { left: u64, types: [WireType; 2] },
}

impl MessageScan {
    /// Creates a scan for the end of one message within these limits.
    pub fn new(limits: Limits) -> Self {
        Self { limits, at: 0, open: Vec::new() }
    }

    /// Returns the end of the message at the start of `bytes`; `None` if more bytes are needed. The
    /// next call must pass the same bytes with more behind them.
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

    /// Returns the bytes at the current position, if they have arrived.
    fn next<const N: usize>(&self, bytes: &[u8]) -> Option<[u8; N]> {
        from(bytes, self.at)
    }

    /// Skips the header: version and kind, name, sequence number.
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

    /// Skips a field's header and begins its value, or ends the struct.
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

    /// Begins the next value of a list or map.
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

    /// Skips a value that begins `behind` bytes further, or its beginning.
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

    /// Begins `count` values, or skips them if all are of fixed size.
    fn values(&mut self, types: [u8; 2], count: u64) -> Result<(), DecodeError> {
        if count == 0 {
            return Ok(());
        }
        let of = |byte| WireType::try_from(byte).map_err(|fault: Fault| fault.at(self.at));
        let types = [of(types[0])?, of(types[1])?];
        if let [Some(one), Some(other)] = types.map(WireType::fixed_size) {
            // In a list both types are the same; in a map `count` includes keys and values.
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

/// Returns the bytes at `start`, if they have arrived.
fn from<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    bytes.get(start..)?.first_chunk().copied()
}
