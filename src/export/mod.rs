//! Recordings in other forms.

pub mod text;
