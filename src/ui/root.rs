//! What is on the screen: the current screen, the popups over it, and the keys pressed so far.
//!
//! It turns keys into actions, hands each to the popup or screen it is for, and carries out what that asks for.
//! What reaches beyond the screen (the program, the terminal) it hands on as an [`Order`].

mod filters;
mod find;
mod keep;
mod look;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ratatui::layout::{Rect, Size};

use super::effect::{Ask, Effect, Outcome, Popup};
use super::keys::{Action, Context, Key, Keymap, Match, keymap};
use super::layers::{self, Layer};
use super::lens::{Chosen, Lenses, offers};
use super::memory::Memory;
use super::screens::{Place, Screen, ScreenId, Screens, calls};
use super::search::Search;
use super::setup::Setup;
use super::source_map::SourceMap;
use super::theme::{Palette, Theme};
use crate::session::handle::Child;
use crate::session::view::{HeatRowsAt, HeatSubject, HeatTimeAt, Phase, Status, Step};

/// What the loop must do after a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Draw, if anything changed.
    None,
    /// Ask the program to end.
    Interrupt,
    /// Suspend.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Put this on the clipboard.
    Copy(String),
    /// Open this file at this line in the user's editor.
    Edit(PathBuf, u32),
    /// Leave.
    Leave(Outcome),
}

/// Whether new rows reach the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Display {
    /// As they come.
    Running,
    /// Held since the trace had so many calls.
    Held {
        /// Calls at that moment.
        calls: u64,
    },
}

/// State of the whole screen.
pub struct Root {
    /// Styles and glyphs.
    pub theme: Theme,
    /// Keys.
    pub keymap: Keymap,
    /// The screens.
    pub screens: Screens,
    /// Which one is shown.
    pub current: ScreenId,
    /// Popups, the topmost last.
    pub layers: Vec<Box<dyn Layer>>,
    /// Keys of a sequence that is not complete.
    pub prefix: Vec<Key>,
    /// Whether the box says what may follow them.
    pub continuations_shown: bool,
    /// The title line's content; `None` until the first answer.
    pub status: Option<Status>,
    /// What every screen is seen through.
    pub lenses: Lenses,
    /// The filter that came from a file.
    from_file: Option<Chosen>,
    /// Where one was when a filter began to be typed.
    filter_from: Option<Place>,
    /// Whether new rows reach the screen.
    pub display: Display,
    /// Something to tell the user, until the next key.
    pub notice: Option<String>,
    /// The terminal's size.
    pub size: Size,
    /// What is searched for.
    pub search: Search,
    /// What was entered into prompts, the newest last.
    history: BTreeMap<Ask, Arc<Vec<String>>>,
    /// What is remembered of the trace.
    memory: Memory,
    /// Where that is kept, and which trace it is, once that is known.
    state_folder: Option<PathBuf>,
    trace: Option<u64>,
    /// A key has been pressed: nobody is to be moved elsewhere any more.
    touched: bool,
    /// The first screen was asked for.
    first_is_wanted: bool,
    /// The filter that a name is typed for: the one in force, or one that has a name.
    naming: Option<Option<String>>,
    /// Where source lies here.
    sources: SourceMap,
    /// Themes that can be chosen.
    palettes: Vec<(String, Palette)>,
    /// What is to be done with what the cursor's row is about, once that is known.
    about: Option<Action>,
    /// Where the names that are offered go in the filter that is typed.
    slot: Option<offers::Slot>,
    /// An order that an answer gave.
    pub pending: Option<Order>,
    child: Option<Child>,
    trail: Vec<ScreenId>,
    interrupted: bool,
}

/// Steps that a notch of the wheel makes, as in most programs.
const NOTCH: usize = 3;

/// Smallest screen on which anything is drawn.
pub const SMALLEST: Size = Size::new(30, 8);

