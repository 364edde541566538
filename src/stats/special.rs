//! The distributions that intervals and tests need: incomplete beta, and through it binomial, t and F.

/// The natural logarithm of the gamma function for positive `x` (Lanczos 1964, g = 7, nine terms:
/// relative error below 1e-13).
pub fn ln_gamma(x: f64) -> f64 {
    const TERMS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let base = x + 7.5;
    let sum = TERMS.iter().skip(1).zip(1..).fold(TERMS[0], |sum, (term, i)| sum + term / (x + f64::from(i)));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun
/// 26.5.8, evaluated with Lentz's method).
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only left of the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let keep = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / keep(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for term in [even, odd] {
            d = 1.0 / keep(1.0 + term * d);
            c = keep(1.0 + term / c);
            step = c * d;
            fraction *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    front * fraction
}

/// The probability of at most `k` successes in `n` trials of probability `p`.
pub fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n { 1.0 } else { incomplete_beta((n - k) as f64, k as f64 + 1.0, 1.0 - p) }
}

/// The two-sided p-value of Student's t with `degrees` of freedom.
pub fn t_two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_nan() { 1.0 } else { incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + t * t)) }
}

/// The t that a two-sided test at `1 - confidence` must exceed.
pub fn t_critical(degrees: f64, confidence: f64) -> f64 {
    bisect(|t| t_two_sided(t, degrees) > 1.0 - confidence)
}

/// The probability that F with these degrees of freedom exceeds `f`.
pub fn f_above(f: f64, numerator: f64, denominator: f64) -> f64 {
    incomplete_beta(denominator / 2.0, numerator / 2.0, denominator / (denominator + numerator * f))
}

/// The largest positive number for which a condition that turns false holds.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while holds(high) && high < 1e12 {
        (low, high) = (high, high * 2.0);
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1e-3)
    }

    #[test]
    fn gamma_of_whole_numbers_is_the_factorial() {
        let mut factorial = 1.0f64;
        for n in 1..30 {
            assert!(near(ln_gamma(f64::from(n)), factorial.ln()), "{n}");
            factorial *= f64::from(n);
        }
        assert!(near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln()));
    }

    #[test]
    fn binomial_agrees_with_its_sum() {
        let (n, p) = (20u32, 0.3f64);
        let mut sum = 0.0;
        let mut choose = 1.0;
        for k in 0..n {
            sum += choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32);
            choose *= f64::from(n - k) / f64::from(k + 1);
            assert!(near(binomial_at_most(k.into(), n.into(), p), sum), "{k}");
        }
    }

    /// Tables of Student's t and of F, as printed in Abramowitz and Stegun 26.10 and 26.9.
    #[test]
    fn t_and_f_agree_with_printed_tables() {
        for (degrees, printed) in [(1.0, 12.706), (5.0, 2.571), (9.0, 2.262), (30.0, 2.042), (120.0, 1.980)] {
            assert!((t_critical(degrees, 0.95) - printed).abs() < 6e-4, "{degrees}");
        }
        assert!((f_above(4.10, 2.0, 10.0) - 0.05).abs() < 2e-4);
        assert!((f_above(2.98, 10.0, 10.0) - 0.05).abs() < 2e-4);
        assert_eq!(t_two_sided(0.0, 5.0), 1.0);
    }
}
