//! Which known names are most like one that is not known: for the error that names them.

/// Names less similar than this to what was asked for are no help.
const SIMILAR: f64 = 0.5;

/// The names that differ least from what was asked for, at most three, the most alike first.
pub(crate) fn nearest<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut by_similarity: Vec<(f64, &str)> = names.into_iter().map(|name| (similarity(asked, name), name)).collect();
    by_similarity.sort_by(|a, b| b.0.total_cmp(&a.0));
    by_similarity.dedup_by(|a, b| a.1 == b.1);
    let similar = by_similarity.into_iter().take_while(|(similarity, _)| *similarity >= SIMILAR);
    similar.take(3).map(|(_, name)| name).collect()
}

/// The same in a phrase: `nearest: a, b`, or the one given where none is alike.
pub(crate) fn phrase<'a>(asked: &str, names: impl IntoIterator<Item = &'a str>, none_alike: &str) -> String {
    match &nearest(asked, names)[..] {
        [] => none_alike.to_owned(),
        names => format!("nearest: {}", names.join(", ")),
    }
}

/// How alike two names are, from 0 to 1, whatever joins their words: by letters in place, which finds slips, or by pairs
/// of letters, which finds words in another order. A name counts with its parameters and without.
fn similarity(asked: &str, name: &str) -> f64 {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let alike = |a: &str, b: &str| {
        let (a, b) = (plain(a), plain(b));
        strsim::normalized_damerau_levenshtein(&a, &b).max(strsim::sorensen_dice(&a, &b))
    };
    let whole = alike(asked, name);
    match name.split_once('/') {
        // Slightly less, so that of two sizes the one asked for comes first.
        Some((base, _)) => whole.max(0.98 * alike(asked.split('/').next().unwrap_or(asked), base)),
        None => whole,
    }
}
