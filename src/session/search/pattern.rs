//! What a typed text looks for in a name.
//!
//! The words of the text must all be found. A word is found where its letters stand in order and close together: each
//! follows the one before it, or begins a word of the name (`cds` finds `cudaDeviceSynchronize`), or, in words of three
//! letters and more, stands at most [`SKIPPED`] letters further on (`dvcsync` finds it too). After a quote (`'sync`) no
//! letter may be skipped. A capital letter makes the whole text mind its case.
//!
//! Names are matched in a packed form (a byte for a letter, with a mark where a word begins) by an automaton whose
//! states are the bits of a word, so a letter costs the same however long the text; see [`super::names`]. What is
//! longer than a word matches only closer if letters are added, which [`Pattern::narrows`] is about.

use fuzzy_matcher::FuzzyMatcher;
use fuzzy_matcher::skim::SkimMatcherV2;

/// Letters that may be skipped between two of a word.
pub const SKIPPED: usize = 2;
/// Letters of a word that count; states are bits of 64.
const WORD_MAX: usize = 62;
/// Words of a text that count.
const WORDS_MAX: usize = 8;
/// Shortest word in which letters may be skipped: shorter ones would be found everywhere.
const LOOSE_MIN: usize = 3;
/// Letters of a name that fuzzy-matcher is given: its cost grows with them.
const SCORED: usize = 160;
/// Stands for any letter beyond ASCII in a packed name.
const OTHER: u8 = 0x1f;
/// State in which the first letter of a word has been found.
const FIRST: u64 = 1 << 1;
/// Mark of a letter that begins a word.
const BEGINS: u8 = 0x80;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct Pattern {
    words: Vec<Word>,
    minds_case: bool,
}

#[derive(Clone, Debug)]
struct Word {
    /// Letters, small ones unless their case matters.
    letters: Vec<char>,
    text: String,
    /// For each byte of a packed name the states that it leads to.
    table: Box<[u64; 128]>,
    /// Letters that a name must have, see [`mask`].
    mask: u64,
    /// The packed form decides alone.
    ascii: bool,
    /// It stands in the name as it is.
    exact: bool,
}

/// Letters in a row, as characters of the text from its beginning.
pub type Span = std::ops::Range<usize>;

impl Pattern {
    /// What this text looks for; `None` if it is empty.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let minds_case = text.chars().any(char::is_uppercase);
        let words = text.split_whitespace().take(WORDS_MAX).map(|word| Word::new(word, minds_case));
        let words: Vec<Word> = words.collect();
        (!words.is_empty()).then_some(Self { words, minds_case })
    }

    /// A text that is looked for as it stands, spaces too; `None` if there is nothing else in it.
    #[must_use]
    pub fn plain(text: &str) -> Option<Self> {
        let minds_case = text.chars().any(char::is_uppercase);
        (!text.trim().is_empty()).then(|| Self { words: vec![Word::exact(text, minds_case)], minds_case })
    }

    /// Whether every name that this finds is found by `wider` too.
    #[must_use]
    pub fn narrows(&self, wider: &Self) -> bool {
        let letters = |word: &Word| -> Vec<char> {
            let own = |letter: &char| if wider.minds_case { *letter } else { fold(*letter) };
            word.letters.iter().map(own).collect()
        };
        let last = wider.words.len() - 1;
        let same = self.words.len() >= wider.words.len() && (self.minds_case || !wider.minds_case);
        same && wider.words.iter().zip(&self.words).enumerate().all(|(index, (one, own))| {
            let (of_one, of_own) = (letters(one), letters(own));
            // Where letters may be skipped more is found, so a longer word narrows only one of its own kind.
            let kind = one.exact == own.exact && (one.is_loose() || !own.is_loose());
            (of_own == of_one && one.exact == own.exact) || (index == last && kind && of_own.starts_with(&of_one))
        })
    }

    /// Whether it is found in a text.
    #[must_use]
    pub fn finds(&self, text: &str) -> bool {
        let letters: Vec<char> = text.chars().collect();
        self.words.iter().all(|word| word.finds(&letters, self.minds_case))
    }

    /// Whether it is found in a name of which the packed form and the mask are at hand.
    #[must_use]
    pub fn finds_packed(&self, packed: &[u8], letters: u64, name: &str) -> bool {
        if self.words.iter().any(|word| word.mask & !letters != 0) {
            return false;
        }
        // Where case matters the letters themselves are looked at, and in the packed form only where words begin.
        if self.words.iter().all(|word| word.ascii) && (!self.minds_case || name.is_ascii()) {
            let bytes = if self.minds_case { name.as_bytes() } else { packed };
            return self.words.iter().all(|word| word.finds_packed(bytes, packed));
        }
        self.finds(name)
    }

    /// Where it stands in a text, in order; `None` if it is not found there.
    #[must_use]
    pub fn spans(&self, text: &str) -> Option<Vec<Span>> {
        if !self.finds(text) {
            return None;
        }
        let letters: Vec<char> = text.chars().collect();
        let mut marked = vec![false; letters.len()];
        for word in &self.words {
            for at in word.places(&letters, text, self.minds_case) {
                if let Some(mark) = marked.get_mut(at) {
                    *mark = true;
                }
            }
        }
        let mut spans: Vec<Span> = Vec::new();
        for at in (0..marked.len()).filter(|&at| marked.get(at) == Some(&true)) {
            match spans.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => spans.push(at..at + 1),
            }
        }
        Some(spans)
    }

    /// How well a name fits in which it is found; the best has the largest.
    #[must_use]
    pub fn score(&self, name: &str) -> i64 {
        // A matcher that has scored another name may score this one differently: its tables are not cleared.
        let matcher = matcher(self.minds_case);
        let scored = head(name, SCORED);
        let score = |word: &Word| {
            // Beyond what is scored all that is known is that it is there.
            let fuzzy = matcher.fuzzy_match(scored, &word.text).unwrap_or(0);
            let whole = name.len() == word.text.len();
            fuzzy + if whole { 64 } else { 0 }
        };
        let length = i64::try_from(name.len().min(SCORED) / 4).unwrap_or(0);
        self.words.iter().map(score).sum::<i64>() - length
    }
}

