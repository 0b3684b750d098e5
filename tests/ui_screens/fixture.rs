//! A session that knows one made-up trace, and a loop on a terminal that is only memory.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::backend::{Backend, TestBackend};
use ratatui::{Terminal, TerminalOptions, Viewport};
use umtui::filter::{Condition, Pattern, TextField};
use umtui::graph::What;
use umtui::session::handle::{Child, Handle};
use umtui::session::view::*;
use umtui::trace::ApiId;
use umtui::ui::ScreenId;
use umtui::ui::event_loop::{EventLoop, Host, Message};
use umtui::ui::setup::Setup;
use umtui::ui::theme::{Charset, Depth, Glyphs, Palette, Theme};

/// What the fake was told, and what it is to answer.
#[derive(Default)]
pub struct Said {
    pub asked: Vec<ViewRequest>,
    pub detached: usize,
    pub terminated: usize,
    pub child: Option<Child>,
    pub status: Status,
    /// Sorts the other way round, as if a refresh had changed all totals.
    pub turned: bool,
    /// Lines for devices instead of the usual one.
    pub devices: Vec<(String, String)>,
    /// Names instead of the usual ones.
    pub names: Vec<String>,
}

/// The session.
pub struct Fake {
    pub said: Arc<Mutex<Said>>,
    pub answers: Sender<Message>,
}

impl Handle for Fake {
    fn ask(&self, request: ViewRequest) {
        let mut said = self.said.lock().unwrap();
        said.asked.push(request.clone());
        let mut search = request.search.as_ref().map(|search| crate::searched::search(&request.view, search));
        if let (Some(answer), false) = (&mut search, said.names.is_empty()) {
            let found = answer.found.iter_mut().map(|found| &mut found.place);
            answer
                .entries
                .iter_mut()
                .map(|entry| &mut entry.label)
                .chain(found)
                .for_each(|text| rename(text, &said.names));
        }
        let body = match request.view {
            View::Overview { rows, .. } => {
                let usual = overview(rows);
                let devices = if said.devices.is_empty() { usual.devices } else { said.devices.clone() };
                Body::Overview(Overview { devices, ..usual })
            }
            View::Calls(request) => Body::Calls(calls(&request, said.turned)),
            View::Events(request) => Body::Events(events(&request)),
            View::Heatmap(request) => Body::Heatmap(crate::heat::heat(&request)),
            View::Memory(request) => Body::Memory(crate::memory::memory(&request)),
            View::Output(request) => Body::Output(output(&request)),
        };
        let mut status = said.status.clone();
        if !request.lens.is_clear() {
            let (shown, cut) = if request.lens.range.is_some() { (120, 2) } else { (1_950_000, 0) };
            status.lens =
                Some(LensStatus { shown, hidden: 3_900_000 - shown, cut, done: 1_000, ..LensStatus::default() });
        }
        let body = if said.names.is_empty() { body } else { renamed(body, &mut status, &said.names) };
        let answer = Answer { id: request.id, epoch: 1, status, body, search };
        let _ = self.answers.send(Message::Answer(Box::new(answer)));
    }
    fn child(&self) -> Option<Child> {
        self.said.lock().unwrap().child
    }
    fn detach(&self) {
        self.said.lock().unwrap().detached += 1;
    }
    fn terminate(&self) {
        self.said.lock().unwrap().terminated += 1;
    }
}

/// Counts what a real terminal would have been asked.
#[derive(Clone, Default)]
pub struct FakeHost(pub Arc<Mutex<(usize, usize)>>);

impl Host for FakeHost {
    fn suspend(&mut self) -> anyhow::Result<()> {
        self.0.lock().unwrap().0 += 1;
        Ok(())
    }
    fn copy(&mut self, text: &str, _: Option<&std::path::Path>) -> String {
        format!("copied {text}")
    }
    fn edit(&mut self, file: &std::path::Path, line: u32) -> anyhow::Result<Option<String>> {
        Ok(Some(format!("edited {}:{line}", file.display())))
    }
    fn reenter(&mut self) -> anyhow::Result<()> {
        self.0.lock().unwrap().1 += 1;
        Ok(())
    }
}