impl Root {
    /// Starts as it is set up.
    pub fn new(setup: Setup, size: Size) -> Self {
        let from_file = setup.filter_file.as_ref().and(setup.look.filter.clone());
        let mut screens = Screens::default();
        (screens.calls.chosen, screens.calls.thresholds) = (setup.columns, setup.thresholds);
        (screens.events.chosen, screens.events.thresholds) = (setup.event_columns, setup.thresholds);
        screens.calls.sources = setup.sources.clone();
        screens.memory.links = setup.links;
        Self {
            theme: setup.theme,
            keymap: setup.keymap,
            screens,
            current: setup.first,
            layers: Vec::new(),
            prefix: Vec::new(),
            continuations_shown: false,
            status: None,
            lenses: Lenses::new(setup.look, setup.filters),
            from_file,
            filter_from: None,
            display: Display::Running,
            notice: setup.notice,
            size,
            search: Search::default(),
            history: BTreeMap::new(),
            memory: Memory::default(),
            state_folder: setup.state_folder,
            trace: None,
            touched: false,
            first_is_wanted: setup.first_is_wanted,
            naming: None,
            sources: setup.sources,
            palettes: setup.palettes,
            about: None,
            slot: None,
            pending: None,
            child: None,
            trail: Vec::new(),
            interrupted: false,
        }
    }

    /// The part of the terminal between title and hint line.
    pub fn body(&self) -> Rect {
        Rect::new(0, 2, self.size.width, self.size.height.saturating_sub(3))
    }

    /// The screen that is shown.
    pub fn screen(&self) -> &dyn Screen {
        self.screens.get(self.current)
    }

    /// Where the next key goes.
    pub fn context(&self) -> Context {
        self.layers.last().map_or_else(|| self.screen().context(), |layer| layer.context())
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key, child: Option<Child>) -> Order {
        self.notice = None;
        self.child = child;
        self.touched = true;
        self.prefix.push(key);
        match self.keymap.find(self.context(), &self.prefix) {
            Match::Prefix => Order::None,
            Match::Nothing => {
                let alone = self.prefix.len() == 1;
                self.end_prefix();
                match key.character().filter(|_| alone && self.context().takes_text()) {
                    Some(character) => self.insert(character.encode_utf8(&mut [0; 4])),
                    None => Order::None,
                }
            }
            Match::Action(action) => {
                self.end_prefix();
                self.act(action, child)
            }
        }
    }

    /// Takes a notch of the wheel, which is a few steps in this direction. Says whether that means anything here.
    pub fn wheel(&mut self, step: Action) -> bool {
        let context = self.context();
        let means = keymap::entries(context).any(|entry| entry.action == step);
        if means {
            self.end_prefix();
            for _ in 0..NOTCH {
                self.act(step, None);
            }
        }
        means
    }

    fn end_prefix(&mut self) {
        self.prefix.clear();
        self.continuations_shown = false;
    }

    /// Takes pasted text. Where none is typed it must not be taken for keys.
    pub fn paste(&mut self, text: &str) -> Order {
        self.notice = None;
        if self.context().takes_text() { self.insert(text) } else { Order::None }
    }

    fn insert(&mut self, text: &str) -> Order {
        let effect = self.layers.last_mut().map(|layer| layer.insert(text));
        self.obey(effect.unwrap_or_default())
    }

