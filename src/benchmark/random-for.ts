import { createHash } from 'node:crypto';
import { type Random, seededRandom } from '../base/random.ts';

/** Returns a random generator seeded by a hash of the text. The first draws of neighbouring seeds are alike; those of hashes are not. */
export const randomFor = (text: string): Random =>
  seededRandom(createHash('sha256').update(text).digest().readInt32LE(0));

/** Draws one of the values. */
export const pick = <T>(values: readonly T[], random: Random): T => values[random.int(0, values.length - 1)] as T;

/** Draws log-uniformly between the two. */
export const between = (low: number, high: number, random: Random): number => low * (high / low) ** random.float();
