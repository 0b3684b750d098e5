//! Call sites of two traces by what they are called. Addresses differ between runs, and between builds of a program offsets,
//! too.

use std::collections::{BTreeMap, BTreeSet};

use crate::session::Loaded;
use crate::symbols::shorten;
use crate::trace::SiteId;

/// A place in a module: build id and offset.
type Code = (Vec<u8>, u64);

/// A call site, so that it is equal in two traces if it is the same place in the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SiteName {
    /// Function, file and line, as far as they are known, and how a row shows that.
    Source(String, String, u32, String),
    /// Code without a name in a build that both traces have used, and how a row shows that.
    Code(Code, String),
    /// As a row shows it, where both moments are of one trace.
    Label(String),
    /// Code without a name that means anything in the other trace.
    Unnamed,
    /// No call was seen.
    Unseen,
}

impl SiteName {
    /// As a row shows it; `None` without a name.
    pub fn label(&self) -> Option<&str> {
        match self {
            Self::Source(.., label) | Self::Code(_, label) | Self::Label(label) => Some(label),
            Self::Unnamed | Self::Unseen => None,
        }
    }
}

/// Names of a trace's call sites as they are compared with another trace's.
#[derive(Debug, Default)]
pub struct Names {
    /// Names that are known of code.
    sources: BTreeMap<Code, SiteName>,
    /// Builds of programs and libraries that were used.
    builds: BTreeSet<Vec<u8>>,
}

impl Names {
    /// Of a trace, with no names yet.
    pub fn of(loaded: &Loaded) -> Self {
        let modules = loaded.trace().sites.modules().iter();
        let builds = modules.map(|module| module.build_id.clone()).filter(|build| !build.is_empty()).collect();
        Self { sources: BTreeMap::new(), builds }
    }

    /// For tests: names of code in builds, and builds.
    #[cfg(test)]
    pub fn made_up(sources: &[(u8, u64, SiteName)], builds: &[u8]) -> Self {
        let sources = sources.iter().map(|(build, offset, name)| ((vec![*build], *offset), name.clone())).collect();
        Self { sources, builds: builds.iter().map(|&build| vec![build]).collect() }
    }

    /// The name of a site.
    pub fn name(&mut self, loaded: &mut Loaded, id: SiteId) -> SiteName {
        let symbol = loaded.symbol(id);
        let trace = loaded.trace();
        let site = trace.sites.get(id);
        let module = site.and_then(|site| trace.sites.module(site.module?));
        let code = module.filter(|module| !module.build_id.is_empty()).zip(site);
        let code = code.map(|(module, site)| (module.build_id.clone(), site.offset));
        let Some(symbol) = symbol else {
            return code.map_or(SiteName::Unnamed, |code| SiteName::Code(code, loaded.site(id)));
        };
        let file = symbol.file.rsplit('/').next().unwrap_or_default().to_owned();
        // Not what tells it from others in this trace: those need not be in the other one.
        let label = symbol.label().unwrap_or_else(|| shorten(&symbol.function));
        let name = SiteName::Source(symbol.function.clone(), file, symbol.line, label);
        if let Some(code) = code {
            self.sources.insert(code, name.clone());
        }
        name
    }

    /// How a name of another trace is compared with those of this one: code without a name may have one here; if it has
    /// none, it can only be compared if this trace has used the same build.
    pub fn beside(&self, name: SiteName) -> SiteName {
        match name {
            SiteName::Code(code, label) => match self.sources.get(&code) {
                Some(known) => known.clone(),
                None if self.builds.contains(&code.0) => SiteName::Code(code, label),
                None => SiteName::Unnamed,
            },
            other => other,
        }
    }
}