/// A running story.
pub struct Stage<B: Backend> {
    pub event_loop: EventLoop<B, FakeHost>,
    pub messages: Sender<Message>,
    pub said: Arc<Mutex<Said>>,
    pub host: FakeHost,
}

pub fn theme(depth: Depth, charset: Charset) -> Theme {
    Theme::new(&Palette::default(), depth, Glyphs::of(charset))
}

pub fn live() -> Status {
    Status {
        name: "train.py 4121".to_owned(),
        phase: Phase::Live,
        elapsed_ns: 102_000_000_000,
        calls_per_second: Some(38_200),
        calls: 3_900_000,
        ..Status::default()
    }
}

pub fn ended() -> Status {
    Status { phase: Phase::Ended, calls_per_second: None, ..live() }
}

pub fn stage_on<B>(terminal: Terminal<B>, theme: Theme, first: ScreenId, status: Status) -> Stage<B>
where
    B: Backend,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    // A story does not wait for time to pass.
    stage_with(terminal, Setup { continuations: Duration::ZERO, ..Setup::new(theme, first) }, status)
}

pub fn stage_with<B>(terminal: Terminal<B>, setup: Setup, status: Status) -> Stage<B>
where
    B: Backend,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let (messages, received): (Sender<Message>, Receiver<Message>) = channel();
    let said = Arc::new(Mutex::new(Said { status, ..Said::default() }));
    let fake: Box<dyn Handle> = Box::new(Fake { said: Arc::clone(&said), answers: messages.clone() });
    let host = FakeHost::default();
    let handle = Arc::new(Mutex::new(fake));
    let event_loop = EventLoop::new(terminal, host.clone(), handle, received, setup, Duration::ZERO).expect("loop");
    let mut stage = Stage { event_loop, messages, said, host };
    assert_eq!(stage.event_loop.settle().expect("settle"), None);
    stage
}

/// A stage on which everything is called by one of these names.
pub fn stage_saying<B>(
    terminal: Terminal<B>,
    theme: Theme,
    first: ScreenId,
    status: Status,
    names: Vec<String>,
) -> Stage<B>
where
    B: Backend,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    let mut stage = stage_on(terminal, theme, first, status);
    stage.said.lock().unwrap().names = names;
    // Asked for anew.
    let (there, back) = if first == ScreenId::Overview { ("9", "1") } else { ("1", number_of(first)) };
    stage.press(there);
    stage.press(back);
    stage
}

fn number_of(screen: ScreenId) -> &'static str {
    match screen {
        ScreenId::Overview => "1",
        ScreenId::Calls => "2",
        ScreenId::Heatmap => "4",
        ScreenId::Memory => "5",
        ScreenId::Events => "6",
        ScreenId::Output => "9",
    }
}

/// Calls a thing by one of these names.
fn rename(text: &mut String, names: &[String]) {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    text.clone_from(&names[(hasher.finish() % names.len() as u64) as usize]);
}

