//! Which primitive a frame belongs to: compiled frame patterns.

use super::explanation::{Explained, FramePattern};
use crate::profile::Frame;

/// A frame pattern that cannot be used: which primitive names it, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frame pattern {pattern:?} of {owner}: {message}")]
pub struct PatternError {
    /// The primitive, or `scope`.
    pub owner: String,
    /// The pattern as written.
    pub pattern: String,
    /// What is wrong with it, and what was expected.
    pub message: String,
}

/// One compiled pattern.
#[derive(Clone, Debug)]
pub struct Matcher {
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Exact(String),
    Glob(String),
    Module(String),
    #[cfg(feature = "import")]
    Regex(regex::Regex),
    #[cfg(feature = "import")]
    ModuleRegex(regex::Regex),
}

impl Matcher {
    /// Compiles a pattern; `owner` is named in the error.
    pub fn new(owner: &str, pattern: &FramePattern) -> Result<Self, PatternError> {
        let error = |pattern: &str, message: String| PatternError {
            owner: owner.to_owned(),
            pattern: pattern.to_owned(),
            message,
        };
        let test = match pattern {
            FramePattern::Exact(text) | FramePattern::Glob(text) | FramePattern::Module(text) if text.is_empty() => {
                return Err(error(text, "is empty; expected a name".to_owned()));
            }
            FramePattern::Exact(text) => Test::Exact(text.clone()),
            FramePattern::Glob(text) => Test::Glob(text.clone()),
            FramePattern::Module(text) => Test::Module(text.clone()),
            #[cfg(feature = "import")]
            FramePattern::Regex(text) => {
                Test::Regex(regex::Regex::new(text).map_err(|cause| error(text, cause.to_string()))?)
            }
            #[cfg(feature = "import")]
            FramePattern::ModuleRegex(text) => {
                Test::ModuleRegex(regex::Regex::new(text).map_err(|cause| error(text, cause.to_string()))?)
            }
            #[cfg(not(feature = "import"))]
            FramePattern::Regex(text) | FramePattern::ModuleRegex(text) => {
                return Err(error(text, "regular expressions need the feature `import`".to_owned()));
            }
        };
        Ok(Self { test })
    }

    /// Whether the frame is matched.
    pub fn matches(&self, frame: &Frame) -> bool {
        match &self.test {
            Test::Exact(text) => frame.function == *text,
            Test::Glob(text) => glob(text, &frame.function),
            Test::Module(text) => frame.module.as_deref().is_some_and(|module| glob(text, module)),
            #[cfg(feature = "import")]
            Test::Regex(regex) => regex.is_match(&frame.function),
            #[cfg(feature = "import")]
            Test::ModuleRegex(regex) => frame.module.as_deref().is_some_and(|module| regex.is_match(module)),
        }
    }

    /// The more exact pattern wins where two primitives claim one frame.
    fn rank(&self) -> u8 {
        match &self.test {
            Test::Exact(_) => 2,
            Test::Module(_) => 0,
            #[cfg(feature = "import")]
            Test::ModuleRegex(_) => 0,
            _ => 1,
        }
    }
}

/// The primitives that claim one frame with the most exact of their patterns, as indices into the list
/// that [`Claims::new`] was given. More than one: ambiguous.
#[derive(Clone, Debug)]
pub struct Claims {
    matchers: Vec<(usize, Matcher)>,
}

impl Claims {
    /// Compiles the patterns of all primitives.
    pub fn new(primitives: &[Explained]) -> Result<Self, PatternError> {
        let mut matchers = Vec::new();
        for (index, primitive) in primitives.iter().enumerate() {
            for pattern in &primitive.frames {
                matchers.push((index, Matcher::new(&primitive.primitive, pattern)?));
            }
        }
        Ok(Self { matchers })
    }

    /// Who claims this frame.
    pub fn on(&self, frame: &Frame) -> Vec<usize> {
        let mut best = 0;
        let mut claims: Vec<usize> = Vec::new();
        for (index, matcher) in &self.matchers {
            let rank = matcher.rank() + 1;
            if rank < best || !matcher.matches(frame) {
                continue;
            }
            if rank > best {
                claims.clear();
                best = rank;
            }
            if !claims.contains(index) {
                claims.push(*index);
            }
        }
        claims
    }
}

/// Whether `text` as a whole matches `pattern`, in which `*` stands for any text and `?` for one
/// character. Nothing else is special: brackets and braces are part of symbol names, which is why this
/// is not a file glob.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(b'?') => {
                p += 1;
                t += 1;
                while text.get(t).is_some_and(|byte| byte & 0xc0 == 0x80) {
                    t += 1;
                }
            }
            Some(byte) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after_star, from)) = retry else { return false };
                retry = Some((after_star, from + 1));
                (p, t) = (after_star, from + 1);
            }
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, module: Option<&str>) -> Frame {
        Frame { function: function.into(), module: module.map(Into::into), ..Frame::default() }
    }

    #[test]
    fn globs_know_only_star_and_question_mark() {
        assert!(glob("*::dh", "countercheck::primitive::x25519::dh"));
        assert!(!glob("*::dh", "countercheck::primitive::x25519::dh_base"));
        assert!(glob("f<[u8; 4]>", "f<[u8; 4]>"));
        assert!(glob("a?c", "aéc"));
        assert!(glob("*a*b*", "xxaxxbxx"));
        assert!(!glob("", "a"));
        assert!(glob("*", ""));
        assert!(!glob(&"*a".repeat(40), &"a".repeat(39)));
    }

    #[test]
    fn the_more_exact_pattern_wins_and_equals_are_ambiguous() {
        let of = |name: &str, frames: Vec<FramePattern>| Explained {
            primitive: name.into(),
            frames,
            ..Explained::default()
        };
        let claims = Claims::new(&[
            of("module", vec![FramePattern::Module("lib*".into())]),
            of("glob", vec![FramePattern::Glob("sha*".into())]),
            of("other glob", vec![FramePattern::Glob("*512".into())]),
            of("exact", vec![FramePattern::Exact("sha1".into())]),
        ])
        .unwrap();
        assert_eq!(claims.on(&frame("sha1", Some("libx"))), [3]);
        assert_eq!(claims.on(&frame("sha512", Some("libx"))), [1, 2]);
        assert_eq!(claims.on(&frame("md5", Some("libx"))), [0]);
        assert!(claims.on(&frame("md5", None)).is_empty());
    }

    #[cfg(feature = "import")]
    #[test]
    fn a_broken_regular_expression_names_its_primitive() {
        let error = Matcher::new("dh", &FramePattern::Regex("(".into())).unwrap_err();
        assert_eq!((error.owner.as_str(), error.pattern.as_str()), ("dh", "("));
    }
}