    fn act(&mut self, action: Action, child: Option<Child>) -> Order {
        let interrupted = std::mem::take(&mut self.interrupted);
        match action {
            Action::Quit => self.quit(child),
            Action::Interrupt => self.interrupt(interrupted, child),
            Action::Suspend => Order::Suspend,
            Action::Redraw => Order::Redraw,
            Action::Help => self.help(),
            Action::Pause => self.pause(),
            Action::Go(screen) => {
                self.trail.clear();
                self.current = screen;
                Order::None
            }
            Action::Search => self.begin_search(),
            Action::Finder => self.open_finder(),
            Action::Palette => self.open_palette(),
            Action::Copy => self.copy_row(),
            Action::CopyView => self.copy_view(),
            Action::Source => self.ask_source(),
            Action::Mark => self.mark(),
            Action::Marks => self.open_marks(),
            Action::ClearMarks => self.clear_marks(),
            Action::Filter => self.begin_filter(),
            Action::Like => self.filter_like(),
            Action::InvertFilter => self.invert_filter(),
            Action::ToggleLens => self.toggle_lens(),
            Action::UndoLens => self.undo_lens(),
            Action::Span => self.look_at_span(),
            Action::AllTime => self.look_at(None),
            Action::Filters => self.open_filters(),
            Action::Unscope if !self.screen().is_scoped() => self.undo_lens(),
            Action::NextMatch => self.next_match(Step::Next),
            Action::PreviousMatch => self.next_match(Step::Previous),
            Action::Back if self.layers.is_empty() && self.screens.get_mut(self.current).cancel() => Order::None,
            Action::Back if self.layers.is_empty() && self.search.is_on() => {
                self.search.cancelled();
                Order::None
            }
            Action::Back => {
                let Some(mut layer) = self.layers.pop() else {
                    self.back();
                    return Order::None;
                };
                let effect = layer.cancel();
                self.obey(effect)
            }
            other => {
                let body = self.body();
                let effect = match self.layers.last_mut() {
                    Some(layer) => layer.update(other, body),
                    None => self.screens.get_mut(self.current).update(other, body.as_size()),
                };
                self.obey(effect)
            }
        }
    }

    fn obey(&mut self, effect: Effect) -> Order {
        match effect {
            Effect::None => {}
            Effect::Go(screen) => self.go(screen),
            Effect::EventsOf(scope) => {
                self.screens.events.show_scope(Some(scope));
                self.go(ScreenId::Events);
            }
            Effect::Open(Popup::Columns(chosen)) => self.layers.push(layers::columns::of_calls(chosen)),
            Effect::Open(Popup::EventColumns(chosen)) => self.layers.push(layers::columns::of_events(chosen)),
            Effect::Open(Popup::Details { title, fields }) => {
                self.layers.push(Box::new(layers::details::Details::new(title, fields)));
            }
            Effect::Open(Popup::Kinds(kinds)) => self.layers.push(Box::new(layers::kinds::Kinds::new(kinds))),
            Effect::Open(Popup::Prompt(ask, text)) => {
                let history = self.history.entry(ask).or_default().clone();
                self.layers.push(Box::new(layers::prompt::Prompt::new(ask, &text, history)));
            }
            Effect::Said(ask, said, text) => self.said(ask, said, &text),
            Effect::Act(screen, action) => return self.do_chosen(screen, action),
            Effect::Command(line) => return self.run_command(&line),
            Effect::Function(grouping, label) => {
                calls::look_for(&mut self.screens.calls, grouping, label);
                self.go(ScreenId::Calls);
            }
            Effect::GoTo(entry, events) => self.go_to_thing(*entry, events),
            Effect::Range(range) => return self.look_at(range),
            Effect::Filter(text) => self.filter_by(&text),
            Effect::ClearLens => self.clear_lens(),
            Effect::SaveFilter(name) => self.save_filter(&name),
            Effect::NameFilter(of) => return self.ask_name(of),
            Effect::DeleteFilter(name) => self.delete_filter(&name),
            Effect::Theme(name) => self.choose_theme(&name),
            Effect::ChooseFilter(text) => self.choose_filter(&text),
            Effect::Jump(number) => self.jump(number),
            Effect::Events(goal) => self.go_among_events(goal),
            Effect::EventsWithin(within, memory) => {
                self.screens.events.show_scope(None);
                self.screens.events.show_within(within, memory);
                self.go(ScreenId::Events);
            }
            Effect::Pages(process, address) => self.show_pages(process, address),
            Effect::Moment(moment) => {
                self.screens.memory.goal = Some(moment);
                if self.current != ScreenId::Memory {
                    self.go(ScreenId::Memory);
                }
            }
            Effect::Group(grouping) => {
                calls::group(&mut self.screens.calls, grouping);
                if self.current != ScreenId::Calls {
                    self.go(ScreenId::Calls);
                }
            }
            Effect::Kinds(kinds) => self.screens.events.show_kinds(kinds),
            Effect::Close => drop(self.layers.pop()),
            Effect::EventColumns(chosen) => self.screens.events.chosen = chosen,
            Effect::Columns(chosen, sort) => calls::choose(&mut self.screens.calls, chosen, sort),
            Effect::Detach => return Order::Leave(Outcome::Detached),
            Effect::Terminate => return Order::Leave(Outcome::Terminated),
        }
        Order::None
    }