/// An answer in which everything is called by one of these names; a thing has always the same.
fn renamed(body: Body, status: &mut Status, names: &[String]) -> Body {
    let name = |text: &mut String| rename(text, names);
    name(&mut status.name);
    match body {
        Body::Overview(mut rows) => {
            rows.processes.iter_mut().for_each(|row| {
                name(&mut row.program);
                name(&mut row.host);
                row.trouble.iter_mut().for_each(name);
            });
            rows.kernels.iter_mut().chain(&mut rows.top).for_each(|row| name(&mut row.name));
            rows.devices.iter_mut().for_each(|(label, text)| [label, text].into_iter().for_each(name));
            rows.worst_failure.iter_mut().chain(&mut rows.recording).for_each(name);
            rows.running.iter_mut().for_each(|(function, thread, _)| [function, thread].into_iter().for_each(name));
            Body::Overview(rows)
        }
        Body::Calls(mut rows) => {
            rows.rows.iter_mut().for_each(|row| name(&mut row.label));
            rows.launches.iter_mut().flat_map(|(_, launches)| &mut launches.sites).for_each(|(site, _)| name(site));
            Body::Calls(rows)
        }
        Body::Events(mut rows) => {
            for row in &mut rows.rows {
                [&mut row.name, &mut row.thread_name, &mut row.arguments, &mut row.site].into_iter().for_each(name);
                if !row.result.is_empty() {
                    name(&mut row.result);
                }
            }
            rows.details.iter_mut().flat_map(|(_, fields)| fields).for_each(|(_, value)| name(value));
            Body::Events(rows)
        }
        Body::Heatmap(mut rows) => {
            name(&mut rows.label);
            if let Some(point) = &mut rows.point {
                name(&mut point.label);
                point.kernels.iter_mut().for_each(|(kernel, _)| name(kernel));
                point.details.iter_mut().flatten().for_each(|(_, value)| name(value));
            }
            Body::Heatmap(rows)
        }
        Body::Memory(mut rows) => {
            name(&mut rows.plot.peak_held);
            match &mut rows.part {
                MemoryPartRows::Allocations(rows) => {
                    rows.rows.iter_mut().for_each(|row| [&mut row.site, &mut row.thread].into_iter().for_each(name));
                    rows.details.iter_mut().flat_map(|(_, fields)| fields).for_each(|(_, value)| name(value));
                }
                MemoryPartRows::Blocks(rows) => rows.rows.iter_mut().for_each(|row| name(&mut row.site)),
                MemoryPartRows::Groups(rows) => rows.rows.iter_mut().for_each(|row| name(&mut row.name)),
                MemoryPartRows::Pools(rows) => rows.rows.iter_mut().for_each(|row| name(&mut row.name)),
                MemoryPartRows::Growth(rows) => rows.rows.iter_mut().for_each(|row| name(&mut row.name)),
                MemoryPartRows::Transfers(rows) => {
                    rows.rows.iter_mut().flat_map(|row| &mut row.devices).for_each(|(_, device)| name(device));
                }
            }
            Body::Memory(rows)
        }
        Body::Output(mut rows) => {
            rows.lines.iter_mut().for_each(|(_, line)| name(line));
            Body::Output(rows)
        }
    }
}

/// A stage of this size in 256 colours and Unicode.
pub fn stage(first: ScreenId, width: u16, height: u16, status: Status) -> Stage<TestBackend> {
    let terminal = Terminal::new(TestBackend::new(width, height)).expect("terminal");
    stage_on(terminal, theme(Depth::Ansi256, Charset::Unicode), first, status)
}

/// A terminal that never asks its backend for a size.
pub fn fixed<B: Backend>(backend: B, width: u16, height: u16) -> Terminal<B> {
    let viewport = Viewport::Fixed(ratatui::layout::Rect::new(0, 0, width, height));
    Terminal::with_options(backend, TerminalOptions { viewport }).unwrap_or_else(|_| panic!("terminal"))
}

pub fn key(name: &str) -> Message {
    let (modifiers, name) = match name.strip_prefix("Ctrl-") {
        Some(name) if !name.is_empty() => (KeyModifiers::CONTROL, name),
        _ => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Space" => KeyCode::Char(' '),
        "Backspace" => KeyCode::Backspace,
        "Left" => KeyCode::Left,
        "Right" => KeyCode::Right,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "PgDn" => KeyCode::PageDown,
        "PgUp" => KeyCode::PageUp,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Tab" => KeyCode::Tab,
        "Shift-Tab" => KeyCode::BackTab,
        "Del" => KeyCode::Delete,
        "F1" => KeyCode::F(1),
        other => KeyCode::Char(other.chars().next().expect("a key")),
    };
    Message::Input(Event::Key(KeyEvent::new(code, modifiers)))
}

