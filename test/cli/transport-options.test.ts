import { describe, expect, it } from 'vitest';
import { transportOptionsOf } from '../../src/cli/transport-options.ts';

describe('the options of transports', () => {
  const decoupled = { name: 'm', model_transaction_policy: { decoupled: true } };

  it('pass on what is not the default', () => {
    expect(transportOptionsOf({ compression: 'none', tensorFormat: 'binary' }, { name: 'm' })).toEqual({
      streaming: undefined,
      compression: undefined,
      tensorFormat: 'binary',
    });
    expect(transportOptionsOf({ compression: 'gzip', streaming: true }, decoupled)).toMatchObject({
      streaming: true,
      compression: 'gzip',
    });
  });

  it('mean nothing new for a study whose journal does not have them', () => {
    expect(transportOptionsOf({}, { name: 'm' })).toMatchObject({ compression: undefined });
  });

  it('refuse a decoupled model without streams', () => {
    expect(() => transportOptionsOf({}, decoupled)).toThrow(
      expect.objectContaining({ code: 'USAGE', hint: expect.stringContaining('--streaming') }),
    );
  });
});
