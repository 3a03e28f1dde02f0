import { describe, expect, it } from 'vitest';
import { withDeadline } from '#base/abort.ts';
import { realClock, VirtualClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { formatDuration, formatFigure, formatRatio, plainLine } from '#base/format.ts';
import { canonicalJson } from '#base/json.ts';
import { seededRandom } from '#base/random.ts';

const late = (): TrituneError => new TrituneError('SERVER_TIMEOUT', 'late', 'wait longer');

describe('withDeadline', () => {
  it('gives the value', async () => {
    await expect(withDeadline(Promise.resolve(7), 1000, late)).resolves.toBe(7);
  });

  it('fails with the given error when nothing comes', async () => {
    await expect(withDeadline(new Promise(() => undefined), 5, late)).rejects.toThrow('late');
  });

  it('fails with INTERRUPTED on abort, before or during the wait', async () => {
    const controller = new AbortController();
    const wait = withDeadline(new Promise(() => undefined), 60_000, late, controller.signal);
    controller.abort('SIGINT');
    await expect(wait).rejects.toMatchObject({ code: 'INTERRUPTED' });
    await expect(withDeadline(Promise.resolve(1), 1000, late, controller.signal)).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
  });
});

describe('clocks', () => {
  it('passes virtual time only by sleeping', async () => {
    const clock = new VirtualClock(1000);
    await clock.sleep(250);
    expect(clock.nowNs()).toBe(250e6);
    expect(clock.wallMs()).toBe(1250);
  });

  it('ends a real sleep on abort', async () => {
    const controller = new AbortController();
    const sleep = realClock.sleep(60_000, controller.signal);
    controller.abort(new Error('enough'));
    await expect(sleep).rejects.toThrow('enough');
  });
});

describe('figures', () => {
  it.each([
    [0.5123, '0.512'],
    [8.249, '8.25'],
    [52.44, '52.4'],
    [999.4, '999'],
    [999.7, '1,000'],
    [12010.4, '12,010'],
    [Number.NaN, '–'],
  ])('prints %d as %s', (value, text) => {
    expect(formatFigure(value)).toBe(text);
  });

  it.each([
    [0.25, '250 ms'],
    [9.04, '9 s'],
    [59.7, '1 min'],
    [200, '3 min 20 s'],
    [7500, '2 h 5 min'],
    [Number.POSITIVE_INFINITY, 'no limit'],
  ])('prints %d s as %s', (seconds, text) => {
    expect(formatDuration(seconds)).toBe(text);
  });

  it('prints ratios', () => {
    expect(formatRatio(4.3)).toBe('4.30×');
  });

  it('lets no text move the cursor or fake a line', () => {
    expect(plainLine('a\r\nb\u001b[2Jc\u2028d')).toBe('a b [2Jc d');
    expect(plainLine('x'.repeat(400))).toHaveLength(300);
  });
});

describe('canonicalJson', () => {
  it('does not depend on the order of keys and drops undefined fields', () => {
    expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined })).toBe('{"b":[1,{"c":"x","d":null}]}');
  });
});

describe('seededRandom', () => {
  it('repeats for a seed and stays in range', () => {
    const draw = (seed: number): number[] => {
      const random = seededRandom(seed);
      return Array.from({ length: 50 }, () => random.float() + random.int(1, 3));
    };
    expect(draw(3)).toEqual(draw(3));
    expect(draw(3)).not.toEqual(draw(4));
    expect(draw(5).every((value) => value >= 1 && value < 4)).toBe(true);
  });
});