impl<B> Stage<B>
where
    B: Backend,
    B::Error: std::error::Error + Send + Sync + 'static,
{
    /// Presses keys, with spaces between them, and lets the loop settle.
    pub fn press(&mut self, keys: &str) -> Option<umtui::ui::Outcome> {
        for name in keys.split(' ') {
            self.messages.send(key(name)).expect("send");
            if let Some(outcome) = self.event_loop.settle().expect("settle") {
                return Some(outcome);
            }
        }
        None
    }

    /// Types a text, letter by letter.
    pub fn type_text(&mut self, text: &str) {
        for letter in text.chars() {
            let letter = Event::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE));
            assert_eq!(self.send(Message::Input(letter)), None);
        }
    }

    pub fn send(&mut self, message: Message) -> Option<umtui::ui::Outcome> {
        self.messages.send(message).expect("send");
        self.event_loop.settle().expect("settle")
    }
}

impl Stage<TestBackend> {
    /// Text of a line, its end trimmed.
    pub fn line(&self, y: u16) -> String {
        let buffer = self.event_loop.terminal().backend().buffer();
        let width = buffer.area.width;
        (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned()
    }

    pub fn text(&self) -> String {
        let height = self.event_loop.terminal().backend().buffer().area.height;
        (0..height).map(|y| self.line(y) + "\n").collect()
    }

    /// The line that is in reverse video.
    pub fn cursor_line(&self) -> String {
        let buffer = self.event_loop.terminal().backend().buffer();
        let reversed = |y: &u16| buffer[(0, *y)].style().add_modifier.contains(ratatui::style::Modifier::REVERSED);
        (2..buffer.area.height).find(reversed).map(|y| self.line(y)).unwrap_or_default()
    }
}

fn overview(rows: u16) -> Overview {
    let process = |pid, program: &str, calls| ProcessRow {
        pid,
        program: program.to_owned(),
        depth: u16::from(pid > 4121),
        became: false,
        went_on: false,
        in_order: false,
        removed: false,
        host: "gpu03".to_owned(),
        calls,
        lost: 0,
        alive: true,
        trouble: None,
    };
    let top = |depth, name: &str, total_share, self_share, total_ns, count| TopRow {
        what: Some(What::Call(ApiId(0))),
        like: Some(Condition::Text(TextField::Api, Pattern::Glob(name.to_owned()))),
        depth,
        name: name.to_owned(),
        total_ns,
        total_share,
        self_share,
        count,
    };
    let mut functions = vec![
        top(0, "cudaDeviceSynchronize", 613, 613, 62_400_000_000, 10_000),
        top(0, "cudaLaunchKernel", 220, 21, 20_100_000_000, 10_000),
        top(1, "cuLaunchKernel", 199, 199, 18_100_000_000, 10_000),
        top(0, "cudaMemPrefetchAsync", 42, 3, 4_200_000_000, 400),
        top(0, "cudaMallocManaged", 8, 8, 81_000_000, 12),
    ];
    functions.truncate(usize::from(rows / 3));
    let moved = |to_device, bytes, causes: &[&str]| Moved {
        to_device,
        history: (0..60).map(|step| if step % 10 < 5 { step * 20_000 } else { 0 }).collect(),
        per_second: Some(1_300_000_000),
        bytes,
        count: 1200,
        causes: causes.iter().map(|&cause| cause.to_owned()).collect(),
    };
    let mut kernels = vec![
        top(0, "void solver::step<float>(float*, unsigned long)", 812, 812, 48_000_000_000, 9_000),
        top(0, "reduce(float const*, float*, int)", 188, 188, 11_100_000_000, 1_000),
    ];
    kernels.truncate(usize::from(rows / 3));
    Overview {
        devices: vec![("GPU 0".to_owned(), "NVIDIA H200   139 GiB".to_owned())],
        moved: vec![moved(true, 671_088_640, &["fault", "ahead"]), moved(false, 12_582_912, &["fault"])],
        kernels,
        more_kernels: 3,
        processes: vec![
            process(4121, "python", 3_100_000),
            process(4188, "python rank 0", 800_000),
            ProcessRow {
                alive: false,
                trouble: Some("ended without its exit handlers: killed, crashed or _exit".to_owned()),
                ..process(4190, "python rank 1", 41)
            },
        ],
        process_count: 3,
        standing: Standing { running: 2, gone: 1, ..Standing::default() },
        sees: ["calls with arguments", "kernels and copies", "migrations"].map(str::to_owned).to_vec(),
        clocks: None,
        costs: Some("58 ns a call, 0.4 % of the run".to_owned()),
        not: vec![
            "page faults: not asked for; start with --um-faults (slows faulting code by up to 70 %)".to_owned(),
            "runtime calls: none came; with a static cudart (nvcc's default) only driver calls are seen".to_owned(),
        ],
        calls_history: (0..60).map(|i| [12, 20, 31, 38, 30, 19, 9, 0][i % 8] * 1_000).collect(),
        history_step_ns: 1_000_000_000,
        top: functions,
        rest: (41, 125),
        failed: 12,
        worst_failure: Some("cudaMalloc with cudaErrorMemoryAllocation".to_owned()),
        sticky_failure: None,
        running: Some(("cudaStreamSynchronize".to_owned(), "main".to_owned(), 2_100_000_000)),
        silence: None,
        recording: Some("/tmp/umtui-4121".to_owned()),
    }
}

struct Node {
    label: &'static str,
    kind: NodeKind,
    total: u64,
    own: u64,
    count: u64,
    failed: u64,
    gpu: GpuPart,
    children: Vec<Node>,
}

fn node(label: &'static str, kind: NodeKind, times: (u64, u64), count: u64, children: Vec<Node>) -> Node {
    let failed = u64::from(kind < NodeKind::Stream) * 2 * u64::from(times.0 > 90_000);
    let (total, own) = (times.0 * 1_000_000, times.1 * 1_000_000);
    Node { label, kind, total, own, count, failed, gpu: GpuPart::default(), children }
}

/// Two streams and what the GPU did in them.
fn streams() -> Vec<Node> {
    use NodeKind::{Copy, Kernel, Process, Runtime, Site, Stream};
    let bytes = |bytes| GpuPart { bytes: Some(bytes), ..GpuPart::default() };
    let below = |pieces, work_ns| GpuPart { pieces: Some(pieces), work_ns: Some(work_ns), bytes: None };
    let kernel = "void solver::step<float>(float*, unsigned long)";
    let copy = node("copy host > device, pageable", Copy, (1_100, 1_100), 1_000, vec![]);
    let site = vec![
        node("cudaDeviceSynchronize", Runtime, (62_300, 62_300), 10_000, vec![]),
        node("cudaLaunchKernel", Runtime, (20_100, 20_100), 10_000, vec![]),
    ];
    let used = vec![
        node("solver.cu:131 step()", Site, (82_400, 0), 20_000, site),
        node(kernel, Kernel, (48_000, 48_000), 9_000, vec![]),
        node("reduce(float const*, float*, int)", Kernel, (11_100, 11_100), 1_000, vec![]),
        Node { gpu: bytes(1_342_177_280), ..copy },
    ];
    let other = vec![node("reduce(float const*, float*, int)", Kernel, (9, 9), 17, vec![])];
    let first = node("stream 0x55d0c8a1, device 0", Stream, (82_400, 0), 20_000, used);
    let second = node("stream #9 of context #1", Stream, (0, 0), 0, other);
    let streams = vec![
        Node { gpu: below(11_000, 60_200_000_000), failed: 0, ..first },
        Node { gpu: below(17, 9_000_000), ..second },
    ];
    let root = node("4121 python", Process, (82_400, 0), 20_000, streams);
    vec![Node { gpu: below(11_017, 60_209_000_000), ..root }]
}

/// Steps of a training, and what they did.
fn ranges() -> Vec<Node> {
    use NodeKind::{Kernel, Range, Runtime};
    let forward = vec![
        node("cudaLaunchKernel", Runtime, (20_100, 20_100), 9_000, vec![]),
        node("void solver::step<float>(float*, unsigned long)", Kernel, (48_000, 48_000), 9_000, vec![]),
    ];
    let gpu = GpuPart { pieces: Some(9_000), work_ns: Some(48_000_000_000), bytes: None };
    let inside = vec![
        Node { gpu, ..node("forward", Range, (30_000, 9_900), 1_000, forward) },
        node("ncclAllReduce (NCCL)", Range, (4_000, 4_000), 1_000, vec![]),
    ];
    let outside = vec![node("cudaMalloc", Runtime, (81, 81), 12, vec![])];
    let step = Node { gpu, ..node("step", Range, (61_000, 27_000), 1_000, inside) };
    vec![step, node("outside of ranges", Range, (81, 0), 12, outside)]
}

/// A device and what unified memory did there.
fn devices() -> Vec<Node> {
    use NodeKind::{Device, Fault, Kernel, Migration, Runtime, Site};
    let moved = |label, total, count, bytes| Node {
        gpu: GpuPart { bytes: Some(bytes), ..GpuPart::default() },
        ..node(label, Migration, (total, total), count, vec![])
    };
    let below = vec![
        node(
            "solver.cu:131 step()",
            Site,
            (62_300, 0),
            10_000,
            vec![node("cudaDeviceSynchronize", Runtime, (62_300, 62_300), 10_000, vec![])],
        ),
        node("void solver::step<float>(float*, unsigned long)", Kernel, (48_000, 48_000), 9_000, vec![]),
        moved("pages host > device, fault", 610, 4_096, 671_088_640),
        moved("pages device > host, evicted", 12, 12, 12_582_912),
        node("CPU page faults, read", Fault, (0, 0), 16_384, vec![]),
    ];
    let gpu = GpuPart { pieces: Some(9_000), work_ns: Some(48_000_000_000), bytes: Some(683_671_552) };
    vec![Node { gpu, ..node("device 0", Device, (62_300, 0), 10_000, below) }]
}

fn tree() -> Vec<Node> {
    use NodeKind::{Driver, Process, Runtime, Site, Thread};
    let launch = || {
        let inner = vec![node("cuLaunchKernel", Driver, (18_100, 18_100), 10_000, vec![])];
        node("cudaLaunchKernel", Runtime, (20_100, 2_000), 10_000, inner)
    };
    let sites = vec![
        node(
            "solver.cu:131 step()",
            Site,
            (62_400, 12),
            20_000,
            vec![node("cudaDeviceSynchronize", Runtime, (62_300, 62_300), 10_000, vec![]), launch()],
        ),
        node(
            "solver.cu:118 step()",
            Site,
            (4_200, 88),
            10_000,
            vec![node(
                "void thrust::cuda_cub::core::kernel_agent<thrust::cuda_cub::__parallel_for::Agent<float>, int>(int)",
                Runtime,
                (4_100, 4_100),
                10_000,
                vec![],
            )],
        ),
    ];
    vec![
        node(
            "4121 python",
            Process,
            (98_200, 4_100),
            3_900_000,
            vec![
                node("main", Thread, (91_000, 3_900), 3_100_000, sites),
                node("memory_monitor", Thread, (7_200, 200), 800_000, vec![]),
            ],
        ),
        node("4188 python", Process, (81, 3), 41, vec![]),
    ]
}

fn key_of(path: &[&str]) -> NodeKey {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    NodeKey(hasher.finish())
}

struct Walk<'a> {
    folds: &'a Folds,
    sort: (Column, bool),
    turned: bool,
    out: Vec<CallRow>,
}

