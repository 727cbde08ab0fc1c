//! Skipping a value.

use crate::wire_type::STOP;
use crate::{DecodeError, Fault, Source, WireType};

/// Skips a value of the given type; checks only that it ends within the message, and its depth.
pub fn skip<S: Source>(wire_type: WireType, from: &mut S) -> Result<(), DecodeError> {
    if let Some(size) = wire_type.fixed_size() {
        return from.pass(size);
    }
    if wire_type == WireType::String {
        let length = from.length()?;
        return from.pass(length);
    }
    from.enter()?;
    match wire_type {
        WireType::Struct => skip_struct(from)?,
        WireType::Map => skip_map(from)?,
        _ => skip_list(from)?,
    }
    from.leave();
    Ok(())
}

fn skip_struct<S: Source>(from: &mut S) -> Result<(), DecodeError> {
    loop {
        let byte = from.byte()?;
        if byte == STOP {
            return Ok(());
        }
        let wire_type = type_before(byte, 1, from)?;
        from.pass(2)?;
        skip(wire_type, from)?;
    }
}

fn skip_list<S: Source>(from: &mut S) -> Result<(), DecodeError> {
    let byte = from.byte()?;
    let count = from.count(1)?;
    if count == 0 {
        return Ok(());
    }
    let element = type_before(byte, 5, from)?;
    // Checks the count again, now that the size of elements is known.
    check_count(count, element.min_size(), from)?;
    if let Some(size) = element.fixed_size() {
        return from.pass(count * size);
    }
    for _ in 0..count {
        skip(element, from)?;
    }
    Ok(())
}

fn skip_map<S: Source>(from: &mut S) -> Result<(), DecodeError> {
    let [key, value] = from.array()?;
    let count = from.count(2)?;
    if count == 0 {
        return Ok(());
    }
    let (key, value) = (type_before(key, 6, from)?, type_before(value, 5, from)?);
    check_count(count, key.min_size() + value.min_size(), from)?;
    if let (Some(key), Some(value)) = (key.fixed_size(), value.fixed_size()) {
        return from.pass(count * (key + value));
    }
    for _ in 0..count {
        skip(key, from)?;
        skip(value, from)?;
    }
    Ok(())
}

/// Returns the type of a byte that was read `distance` bytes ago.
fn type_before<S: Source>(byte: u8, distance: usize, from: &S) -> Result<WireType, DecodeError> {
    WireType::try_from(byte).map_err(|fault| fault.at(from.offset() - distance))
}

/// Fails if `count` elements, announced four bytes ago, do not fit into the rest.
fn check_count<S: Source>(count: usize, min_size: usize, from: &S) -> Result<(), DecodeError> {
    let left = from.remaining();
    if count > left / min_size {
        return Err(Fault::Count { count: count as u32, left }.at(from.offset() - 4));
    }
    Ok(())
}
