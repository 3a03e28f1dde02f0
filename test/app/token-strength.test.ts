import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { MIN_BITS, tokenBits } from '#app/server/token-strength.ts';

it.each([
  'a'.repeat(26),
  'x'.repeat(1000),
  'abcabcabcabcabcabcabcabc',
  'kq7kq7kq7kq7kq7kq7kq7kq7',
  'abcdefghijklmnopqrstuvwxyz',
  '12345678901234567890',
  'passwordpassword',
  'Password123456789',
  'tritune-agent-token',
  'secret-secret-secret-secret',
  'changeme-changeme-1',
  'qwertyuiopasdfghjkl',
  'ababababababababababab',
])('%s can be guessed', (token) => {
  expect(tokenBits(token)).toBeLessThan(MIN_BITS);
});

it('what a generator makes cannot be guessed', () => {
  for (let draw = 0; draw < 2000; draw++) {
    for (const [bytes, form] of [
      [32, 'hex'],
      [32, 'base64'],
      [16, 'base64url'],
      [12, 'hex'],
    ] as const)
      expect(tokenBits(randomBytes(bytes).toString(form))).toBeGreaterThan(MIN_BITS);
  }
});
