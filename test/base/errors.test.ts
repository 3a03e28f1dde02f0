import { describe, expect, it } from 'vitest';
import { asTrituneError, TrituneError } from '#base/errors.ts';

describe('what was thrown as a coded error', () => {
  it('is itself when it has a code', () => {
    const error = new TrituneError('LOAD_REFUSED', 'no memory', 'ask for fewer instances');
    expect(asTrituneError(error)).toBe(error);
  });

  it('is INTERNAL otherwise, with what was thrown as its cause', () => {
    const thrown = new TypeError('x is not a function');
    expect(asTrituneError(thrown)).toMatchObject({ code: 'INTERNAL', message: thrown.message, cause: thrown });
    expect(asTrituneError('a string')).toMatchObject({ code: 'INTERNAL', message: 'a string', cause: 'a string' });
  });

  it('has a message that a person can read, whatever name a server gave', () => {
    const { message, hint } = new TrituneError('MODEL_UNKNOWN', `no model '${'x'.repeat(1e6)}'`, 'y'.repeat(1e6));
    expect([message.length, hint.length]).toEqual([4500, 4500]);
    expect(message).toMatch(/^no model 'x+…$/);
  });
});
