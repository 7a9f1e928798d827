//! Small dense matrices.

/// Returns a square matrix of zeros.
pub(super) fn zeros(size: usize) -> Vec<Vec<f64>> {
    vec![vec![0.0; size]; size]
}

/// The Cholesky factor `L` of a positive definite matrix `A = L Lᵀ`.
#[derive(Debug, Clone)]
pub(super) struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// Factorizes a positive definite matrix.
    pub(super) fn new(mut matrix: Vec<Vec<f64>>) -> Self {
        for i in 0..matrix.len() {
            let (above, current) = matrix.split_at_mut(i);
            let row = &mut current[0];
            for (j, other) in above.iter().enumerate() {
                let product = dot(&row[..j], &other[..j]);
                row[j] = (row[j] - product) / other[j];
            }
            let square = row[i] - dot(&row[..i], &row[..i]);
            row[i] = square.max(f64::MIN_POSITIVE).sqrt();
        }
        Self(matrix)
    }

    /// Solves `A x = b`.
    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        self.solve_upper(&self.solve_lower(b))
    }

    /// Solves `L x = b`.
    fn solve_lower(&self, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(b.len());
        for (i, row) in self.0.iter().enumerate() {
            x.push((b[i] - dot(&row[..i], &x)) / row[i]);
        }
        x
    }

    /// Solves `Lᵀ x = b`.
    pub(super) fn solve_upper(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for i in (0..self.0.len()).rev() {
            x[i] /= self.0[i][i];
            let solved = x[i];
            x[..i].iter_mut().zip(&self.0[i][..i]).for_each(|(value, l)| *value -= l * solved);
        }
        x
    }

    /// Returns the diagonal of the inverse of `A`.
    pub(super) fn inverse_diagonal(&self) -> Vec<f64> {
        let unit = |i: usize| (0..self.0.len()).map(|j| f64::from(u8::from(i == j))).collect();
        let squares = |i: usize| {
            let column: Vec<f64> = unit(i);
            let solved = self.solve_lower(&column);
            dot(&solved, &solved)
        };
        (0..self.0.len()).map(squares).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved() {
        let matrix = vec![vec![4.0, 2.0, 0.5], vec![2.0, 5.0, 1.0], vec![0.5, 1.0, 3.0]];
        let cholesky = Cholesky::new(matrix.clone());
        let x = cholesky.solve(&[1.0, -2.0, 3.0]);
        for (row, b) in matrix.iter().zip([1.0, -2.0, 3.0]) {
            assert!((dot(row, &x) - b).abs() < 1e-12);
        }
        let diagonal = cholesky.inverse_diagonal();
        let unit = cholesky.solve(&[0.0, 1.0, 0.0]);
        assert!((diagonal[1] - unit[1]).abs() < 1e-12);
    }
}
