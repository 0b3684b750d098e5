//! Screens on a session of the trace: how long until they can be used, and what each key costs up to its frame.
//!
//! Keys go into the program's own loop, which draws on a terminal that is only memory. An answer is timed from the question to the
//! moment at which the session's thread hands it over; drawing in the loop's thread, with the comparison of what stood there
//! before. Both by the wall clock and in processor time of their threads, which other people's work on the machine changes
//! least. The floors are an answer with nothing in it, and a frame of that size of which every cell changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Position;
use ratatui::style::Color;
use umtui::session::Session;
use umtui::session::handle::{Child, Handle};
use umtui::session::view::{Answer, Body, Lens, MemoryPartRows, OutputRequest, View, ViewRequest};
use umtui::ui::ScreenId;
use umtui::ui::event_loop::{EventLoop, Host, Message, SharedHandle};
use umtui::ui::setup::Setup;
use umtui::ui::theme::{Charset, Depth, Glyphs, Palette, Theme};

use super::Failure;
use super::common::cpu;

/// Screens of these sizes.
const SIZES: [(u16, u16); 2] = [(80, 24), (200, 50)];
/// Keys of each kind that are timed.
const KEYS: usize = 300;
/// Time between two of them: a key that is held down comes about so often.
const PAUSE: Duration = Duration::from_millis(12);
/// Nobody waits longer for anything.
const LONGEST: Duration = Duration::from_secs(120);

/// What is pressed on the heatmap.
const HEATMAP: [(&str, &str); 8] = [
    ("cursor", "llljlllkhhjllljh"),
    ("zoom time", "wwwwwwwwssssssss"),
    ("pan time", "wwwwwLLLLHHHHLLLLLLLLHHHHHHHHLLLL0"),
    ("zoom rows", "WWSSWWWSSS"),
    ("by faults and so on", "cccc"),
    ("residency, cursor", "ccclljlljlllkc"),
    ("next places", "....,,,,"),
    ("all places", "AlllwwwwLLHHssssWWWWWkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk0A"),
];
/// And on the memory screen.
const MEMORY: [(&str, &str); 4] =
    [("cursor", "jjjjjjjjkkkkj"), ("a moment earlier", "hhhhhhhll"), ("sort", "ssSs<<S"), ("tabs", "\t\t\t\t\t")];

/// Opens the file on both screens.
pub fn screens(path: &Path) -> Result<(), Failure> {
    floors();
    screen(ScreenId::Memory, "memory screen", path, &MEMORY, |body| match body {
        Body::Memory(rows) => {
            matches!(&rows.part, MemoryPartRows::Allocations(rows) if rows.total > 0) && rows.plot.peak_bytes > 0
        }
        _ => false,
    })?;
    screen(ScreenId::Heatmap, "heatmap", path, &HEATMAP, |body| matches!(body, Body::Heatmap(rows) if rows.places > 0))
}

/// The last question: its number, when it was asked, and how much processor time the session's thread had taken by then.
type Asked = (u64, Option<(Instant, Duration)>);

/// A session that notes when it was asked last.
struct Noting {
    session: Session,
    asked: Arc<Mutex<Asked>>,
    /// Where the system says how much processor time the session's thread has taken.
    spent: Option<PathBuf>,
}

impl Noting {
    fn new(session: Session, asked: &Arc<Mutex<Asked>>) -> Self {
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|thread| thread.path());
        let is_it =
            |path: &PathBuf| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "session");
        // The one that was started last.
        let found = threads.filter(is_it).max_by_key(|path| path.file_name().map(|name| (name.len(), name.to_owned())));
        Self { session, asked: Arc::clone(asked), spent: found.map(|path| path.join("schedstat")) }
    }

    fn spent(&self) -> Duration {
        let told = self.spent.as_ref().and_then(|path| std::fs::read_to_string(path).ok());
        let ns = told.and_then(|told| told.split(' ').next()?.parse().ok());
        Duration::from_nanos(ns.unwrap_or(0))
    }
}

impl Handle for Noting {
    fn ask(&self, request: ViewRequest) {
        let now = Some((Instant::now(), self.spent()));
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = (request.id, now);
        self.session.ask(request);
    }
    fn child(&self) -> Option<Child> {
        self.session.child()
    }
    fn detach(&self) {}
    fn terminate(&self) {}
}

/// There is no terminal.
struct NoHost;

