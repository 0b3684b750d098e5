//! Why a program may never show a call: read off its file before it is started.
#![allow(unsafe_code, reason = "extended attributes and mount flags have no safe form in the standard library")]

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;
const PT_INTERP: u32 = 3;
/// In the first word of `security.capability` (linux/capability.h): the capabilities come into force at once.
const VFS_CAP_FLAGS_EFFECTIVE: u32 = 1;
/// Where the permitted capabilities lie in it, 32 at a time.
const PERMITTED_AT: [usize; 2] = [4, 12];

/// A sentence if the hook cannot work in this program: static, setuid, with file capabilities, of another C library or of
/// another architecture. Scripts are judged by their interpreter.
#[must_use]
pub fn why_silent(program: &Path) -> Option<String> {
    let path = find(program)?;
    let name = path.display();
    let mut file = File::open(&path).ok()?;
    let mut head = [0u8; 256];
    let length = file.read(&mut head).ok()?;
    if let Some(rest) = head[..length].strip_prefix(b"#!") {
        let line = rest.split(|&byte| byte == b'\n').next()?;
        let interpreter = String::from_utf8_lossy(line);
        let interpreter = interpreter.split_whitespace().next()?.to_owned();
        return if Path::new(&interpreter) == path { None } else { why_silent(Path::new(&interpreter)) };
    }
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let half = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    let own = if cfg!(target_arch = "x86_64") { EM_X86_64 } else { EM_AARCH64 };
    if head[4] != 2 || half(18) != own {
        return Some(format!("{name} is built for another architecture than the hook"));
    }
    let Some(interpreter) = interpreter(&file, &head)? else {
        return Some(format!("{name} is statically linked: nothing can be preloaded into it; link it dynamically"));
    };
    if interpreter.windows(7).any(|window| window == b"ld-musl") {
        return Some(format!("{name} is built with musl: CUDA and the hook need glibc"));
    }
    let why = secure_execution(&path, &Own::current()?)?;
    Some(format!("{name} {why}: the system ignores LD_PRELOAD; run a copy without that"))
}

/// Who starts the program.
struct Own {
    uid: u32,
    gid: u32,
    /// The system grants no privileges at all to what is started.
    no_new_privileges: bool,
}

impl Own {
    fn current() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next());
        Some(Self {
            uid: field("Uid:")?.parse().ok()?,
            gid: field("Gid:")?.parse().ok()?,
            no_new_privileges: field("NoNewPrivs:") == Some("1"),
        })
    }
}

/// Why the system would start the program in secure-execution mode (`AT_SECURE`): it gets rights that its starter has
/// not. What a security module may decide besides cannot be known here.
fn secure_execution(path: &Path, own: &Own) -> Option<&'static str> {
    let metadata = fs::metadata(path).ok()?;
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    if own.no_new_privileges || is_nosuid(&path) {
        return None;
    }
    if metadata.mode() & 0o4000 != 0 && metadata.uid() != own.uid {
        return Some("is setuid");
    }
    // Without the group's right to execute, the bit means something else.
    if metadata.mode() & 0o2010 == 0o2010 && metadata.gid() != own.gid {
        return Some("is setgid");
    }
    (own.uid != 0 && grants(&capability(&path)?)).then_some("has file capabilities")
}

/// Whether a `security.capability` makes the system wary: capabilities that are in force at once, or new ones.
fn grants(attribute: &[u8]) -> bool {
    let word = |at: usize| attribute.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    let permitted = PERMITTED_AT.iter().any(|&at| word(at).is_some_and(|bits| bits != 0));
    permitted || word(0).is_some_and(|flags| flags & VFS_CAP_FLAGS_EFFECTIVE != 0)
}

fn capability(path: &CStr) -> Option<Vec<u8>> {
    let mut value = [0u8; 64];
    // SAFETY: both names are C strings, and the value has as much room as is said.
    let length = unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), value.as_mut_ptr().cast(), value.len())
    };
    value.get(..usize::try_from(length).ok()?).map(<[u8]>::to_vec)
}