fn matcher(minds_case: bool) -> SkimMatcherV2 {
    let matcher = SkimMatcherV2::default().element_limit(1 << 16);
    if minds_case { matcher.respect_case() } else { matcher.ignore_case() }
}

fn head(text: &str, letters: usize) -> &str {
    text.char_indices().nth(letters).and_then(|(at, _)| text.get(..at)).unwrap_or(text)
}

impl Word {
    fn new(text: &str, minds_case: bool) -> Self {
        match text.strip_prefix('\'').filter(|rest| !rest.is_empty()) {
            Some(quoted) => Self::exact(quoted, minds_case),
            None => Self { exact: false, ..Self::exact(text, minds_case) },
        }
    }

    fn exact(text: &str, minds_case: bool) -> Self {
        let letters = text.chars().take(WORD_MAX).map(|letter| if minds_case { letter } else { fold(letter) });
        let letters: Vec<char> = letters.collect();
        let (mut table, mut mask) = (Box::new([0; 128]), 0);
        for (index, &letter) in letters.iter().enumerate() {
            // Capitals as they are: without them it is small letters in both.
            let own = u8::try_from(letter).ok().filter(u8::is_ascii).unwrap_or(OTHER);
            if let Some(states) = table.get_mut(usize::from(own)) {
                *states |= 1 << (index + 1);
            }
            mask |= bit(byte(letter));
        }
        let ascii = letters.iter().all(char::is_ascii);
        Self { text: letters.iter().collect(), letters, table, mask, ascii, exact: true }
    }

    fn is_loose(&self) -> bool {
        self.letters.len() >= LOOSE_MIN && !self.exact
    }

    /// The automaton: bit `n` is set where `n` letters have been found, the last of them here (`now[0]`), or some
    /// letters ago, or anywhere before (`ever`).
    fn run(&self, letters: impl Iterator<Item = (u64, bool)>) -> bool {
        let end = 1 << self.letters.len();
        let (mut now, mut ever) = ([0u64; SKIPPED + 1], 0u64);
        let skips = if self.is_loose() { u64::MAX } else { 0 };
        for (states, begins) in letters {
            let near = now[0] | ((now[1] | now[2]) & skips);
            let from = near | if begins && !self.exact { ever } else { 0 } | 1;
            now[2] = now[1];
            now[1] = now[0];
            now[0] = (from << 1) & states;
            ever |= now[0];
            if now[0] & end != 0 {
                return true;
            }
        }
        false
    }

    /// The same automaton over bytes, with the marks of `packed`. Where nothing is near, it goes straight to the next
    /// letter that can be the first, or that begins a word and can follow what has been found.
    fn finds_packed(&self, bytes: &[u8], packed: &[u8]) -> bool {
        let end = 1 << self.letters.len();
        let (mut now, mut ever) = ([0u64; SKIPPED + 1], 0u64);
        let skips = if self.is_loose() { u64::MAX } else { 0 };
        let jumps = if self.exact { 0 } else { u64::MAX };
        let mut letters = bytes.iter().zip(packed).map(|(&byte, &mark)| {
            let states = self.table.get(usize::from(byte & !BEGINS)).copied().unwrap_or(0);
            (states, mark & BEGINS != 0)
        });
        loop {
            let near = now[0] | ((now[1] | now[2]) & skips);
            let next = if near == 0 {
                let after = (ever & jumps) << 1 | FIRST;
                letters.find(|(states, begins)| states & if *begins { after } else { FIRST } != 0)
            } else {
                letters.next()
            };
            let Some((states, begins)) = next else { return false };
            let from = near | if begins { ever & jumps } else { 0 } | 1;
            now = [(from << 1) & states, now[0], now[1]];
            if near == 0 {
                (now[1], now[2]) = (0, 0);
            }
            ever |= now[0];
            if now[0] & end != 0 {
                return true;
            }
        }
    }