impl Walk<'_> {
    fn nodes(&mut self, mut nodes: Vec<Node>, path: &mut Vec<&'static str>) {
        nodes.sort_by_key(|node| match self.sort.0 {
            Column::Name => node.label.bytes().fold(0_u64, |n, b| n.wrapping_mul(7) + u64::from(b)),
            Column::SelfTime => node.own,
            Column::Count => node.count,
            _ => node.total,
        });
        if self.sort.1 != self.turned {
            nodes.reverse();
        }
        for node in nodes {
            let parent = (!path.is_empty()).then(|| key_of(path));
            path.push(node.label);
            let (key, depth) = (key_of(path), path.len() as u16 - 1);
            let open = (depth < self.folds.open_depth) != self.folds.flipped.contains(&key);
            let hottest = node.children.iter().max_by_key(|child| child.total).map(|child| {
                path.push(child.label);
                let key = key_of(path);
                path.pop();
                key
            });
            let mean = node.total.checked_div(node.count).filter(|&ns| ns > 0);
            self.out.push(CallRow {
                key,
                depth,
                parent,
                hottest,
                label: node.label.to_owned(),
                kind: node.kind,
                open: (!node.children.is_empty()).then_some(open),
                count: node.count,
                failed: node.failed,
                running: 0,
                total_ns: node.total,
                self_ns: node.own,
                min_ns: mean.map(|ns| ns / 2),
                max_ns: mean.map(|ns| ns * 5),
                p50_ns: mean,
                p99_ns: mean.map(|ns| ns * 2),
                gpu: node.gpu,
                share: (node.total / 98_281_000) as u16,
            });
            if open {
                self.nodes(node.children, path);
            }
            path.pop();
        }
    }
}

