//! The environment that makes a program load the hook and tells the hook what to do.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::ticks;

/// Which part of a run is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Capture {
    /// All of it.
    #[default]
    All,
    /// From `cudaProfilerStart` to `cudaProfilerStop`.
    Profiler,
    /// While an NVTX range of this name is open: `NAME`, `NAME*`, `NAME@DOMAIN`.
    Range(String),
    /// From one of these signals to the next.
    Signal(i32),
}

impl Capture {
    /// What recording waits for, in words.
    #[must_use]
    pub fn awaits(&self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Profiler => Some("recording begins with cudaProfilerStart (--capture profiler)".to_owned()),
            Self::Range(range) => Some(format!("recording begins with an NVTX range {range} (--capture nvtx)")),
            Self::Signal(number) => {
                Some(format!("recording begins with signal {number}: kill -{number} PID (--capture signal)"))
            }
        }
    }
}

/// What is recorded of the GPU and the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Anything: kernels, copies, migrations.
    pub on: bool,
    /// Page faults, thrashing, throttling, remote mappings.
    pub faults: bool,
    /// Allocations as the driver sees them.
    pub memory: bool,
    /// Waits and events as the driver sees them.
    pub waits: bool,
    /// Graphs as a whole, not node by node.
    pub whole_graphs: bool,
}

impl Default for Gpu {
    fn default() -> Self {
        Self { on: true, faults: false, memory: false, waits: false, whole_graphs: false }
    }
}

/// What can be chosen for a recording.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Cap on each process's file, bytes; `None` for none.
    pub max_bytes: Option<u64>,
    /// Which part of the run.
    pub capture: Capture,
    /// Whether arguments are recorded.
    pub arguments: bool,
    /// Groups of functions, all if there are none: names of [`umtui_wire::group::GROUPS`].
    pub only: Vec<&'static str>,
    /// What calls have to fit to be recorded, compiled (`umtui_wire::filter`); `None` for all.
    pub filter: Option<String>,
    /// What of the GPU's side.
    pub gpu: Gpu,
    /// Whether ranges (NVTX) are recorded.
    pub ranges: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            max_bytes: None,
            capture: Capture::All,
            arguments: true,
            only: Vec::new(),
            filter: None,
            gpu: Gpu::default(),
            ranges: true,
        }
    }
}

/// What was asked for cannot be.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// Another tool listens to the ranges.
    #[error("NVTX_INJECTION64_PATH is {0} already, so ranges do not reach umtui; unset it, or use --capture profiler")]
    RangesTaken(String),
    /// Recording waits for a range, and is not to see any.
    #[error("--capture nvtx needs ranges: leave --no-nvtx out, or use --capture profiler")]
    RangesUnwanted,
}

/// Variables for a program to be recorded.
#[derive(Clone, Debug)]
pub struct Environment {
    hook: PathBuf,
    variables: Vec<(&'static str, OsString)>,
}

impl Environment {
    /// For a program whose processes write into `folder` (an absolute path).
    ///
    /// # Errors
    /// If another tool is in the way.
    pub fn new(hook: &Path, folder: &Path, options: &RunOptions) -> Result<Self, EnvironmentError> {
        let run = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        let mut variables = vec![("UMTUI_OUT", folder.as_os_str().to_owned()), ("UMTUI_RUN", run.to_string().into())];
        if let Some(rate) = ticks::per_second() {
            variables.push(("UMTUI_TICKS_PER_SECOND", rate.to_string().into()));
        }
        if let Some(bytes) = options.max_bytes {
            variables.push(("UMTUI_MAX_BYTES", bytes.to_string().into()));
        }
        let taken = env::var_os("NVTX_INJECTION64_PATH").filter(|path| path != hook && !path.is_empty());
        match &options.capture {
            Capture::All => {}
            Capture::Profiler => variables.push(("UMTUI_CAPTURE", "profiler".into())),
            Capture::Signal(number) => variables.push(("UMTUI_CAPTURE", format!("signal:{number}").into())),
            Capture::Range(_) if !options.ranges => return Err(EnvironmentError::RangesUnwanted),
            Capture::Range(range) => {
                if let Some(path) = taken {
                    return Err(EnvironmentError::RangesTaken(path.to_string_lossy().into_owned()));
                }
                variables.push(("UMTUI_CAPTURE", format!("nvtx:{range}").into()));
            }
        }
        if !options.ranges {
            variables.push(("UMTUI_NVTX", "0".into()));
        } else if taken.is_none() {
            // Another tool's stays; the hook then says in the recording that ranges do not reach it.
            variables.push(("NVTX_INJECTION64_PATH", hook.as_os_str().to_owned()));
        }
        if !options.arguments {
            variables.push(("UMTUI_ARGUMENTS", "0".into()));
        }
        let Gpu { on, faults, memory, waits, whole_graphs } = options.gpu;
        for (name, wanted, value) in [
            ("UMTUI_GPU", !on, "0"),
            ("UMTUI_FAULTS", faults, "1"),
            ("UMTUI_GPU_MEMORY", memory, "1"),
            ("UMTUI_GPU_WAITS", waits, "1"),
            ("UMTUI_WHOLE_GRAPHS", whole_graphs, "1"),
        ] {
            if wanted {
                variables.push((name, value.into()));
            }
        }
        if !options.only.is_empty() {
            variables.push(("UMTUI_ONLY", options.only.join(",").into()));
        }
        if let Some(filter) = &options.filter {
            variables.push(("UMTUI_FILTER", filter.into()));
        }
        Ok(Self { hook: hook.to_owned(), variables })
    }

