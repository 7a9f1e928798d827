use super::*;

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() < tolerance, "{value}, not {expected}");
}

#[test]
fn the_sign_test_of_equal_differences_is_binomial() {
    // 9 of 10 pairs in favor: (1 + 10) / 2^10.
    let mut differences = vec![1.0; 9];
    differences.extend([-1.0, 0.0, 0.0]);
    assert_near(sign_flip_p(&differences, 1), 11.0 / 1024.0, 1e-12);
    assert_near(sign_flip_p(&[], 1), 1.0, 1e-12);
    assert_near(sign_flip_p(&[0.0; 30], 1), 1.0, 1e-12);
}

#[test]
fn random_sign_patterns_agree_with_the_binomial_distribution() {
    // At least 20 of 30 heads: 0.04937.
    let differences: Vec<f64> = (0..30).map(|n| if n < 20 { 1.0 } else { -1.0 }).collect();
    assert_near(sign_flip_p(&differences, 5), 0.049_37, 0.005);
    assert_near(sign_flip_p(&differences, 5), sign_flip_p(&differences, 5), 1e-15);
    assert!(sign_flip_p(&[1.0; 100], 5) > 0.0);
}

#[test]
fn the_sign_flip_test_keeps_its_level() {
    let mut random = Random::new(1, "level");
    let mut rejections = 0;
    for seed in 0..400 {
        let mut difference = || random.unit() - 0.5;
        let differences: Vec<f64> = (0..10).map(|_| difference()).collect();
        rejections += u32::from(sign_flip_p(&differences, seed) <= 0.05);
    }
    assert!((8..=35).contains(&rejections), "{rejections} of 400");
}

#[test]
fn holm_multiplies_by_the_number_of_remaining_tests() {
    let adjusted = holm(&[0.04, 0.01, 0.03]);
    for (value, expected) in adjusted.iter().zip([0.06, 0.03, 0.06]) {
        assert_near(*value, expected, 1e-12);
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

#[test]
fn a_bootstrap_interval_covers_the_mean() {
    let mut random = Random::new(2, "coverage");
    let mut covered = 0;
    for seed in 0..60 {
        let numbers: Vec<f64> = (0..40).map(|_| f64::from(u8::from(random.unit() < 0.3))).collect();
        let (low, high) = bootstrap_interval(&numbers, seed).expect("numbers");
        covered += u32::from(low <= 0.3 && 0.3 <= high);
    }
    assert!((52..=60).contains(&covered), "{covered} of 60");
    assert_eq!(bootstrap_interval(&[], 1), None);
    assert_eq!(mean(&[]), None);
}

#[test]
fn student_agrees_with_published_tables() {
    for (df, tail, t) in [
        (1.0, 0.05, 6.3138),
        (1.0, 0.001, 318.309),
        (3.0, 0.025, 3.1824),
        (8.0, 0.005, 3.3554),
        (38.0, 0.05, 1.6860),
        (120.0, 0.01, 2.3578),
    ] {
        assert_near(student_quantile(tail, df), t, 6e-4 * t);
    }
    assert_near(student_quantile(0.5, 5.0), 0.0, 1e-9);
}