    fn states(&self, letter: char) -> u64 {
        let places = self.letters.iter().enumerate().filter(|(_, own)| **own == letter);
        places.fold(0, |states, (index, _)| states | 1 << (index + 1))
    }

    fn finds(&self, letters: &[char], minds_case: bool) -> bool {
        let own = |letter: char| if minds_case { letter } else { fold(letter) };
        self.run((0..letters.len()).map(|at| {
            let letter = letters.get(at).copied().unwrap_or('\0');
            (self.states(own(letter)), begins(letters, at))
        }))
    }

    /// Letters to mark: all places where the word stands as it is, or else where fuzzy-matcher sees it.
    fn places(&self, letters: &[char], text: &str, minds_case: bool) -> Vec<usize> {
        let own = |letter: char| if minds_case { letter } else { fold(letter) };
        let length = self.letters.len();
        let mut places = Vec::new();
        let mut at = 0;
        while at + length <= letters.len() {
            let here = letters.iter().skip(at).zip(&self.letters).all(|(&letter, &wanted)| own(letter) == wanted);
            if here {
                places.extend(at..at + length);
            }
            at += if here { length } else { 1 };
        }
        if places.is_empty() {
            let found = matcher(minds_case).fuzzy_indices(head(text, 4 * SCORED), &self.text);
            places = found.map(|(_, places)| places).unwrap_or_else(|| self.in_order(letters, minds_case));
        }
        places
    }

    /// The first places at which the letters stand in order: fuzzy-matcher folds ASCII only.
    fn in_order(&self, letters: &[char], minds_case: bool) -> Vec<usize> {
        let own = |letter: char| if minds_case { letter } else { fold(letter) };
        let mut wanted = self.letters.iter().peekable();
        let places = letters.iter().enumerate().filter(|(_, letter)| wanted.next_if_eq(&&own(**letter)).is_some());
        places.map(|(at, _)| at).collect()
    }
}

/// A letter without its case.
fn fold(letter: char) -> char {
    if letter.is_ascii() { letter.to_ascii_lowercase() } else { letter.to_lowercase().next().unwrap_or(letter) }
}

/// Packed form of a letter.
fn byte(letter: char) -> u8 {
    u8::try_from(fold(letter)).ok().filter(u8::is_ascii).unwrap_or(OTHER)
}

/// Bit of a packed letter in a mask: letters and digits have their own.
const fn bit(byte: u8) -> u64 {
    1 << match byte {
        b'a'..=b'z' => byte - b'a',
        b'0'..=b'9' => byte - b'0' + 26,
        OTHER => 36,
        _ => 37 + byte % 27,
    }
}

/// Whether the letter there begins a word: after something else, a capital after small ones, a digit after letters.
fn begins(letters: &[char], at: usize) -> bool {
    let kind = |letter: char| match letter {
        'a'..='z' => 1,
        'A'..='Z' => 2,
        '0'..='9' => 3,
        _ if letter.is_alphanumeric() => 4,
        _ => 0,
    };
    let of = |at: usize| letters.get(at).map_or(0, |&letter| kind(letter));
    let Some(before) = at.checked_sub(1).map(of) else { return true };
    match (before, of(at)) {
        (2, 1) => false,
        // The last capital of several belongs to what follows: `CUDAGraph`.
        (2, 2) => of(at + 1) == 1,
        (before, here) => before != here,
    }
}

