//! Packed files: what is in them, and what of it cannot be read.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::Feed;
use super::reading::Open;
use crate::parse::NativeReader;
use crate::parse::packed::{Loss, Packed, Standing};
use crate::trace::{State, Trace};

/// Formats that inputs are imported from.
const IMPORTED: [&str; 5] = ["chrome", "nsys", "nvprof", "rmm", "torch"];

impl Feed {
    /// Takes the files of a packed one, as they were when they were packed.
    pub(super) fn take_packed(&mut self, packed: Arc<Packed>, trace: &mut Trace) {
        let mut files = BTreeMap::new();
        let before = self.files.len();
        let inputs = packed.inputs();
        if trace.processes.is_empty() {
            // Its axis is that of what was packed.
            trace.several_clocks |= inputs.iter().any(|input| input.several_clocks);
        }
        for input in inputs {
            for member in input.files {
                let bytes = Arc::new(packed.member(&member));
                let opened = if input.imported {
                    NativeReader::open_imported(bytes, &member.name, trace)
                } else {
                    NativeReader::open(bytes, &member.name, trace)
                };
                let mut reader = match opened {
                    Ok(reader) => reader,
                    Err(error) => {
                        self.failures.push(format!("{}: {error}", packed.name()));
                        continue;
                    }
                };
                let file = reader.file();
                reader.set_process_gone(member.standing == Standing::Gone);
                files.insert(member.image, file);
                if input.imported {
                    trace.imported += 1;
                    let format = IMPORTED.into_iter().find(|&format| format == input.format);
                    self.imported.insert(file, format.unwrap_or("imported"));
                } else if input.format == "text" {
                    self.texts.insert(file);
                }
                if let Some(process) = trace.processes.get_mut(reader.process().index()) {
                    process.missed = member.missed;
                }
                for (at, why) in member.damage {
                    trace.add_damage(file, at, why);
                }
                trace.notes.extend(member.notes.into_iter().map(|note| (file, note)));
                self.add(Open::new(reader, None));
            }
            trace.more_damage = trace.more_damage.saturating_add(input.more_damage);
        }
        if self.files.len() == before {
            self.failures.push(format!("{}: there is no recording in it that can be read", packed.name()));
        }
        self.packed_names.push(packed.clone());
        self.packed.push((packed, files));
        trace.touch();
    }

    /// Whether a file of the trace is one of a packed file.
    pub(in crate::session) fn is_packed(&self, file: usize) -> bool {
        self.packed.iter().any(|(_, files)| files.values().any(|&of| of == file))
    }

    /// Tells what of packed files could not be read.
    pub(super) fn note_losses(&self, trace: &mut Trace) {
        for (packed, files) in &self.packed {
            note(packed.take_losses(), files, trace);
        }
    }

    /// Likewise, after a look at all that is in them; in a line each.
    pub(super) fn check_packed(&self, trace: &mut Trace) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        for (packed, files) in &self.packed {
            let losses = packed.check()?;
            lines.extend(losses.iter().map(|loss| loss.why.clone()));
            note(losses, files, trace);
        }
        Ok(lines)
    }

    /// How the process of a file stands, for whoever opens the file later.
    pub(super) fn standing(&self, at: usize, trace: &Trace) -> Standing {
        let Some(file) = self.files.get(at) else { return Standing::Unknown };
        let over = trace.process(file.reader.process()).is_some_and(|process| process.state == State::Ended);
        match () {
            () if file.reader.is_process_gone() => Standing::Gone,
            () if file.alive && !over => Standing::Alive,
            () => Standing::Unknown,
        }
    }
}

fn note(losses: Vec<Loss>, files: &BTreeMap<u32, usize>, trace: &mut Trace) {
    for loss in losses {
        let of = loss.image.and_then(|image| files.get(&image)).or_else(|| files.values().next());
        match of {
            Some(&file) => trace.add_damage(file, loss.place, loss.why),
            None => trace.more_damage = trace.more_damage.saturating_add(1),
        }
    }
}
