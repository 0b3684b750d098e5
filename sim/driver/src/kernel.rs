//! What a kernel does when it runs: that follows from its name and its parameters.

use crate::abi::{Result32, code};
use crate::config;
use crate::counters::{self, Event, kind};
use crate::managed;
use crate::mangle::{Param, Shape};
use crate::module::KernelInfo;
use crate::ops::Env;
use crate::ranges::{self, Kind};
use crate::residency::{PAGE, device};

/// How large a launch is.
pub struct Size {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub cooperative: bool,
}

/// A launch with its arguments, copied when it was submitted.
pub struct Launch {
    pub kernel: &'static KernelInfo,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Bytes of shared memory that the launch adds.
    pub shared: u32,
    pub cooperative: bool,
    /// The parameter buffer.
    arguments: Vec<u8>,
    /// The arrays among the parameters, found when the launch was submitted: memory may be freed in stream order behind it.
    arrays: Result<Vec<Array>, Result32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Behaviour {
    /// Every element is replaced by a function of itself, or of the const arrays beside it.
    WriteAll,
    /// Every element is read.
    ReadAll,
    /// One element a page is written.
    OneAPage,
    /// Time passes.
    Spin,
    /// An access to memory that does not exist.
    Fail,
}

fn behaviour(base: &str) -> Behaviour {
    let has = |words: &[&str]| words.iter().any(|word| base.contains(word));
    if has(&["spin", "sleep", "busy"]) {
        Behaviour::Spin
    } else if has(&["fail", "illegal", "crash"]) {
        Behaviour::Fail
    } else if has(&["page", "sparse", "stride"]) {
        Behaviour::OneAPage
    } else if has(&["read", "sum", "reduce", "norm", "check"]) {
        Behaviour::ReadAll
    } else {
        Behaviour::WriteAll
    }
}

impl Launch {
    /// A launch with its parameter buffer. A bad address shows only when it runs.
    pub fn new(kernel: &'static KernelInfo, size: Size, arguments: Vec<u8>) -> Self {
        let Size { grid, block, shared, cooperative } = size;
        let mut launch = Self { kernel, grid, block, shared, cooperative, arguments, arrays: Ok(Vec::new()) };
        if !matches!(behaviour(&kernel.signature.base), Behaviour::Spin | Behaviour::Fail) {
            launch.arrays = arrays(&launch);
        }
        launch
    }

    fn number(&self, param: &Param) -> u64 {
        let mut bytes = [0u8; 8];
        let field = self.arguments.get(param.offset..param.offset + param.size).unwrap_or_default();
        for (to, from) in bytes.iter_mut().zip(field) {
            *to = *from;
        }
        u64::from_le_bytes(bytes)
    }

