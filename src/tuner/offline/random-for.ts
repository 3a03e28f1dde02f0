import { createHash } from 'node:crypto';
import { type Random, seededRandom } from '../../base/random.ts';

/** Returns the randomness that belongs to the text. The first draws of seeds that are near each other are much alike; those of hashes are not. */
export const randomFor = (text: string): Random =>
  seededRandom(createHash('sha256').update(text).digest().readInt32LE(0));
