//! Why a program may never show a call: read off its file before it is started.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{env, fs};

const EM_X86_64: u16 = 62;
const EM_AARCH64: u16 = 183;
const PT_INTERP: u32 = 3;

/// A sentence if the hook cannot work in this program: static, setuid, or of another architecture. Scripts are
/// judged by their interpreter.
#[must_use]
pub fn why_silent(program: &Path) -> Option<String> {
    let path = find(program)?;
    let name = path.display();
    let metadata = fs::metadata(&path).ok()?;
    let runs_as_other = metadata.mode() & 0o6000 != 0 && fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0);
    if runs_as_other {
        return Some(format!("{name} is setuid: the system ignores LD_PRELOAD; run a copy without that bit"));
    }
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
    (!has_interpreter(&file, &head)?)
        .then(|| format!("{name} is statically linked: nothing can be preloaded into it; link it dynamically"))
}

fn has_interpreter(file: &File, head: &[u8; 256]) -> Option<bool> {
    let first = u64::from_le_bytes(head[32..40].try_into().ok()?);
    let size = u64::from(u16::from_le_bytes([head[54], head[55]]));
    let count = u64::from(u16::from_le_bytes([head[56], head[57]]));
    for index in 0..count {
        let mut kind = [0u8; 4];
        file.read_exact_at(&mut kind, first.checked_add(index.checked_mul(size)?)?).ok()?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
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
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("static");
        fs::write(&path, &elf).unwrap();
        assert!(why_silent(&path).unwrap().contains("statically linked"));
    }
}
