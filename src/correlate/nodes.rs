//! Functions that take a graph's node of any type: each of their calls does what the function for nodes of that type does.
//!
//! So what is said of functions by name is asked for each type, by the name of the other function and with the arguments that
//! are there for this type, and a call's record says which answer is its own.

use super::calls::{Record, bare};
use crate::trace::{Api, Argument};

/// The argument that says the type: `cudaGraphNodeType`, whose numbers are the driver's, too.
const TYPE: &str = "type";

/// Names of types in functions' names, by number: `cudaGraphAdd...Node`, `cudaGraph...NodeSetParams`.
const NAMES: [&str; 13] = [
    "Kernel",
    "Memcpy",
    "Memset",
    "Host",
    "ChildGraph",
    "Empty",
    "EventWait",
    "EventRecord",
    "ExternalSemaphoresSignal",
    "ExternalSemaphoresWait",
    "MemAlloc",
    "MemFree",
    "BatchMemOp",
];

/// `CU_GRAPH_NODE_TYPE_MEM_ALLOC`.
pub const MEM_ALLOC: u64 = 10;

/// Beginning and end of the names of functions for one type, by that of the function for any, its layer left out.
fn around(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "GraphAddNode" => ("GraphAdd", "Node"),
        "GraphNodeSetParams" => ("Graph", "NodeSetParams"),
        "GraphExecNodeSetParams" => ("GraphExec", "NodeSetParams"),
        _ => return None,
    })
}

/// What is said of a function.
#[derive(Clone, Debug)]
pub enum Chosen<T> {
    /// This, whatever it is called with.
    Always(T),
    /// This for a node of this type, which this argument tells.
    ByType(Argument, Vec<(u64, T)>),
}

impl<T> Chosen<T> {
    /// What `of` says of a function and its name without endings; `None`: nothing.
    pub fn of(api: &Api, base: &str, mut of: impl FnMut(&Api, &str) -> Option<T>) -> Option<Self> {
        let name = bare(base);
        let Some((begin, end)) = around(name) else { return of(api, base).map(Self::Always) };
        // Older recordings tell the type at most.
        let asked = api.signature.role(TYPE).filter(|_| api.signature.has_conditions())?;
        let layer = base.strip_suffix(name).unwrap_or_default();
        let each = (0u32..).zip(NAMES).filter_map(|(value, of_type)| {
            let api = Api { signature: api.signature.with(TYPE, value), ..api.clone() };
            of(&api, &format!("{layer}{begin}{of_type}{end}")).map(|said| (u64::from(value), said))
        });
        let each: Vec<(u64, T)> = each.collect();
        (!each.is_empty()).then(|| Self::ByType(asked.clone(), each))
    }

    /// What is said of a call; `None`: nothing.
    pub fn of_call(&self, record: &Record<'_>) -> Option<&T> {
        match self {
            Self::Always(said) => Some(said),
            Self::ByType(asked, each) => {
                let value = record.number(asked)?;
                each.iter().find(|(of_type, _)| *of_type == value).map(|(_, said)| said)
            }
        }
    }

    /// What is said of all calls alike.
    pub const fn always(&self) -> Option<&T> {
        match self {
            Self::Always(said) => Some(said),
            Self::ByType(..) => None,
        }
    }

    /// Whether it is said of some calls.
    pub fn any(&self, mut holds: impl FnMut(&T) -> bool) -> bool {
        match self {
            Self::Always(said) => holds(said),
            Self::ByType(_, each) => each.iter().any(|(_, said)| holds(said)),
        }
    }
}

#[cfg(test)]
mod twin;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::correlate::made::signature_of;
    use crate::trace::{CallFlags, Layer, Trace};
    use umtui_wire::table::{FUNCTIONS, find};

    /// The table's function of this name.
    fn api(trace: &mut Trace, name: &str) -> Api {
        let function = &FUNCTIONS[find(name.as_bytes(), 13).unwrap()];
        let signature = signature_of(function);
        let id = trace.api_of(name, function.layer, signature);
        trace.api(id).unwrap().clone()
    }

    #[test]
    fn every_type_is_asked_by_the_name_of_a_function_that_there_is() {
        let mut trace = Trace::default();
        for (name, layer) in [("cudaGraphAddNode", Layer::Runtime), ("cuGraphAddNode", Layer::Driver)] {
            let api = api(&mut trace, name);
            let mut asked = Vec::new();
            let said = Chosen::of(&api, name, |_, base| {
                asked.push(base.to_owned());
                Some(())
            });
            assert!(matches!(said, Some(Chosen::ByType(_, each)) if each.len() == 13));
            for one in asked {
                // Nodes of operations on memory are the driver's only.
                let known = FUNCTIONS.iter().any(|function| function.name == one && function.layer == layer);
                assert_eq!(known, one != "cudaGraphAddBatchMemOpNode", "{one}");
            }
        }
    }

    #[test]
    fn a_call_has_what_is_said_of_its_type() {
        let mut trace = Trace::default();
        let api = api(&mut trace, "cuGraphAddNode_v2");
        let roles = |api: &Api, role: &str| api.signature.arguments.iter().filter(|one| one.role == role).count();
        let said = Chosen::of(&api, "cuGraphAddNode", |api, base| {
            base.contains("Mem").then(|| (base.to_owned(), [roles(api, "ptr"), roles(api, "dst")]))
        });
        let said = said.unwrap();
        assert!(said.always().is_none() && said.any(|(name, _)| name == "cuGraphAddMemFreeNode"));
        let mut record = vec![0; 144];
        let mut of = |value: u8| {
            record[28] = value;
            said.of_call(&Record::of_bytes(&record, CallFlags(0))).cloned()
        };
        assert_eq!(of(1), Some(("cuGraphAddMemcpyNode".to_owned(), [0, 1])));
        assert_eq!(of(2), Some(("cuGraphAddMemsetNode".to_owned(), [0, 1])));
        assert_eq!(of(11), Some(("cuGraphAddMemFreeNode".to_owned(), [1, 0])));
        assert_eq!((of(0), of(13)), (None, None));
        let other = Chosen::of(&api, "cuGraphAddMemFreeNode", |_, base| Some(base.to_owned()));
        assert_eq!(other.unwrap().always().map(String::as_str), Some("cuGraphAddMemFreeNode"));
    }

    #[test]
    fn of_a_recording_that_tells_the_type_alone_nothing_is_said() {
        let mut trace = Trace::default();
        let mut api = api(&mut trace, "cudaGraphAddNode");
        api.signature = api.signature.with(TYPE, u32::MAX);
        assert!(Chosen::of(&api, "cudaGraphAddNode", |_, _| Some(())).is_none());
    }
}