    fn count(&self) -> Option<u64> {
        let param = self.kernel.signature.params.iter().find(|p| p.shape == Shape::Integer)?;
        Some(self.number(param))
    }
}

/// An array that a kernel was given.
struct Array {
    address: usize,
    count: usize,
    element: usize,
    float: bool,
    constant: bool,
}

impl Array {
    fn bytes(&self) -> usize {
        self.count.saturating_mul(self.element)
    }
}

fn arrays(launch: &Launch) -> Result<Vec<Array>, Result32> {
    let count = launch.count();
    let mut arrays = Vec::new();
    for param in &launch.kernel.signature.params {
        let Shape::Pointer { element, float, constant } = param.shape else { continue };
        let address = launch.number(param) as usize;
        if address == 0 && count == Some(0) {
            continue;
        }
        let range = ranges::find(address).filter(|r| r.kind != Kind::Reserved).ok_or(code::ILLEGAL_ADDRESS)?;
        let element = element.max(1);
        // The card checks whole pages, so the end of the last unit is not noticed either.
        let room = range.end().next_multiple_of(crate::heap::ALIGN) - address;
        let count = match count {
            Some(count) => usize::try_from(count).unwrap_or(usize::MAX),
            None => (range.end() - address) / element,
        };
        if count.checked_mul(element).is_none_or(|bytes| bytes > room) {
            return Err(code::ILLEGAL_ADDRESS);
        }
        arrays.push(Array { address, count, element, float, constant });
    }
    Ok(arrays)
}

/// Runs a launch on the calling thread.
pub fn run(launch: &Launch, env: &Env, start: u64) -> Result<(), Result32> {
    let behaviour = behaviour(&launch.kernel.signature.base);
    let mut duration = 2_000;
    let result = match behaviour {
        Behaviour::Spin => {
            duration = launch.count().unwrap_or(1_000_000);
            Ok(())
        }
        Behaviour::Fail => Err(code::ILLEGAL_ADDRESS),
        _ => launch.arrays.as_ref().map_err(|error| *error).map(|arrays| {
            for array in arrays {
                let write = behaviour != Behaviour::ReadAll && !array.constant;
                if managed::is_managed(array.address) {
                    duration += managed::device_touch(device(env.device), array.address, array.bytes(), write) / 25;
                }
                duration += array.bytes() as u64 / 2_000;
            }
            compute(arrays, behaviour);
        }),
    };
    let end = config::pass(start, duration);
    counters::emit(&Event {
        name: launch.kernel.name.as_ptr(),
        grid: launch.grid,
        block: launch.block,
        shared: launch.shared,
        cooperative: u8::from(launch.cooperative),
        ..env.record(kind::KERNEL, start, end)
    });
    result
}

fn compute(arrays: &[Array], behaviour: Behaviour) {
    if behaviour == Behaviour::ReadAll {
        return;
    }
    let inputs: Vec<&Array> = arrays.iter().filter(|a| a.constant).collect();
    for array in arrays.iter().filter(|a| !a.constant) {
        let step = if behaviour == Behaviour::OneAPage { (PAGE / array.element).max(1) } else { 1 };
        match (array.float, array.element) {
            (true, 4) => each::<f32>(array, &inputs, step, |x| x * 0.5 + 1.0, |a, b| a + b),
            (true, _) => each::<f64>(array, &inputs, step, |x| x * 0.5 + 1.0, |a, b| a + b),
            (_, 8) => each::<u64>(array, &inputs, step, |x| x.wrapping_add(1), u64::wrapping_add),
            (_, 4) => each::<u32>(array, &inputs, step, |x| x.wrapping_add(1), u32::wrapping_add),
            (_, 2) => each::<u16>(array, &inputs, step, |x| x.wrapping_add(1), u16::wrapping_add),
            _ => each::<u8>(array, &inputs, step, |x| x.wrapping_add(1), u8::wrapping_add),
        }
    }
}

/// `p[i] = f(p[i])`, or the sum of the const arrays of the same element where there are any.
fn each<T: Copy + Default>(
    array: &Array,
    inputs: &[&Array],
    step: usize,
    own: impl Fn(T) -> T,
    add: impl Fn(T, T) -> T,
) {
    let out = managed::view(array.address) as *mut T;
    let inputs: Vec<*const T> = inputs
        .iter()
        .filter(|i| i.element == array.element && i.float == array.float && i.count >= array.count)
        .map(|i| managed::view(i.address) as *const T)
        .collect();
    for index in (0..array.count).step_by(step) {
        // SAFETY: `arrays` checked that `count` elements lie in a live allocation. The program may race with a kernel, as on a
        // real card; the values are plain numbers.
        unsafe {
            let value = if inputs.is_empty() {
                own(out.add(index).read_unaligned())
            } else {
                inputs.iter().fold(T::default(), |sum, input| add(sum, input.add(index).read_unaligned()))
            };
            out.add(index).write_unaligned(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide() {
        assert_eq!(behaviour("scale"), Behaviour::WriteAll);
        assert_eq!(behaviour("read_all"), Behaviour::ReadAll);
        assert_eq!(behaviour("touch_pages"), Behaviour::OneAPage);
        assert_eq!(behaviour("spin"), Behaviour::Spin);
    }
}
