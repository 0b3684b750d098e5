//! Settings from the environment, read once.

use std::ffi::c_int;
use std::sync::OnceLock;

/// What `cuptiGetVersion` says of CUDA 13.0.
const VERSION: u32 = 130_000;
/// Versions below this one have the shorter records of CUDA 11.
const LONGER: u32 = 24;

/// What the environment asked for.
#[derive(Debug)]
pub struct Config {
    /// `UMSIM_CUPTI_VERSION`.
    pub version: u32,
    /// `UMSIM_CUPTI_FAIL`: which functions fail, with which result.
    fail: Vec<(String, c_int)>,
    /// `UMSIM_CUPTI_GARBAGE`: 1 for unknown kinds among the records, 2 also for impossible values.
    pub garbage: u32,
}

impl Config {
    fn read(var: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| var(name).and_then(|value| value.trim().parse().ok());
        let fail = var("UMSIM_CUPTI_FAIL").unwrap_or_default();
        Self {
            version: number("UMSIM_CUPTI_VERSION").unwrap_or(VERSION),
            fail: fail
                .split(',')
                .filter_map(|rule| {
                    let (name, result) = rule.split_once(':')?;
                    Some((name.trim().to_owned(), result.trim().parse().ok()?))
                })
                .collect(),
            garbage: number("UMSIM_CUPTI_GARBAGE").unwrap_or(0),
        }
    }

    /// Whether records have the layouts of CUDA 11.
    pub fn short(&self) -> bool {
        self.version < LONGER
    }

    /// Fails where a rule names the function, or the function with this kind.
    pub fn permit(&self, function: &str, kind: Option<u32>) -> Result<(), c_int> {
        let failed = self.fail.iter().find(|(name, _)| {
            name == function || kind.is_some_and(|kind| name.strip_prefix(function) == Some(&kind.to_string()))
        });
        failed.map_or(Ok(()), |(_, result)| Err(*result))
    }
}

/// The settings.
pub fn get() -> &'static Config {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    CONFIG.get_or_init(|| Config::read(|name| std::env::var(name).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Config {
        Config::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn rules_name_functions_and_kinds() {
        let config = with("UMSIM_CUPTI_FAIL", "subscribe:39, enable10:35,um:31,nonsense,x:y");
        assert_eq!(config.permit("subscribe", None), Err(39));
        assert_eq!(config.permit("enable", Some(10)), Err(35));
        assert_eq!(config.permit("enable", Some(1)), Ok(()));
        assert_eq!(config.permit("um", None), Err(31));
        assert_eq!(config.permit("flush", None), Ok(()));
        assert_eq!(with("UMSIM_CUPTI_FAIL", "enable:7").permit("enable", Some(25)), Err(7));
    }

    #[test]
    fn the_version_chooses_the_layouts() {
        assert!(with("UMSIM_CUPTI_VERSION", "18").short());
        assert!(!with("UMSIM_CUPTI_VERSION", "28").short());
        assert_eq!(with("", "").version, VERSION);
    }
}