/// Packs a name at the end of `packed`: a byte for each letter. Returns the mask of its letters.
pub(super) fn pack(name: &str, packed: &mut Vec<u8>) -> u64 {
    let mut mask = 0;
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let byte = byte(letter);
        mask |= bit(byte);
        packed.push(byte | if begins(&letters, at) { BEGINS } else { 0 });
    }
    mask
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn finds(pattern: &str, name: &str) -> bool {
        let pattern = Pattern::new(pattern).unwrap();
        let mut packed = Vec::new();
        let mask = pack(name, &mut packed);
        let found = pattern.finds_packed(&packed, mask, name);
        assert_eq!(found, pattern.finds(name), "{name}");
        assert_eq!(found, pattern.spans(name).is_some_and(|spans| !spans.is_empty()), "{name}");
        found
    }

    #[test]
    fn letters_stand_close_together_or_begin_words() {
        let sync = "cudaDeviceSynchronize";
        for pattern in
            ["sync", "CUDADeviceS".to_lowercase().as_str(), "cds", "dvcsync", "devsync", "snc", "cuda sync", "ds"]
        {
            assert!(finds(pattern, sync), "{pattern}");
        }
        for pattern in ["cn", "cdz", "syncd", "cuda malloc", "ze cuda x"] {
            assert!(!finds(pattern, sync), "{pattern}");
        }
        assert!(finds("mlcasync", "cudaMallocAsync"));
        assert!(finds("ampsg128", "ampere_sgemm_128x64_nn"));
        assert!(finds("train.py:9", "step at train.py:97"));
        assert!(finds("culaunch", "cudaLaunchKernel") && !finds("'culaunch", "cudaLaunchKernel"));
        let plain = Pattern::plain("step 4 ").unwrap();
        assert!(plain.finds("at Step 4 of 9") && !plain.finds("step 40 of 9"));
        assert!(finds("'sync cuda", sync) && finds("'", "it's"));
    }

    #[test]
    fn a_capital_minds_case() {
        assert!(finds("Malloc", "cudaMalloc"));
        assert!(!finds("Malloc", "malloc"));
        assert!(finds("malloc", "MALLOC"));
        assert!(finds("Größe", "die_Größe") && finds("größe", "GRÖßE") && !finds("Größe", "größe"));
        assert!(!finds("grüße", "größe"));
    }

    #[test]
    fn what_is_found_is_marked() {
        let spans = |pattern: &str, name: &str| {
            let letters: Vec<char> = name.chars().collect();
            let spans = Pattern::new(pattern).unwrap().spans(name)?;
            Some(spans.into_iter().map(|span| letters[span].iter().collect::<String>()).collect::<Vec<_>>().join("|"))
        };
        assert_eq!(spans("sync", "cudaStreamSynchronize").as_deref(), Some("Sync"));
        assert_eq!(spans("a", "banana").as_deref(), Some("a|a|a"));
        assert_eq!(spans("cds", "cudaDeviceSynchronize").as_deref(), Some("c|D|S"));
        assert_eq!(spans("日", "a日").as_deref(), Some("日"));
        assert_eq!(spans("xyz", "cudaMalloc"), None);
    }

    #[test]
    fn better_matches_score_higher() {
        let score = |name: &str| Pattern::new("malloc").unwrap().score(name);
        assert!(score("cudaMalloc") > score("cudaMallocManaged"));
        assert!(score("malloc") > score("cudaMalloc"));
        assert!(score("cudaMallocManaged") > score("cudaMemAllocate_or_locate"));
        assert!(Pattern::new(" \t").is_none());
    }

    /// Written down in the words of the module's page.
    fn twin(word: &[char], name: &[char], from: usize, first: bool) -> bool {
        let Some((&letter, rest)) = word.split_first() else { return true };
        (from..name.len()).any(|at| {
            let near = first || begins(name, at) || at == from;
            near && fold(name[at]) == letter && twin(rest, name, at + 1, false)
        })
    }

    fn twin_loose(word: &[char], name: &[char], from: usize, first: bool) -> bool {
        let Some((&letter, rest)) = word.split_first() else { return true };
        (from..name.len()).any(|at| {
            let near = first || begins(name, at) || at - from <= SKIPPED;
            near && fold(name[at]) == letter && twin_loose(rest, name, at + 1, false)
        })
    }

    proptest! {
        #[test]
        fn the_automaton_is_what_the_words_say(word in "[abA_1]{1,6}", name in "[abAB_1:ä]{0,14}") {
            let letters: Vec<char> = name.chars().collect();
            let wanted: Vec<char> = word.to_lowercase().chars().collect();
            let twin = if wanted.len() >= LOOSE_MIN { twin_loose } else { twin };
            prop_assert_eq!(finds(&word.to_lowercase(), &name), twin(&wanted, &letters, 0, true));
        }

        #[test]
        fn any_text_is_looked_for_in_any_name(pattern in "\\PC{0,80}", name in "[^']{0,80}") {
            if Pattern::new(&pattern).is_some() {
                finds(&pattern, &name);
            }
            if !name.trim().is_empty() && !name.chars().any(char::is_uppercase) {
                prop_assert!(finds(&name, &name));
            }
        }

        #[test]
        fn what_narrows_finds_no_more(one in "[abAB ']{1,6}", more in "[abAB ]{0,3}", name in "[abAB_]{0,14}") {
            let longer = format!("{one}{more}");
            if let (Some(wide), Some(narrow)) = (Pattern::new(&one), Pattern::new(&longer))
                && narrow.narrows(&wide) && narrow.finds(&name)
            {
                prop_assert!(wide.finds(&name), "{} {} {}", one, longer, name);
            }
        }
    }
}
