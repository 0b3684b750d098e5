//! Call sites and the modules they lie in.

use super::ids::{ModuleId, NameId, ProcessId, SiteId};
use rustc_hash::FxHashMap;

/// Code that calls: a return address, and where that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The first process it was seen in.
    pub process: ProcessId,
    /// Return address there.
    pub address: u64,
    /// The module that holds it.
    pub module: Option<ModuleId>,
    /// Place in the module: address less the module's start, plus its file offset. The same in every process,
    /// which is why sites of one module in several processes are one. Without a module: the address.
    pub offset: u64,
}

/// A module (program or library) mapped into a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Process.
    pub process: ProcessId,
    /// Path.
    pub path: NameId,
    /// Build id, empty if it has none.
    pub build_id: Vec<u8>,
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Offset in the file that `start` shows.
    pub file_offset: u64,
    /// When it was seen, in the process's clock ticks.
    pub ticks: u64,
    /// Equal for modules of the same path and build id, whatever the process.
    pub identity: u32,
}

/// Build id of modules that are made up for call sites that an import knows by name: offsets in them mean nothing.
pub const NAMED: &[u8] = b"by name";

/// The site of a call, and whether it stays the same however late the call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The site.
    pub site: SiteId,
    /// False: several modules have been at this address, time decides.
    pub lasting: bool,
}

/// All sites and modules of a trace.
#[derive(Debug, Default)]
pub struct Sites {
    list: Vec<Site>,
    modules: Vec<Module>,
    identities: FxHashMap<(NameId, Vec<u8>), u32>,
    by_place: FxHashMap<(u32, u64), SiteId>,
    by_address: FxHashMap<(ProcessId, u64), SiteId>,
    /// Modules of each process, in order of start.
    maps: FxHashMap<ProcessId, Vec<ModuleId>>,
}

impl Sites {
    /// Sites in all.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// A site.
    #[must_use]
    pub fn get(&self, id: SiteId) -> Option<&Site> {
        self.list.get(id.index())
    }

    /// All sites, by id.
    #[must_use]
    pub fn all(&self) -> &[Site] {
        &self.list
    }

    /// A module.
    #[must_use]
    pub fn module(&self, id: ModuleId) -> Option<&Module> {
        self.modules.get(id.index())
    }

    /// All modules, by id.
    #[must_use]
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Adds a module; `identity` is filled in here. Sites of that process which had no module and lie in it
    /// are told of it.
    pub fn add_module(&mut self, mut module: Module) -> Option<ModuleId> {
        let id = ModuleId(u32::try_from(self.modules.len()).ok()?);
        let next = u32::try_from(self.identities.len()).ok()?;
        module.identity = *self.identities.entry((module.path, module.build_id.clone())).or_insert(next);
        let map = self.maps.entry(module.process).or_default();
        let modules = &self.modules;
        let at = map.partition_point(|&other| modules.get(other.index()).is_some_and(|m| m.start <= module.start));
        map.insert(at, id);
        self.adopt(&module, id);
        self.modules.push(module);
        Some(id)
    }

    /// Sites that were met before the definition of their module.
    fn adopt(&mut self, module: &Module, id: ModuleId) {
        let (list, by_place) = (&mut self.list, &mut self.by_place);
        self.by_address.retain(|&(process, address), site| {
            if process != module.process || address < module.start || address >= module.end {
                return true;
            }
            let Some(site_row) = list.get_mut(site.index()) else { return false };
            let offset = place(module, address);
            site_row.module = Some(id);
            site_row.offset = offset;
            by_place.entry((module.identity, offset)).or_insert(*site);
            false
        });
    }

    /// The site of return address `address` in `process`, for a call that ended at `ticks` of the process's clock.
    pub fn find(&mut self, process: ProcessId, address: u64, ticks: u64) -> Found {
        let mut candidates = 0;
        let mut best: Option<(ModuleId, u64)> = None;
        let map = self.maps.get(&process).map_or(&[][..], Vec::as_slice);
        let modules = &self.modules;
        let upto = map.partition_point(|&id| modules.get(id.index()).is_some_and(|m| m.start <= address));
        for &id in map.get(..upto).unwrap_or(&[]) {
            let Some(module) = modules.get(id.index()).filter(|module| address < module.end) else { continue };
            candidates += 1;
            let better = match best {
                None => true,
                // The newest that was there already; if none was, the oldest.
                Some((_, held)) if held <= ticks => module.ticks <= ticks && module.ticks >= held,
                Some((_, held)) => module.ticks < held,
            };
            if better {
                best = Some((id, module.ticks));
            }
        }
        let lasting = candidates <= 1;
        let Some(module) = best.and_then(|(id, _)| modules.get(id.index()).map(|module| (id, module))) else {
            let site = match self.by_address.get(&(process, address)) {
                Some(&known) => known,
                None => {
                    let site = push(&mut self.list, Site { process, address, module: None, offset: address });
                    self.by_address.insert((process, address), site);
                    site
                }
            };
            return Found { site, lasting };
        };
        let (id, module) = module;
        let offset = place(module, address);
        let list = &mut self.list;
        let site = *self
            .by_place
            .entry((module.identity, offset))
            .or_insert_with(|| push(list, Site { process, address, module: Some(id), offset }));
        Found { site, lasting }
    }
}

fn place(module: &Module, address: u64) -> u64 {
    address.wrapping_sub(module.start).wrapping_add(module.file_offset)
}

/// Appends; four billion sites share the last id.
fn push(list: &mut Vec<Site>, site: Site) -> SiteId {
    match u32::try_from(list.len()) {
        Ok(number) if number < u32::MAX => {
            list.push(site);
            SiteId(number)
        }
        _ => SiteId(u32::MAX - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(process: u16, start: u64, ticks: u64, path: u32) -> Module {
        Module {
            process: ProcessId(process),
            path: NameId(path),
            build_id: vec![1],
            start,
            end: start + 0x1000,
            file_offset: 0x400,
            ticks,
            identity: 0,
        }
    }

    #[test]
    fn one_site_for_one_place_in_two_processes() {
        let mut sites = Sites::default();
        sites.add_module(module(0, 0x10000, 1, 5));
        sites.add_module(module(1, 0x90000, 1, 5));
        let a = sites.find(ProcessId(0), 0x10010, 9);
        let b = sites.find(ProcessId(1), 0x90010, 9);
        assert_eq!(a, b);
        assert!(a.lasting);
        assert_eq!(sites.get(a.site).unwrap().offset, 0x410);
        assert_ne!(sites.find(ProcessId(1), 0x90011, 9).site, a.site);
    }

    #[test]
    fn the_newest_module_at_the_time_counts() {
        let mut sites = Sites::default();
        sites.add_module(module(0, 0x10000, 100, 5));
        sites.add_module(module(0, 0x10000, 200, 6));
        let before = sites.find(ProcessId(0), 0x10010, 50);
        let first = sites.find(ProcessId(0), 0x10010, 150);
        let second = sites.find(ProcessId(0), 0x10010, 250);
        assert_eq!(before.site, first.site);
        assert_ne!(first.site, second.site);
        assert!(!second.lasting);
    }

    #[test]
    fn a_late_module_is_told_to_its_sites() {
        let mut sites = Sites::default();
        let early = sites.find(ProcessId(0), 0x10010, 5).site;
        assert_eq!(sites.get(early).unwrap().module, None);
        let id = sites.add_module(module(0, 0x10000, 1, 5));
        assert_eq!(sites.get(early).unwrap().module, id);
        assert_eq!(sites.find(ProcessId(0), 0x10010, 9).site, early);
    }
}
