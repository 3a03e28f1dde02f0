/**
 * Derives a seed from the study's seed and a count; spreads neighbouring values over 32 bits (the
 * multiplier is Knuth's, TAOCP 6.4).
 */
export function seedAt(seed: number, count: number): number {
  return (Math.imul(seed | 0, 2654435761) ^ Math.imul(count + 1, 40503)) | 0;
}
