//! Functions of an input.

use super::target::Target;
use crate::trace::Layer;

/// Functions of an input at most.
pub const FUNCTIONS: u32 = 50_000;
/// Names of one function by which an input calls it, at most, and letters of each.
const ORIGINALS_MAX: usize = 8;
const ORIGINAL_MAX: usize = 200;

/// A function of CUDA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Function(pub(super) u32);

/// A function with its layer and signature.
pub struct FunctionText {
    /// Layer.
    pub layer: Layer,
    /// `name(arguments)`.
    pub signature: String,
    /// What the input calls it, where that is more than its name; in order.
    originals: Vec<String>,
}

impl FunctionText {
    /// What its definition says.
    pub fn definition(&self) -> String {
        if self.originals.is_empty() {
            return self.signature.clone();
        }
        format!("{} as {}", self.signature, self.originals.join(","))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.signature.split('(').next().unwrap_or_default()
    }
}

impl Target {
    /// A function. `arguments` is as in a signature: `ptr:ptr@32 bytes:size@40`, empty for none; see
    /// [`Call::words`](super::Call::words).
    pub fn function(&mut self, layer: Layer, name: &str, arguments: &str) -> Function {
        let plain = |c: char| if c.is_whitespace() || c.is_control() || c == '(' || c == ')' { '_' } else { c };
        let mut signature: String = name.chars().take(1000).map(plain).collect();
        if signature.is_empty() {
            signature.push('?');
        }
        let signature = format!("{signature}({arguments})");
        match self.function_handles.of((layer, signature.clone())) {
            Some((handle, true)) => {
                self.functions.push(FunctionText { layer, signature, originals: Vec::new() });
                Function(handle)
            }
            Some((handle, false)) => Function(handle),
            None => Function(FUNCTIONS - 1),
        }
    }

    /// Says what the input calls a function, if that is more than its name.
    pub fn called(&mut self, function: Function, original: &str) {
        let Some(text) = self.functions.get_mut(function.0 as usize) else { return };
        let plain = |c: char| if c.is_whitespace() || c.is_control() || c == ',' { '_' } else { c };
        let original: String = original.chars().take(ORIGINAL_MAX).map(plain).collect();
        let is_new = !original.is_empty() && original != text.name() && !text.originals.contains(&original);
        if is_new && text.originals.len() < ORIGINALS_MAX {
            text.originals.push(original);
            text.originals.sort_unstable();
        }
    }
}
