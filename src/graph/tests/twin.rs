//! Programs made at random, and their trees found by looking at every pair of calls.

use super::*;
use crate::trace::NO_DEVICE;

/// Thread, call site, stream, device, calls.
pub type Path = (u32, u32, u16, u8, Vec<u16>);

/// What a program did: for each thread its calls by end, and those that had not ended.
#[derive(Clone, Debug)]
pub struct Program {
    pub ended: Vec<Vec<Call>>,
    pub open: Vec<Vec<OpenCall>>,
    /// Some calls were not recorded.
    pub lossy: bool,
}

/// What a thread does next: begin a call, or end the innermost.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin { api: u16, site: u32, stream: u16, failed: bool, entry_only: bool, lost: bool },
    End,
}

fn step() -> impl Strategy<Value = Step> {
    let begin =
        (0u16..4, 0u32..3, 0u16..3, prop::bool::weighted(0.1), prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    prop_oneof![
        begin.prop_map(|(api, site, stream, failed, entry_only, lost)| Step::Begin {
            api,
            site,
            stream,
            failed,
            entry_only,
            lost
        }),
        Just(Step::End),
    ]
}

pub fn program() -> impl Strategy<Value = Program> {
    (prop::collection::vec(prop::collection::vec((step(), 1u64..50), 0..60), 1..4), any::<bool>(), any::<bool>())
        .prop_map(|(threads, killed, lossy)| {
            let (ended, open) = threads.iter().map(|steps| thread(steps, killed, lossy)).unzip();
            Program { ended, open, lossy }
        })
}

fn thread(steps: &[(Step, u64)], killed: bool, lossy: bool) -> (Vec<Call>, Vec<OpenCall>) {
    let (mut now, mut open, mut ended) = (0, Vec::<(Call, bool)>::new(), Vec::new());
    let ends = std::iter::repeat_n((Step::End, 3), if killed { 0 } else { steps.len() });
    for (step, passes) in steps.iter().copied().chain(ends) {
        now += passes;
        match step {
            Step::Begin { api, site, stream, failed, entry_only, lost } => {
                let mut call = super::call(now, now, u8::try_from(open.len()).unwrap(), api);
                call.site = SiteId(site);
                call.stream = if stream == 0 { StreamId::NONE } else { StreamId(stream) };
                call.flags = CallFlags(u8::from(failed));
                if entry_only {
                    call.flags = CallFlags::ENTRY_ONLY;
                    ended.push(call);
                } else {
                    open.push((call, lossy && lost));
                }
            }
            Step::End => {
                if let Some((mut call, lost)) = open.pop() {
                    call.duration_ns = now - call.start_ns;
                    if !lost {
                        ended.push(call);
                    }
                }
            }
        }
    }
    (ended, open.iter().map(|(call, _)| open_call(call)).collect())
}

fn open_call(call: &Call) -> OpenCall {
    OpenCall { api: call.api, start_ns: call.start_ns, site: call.site, depth: call.depth, registers: [0; 3] }
}

impl Program {
    /// The program as it was when each thread had ended so many calls.
    pub fn cut(&self, done: &[usize]) -> Self {
        let mut cut = self.clone();
        for (track, &done) in done.iter().enumerate() {
            let rest = cut.ended[track].split_off(done);
            let Some(next) = rest.first() else { continue };
            // Open at the moment before the next call ends: those that began before and end later.
            let moment = next.end_ns();
            cut.open[track]
                .extend(rest.iter().filter(|call| call.start_ns < moment && call.duration_ns > 0).map(open_call));
            cut.open[track].retain(|open| open.start_ns < moment);
            cut.open[track].sort_by_key(|open| open.depth);
        }
        cut
    }
}

/// A call or an open call, as the twin sees it.
#[derive(Clone, Debug)]
struct Seen {
    call: Call,
    running: bool,
    parent: Option<usize>,
}

pub struct Twin {
    pub cells: BTreeMap<Path, Stats>,
}

impl Twin {
    pub fn of(program: &Program) -> Self {
        let mut cells: BTreeMap<Path, Stats> = BTreeMap::new();
        for (track, ended) in program.ended.iter().enumerate() {
            let device = ended.last().map_or(NO_DEVICE, |call| call.device);
            let running = program.open[track].iter().map(|open| Seen {
                call: Call {
                    device,
                    depth: open.depth,
                    site: open.site,
                    ..super::call(open.start_ns, 1_000_000, open.depth, open.api.0)
                },
                running: true,
                parent: None,
            });
            let mut all: Vec<Seen> =
                ended.iter().map(|&call| Seen { call, running: false, parent: None }).chain(running).collect();
            for at in 0..all.len() {
                all[at].parent = caller(&all, at);
            }
            for at in 0..all.len() {
                let (path, seen) = (path(u32::try_from(track).unwrap(), &all, at), &all[at]);
                let stats = cells.entry(path).or_default();
                if seen.running {
                    stats.sums.running += 1;
                    continue;
                }
                let timed = !seen.call.flags.entry_only();
                stats.add_call(timed.then_some(seen.call.duration_ns), seen.call.flags.failed());
                let nested: u64 =
                    all.iter().filter(|other| other.parent == Some(at)).map(|other| other.call.duration_ns).sum();
                stats.sums.self_ns += seen.call.duration_ns - nested;
            }
        }
        Self { cells }
    }

    /// The rows of a grouping, by the names on the way to them.
    pub fn rows(&self, grouping: Grouping) -> BTreeMap<Vec<String>, Stats> {
        let mut rows: BTreeMap<Vec<String>, Stats> = BTreeMap::new();
        for ((track, site, stream, device, calls), stats) in &self.cells {
            let process = format!("{:?}", What::Process(Fake.process(TrackId(*track)).0));
            let thread = format!("{:?}", What::Thread(TrackId(*track)));
            let site = format!("{:?}", What::Site(SiteId(*site)));
            let groups = match grouping {
                Grouping::Thread => vec![process, thread, site],
                Grouping::Stream => vec![process, format!("{:?}", What::Stream(StreamId(*stream))), site],
                Grouping::Device => vec![format!("{:?}", What::Device(NameId(1), *device)), site],
                Grouping::CallSite | Grouping::Range => vec![site],
                Grouping::Flat => vec![],
                Grouping::Inverted => vec![site, thread],
            };
            let names = calls.iter().map(|&api| format!("{:?}", What::Call(ApiId(api))));
            let by_function = matches!(grouping, Grouping::Flat | Grouping::Inverted);
            let (last, callers) = calls.split_last().unwrap();
            let mut stats = stats.clone();
            if by_function && callers.contains(last) {
                stats.sums.total_ns = 0;
            }
            let (whole, least): (Vec<String>, usize) = match grouping {
                Grouping::Flat => (names.clone().next_back().into_iter().collect(), 1),
                Grouping::Inverted => (names.rev().chain(groups).collect(), 1),
                _ => {
                    let outermost = if calls.len() == 1 { 1 } else { groups.len() + calls.len() };
                    (groups.into_iter().chain(names).collect(), outermost)
                }
            };
            for length in least..=whole.len() {
                rows.entry(whole[..length].to_vec()).or_default().merge(&stats);
            }
        }
        rows
    }
}

/// The innermost call around number `at`.
fn caller(all: &[Seen], at: usize) -> Option<usize> {
    let call = &all[at].call;
    (0..all.len())
        .filter(|&other| other != at && all[other].call.depth < call.depth && !all[other].call.flags.entry_only())
        .filter(|&other| all[other].call.start_ns <= call.start_ns && all[other].call.end_ns() >= call.end_ns())
        .max_by_key(|&other| all[other].call.depth)
}

fn path(track: u32, all: &[Seen], at: usize) -> Path {
    let mut calls = vec![all[at].call.api.0];
    let mut outermost = &all[at];
    while let Some(parent) = outermost.parent {
        outermost = &all[parent];
        calls.insert(0, outermost.call.api.0);
    }
    let call = &outermost.call;
    (track, call.site.0, call.stream.0, call.device, calls)
}
