//! As much of ELF as is needed to see, without loading a file, whether it needs CUDA, and to read the build id
//! of a mapped object.

use core::ffi::CStr;
use umtui_wire::definition::BUILD_ID_MAX;

use crate::objects::Object;
use crate::{arch, config, sys, text};

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_NOTE: u32 = 4;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;
const NT_GNU_BUILD_ID: u32 = 3;
/// More program headers or dynamic entries than any object has.
const MANY: u64 = 4096;

/// Bytes at an offset: of a file, or of our own memory through `/proc/self/mem`, which answers an error where
/// a pointer would crash.
struct Reader<'a> {
    fd: i32,
    base: u64,
    /// The first bytes, read at once: nearly all that is asked for lies there.
    first: &'a [u8],
}

impl Reader<'_> {
    fn bytes<const N: usize>(&self, at: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        let start = usize::try_from(at).ok()?;
        if let Some(found) = self.first.get(start..start.checked_add(N)?) {
            bytes.copy_from_slice(found);
            return Some(bytes);
        }
        (sys::read_at(self.fd, &mut bytes, self.base.checked_add(at)?) == N as isize).then_some(bytes)
    }

    fn u64(&self, at: u64) -> Option<u64> {
        self.bytes(at).map(u64::from_le_bytes)
    }

    fn u32(&self, at: u64) -> Option<u32> {
        self.bytes(at).map(u32::from_le_bytes)
    }

    fn u16(&self, at: u64) -> Option<u16> {
        self.bytes(at).map(u16::from_le_bytes)
    }

    /// Program headers as (type, file offset, address, bytes in the file).
    fn segments(&self) -> Option<impl Iterator<Item = (u32, u64, u64, u64)> + '_> {
        let ident: [u8; 5] = self.bytes(0)?;
        // 64-bit only.
        if ident != *b"\x7fELF\x02" {
            return None;
        }
        let (first, size, count) = (self.u64(32)?, u64::from(self.u16(54)?), u64::from(self.u16(56)?));
        Some((0..count).filter_map(move |index| {
            let at = first.checked_add(index.checked_mul(size)?)?;
            Some((
                self.u32(at)?,
                self.u64(at.checked_add(8)?)?,
                self.u64(at.checked_add(16)?)?,
                self.u64(at.checked_add(32)?)?,
            ))
        }))
    }

    /// The dynamic section, as (tag, value).
    fn dynamic(&self) -> Option<impl Iterator<Item = (u64, u64)> + '_> {
        let (_, offset, _, bytes) = self.segments()?.find(|segment| segment.0 == PT_DYNAMIC)?;
        Some((0..(bytes / 16).min(MANY)).map_while(move |index| {
            let at = offset.checked_add(index.checked_mul(16)?)?;
            let tag = self.u64(at)?;
            (tag != 0).then_some((tag, self.u64(at.checked_add(8)?)?))
        }))
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments()?.find_map(|(kind, offset, start, bytes)| {
            let within = address.checked_sub(start)?;
            (kind == PT_LOAD && within < bytes).then_some(offset.checked_add(within)?)
        })
    }
}

/// Whether a shared object that `caller` opens names libcuda or libcudart among what it needs. False if it cannot
/// be found or read; the CUDA libraries themselves need no CUDA. Out of line: its paths take more stack than a thread
/// may have for a `dlopen` that does not come here.
#[cold]
#[inline(never)]
pub fn needs_cuda(path: &CStr, caller: usize) -> bool {
    if path.to_bytes().contains(&b'/') {
        return file_needs_cuda(path).unwrap_or(false);
    }
    // As the loader searches, near enough: the library path, beside the caller, the usual folders. The first file
    // of this name decides.
    let mut needs = None;
    let mut look = |folder: &[u8]| {
        let mut candidate = text::Path::<4096>::new();
        candidate.push(folder).push(b"/").push(path.to_bytes());
        if needs.is_none() && !folder.is_empty() {
            needs = candidate.as_c_str().and_then(file_needs_cuda);
        }
    };
    config::library_path().as_bytes().split(|&byte| byte == b':' || byte == b';').for_each(&mut look);
    if let Some(object) = Object::at(caller) {
        let mut path = text::Path::<4096>::new();
        object.push_path(&mut path);
        let path = path.as_bytes();
        let folder = path.len().saturating_sub(text::file_name(path).len().saturating_add(1));
        look(path.get(..folder).unwrap_or_default());
    }
    arch::LIBRARY_FOLDERS.into_iter().for_each(&mut look);
    needs.unwrap_or(false)
}

/// `None` if there is no such file.
fn file_needs_cuda(path: &CStr) -> Option<bool> {
    let fd = sys::open(path, libc::O_RDONLY, 0);
    if sys::failed(fd) {
        return None;
    }
    let reader = Reader { fd: fd as i32, base: 0, first: &[] };
    let needs = names_cuda(&reader).unwrap_or(false);
    sys::close(reader.fd);
    Some(needs)
}

fn names_cuda(reader: &Reader<'_>) -> Option<bool> {
    let (_, strings) = reader.dynamic()?.find(|&(tag, _)| tag == DT_STRTAB)?;
    let strings = reader.offset_of(strings)?;
    for (tag, value) in reader.dynamic()? {
        if tag == DT_NEEDED {
            let name: [u8; 10] = reader.bytes(strings.checked_add(value)?)?;
            if name == *b"libcuda.so" || name == *b"libcudart." {
                return Some(true);
            }
        }
    }
    Some(false)
}

/// A build id, and how long it is.
pub type BuildId = ([u8; BUILD_ID_MAX], usize);

/// The build id of an object mapped at `base`; `memory` is `/proc/self/mem`, `page` room for its first bytes.
pub fn build_id(memory: i32, base: u64, page: &mut [u8]) -> Option<BuildId> {
    let read = sys::read_at(memory, page, base);
    let first = if sys::failed(read) { &[] } else { page.get(..read as usize)? };
    let reader = Reader { fd: memory, base, first };
    let first = reader.segments()?.find(|segment| segment.0 == PT_LOAD)?.2;
    for (kind, _, address, bytes) in reader.segments()? {
        if kind != PT_NOTE {
            continue;
        }
        let mut at = address.checked_sub(first)?;
        let end = at.checked_add(bytes)?;
        for _ in 0..MANY {
            if at.checked_add(12)? > end {
                break;
            }
            let (name, length, note) =
                (reader.u32(at)?, reader.u32(at.checked_add(4)?)?, reader.u32(at.checked_add(8)?)?);
            let body = at.checked_add(12)?.checked_add(u64::from(name).checked_next_multiple_of(4)?)?;
            if note == NT_GNU_BUILD_ID && name == 4 && reader.bytes(at.checked_add(12)?)? == *b"GNU\0" {
                let mut id = [0; BUILD_ID_MAX];
                let length = (length as usize).min(BUILD_ID_MAX);
                let read = sys::read_at(memory, id.get_mut(..length)?, base.checked_add(body)?);
                return (read == length as isize).then_some((id, length));
            }
            at = body.checked_add(u64::from(length).checked_next_multiple_of(4)?)?;
        }
    }
    None
}
