//! Definition records: what ids and handles stand for.

use super::signature;
use crate::trace::activity::Device;
use crate::trace::{Layer, Signature};
use nom::bytes::complete::take;
use nom::number::complete::{le_u8, le_u16, le_u32, le_u64};
use nom::{IResult, Parser};
use umtui_wire::record::{KIND_API, KIND_DEVICE, KIND_KERNEL, KIND_MODULE, KIND_STRING};

/// One definition record.
#[derive(Debug, PartialEq, Eq)]
pub enum Definition<'a> {
    /// A piece of a string.
    String {
        /// Id, from 1.
        id: u32,
        /// Bytes of the whole string.
        length: u32,
        /// Where this piece begins in it.
        offset: u32,
        /// The piece.
        bytes: &'a [u8],
    },
    /// A function.
    Api {
        /// Id in the file.
        id: u16,
        /// Name.
        name: String,
        /// Runtime or driver.
        layer: Layer,
        /// Its arguments; `None` if they could not be understood.
        signature: Option<Signature>,
    },
    /// A mapped module.
    Module {
        /// String id of the path.
        path: u32,
        /// First address.
        start: u64,
        /// First address after it.
        end: u64,
        /// File offset that `start` shows.
        file_offset: u64,
        /// When it was seen.
        ticks: u64,
        /// Build id.
        build_id: &'a [u8],
    },
    /// A kernel.
    Kernel {
        /// String id of its name.
        name: u32,
        /// Handle.
        handle: u64,
        /// When it was seen.
        ticks: u64,
    },
    /// A device.
    Device {
        /// Its number.
        ordinal: u16,
        /// String id of its name.
        name: u32,
        /// The rest of it.
        device: Device,
    },
    /// A kind that this reader does not know.
    Unknown,
}

/// Reads one record; `None` if it contradicts itself.
#[must_use]
pub fn parse(record: &[u8]) -> Option<Definition<'_>> {
    definition(record).ok().map(|(_, definition)| definition)
}

fn definition(record: &[u8]) -> IResult<&[u8], Definition<'_>> {
    let (rest, (kind, _extra, a, b)) = (le_u8, le_u8, le_u16, le_u32).parse(record)?;
    match kind {
        KIND_STRING => string(b, rest),
        KIND_API => api(a, b, rest),
        KIND_MODULE => module(b, rest),
        KIND_KERNEL => {
            let (rest, (handle, ticks)) = (le_u64, le_u64).parse(rest)?;
            Ok((rest, Definition::Kernel { name: b, handle, ticks }))
        }
        KIND_DEVICE => device(a, b, rest),
        _ => Ok((rest, Definition::Unknown)),
    }
}

fn string(id: u32, record: &[u8]) -> IResult<&[u8], Definition<'_>> {
    let (text, (length, offset)) = (le_u32, le_u32).parse(record)?;
    let left = length.checked_sub(offset).ok_or_else(|| contradiction(record))?;
    let (rest, bytes) = take(text.len().min(left as usize)).parse(text)?;
    Ok((rest, Definition::String { id, length, offset, bytes }))
}

fn api(id: u16, layer: u32, record: &[u8]) -> IResult<&[u8], Definition<'_>> {
    let (text, length) = le_u64.parse(record)?;
    let length = usize::try_from(length).map_err(|_| contradiction(record))?;
    let (rest, text) = take(length).parse(text)?;
    let text = String::from_utf8_lossy(text);
    let layer = if layer == Layer::Driver as u32 { Layer::Driver } else { Layer::Runtime };
    let (name, signature) = match signature::parse(&text) {
        Some((name, signature)) => (name, Some(signature)),
        None => (text.split('(').next().unwrap_or_default(), None),
    };
    if name.is_empty() {
        return Err(contradiction(record));
    }
    Ok((rest, Definition::Api { id, name: name.to_owned(), layer, signature }))
}

fn module(path: u32, record: &[u8]) -> IResult<&[u8], Definition<'_>> {
    let (rest, (start, end, file_offset, ticks, _zero)) = (le_u64, le_u64, le_u64, le_u64, le_u64).parse(record)?;
    if end <= start {
        return Err(contradiction(record));
    }
    let (rest, length) = le_u64.parse(rest)?;
    let length = usize::try_from(length).map_err(|_| contradiction(record))?;
    let (rest, build_id) = take(length).parse(rest)?;
    Ok((rest, Definition::Module { path, start, end, file_offset, ticks, build_id }))
}

fn device(ordinal: u16, name: u32, record: &[u8]) -> IResult<&[u8], Definition<'_>> {
    let (rest, (memory_bytes, major, minor)) = (le_u64, le_u32, le_u32).parse(record)?;
    let (rest, (multiprocessors, domain, device, bus, bits)) = (le_u32, le_u32, le_u32, le_u32, le_u64).parse(rest)?;
    // Without the extra slot nobody knows its UUID.
    let (rest, uuid) = (le_u64::<_, nom::error::Error<&[u8]>>, le_u64).parse(rest).unwrap_or((rest, (0, 0)));
    let device = Device {
        memory_bytes,
        capability: (major, minor),
        multiprocessors,
        pci: (domain, bus, device),
        bits,
        uuid: [uuid.0, uuid.1],
        ..Device::default()
    };
    Ok((rest, Definition::Device { ordinal, name, device }))
}

fn contradiction(input: &[u8]) -> nom::Err<nom::error::Error<&[u8]>> {
    nom::Err::Failure(nom::error::Error::new(input, nom::error::ErrorKind::Verify))
}