    /// A text in which actions stand for their keys.
    fn fill(&self, template: &str) -> String {
        self.keymap.fill(self.screen().context(), template)
    }

    fn history(&mut self, ask: Ask) -> Arc<Vec<String>> {
        self.history.entry(ask).or_default().clone()
    }

    fn remember(&mut self, ask: Ask, line: &str) {
        remember(Arc::make_mut(self.history.entry(ask).or_default()), line);
    }

    /// Shows an allocation's pages on the heatmap, coloured as it is.
    fn show_pages(&mut self, process: u16, address: u64) {
        if let Place::Heatmap { colour, .. } = self.screens.get(ScreenId::Heatmap).place() {
            let subject = HeatSubject::One(process, address);
            let (at, time) = (HeatRowsAt::default(), HeatTimeAt::default());
            let place = Place::Heatmap { subject, colour, at, time, cursor: (0, 0) };
            self.screens.get_mut(ScreenId::Heatmap).restore(place);
            self.go(ScreenId::Heatmap);
        }
    }

    /// Shows a screen from which `back` returns here.
    fn go(&mut self, screen: ScreenId) {
        self.trail.push(self.current);
        self.current = screen;
    }

    /// Hands what the screen had asked for to the popup that waits for it. Says whether that changed anything.
    pub fn pass_details(&mut self) -> bool {
        if let Some(notice) = self.screens.get_mut(self.current).take_notice() {
            self.notice = Some(notice);
        }
        let Some(fields) = self.screens.get_mut(self.current).take_details() else { return false };
        self.layers.last_mut().is_some_and(|layer| layer.take_details(&fields))
    }

    fn back(&mut self) {
        if let Some(screen) = self.trail.pop() {
            self.screens.get_mut(self.current).leave();
            self.current = screen;
        }
    }

    fn quit(&mut self, child: Option<Child>) -> Order {
        if self.layers.pop().is_some() {
            return Order::None;
        }
        let Some(Child::Running { pid }) = child else { return Order::Leave(Outcome::Quit) };
        let rows = self.keymap.rows(Context::QuitDialog).collect();
        self.layers.push(Box::new(layers::quit::Quit::new(pid, rows)));
        Order::None
    }

    fn interrupt(&mut self, again: bool, child: Option<Child>) -> Order {
        match child {
            Some(Child::Running { pid }) if !again => {
                self.interrupted = true;
                let again = self.fill("{interrupt} again terminates it and quits");
                self.notice = Some(format!("interrupted process {pid}; {again}"));
                Order::Interrupt
            }
            Some(Child::Running { .. }) => Order::Leave(Outcome::Terminated),
            _ => Order::Leave(Outcome::Quit),
        }
    }

    fn help(&mut self) -> Order {
        let context = self.context();
        if context == Context::Help {
            self.layers.pop();
        } else {
            self.layers.push(Box::new(layers::help::Help::new(context, self.keymap.rows(context).collect())));
        }
        Order::None
    }

    fn pause(&mut self) -> Order {
        let live = self.status.as_ref().filter(|status| status.phase == Phase::Live);
        self.display = match (self.display, live) {
            (Display::Running, Some(status)) => Display::Held { calls: status.calls },
            _ => Display::Running,
        };
        Order::None
    }
}

/// Lines that are remembered of each kind of prompt.
const REMEMBERED: usize = 100;

/// Puts a line at the end, once.
fn remember(history: &mut Vec<String>, line: &str) {
    if line.trim().is_empty() {
        return;
    }
    history.retain(|known| known != line);
    history.push(line.to_owned());
    if history.len() > REMEMBERED {
        history.remove(0);
    }
}