impl Host for NoHost {
    fn suspend(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
    fn copy(&mut self, _: &str, _: Option<&Path>) -> String {
        String::new()
    }
    fn edit(&mut self, _: &Path, _: u32) -> anyhow::Result<Option<String>> {
        Ok(None)
    }
    fn reenter(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

/// An answer, when it was handed over, and how much processor time the session's thread had taken by then.
struct Timed {
    answer: Answer,
    at: Instant,
    cpu: Duration,
}

/// Times of one thing: by the wall clock, and in processor time.
#[derive(Default)]
struct Times {
    wall: Vec<Duration>,
    cpu: Vec<Duration>,
}

impl Times {
    fn push(&mut self, wall: Duration, cpu: Duration) {
        self.wall.push(wall);
        self.cpu.push(cpu);
    }

    fn words(&mut self) -> String {
        let at = |list: &mut Vec<Duration>, share: usize| {
            list.sort_unstable();
            list.get(list.len() * share / 1000).copied().unwrap_or_default().as_secs_f64() * 1e3
        };
        let (wall, cpu) = (&mut self.wall, &mut self.cpu);
        let [a, b, c, d] = [at(wall, 500), at(wall, 990), at(cpu, 500), at(cpu, 990)];
        format!("{a:6.2} {b:6.2} ms (processor {c:6.2} {d:6.2})")
    }
}

/// Times of keys of a kind.
#[derive(Default)]
struct Kind {
    answers: Times,
    frames: Times,
}

impl Kind {
    fn print(&mut self, name: &str) {
        println!("    {name:<20} answer {}, drawing {}", self.answers.words(), self.frames.words());
    }
}

/// A loop on a session, and what comes from it.
struct Stage<'a> {
    event_loop: EventLoop<TestBackend, NoHost>,
    messages: Sender<Message>,
    answers: &'a Receiver<Timed>,
    asked: Arc<Mutex<Asked>>,
    /// The last question that was answered.
    answered: u64,
}

impl Stage<'_> {
    fn asked(&self) -> Asked {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the loop take what it was sent, and times that.
    fn settle(&mut self, kind: &mut Kind) -> Result<(), Failure> {
        let (begun, before) = (Instant::now(), cpu());
        self.event_loop.settle()?;
        kind.frames.push(begun.elapsed(), cpu().saturating_sub(before));
        Ok(())
    }

    /// Shows an answer; whether it is the one to the last question.
    fn show(&mut self, timed: Timed, kind: &mut Kind) -> Result<bool, Failure> {
        let (id, asked) = self.asked();
        let is_it = timed.answer.id == id;
        let is_first = self.answered != id;
        if is_it {
            self.answered = id;
        }
        if let Some((asked, before)) = asked.filter(|_| is_it && is_first) {
            kind.answers.push(timed.at.saturating_duration_since(asked), timed.cpu.saturating_sub(before));
        }
        self.messages.send(Message::Answer(Box::new(timed.answer)))?;
        self.settle(kind)?;
        Ok(is_it)
    }

    /// Presses a key, and shows the answer if that asks for one.
    fn press(&mut self, key: char, kind: &mut Kind) -> Result<(), Failure> {
        // What the session has told of itself meanwhile.
        while let Ok(timed) = self.answers.try_recv() {
            self.show(timed, &mut Kind::default())?;
        }
        let before = self.asked().0;
        let code = if key == '\t' { KeyCode::Tab } else { KeyCode::Char(key) };
        self.messages.send(Message::Input(Event::Key(KeyEvent::new(code, KeyModifiers::NONE))))?;
        self.settle(kind)?;
        if self.asked().0 != before {
            while !self.show(self.answers.recv_timeout(LONGEST)?, kind)? {}
        }
        Ok(())
    }

    fn press_all(&mut self, keys: &str, kind: &mut Kind) -> Result<(), Failure> {
        for key in keys.chars().cycle().take(KEYS.div_ceil(keys.len()) * keys.len()) {
            self.press(key, kind)?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

/// Opens the file and asks for a screen as the program does; what comes says whether it can be used.
fn screen(
    first: ScreenId,
    name: &str,
    path: &Path,
    all: &[(&str, &str)],
    usable: impl Fn(&Body) -> bool,
) -> Result<(), Failure> {
    let (give, answers) = channel();
    let begun = Instant::now();
    let give = move |answer| drop(give.send(Timed { answer, at: Instant::now(), cpu: cpu() }));
    let session = Session::open(&[PathBuf::from(path)], None, Box::new(give))?;
    let asked: Arc<Mutex<Asked>> = Arc::default();
    let handle: Box<dyn Handle> = Box::new(Noting::new(session, &asked));
    let handle: SharedHandle = Arc::new(Mutex::new(handle));
    let stage = |size: (u16, u16)| -> Result<Stage<'_>, Failure> {
        let (messages, received) = channel();
        let theme = Theme::new(&Palette::default(), Depth::Ansi256, Glyphs::of(Charset::Unicode));
        let terminal = Terminal::new(TestBackend::new(size.0, size.1))?;
        let handle = Arc::clone(&handle);
        let event_loop = EventLoop::new(terminal, NoHost, handle, received, Setup::new(theme, first), Duration::ZERO)?;
        Ok(Stage { event_loop, messages, answers: &answers, asked: Arc::clone(&asked), answered: 0 })
    };
    let mut opened = stage(SIZES[1])?;
    let mut opening = Kind::default();
    opened.settle(&mut opening)?;
    loop {
        // The loop asks again by itself when it is time, and the session tells of itself what has come.
        let timed = match opened.answers.recv_timeout(Duration::from_millis(5)) {
            Ok(timed) => timed,
            Err(RecvTimeoutError::Timeout) if begun.elapsed() < LONGEST => {
                opened.settle(&mut Kind::default())?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let is_usable = usable(&timed.answer.body);
        opened.show(timed, &mut opening)?;
        if is_usable {
            break;
        }
    }
    println!("{name}: usable after {:.2?}", begun.elapsed());
    opening.print("opening");
    let mut busy = Kind::default();
    opened.press_all(all.first().map_or("", |first| first.1), &mut busy)?;
    busy.print("cursor, incomplete");
    let mut rest = Kind::default();
    while let Ok(timed) = opened.answers.recv_timeout(Duration::from_secs(3)) {
        opened.show(timed, &mut rest)?;
    }
    println!("  whole after {:.2?}", begun.elapsed().saturating_sub(Duration::from_secs(3)));
    rest.print("by itself");
    drop(opened);
    for size in SIZES {
        let mut stage = stage(size)?;
        stage.settle(&mut Kind::default())?;
        while let Ok(timed) = stage.answers.recv_timeout(Duration::from_secs(1)) {
            stage.show(timed, &mut Kind::default())?;
        }
        println!("  {} x {}", size.0, size.1);
        floor_of_answers(&mut stage, &handle)?;
        for (name, keys) in all {
            let mut kind = Kind::default();
            stage.press_all(keys, &mut kind)?;
            kind.print(name);
        }
    }
    Ok(())
}

/// Answers without anything in them.
fn floor_of_answers(stage: &mut Stage<'_>, handle: &SharedHandle) -> Result<(), Failure> {
    let mut kind = Kind::default();
    for _ in 0..KEYS {
        let view = View::Output(OutputRequest { first: 0, rows: 1 });
        let request = ViewRequest { id: 0, view, search: None, lens: Lens::default() };
        handle.lock().unwrap_or_else(PoisonError::into_inner).ask(request);
        let timed = stage.answers.recv_timeout(LONGEST)?;
        if let (_, Some((asked, before))) = stage.asked() {
            kind.answers.push(timed.at.saturating_duration_since(asked), timed.cpu.saturating_sub(before));
        }
        std::thread::sleep(PAUSE);
    }
    println!("    {:<20} answer {}", "floor", kind.answers.words());
    // Back to what is shown.
    stage.press('0', &mut Kind::default())
}

/// Frames of which every cell changes.
fn floors() {
    for (width, height) in SIZES {
        let mut times = Times::default();
        let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
        for number in 0..KEYS {
            let (begun, before) = (Instant::now(), cpu());
            let symbol = if number % 2 == 0 { "░" } else { "█" };
            let Ok(_) = terminal.draw(|frame| {
                let area = frame.area();
                for at in area.positions() {
                    if let Some(cell) = frame.buffer_mut().cell_mut(Position::new(at.x, at.y)) {
                        cell.set_symbol(symbol).set_fg(if at.x % 2 == 0 { Color::Red } else { Color::Blue });
                    }
                }
            });
            times.push(begun.elapsed(), cpu().saturating_sub(before));
        }
        println!("floor of drawing, {width} x {height}: {}", times.words());
    }
}
