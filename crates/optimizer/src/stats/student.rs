//! Student's t-distribution.

/// Returns the probability of a value above `t` with `df` degrees of freedom (at least 1).
pub fn student_tail(t: f64, df: f64) -> f64 {
    let tail = 0.5 * incomplete_beta(df / (df + t * t), df / 2.0);
    if t >= 0.0 { tail } else { 1.0 - tail }
}

/// Returns the value that is exceeded with probability `tail`, for `0 < tail <= 0.5`.
pub fn student_quantile(tail: f64, df: f64) -> f64 {
    let mut high = 1.0;
    while student_tail(high, df) > tail && high < 1e12 {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if student_tail(middle, df) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Returns the regularized incomplete beta function with second parameter 1/2.
fn incomplete_beta(x: f64, a: f64) -> f64 {
    let b = 0.5;
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let log_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    let front = log_front.exp();
    // The continued fraction converges fast on this side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

/// Evaluates the continued fraction of the incomplete beta function by Lentz's method.
#[expect(clippy::many_single_char_names, reason = "the names of the formula")]
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..=300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    fraction
}

/// Returns the logarithm of the gamma function by Lanczos' approximation, for `x > 0`.
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.001_208_650_973_866_179,
        -0.000_005_395_239_384_953,
    ];
    let base = x + 5.5;
    let terms = COEFFICIENTS.iter().zip(1_u8..).map(|(c, n)| c / (x + f64::from(n)));
    let series = 1.000_000_000_190_015 + terms.sum::<f64>();
    (x + 0.5) * base.ln() - base + (2.506_628_274_631_000_5 * series / x).ln()
}
