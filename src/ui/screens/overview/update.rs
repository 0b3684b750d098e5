//! What the overview does with an action.

use crate::ui::effect::Effect;
use crate::ui::keys::Action;
use crate::ui::screens::ScreenId;

/// Obeys an action.
pub fn update(action: Action) -> Effect {
    match action {
        Action::Open => Effect::Go(ScreenId::Calls),
        _ => Effect::None,
    }
}
