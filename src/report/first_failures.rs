//! First failures in the report: which call failed first, and what may be to blame.

use serde::Serialize;
use std::fmt::Write as _;

use super::text::{duration, grouped};
use crate::correlate;
use crate::session::Loaded;
use crate::session::safe::safe;
use crate::symbols::demangled;
use crate::trace::{Layer, NO_DEVICE, SiteId, results};

/// Failures that are listed in the text.
const LISTED: usize = 20;

/// The first failed call or refused launch of a process, or the first that returned an error which stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FirstFailure {
    /// Process id.
    pub process: u32,
    /// Thread id.
    pub thread: u32,
    /// Device, if it is known.
    pub device: Option<u8>,
    /// Function.
    pub function: String,
    /// What it returned, by its name; `None`: its record is gone.
    pub error: Option<String>,
    /// The same as a number.
    pub status: Option<u32>,
    /// No call of the process failed before.
    pub first: bool,
    /// After this error every call on the device fails.
    pub sticky: bool,
    /// When the call returned, since the trace's first event, ns.
    pub time_ns: u64,
    /// Code that called.
    pub call_site: String,
    /// Of a launch: what it asked for, and what the device has.
    pub reason: Option<String>,
    /// Launches that may be to blame; `None`: not asked, the error does not stay.
    pub suspects: Option<Vec<Suspect>>,
    /// How suspects are known: `records` of what the GPU did, or `calls` alone.
    pub suspects_by: Option<&'static str>,
}

/// A launch that may be to blame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suspect {
    /// Kernel as its author wrote it; `None`: not known, or a whole graph.
    pub kernel: Option<String>,
    /// Stream's handle, if it is known.
    pub stream: Option<u64>,
    /// When it was launched, since the trace's first event, ns.
    pub launched_ns: u64,
    /// Code that launched it.
    pub call_site: String,
}

/// All of them, in order of time.
#[must_use]
pub fn of(loaded: &mut Loaded) -> Vec<FirstFailure> {
    loaded.first_failures().into_iter().map(|failure| row(loaded, &failure)).collect()
}

fn row(loaded: &mut Loaded, failure: &correlate::Failure) -> FirstFailure {
    let suspects = failure.suspects.as_ref();
    let sites: Vec<SiteId> =
        suspects.map(|list| list.launches.iter().map(|one| one.site).collect()).unwrap_or_default();
    let sites: Vec<String> = sites.into_iter().map(|site| loaded.site(site)).collect();
    let call_site = loaded.site(failure.site());
    let trace = loaded.trace();
    let start = trace.start_ns();
    let failed = &failure.failed;
    let layer = trace.api(failure.api()).map_or(Layer::Runtime, |api| api.layer);
    let suspect = |(one, call_site): (&correlate::suspect::Suspect, String)| Suspect {
        kernel: one.kernel.map(|name| demangled(trace.names.get(name)).into_owned()),
        stream: trace.streams.get(one.stream).map(|stream| stream.handle),
        launched_ns: one.launched_ns.saturating_sub(start),
        call_site,
    };
    FirstFailure {
        process: trace.process(failed.process).map_or(0, |process| process.pid),
        thread: trace.track(failed.track).map_or(0, |track| track.thread),
        device: Some(failed.call.device).filter(|&device| device != NO_DEVICE),
        function: trace.api_name(failure.api()).to_owned(),
        error: failed.status.map(|status| results::text(layer, status)),
        status: failed.status,
        first: failure.is_first,
        sticky: failure.is_sticky,
        time_ns: failed.call.end_ns().saturating_sub(start),
        call_site,
        reason: failure.reason.clone(),
        suspects: suspects.map(|list| list.launches.iter().zip(sites).map(suspect).collect()),
        suspects_by: suspects.map(|list| if list.by_records { "records" } else { "calls" }),
    }
}

/// Lines, if there is any.
pub(super) fn write(failures: &[FirstFailure], out: &mut String) {
    if !failures.is_empty() {
        out.push('\n');
    }
    for failure in failures.iter().take(LISTED) {
        let what = match (failure.sticky, failure.first) {
            (true, _) => "first lasting failure",
            (_, true) => "first failure",
            _ => "first refused launch",
        };
        let error = failure.error.as_deref().unwrap_or("an error that is no longer in the file");
        let device = failure.device.map_or_else(String::new, |device| format!(", device {device}"));
        let _ = writeln!(
            out,
            "{what} of {}{device}: {} from {} at {}, called by {}",
            failure.process,
            safe(error),
            safe(&failure.function),
            duration(failure.time_ns),
            safe(&failure.call_site)
        );
        if let Some(reason) = &failure.reason {
            let _ = writeln!(out, "  {}", safe(reason));
        }
        let by = if failure.suspects_by == Some("calls") { ", and nobody had waited for it" } else { "" };
        for suspect in failure.suspects.iter().flatten() {
            let kernel = suspect.kernel.as_deref().unwrap_or("a launch whose kernel is not known");
            let (at, site) = (duration(suspect.launched_ns), safe(&suspect.call_site).into_owned());
            let _ = writeln!(out, "  under way: {}, launched at {at} by {site}{by}", safe(kernel));
        }
    }
    let more = failures.len().saturating_sub(LISTED);
    if more > 0 {
        let _ = writeln!(out, "[{} more]", grouped(more as u64));
    }
}
