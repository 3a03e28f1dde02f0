import { createHash, timingSafeEqual } from 'node:crypto';

/**
 * True if the Authorization header has the token. Takes the same time for a wrong one as for the
 * right one.
 */
export function hasBearerToken(header: string | undefined, token: string): boolean {
  const [scheme, shown = ''] = (header ?? '').split(' ');
  return timingSafeEqual(hashText(shown), hashText(token)) && scheme === 'Bearer';
}

/** Hashes have equal lengths, so that a comparison reveals nothing about the token's. */
const hashText = (text: string): Buffer => createHash('sha256').update(text).digest();
