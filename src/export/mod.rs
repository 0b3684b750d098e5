//! Recordings in other forms.

mod activity;
pub mod text;
