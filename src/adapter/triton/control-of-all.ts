import { isTrituneError, TrituneError } from '#base/errors.ts';
import type { Applied, Control, Restored } from '#tuner/adapter.ts';
import { greatestChange, together } from './control.ts';

/** The control of one of several servers. */
export interface ControlledServer {
  /** Its address, for people. */
  readonly url: string;
  readonly control: Control;
}

/**
 * Controls several servers as one. A candidate goes to the first, and to the others if that one
 * takes it; at the end each is restored by its own control, whatever became of the others.
 */
export function controlOfAll(servers: readonly [ControlledServer, ...ControlledServer[]]): Control {
  const [first, ...others] = servers;
  if (others.length === 0) return first.control;
  return {
    apply: async (candidate, signal) => {
      const applied = await first.control.apply(candidate, signal);
      return applyToAll(applied, await everyEnd(others.map(({ control }) => control.apply(candidate, signal))));
    },
    changed: async (signal) => {
      for (const { url, control } of servers) {
        const what = await control.changed(signal);
        if (what !== null) return `${url}: ${what}`;
      }
      return null;
    },
    isReachable: async (signal) =>
      (await Promise.all(servers.map(({ control }) => control.isReachable(signal)))).every(Boolean),
    restore: () => restoreAll(servers),
  };
}

/** Waits for all, so that none goes on when the trial has ended. Errors: the first one's. */
async function everyEnd<T>(calls: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(calls);
  return Promise.all(calls);
}

/** The others loaded at the same time. */
const applyToAll = (first: Applied, others: readonly Applied[]): Applied => ({
  ...first,
  change: greatestChange([first, ...others]),
  loadMs: first.loadMs + Math.max(...others.map(({ loadMs }) => loadMs)),
});

async function restoreAll(servers: readonly ControlledServer[]): Promise<Restored> {
  const ends = await Promise.allSettled(servers.map(({ control }) => control.restore()));
  const restored = ends.flatMap((end, place): Restored[] =>
    end.status === 'fulfilled' ? [{ ...end.value, detail: `${servers[place]?.url}: ${end.value.detail}` }] : [],
  );
  const failures = ends.flatMap((end, place) =>
    end.status === 'rejected' ? [{ url: servers[place]?.url, error: end.reason as unknown }] : [],
  );
  const [failure] = failures;
  if (!failure) return together(restored);
  if (failures.some(({ error }) => !isTrituneError(error))) throw failure.error;
  const texts = failures.map(({ url, error }) => `${url}: ${(error as TrituneError).message}`);
  const { code, hint } = failure.error as TrituneError;
  throw new TrituneError(code, [...texts, ...restored.map(({ detail }) => detail)].join('; '), hint, {
    cause: failure.error,
  });
}