    /// Name and value of each variable, given what `LD_PRELOAD` and `ASAN_OPTIONS` are now.
    #[must_use]
    pub fn variables(&self, now: impl Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
        let mut variables = self.variables.clone();
        variables.push(("LD_PRELOAD", join(&self.hook, now("LD_PRELOAD").as_deref())));
        variables.push(("ASAN_OPTIONS", tolerant(now("ASAN_OPTIONS"))));
        variables
    }
}

/// AddressSanitizer ends programs in which a preloaded library comes before it. It fears for functions that both of them
/// replace; the hook has none but `dlopen`, whose real one it finds by itself.
fn tolerant(options: Option<OsString>) -> OsString {
    let mut options = options.unwrap_or_default();
    if !options.is_empty() {
        options.push(":");
    }
    options.push("verify_asan_link_order=0");
    options
}

/// Puts the hook before what is preloaded already, but after a sanitizer, which insists on being first.
fn join(hook: &Path, preload: Option<&OsStr>) -> OsString {
    let others: Vec<&[u8]> = preload
        .map(OsStr::as_bytes)
        .unwrap_or_default()
        .split(|byte| b" :".contains(byte))
        .filter(|entry| !entry.is_empty() && *entry != hook.as_os_str().as_bytes())
        .collect();
    let is_sanitizer = |entry: &[u8]| {
        let name = entry.rsplit(|&byte| byte == b'/').next().unwrap_or(entry);
        [b"libasan".as_slice(), b"libtsan", b"liblsan", b"libubsan", b"libclang_rt"]
            .iter()
            .any(|known| name.starts_with(known))
    };
    let (first, last): (Vec<&[u8]>, Vec<&[u8]>) = others.into_iter().partition(|entry| is_sanitizer(entry));
    let entries: Vec<&[u8]> = first.into_iter().chain([hook.as_os_str().as_bytes()]).chain(last).collect();
    OsString::from_vec(entries.join(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_recording_waits_for_is_said() {
        assert_eq!(Capture::All.awaits(), None);
        assert!(Capture::Profiler.awaits().unwrap().contains("cudaProfilerStart"));
        assert!(Capture::Range("step@lib".to_owned()).awaits().unwrap().contains("step@lib"));
        assert!(Capture::Signal(12).awaits().unwrap().contains("kill -12"));
    }

    #[test]
    fn the_hook_comes_first_but_after_sanitizers() {
        let joined = |before: &str| join(Path::new("/c/hook.so"), Some(OsStr::new(before))).into_string().unwrap();
        assert_eq!(joined(""), "/c/hook.so");
        assert_eq!(joined("/l/libjemalloc.so.2"), "/c/hook.so:/l/libjemalloc.so.2");
        assert_eq!(joined("/l/libasan.so.8 libx.so"), "/l/libasan.so.8:/c/hook.so:libx.so");
        assert_eq!(joined("/c/hook.so:libx.so"), "/c/hook.so:libx.so");
    }

    #[test]
    fn options_of_the_sanitizer_stay() {
        assert_eq!(tolerant(None), "verify_asan_link_order=0");
        assert_eq!(tolerant(Some("detect_leaks=0".into())), "detect_leaks=0:verify_asan_link_order=0");
    }
}
