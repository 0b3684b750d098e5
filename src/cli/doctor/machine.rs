//! What the machine's files and variables say: the driver's settings, other tools, containers.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Line, Verdict};
use crate::session::safe::safe;

/// A machine by its files and variables; tests make their own.
pub(super) struct Machine<'a> {
    /// What stands before absolute paths.
    pub root: PathBuf,
    /// A variable's value.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Machine<'_> {
    fn read(&self, path: &str) -> Option<String> {
        let bytes = fs::read(self.root.join(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// Names in a folder.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// The kernel's driver.
    pub fn driver(&self) -> Line {
        if let Some(text) = self.read("proc/driver/nvidia/version") {
            let version = text.lines().next().unwrap_or_default().trim().to_owned();
            return Line::new(Verdict::Fine, "driver", safe(&version));
        }
        if self.is_wsl() {
            return Line::new(Verdict::Fine, "driver", "that of Windows, through WSL");
        }
        let why = "no NVIDIA kernel driver here: programs cannot use a GPU; `umtui demo` works without one";
        Line::new(Verdict::Note, "driver", why)
    }

    /// Device files.
    pub fn device_files(&self) -> Line {
        let numbered = |name: &String| name.strip_prefix("nvidia").is_some_and(|rest| rest.parse::<u32>().is_ok());
        match self.names("dev").iter().filter(|name| numbered(name)).count() {
            0 if self.exists("dev/dxg") => Line::new(Verdict::Fine, "GPU", "/dev/dxg: through WSL"),
            0 if self.is_container() => {
                Line::new(Verdict::Note, "GPU", "no /dev/nvidiaN here").with(Some(CONTAINER.to_owned()))
            }
            0 => Line::new(Verdict::Note, "GPU", "no /dev/nvidiaN here; in a container, was it started with --gpus?"),
            count => {
                Line::new(Verdict::Fine, "GPU", format!("{count} device file{}", if count == 1 { "" } else { "s" }))
            }
        }
    }

    /// What else is worth knowing, in the order of how much it is in the way.
    pub fn notes(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        lines.extend(self.profiling());
        lines.extend(self.unified_driver());
        lines.extend(self.mps());
        lines.extend(self.mig());
        lines.extend(self.wsl());
        lines.extend(self.injections());
        lines.extend(self.visible());
        lines.extend(self.container());
        lines
    }

    /// Whether only administrators may profile; it concerns counters of the hardware, and some versions of CUPTI more.
    fn profiling(&self) -> Option<Line> {
        let text = self.read("proc/driver/nvidia/params")?;
        let value = text.lines().find_map(|line| line.strip_prefix("RmProfilingAdminOnly:")).map(str::trim);
        Some(match value {
            Some("0") => Line::new(Verdict::Fine, "profiling", "every user may (RmProfilingAdminOnly: 0)"),
            Some("1") => {
                let what = "RmProfilingAdminOnly is 1: hardware counters are for root alone; what umtui records needs none, \
                            but CUPTI may still refuse (result 35)";
                let how = "if it does: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, then \
                           load the driver anew";
                Line::new(Verdict::Note, "profiling", what).with(Some(how.to_owned()))
            }
            _ => return None,
        })
    }

    /// Without the module of unified memory nothing of it works.
    fn unified_driver(&self) -> Option<Line> {
        let has_driver = self.exists("proc/driver/nvidia/version");
        (has_driver && !self.exists("dev/nvidia-uvm")).then(|| {
            Line::new(Verdict::Missing, "unified", "no /dev/nvidia-uvm: CUDA cannot begin")
                .with(Some("load the module: nvidia-modprobe -u -c=0, or start the container with --gpus".to_owned()))
        })
    }

    fn mps(&self) -> Option<Line> {
        let pipe = self.set("CUDA_MPS_PIPE_DIRECTORY");
        let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let is_control = |pid: &String| {
            // The kernel cuts names at 15 bytes.
            self.read(&format!("proc/{pid}/comm")).is_some_and(|comm| comm.trim_end().starts_with("nvidia-cuda-mps"))
        };
        let runs = self.names("proc").iter().filter(|name| is_number(name)).any(is_control);
        let what = match (runs, pipe) {
            (false, None) => return None,
            (true, None) => "the MPS daemon runs".to_owned(),
            (true, Some(pipe)) => format!("the MPS daemon runs, CUDA_MPS_PIPE_DIRECTORY is {}", safe(&pipe)),
            (false, Some(pipe)) => {
                format!("CUDA_MPS_PIPE_DIRECTORY is {}; no daemon is seen from here", safe(&pipe))
            }
        };
        let how = "unified memory is not traced under MPS: stop it (echo quit | nvidia-cuda-mps-control) or unset the variable";
        Some(Line::new(Verdict::Note, "MPS", what).with(Some(how.to_owned())))
    }

    fn mig(&self) -> Option<Line> {
        let gpus = self.names("proc/driver/nvidia/capabilities");
        let parts = |gpu: &&String| {
            let folder = format!("proc/driver/nvidia/capabilities/{gpu}/mig");
            self.names(&folder).iter().any(|name| name.starts_with("gi"))
        };
        let split = gpus.iter().filter(|name| name.starts_with("gpu")).filter(parts).count();
        (split > 0).then(|| {
            let what = format!("{split} GPU{} divided into parts", if split == 1 { " is" } else { "s are" });
            Line::new(Verdict::Note, "MIG", what)
                .with(Some("what CUPTI refuses on a part (43), run on a whole GPU".to_owned()))
        })
    }

    fn is_wsl(&self) -> bool {
        self.read("proc/version").is_some_and(|version| version.to_ascii_lowercase().contains("microsoft"))
    }

    fn wsl(&self) -> Option<Line> {
        self.is_wsl().then(|| {
            Line::new(
                Verdict::Note,
                "WSL",
                "unified memory is that of Windows: no faults on the device, and CUPTI sees little",
            )
            .with(Some("for migrations and faults run on Linux itself".to_owned()))
        })
    }

    /// Other tools that the driver or NVTX would load.
    fn injections(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        if let Some(path) = self.set("CUDA_INJECTION64_PATH") {
            let what =
                format!("CUDA_INJECTION64_PATH is {}: that tool begins first, and CUPTI serves one", safe(&path));
            lines.push(Line::new(Verdict::Note, "injection", what).with(Some("unset it".to_owned())));
        }
        if let Some(path) = self.set("NVTX_INJECTION64_PATH") {
            let what = format!("NVTX_INJECTION64_PATH is {}: that tool gets the ranges, umtui none", safe(&path));
            lines.push(Line::new(Verdict::Note, "injection", what).with(Some("unset it".to_owned())));
        }
        lines
    }

    fn visible(&self) -> Option<Line> {
        let list = (self.variable)("CUDA_VISIBLE_DEVICES")?;
        let what = format!("CUDA_VISIBLE_DEVICES is \"{}\": programs see only these", safe(&list));
        Some(Line::new(Verdict::Note, "visible", what))
    }

    fn is_container(&self) -> bool {
        let words = ["docker", "kubepods", "containerd", "libpod", "lxc"];
        self.exists(".dockerenv")
            || self.exists("run/.containerenv")
            || self.exists(".singularity.d")
            || self.set("container").is_some()
            || self.read("proc/1/cgroup").is_some_and(|text| words.iter().any(|word| text.contains(word)))
    }

    fn container(&self) -> Option<Line> {
        self.is_container().then(|| {
            Line::new(
                Verdict::Note,
                "container",
                "we are in one: programs in others are recorded by `umtui env`, with the hook and the folder mounted there",
            )
        })
    }

    /// Why devices may not reach each other's memory; nothing where all do or there is but one.
    pub fn peers(&self, pairs: &[(u32, u32, bool)]) -> Option<Line> {
        let apart: Vec<String> =
            pairs.iter().filter(|(.., can)| !can).map(|(one, other, _)| format!("{one} to {other}")).collect();
        if apart.is_empty() {
            return None;
        }
        const SHOWN: usize = 8;
        let more = apart.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown: Vec<&str> = apart.iter().take(SHOWN).map(String::as_str).collect();
        let iommu = match self.iommu() {
            Some(kind) => format!("the IOMMU is on ({kind})"),
            None => "the IOMMU is off".to_owned(),
        };
        let what = format!("no access from {}{more}; {iommu}", shown.join(", "));
        let how = "tracing of unified memory may need it: make one device visible (CUDA_VISIBLE_DEVICES), or see to the \
                   IOMMU (iommu=pt) and PCIe ACS (lspci -vvv as root: ACSCtl with SrcValid+ sends traffic the long way)";
        Some(Line::new(Verdict::Note, "peers", what).with(Some(how.to_owned())))
    }

    /// How the IOMMU translates, if there is one.
    fn iommu(&self) -> Option<String> {
        let groups = self.names("sys/kernel/iommu_groups");
        let mut kinds: Vec<String> = groups
            .iter()
            .filter_map(|group| self.read(&format!("sys/kernel/iommu_groups/{group}/type")))
            .map(|kind| safe(kind.trim()).into_owned())
            .collect();
        kinds.sort();
        kinds.dedup();
        match (groups.is_empty(), kinds.is_empty()) {
            (true, _) => None,
            (false, true) => Some("its kind is not known".to_owned()),
            (false, false) => Some(kinds.join(", ")),
        }
    }
}

const CONTAINER: &str = "start the container with the GPUs: docker --gpus all (NVIDIA container toolkit), in Kubernetes a limit nvidia.com/gpu";

/// Where this machine's files are.
pub(super) fn root() -> PathBuf {
    Path::new("/").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Made {
        folder: tempfile::TempDir,
        variables: Vec<(&'static str, &'static str)>,
    }

    impl Made {
        fn new(files: &[(&str, &str)], variables: &[(&'static str, &'static str)]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = folder.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self { folder, variables: variables.to_vec() }
        }

        fn with<R>(&self, look: impl FnOnce(&Machine<'_>) -> R) -> R {
            let variable = |name: &str| {
                self.variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            look(&Machine { root: self.folder.path().to_owned(), variable: &variable })
        }

        fn subjects(&self) -> Vec<&'static str> {
            self.with(|machine| machine.notes().iter().map(|line| line.subject).collect())
        }
    }

    #[test]
    fn an_empty_machine_is_only_missing_things() {
        let made = Made::new(&[], &[]);
        assert!(made.subjects().is_empty());
        made.with(|machine| {
            assert!(machine.driver().detail.contains("no NVIDIA kernel driver"));
            assert!(machine.device_files().detail.contains("--gpus"));
            assert!(machine.peers(&[(0, 1, true)]).is_none());
        });
    }

    #[test]
    fn the_drivers_settings_are_read() {
        let made = Made::new(
            &[
                (
                    "proc/driver/nvidia/version",
                    "NVRM version: NVIDIA UNIX Open Kernel Module  580.82.07\nGCC version: 12",
                ),
                ("proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 1\n"),
                ("dev/nvidia0", ""),
                ("dev/nvidia1", ""),
                ("dev/nvidiactl", ""),
                ("proc/driver/nvidia/capabilities/gpu0/mig/gi1/access", ""),
                ("proc/driver/nvidia/capabilities/mig/config", ""),
                ("sys/kernel/iommu_groups/7/type", "DMA-FQ\n"),
            ],
            &[],
        );
        assert_eq!(made.subjects(), ["profiling", "unified", "MIG"]);
        made.with(|machine| {
            assert_eq!(machine.driver().detail, "NVRM version: NVIDIA UNIX Open Kernel Module  580.82.07");
            assert_eq!(machine.device_files().detail, "2 device files");
            let peers = machine.peers(&[(0, 1, false), (1, 0, false)]).unwrap();
            assert!(peers.detail.contains("0 to 1, 1 to 0; the IOMMU is on (DMA-FQ)"), "{}", peers.detail);
        });
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let made = Made::new(
            &[
                ("proc/version", "Linux version 5.15.167-microsoft-standard-WSL2"),
                ("proc/41/comm", "nvidia-cuda-mps\n"),
                ("proc/40/comm", "bash\n"),
                (".dockerenv", ""),
            ],
            &[
                ("CUDA_MPS_PIPE_DIRECTORY", "/tmp/\u{1b}[31mmps"),
                ("CUDA_INJECTION64_PATH", "/opt/nsys/libToolsInjection64.so"),
                ("NVTX_INJECTION64_PATH", ""),
                ("CUDA_VISIBLE_DEVICES", ""),
            ],
        );
        assert_eq!(made.subjects(), ["MPS", "WSL", "injection", "visible", "container"]);
        made.with(|machine| {
            let notes = machine.notes();
            assert!(notes.iter().all(|line| !line.detail.contains('\u{1b}')));
            assert!(notes[0].detail.contains("daemon runs"));
            assert!(machine.device_files().remedy.unwrap().contains("--gpus all"));
        });
    }
}
