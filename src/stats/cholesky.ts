/**
 * The least diagonal element of the factor's square; without it equal rows would make the matrix
 * singular.
 */
const JITTER = 1e-9;

/**
 * Returns the rows of the lower triangle of the Cholesky factor of a symmetric positive matrix,
 * given in the same form. `added`: the term added to the diagonal, by row.
 */
export function cholesky(matrix: readonly ArrayLike<number>[], added: ArrayLike<number>): Float64Array[] {
  const rows: Float64Array[] = [];
  for (let i = 0; i < matrix.length; i++) {
    const row = new Float64Array(i + 1);
    const like = matrix[i] as ArrayLike<number>;
    for (let j = 0; j <= i; j++) {
      const other = rows[j] ?? row;
      let sum = like[j] as number;
      for (let k = 0; k < j; k++) sum -= (row[k] as number) * (other[k] as number);
      row[j] = j < i ? sum / (other[j] as number) : Math.sqrt(Math.max(JITTER, sum + (added[i] as number)));
    }
    rows.push(row);
  }
  return rows;
}

/** Solves factor · x = values. */
export function solveLower(factor: readonly Float64Array[], values: ArrayLike<number>): Float64Array {
  const solution = new Float64Array(values.length);
  for (const [i, row] of factor.entries()) {
    let sum = values[i] as number;
    for (let j = 0; j < i; j++) sum -= (row[j] as number) * (solution[j] as number);
    solution[i] = sum / (row[i] as number);
  }
  return solution;
}

/** Solves factorᵀ · x = values. */
export function solveUpper(factor: readonly Float64Array[], values: Float64Array): Float64Array {
  const solution = new Float64Array(values.length);
  for (let i = values.length - 1; i >= 0; i--) {
    let sum = values[i] as number;
    for (let j = i + 1; j < values.length; j++) sum -= (factor[j]?.[i] as number) * (solution[j] as number);
    solution[i] = sum / (factor[i]?.[i] as number);
  }
  return solution;
}
