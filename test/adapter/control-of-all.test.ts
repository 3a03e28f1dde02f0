import { expect, it } from 'vitest';
import { controlOfAll } from '#adapter/triton/control-of-all.ts';
import { TrituneError } from '#base/errors.ts';
import { toCandidate } from '#space/model-configs.ts';
import type { Control } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';

const candidate = toCandidate({ name: 'm' });
const { signal } = new AbortController();

/** A control that does what it is told at once, and counts. */
function controlledServer(url: string, change: Partial<Control> = {}) {
  const calls = { apply: 0, restore: 0 };
  const control: Control = {
    apply: (applied) => {
      calls.apply++;
      return Promise.resolve({ candidate: applied, change: 'in-place', loadMs: 5 });
    },
    changed: () => Promise.resolve(null),
    isReachable: () => Promise.resolve(true),
    restore: () => {
      calls.restore++;
      return Promise.resolve({ how: 'config', verified: true, detail: "'m' has its original config again" });
    },
    ...change,
  };
  return { url, control, calls };
}

it('spares the others what the first refuses, and restores all the same', async () => {
  const refuse = () => Promise.reject(new CandidateRefusedError('out-of-memory', 'no room'));
  const [a, b] = [controlledServer('a:1', { apply: refuse }), controlledServer('b:1')];
  const all = controlOfAll([a, b]);
  await expect(all.apply(candidate, signal)).rejects.toMatchObject({ kind: 'out-of-memory' });
  expect(b.calls.apply).toBe(0);
  expect(await all.restore()).toEqual({
    how: 'config',
    verified: true,
    detail: "a:1: 'm' has its original config again; b:1: 'm' has its original config again",
  });
});

it('takes the greatest change, and the time of the loads one after the other', async () => {
  const slow = (loadMs: number) => ({ apply: () => Promise.resolve({ candidate, change: 'full', loadMs } as const) });
  const servers = [controlledServer('a:1'), controlledServer('b:1', slow(20)), controlledServer('c:1', slow(30))];
  const [first, ...others] = servers as [(typeof servers)[0], ...typeof servers];
  expect(await controlOfAll([first, ...others]).apply(candidate, signal)).toEqual({
    candidate,
    change: 'full',
    loadMs: 35,
  });
});

it('restores every server that it can, and names the one that it cannot', async () => {
  const gone = new TrituneError('RESTORE_FAILED', "'m' could not be put back as it was: gone", 'when it answers, …');
  const [a, b] = [controlledServer('a:1', { restore: () => Promise.reject(gone) }), controlledServer('b:1')];
  await expect(controlOfAll([a, b]).restore()).rejects.toMatchObject({
    code: 'RESTORE_FAILED',
    message: "a:1: 'm' could not be put back as it was: gone; b:1: 'm' has its original config again",
  });
  expect(b.calls.restore).toBe(1);
});

it('notices a change on any of them', async () => {
  const other = { changed: () => Promise.resolve('max_batch_size is 4, not 8') };
  const all = controlOfAll([controlledServer('a:1'), controlledServer('b:1', other)]);
  expect(await all.changed(signal)).toBe('b:1: max_batch_size is 4, not 8');
  const away = controlledServer('c:1', { isReachable: () => Promise.resolve(false) });
  expect(await controlOfAll([controlledServer('a:1'), away]).isReachable(signal)).toBe(false);
});