/// The functions of a tree, without what they are under.
fn functions(nodes: Vec<Node>, out: &mut Vec<Node>) {
    for mut node in nodes {
        functions(std::mem::take(&mut node.children), out);
        if node.kind >= NodeKind::Runtime {
            out.push(node);
        }
    }
}

pub fn calls(request: &CallsRequest, turned: bool) -> CallsRows {
    let mut roots = match request.grouping {
        Grouping::Stream => streams(),
        Grouping::Device => devices(),
        Grouping::Range => ranges(),
        _ => tree(),
    };
    if matches!(request.grouping, Grouping::Flat | Grouping::Inverted) {
        let mut flat = Vec::new();
        functions(roots, &mut flat);
        roots = flat;
    }
    let mut walk = Walk { folds: &request.folds, sort: request.sort, turned, out: Vec::new() };
    walk.nodes(roots, &mut Vec::new());
    let all = walk.out;
    let cursor = request.cursor.and_then(|key| all.iter().position(|row| row.key == key));
    let mut first = request.first.min(all.len());
    if let Some(row) = cursor {
        first = first.min(row).max((row + 1).saturating_sub(request.rows));
    }
    let rows: Vec<_> = all.iter().skip(first).take(request.rows).cloned().collect();
    let half = |from, moved| Half { min_ns: from, max_ns: from * 2, moved: Some(moved) };
    let launches = cursor.and_then(|row| all.get(row)).filter(|row| row.kind == NodeKind::Kernel).map(|row| {
        let launches = Launches {
            compared: row.count,
            fast: Some(half(2_700_000, 0)),
            slow: Some(half(5_400_000, 12_582_912)),
            grid: Some(([4096, 1, 1], [256, 1, 1])),
            sites: vec![("solver.cu:131 step()".to_owned(), 8_990), ("solver.cu:140 last()".to_owned(), 10)],
            more_sites: 0,
        };
        (row.key, launches)
    });
    CallsRows {
        total: all.len(),
        first,
        cursor,
        rows,
        quantile_error_pct: 6,
        span_ns: 102_000_000_000,
        launches,
        source: None,
    }
}