/// Whether the file system is mounted so that such bits mean nothing.
fn is_nosuid(path: &CStr) -> bool {
    let mut flags = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: a C string, and a structure for the system to fill, of which all bytes are numbers.
    unsafe {
        libc::statvfs(path.as_ptr(), flags.as_mut_ptr()) == 0 && flags.assume_init().f_flag & libc::ST_NOSUID != 0
    }
}

/// The loader that the program asks for, cut if it is long; inside, `None` if it asks for none.
fn interpreter(file: &File, head: &[u8; 256]) -> Option<Option<Vec<u8>>> {
    let first = u64::from_le_bytes(head[32..40].try_into().ok()?);
    let size = u64::from(u16::from_le_bytes([head[54], head[55]]));
    let count = u64::from(u16::from_le_bytes([head[56], head[57]]));
    for index in 0..count {
        let mut header = [0u8; 40];
        file.read_exact_at(&mut header, first.checked_add(index.checked_mul(size)?)?).ok()?;
        if header[..4] == PT_INTERP.to_le_bytes() {
            let number = |at: usize| header.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
            let mut name = vec![0u8; usize::try_from(number(32)?.min(256)).ok()?];
            let read = file.read_at(&mut name, number(8)?).ok()?;
            name.truncate(read);
            return Some(Some(name));
        }
    }
    Some(None)
}

/// Where the shell would find it.
fn find(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 || program.is_absolute() {
        return Some(program.to_owned());
    }
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_programs_are_fine_and_foreign_ones_named() {
        assert_eq!(why_silent(Path::new("sh")), None);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        fs::write(&script, "#!/bin/sh\nexit\n").unwrap();
        assert_eq!(why_silent(&script), None);
        let foreign = folder.path().join("foreign");
        let mut elf = fs::read("/proc/self/exe").unwrap();
        elf.truncate(4096);
        elf[18] = 40;
        fs::write(&foreign, &elf).unwrap();
        assert!(why_silent(&foreign).unwrap().contains("another architecture"));
    }

    #[test]
    fn a_static_program_is_named() {
        let mut elf = vec![0u8; 128];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[18] = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = 1;
        elf.resize(256, 0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("static");
        fs::write(&path, &elf).unwrap();
        assert!(why_silent(&path).unwrap().contains("statically linked"));
    }

    #[test]
    fn capabilities_count_if_they_are_in_force_or_permitted() {
        let attribute =
            |flags: u32, permitted: u32| [0x0200_0000 | flags, permitted, 0, 0, 0].map(u32::to_le_bytes).concat();
        assert!(grants(&attribute(0, 1 << 13)) && grants(&attribute(1, 0)));
        assert!(!grants(&attribute(0, 0)) && !grants(&[]));
    }

    #[test]
    fn bits_that_grant_nothing_do_not_count() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        fs::write(&path, "").unwrap();
        let file = fs::metadata(&path).unwrap();
        let own = |uid, gid| Own { uid, gid, no_new_privileges: false };
        let (same, other) = (own(file.uid(), file.gid()), own(file.uid() + 1, file.gid() + 1));
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        set(0o4755);
        if fs::metadata(&path).unwrap().mode() & 0o4000 == 0
            || is_nosuid(&CString::new(path.as_os_str().as_bytes()).unwrap())
        {
            eprintln!("skipped: no setuid files here");
            return;
        }
        assert_eq!((secure_execution(&path, &same), secure_execution(&path, &other)), (None, Some("is setuid")));
        assert_eq!(secure_execution(&path, &Own { no_new_privileges: true, ..other }), None);
        set(0o2755);
        assert_eq!(
            (secure_execution(&path, &same), secure_execution(&path, &own(0, file.gid() + 1))),
            (None, Some("is setgid"))
        );
        set(0o2745);
        assert_eq!(secure_execution(&path, &own(file.uid() + 1, file.gid() + 1)), None);
    }
}
