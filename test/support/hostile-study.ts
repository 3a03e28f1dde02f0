import type { StudyRecord } from '#study/records/records.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';

/**
 * Clears the screen, sets the window's title, takes 8-bit control characters, turns the writing
 * around, and fakes lines.
 */
export const HOSTILE =
  'a\u001b[2J\u001b]0;fooled\u0007\u009b31m\u0090q\u202emoc.live\u2066\u200f\u061c\r\nrestored: fooled\u2028restored: fooled\u0085restored: fooled\t\u0000\u007f';

const at = '2026-01-01T00:00:01.000Z';

/** A small study with such a text wherever a server, a file or a person has a say. */
export function hostileRecords(text = HOSTILE): readonly StudyRecord[] {
  const config = configOf(2, 8, { parameters: { [text]: { string_value: text } } });
  const candidate = toCandidate(config, { [text]: text, instances: 2 });
  const failures = [{ kind: 'status', count: 3, firstMessage: text }];
  const server = { ...studyStarted(goalOf(8)).server, name: text, version: text, url: text, emulated: text };
  const commandLine = ['tune', '-m', text];
  return [
    studyStarted(goalOf(8), { model: text, server, commandLine, stopReason: text } as object),
    { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
    { type: 'trial-measured', at, trial: 0, measurement: measured(4, 100, 5, { failures, errorRate: 0.1 }) },
    { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
    { type: 'trial-started', at, trial: 1, role: 'search', candidate },
    {
      type: 'trial-measured',
      at,
      trial: 1,
      measurement: measured(8, 250, 7, {
        serverNote: text,
        client: { cpuUsPerRequest: 20, eventLoopDelayMs: 1, bound: true, reason: text },
      }),
    },
    { type: 'trial-measured', at, trial: 1, measurement: measured(6, 240, 7) },
    { type: 'trial-finished', at, trial: 1, chosen: 1, feasible: true, failure: null },
    { type: 'trial-started', at, trial: 2, role: 'search', candidate: toCandidate(configOf(3, 8), { [text]: 'x' }) },
    {
      type: 'trial-finished',
      at,
      trial: 2,
      chosen: null,
      feasible: false,
      failure: { kind: 'init-failed', reason: text },
    },
    { type: 'model-restored', at, how: 'config', verified: true, detail: text },
    { type: 'study-finished', at, stopReason: text, interrupted: false, wallSeconds: 12 },
  ];
}