/// Events in the made-up trace.
pub const EVENTS: u64 = 3_900_000;

/// What is no call: every fourth event.
fn other(number: u64) -> EventRow {
    let which = (number / 4 % 6) as usize;
    let groups = [
        EventGroup::Ranges,
        EventGroup::Kernels,
        EventGroup::Migrations,
        EventGroup::Copies,
        EventGroup::Faults,
        EventGroup::Ranges,
    ];
    let names = [
        "range step",
        "void solver::step<float>(float*, unsigned long)",
        "pages host > device, fault",
        "copy host > device, pageable",
        "CPU page faults, read",
        "mark epoch (torch)",
    ];
    let arguments = [
        "",
        "grid=4096x1x1 block=256x1x1 stream=0x55d0c8a1",
        "bytes=64 KiB address=0x7f3a40000000",
        "bytes=64 MiB stream=#7",
        "address=0x7f3a40010000",
        "",
    ];
    let is_range = groups[which] == EventGroup::Ranges;
    EventRow {
        group: groups[which],
        duration_ns: [Some(61_000_000), Some(5_400_000), Some(81_000), Some(999_950), None, None][which],
        thread: if is_range { 4121 } else { 0 },
        thread_name: if is_range { "main" } else { "GPU 0" }.to_owned(),
        depth: 0,
        name: names[which].to_owned(),
        arguments: arguments[which].to_owned(),
        result: String::new(),
        recorded_as: String::new(),
        site: if which == 1 { "solver.cu:131 step()".to_owned() } else { String::new() },
        outcome: Outcome::Done,
        launched_by: (which == 1).then_some((0, 7)),
        ..call_event(number)
    }
}

fn event(number: u64) -> EventRow {
    if number % 4 == 2 { other(number) } else { call_event(number) }
}

fn call_event(number: u64) -> EventRow {
    let names = ["cudaMallocManaged", "cudaLaunchKernel", "cuLaunchKernel", "cudaMalloc", "cudaStreamSynchronize"];
    let which = (number % 5) as usize;
    let outcome = match (which, number) {
        (_, 9) => Outcome::Running,
        (3, _) => Outcome::Failed,
        _ => Outcome::Done,
    };
    EventRow {
        group: EventGroup::Calls,
        launched_by: None,
        start_ns: 12_345 + number * 26_100,
        duration_ns: (outcome != Outcome::Running).then_some([81_000, 6_200, 5_100, 1_200_000, 999_950][which]),
        pid: 4121,
        thread: 4121 + (number % 3) as u32,
        thread_name: ["main", "memory_monitor", ""][(number % 3) as usize].to_owned(),
        depth: u8::from(which == 2),
        name: names[which].to_owned(),
        arguments: [
            "ptr=0x7f3a40000000 bytes=64 MiB flags=global",
            "func=scale(float*, unsigned long) grid=4096x1x1 block=256x1x1 shared=0 B stream=7",
            "f=0x55d0c8a1 stream=7",
            "ptr=0x7ffd1c bytes=80.0 GiB",
            "stream=7",
        ][which]
            .to_owned(),
        result: if which == 3 { "cudaErrorMemoryAllocation".to_owned() } else { String::new() },
        recorded_as: String::new(),
        site: ["solver.cu:88 setup()", "solver.cu:131 step()"][usize::from(which > 0)].to_owned(),
        outcome,
    }
}

pub fn events(request: &EventsRequest) -> EventsRows {
    let total = if request.node.is_some() { 10_000 } else { EVENTS };
    let rows = request.rows as u64;
    let first = match request.at {
        EventsAt::Row(row) => row.min(total),
        EventsAt::Time(ns) => (ns / 26_100).min(total),
        EventsAt::End => total.saturating_sub(rows),
        EventsAt::Call(..) | EventsAt::Number(_) | EventsAt::Address(_) => 1_000,
    };
    let more = |row: u64| {
        let fields = ["launched by", "grid", "block", "migrations"];
        let values = [
            "cudaLaunchKernel from solver.cu:131 step()",
            "4096 x 1 x 1 blocks",
            "256 x 1 x 1 threads",
            "12 MiB in 33 overlapped with it: fault, ahead",
        ];
        (row, fields.into_iter().zip(values).map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    };
    let only = EventGroup::ALL.into_iter().find(|&group| request.kinds == EventKinds::only(group));
    let kind = |row: &EventRow| only.is_none_or(|group| row.group == group);
    EventsRows {
        total,
        first,
        rows: (first..total.min(first + rows)).map(event).filter(kind).collect(),
        found: match request.at {
            EventsAt::Call(..) => Some(1_001),
            EventsAt::Time(_) => Some(first),
            _ => None,
        },
        details: request.details.map(more),
    }
}

pub fn output(request: &OutputRequest) -> OutputRows {
    let total = 1_204;
    let rows = request.rows as u64;
    let first = request.first.min(total - rows.min(total));
    let line = |n: u64| match n % 7 {
        0 => (
            true,
            format!("UserWarning: step {n} took longer than the last ten together, which may be a page fault storm"),
        ),
        _ => (false, format!("step {n} loss {}.{:02}", 9 - n % 9, n % 100)),
    };
    OutputRows { total, first, lines: (first..total.min(first + rows)).map(line).collect(), why_empty: None }
}
