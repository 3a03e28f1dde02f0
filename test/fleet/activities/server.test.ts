import { describe, expect, it } from 'vitest';
import { TrituneError } from '#base/errors.ts';
import type { ServerRestored, Work, WorkOutcome } from '#fleet/study/work.ts';
import { type HeldServer, type ServerHost, ServerWorker } from '#fleet/temporal/server-worker.ts';
import { goalOf, studyStarted } from '../../study/builders.ts';

const work = { id: 'trial-1.1', trial: 1 } as Work;
const done: WorkOutcome = { kind: 'done', work, measurements: [], failure: null };
const restored: ServerRestored = { server: 's', how: 'config', verified: true, detail: 'as before' };

const machine = { processor: 'p', cores: 2, memoryMib: 4, system: 's', servesHere: true, gpus: [] };

/** A server whose opening, work and end are written down in `log`. */
function served(run: (times: number) => Promise<WorkOutcome>, change: Partial<ServerHost> = {}) {
  const log: string[] = [];
  let times = 0;
  const held: HeldServer = {
    machine,
    runner: {
      run: async () => {
        log.push('run');
        return run(++times);
      },
      restore: async () => {
        log.push('restore');
        return restored;
      },
    },
    close: async () => {
      log.push('close');
    },
  };
  const host: ServerHost = {
    name: 's',
    hold: async () => {
      log.push('open');
      return held;
    },
    putBack: async () => {
      log.push('put back');
      return restored;
    },
    unrestored: async () => [],
    ...change,
  };
  const worker = new ServerWorker(host, () => ({ signal: new AbortController().signal, heartbeat: () => undefined }));
  return { worker, log };
}

describe('the worker of a server', () => {
  it('opens it once for much work, and puts it back with what is open', async () => {
    const { worker, log } = served(async () => done);
    await worker.work('study', work);
    await worker.work('study', work);
    expect(await worker.restore('study')).toEqual(restored);
    expect(log).toEqual(['open', 'run', 'run', 'restore', 'close']);
  });

  it('opens it anew after the server, or what sends to it, was lost', async () => {
    const lost: WorkOutcome = { kind: 'lost', work, reason: 'it went away' };
    const agent = new TrituneError('AGENT_FAILED', 'agent a: it was lost', 'start it');
    const { worker, log } = served(async (times) => {
      if (times === 2) throw agent;
      return times === 1 ? lost : done;
    });
    expect(await worker.work('study', work)).toEqual(lost);
    await expect(worker.work('study', work)).rejects.toBe(agent);
    expect(await worker.work('study', work)).toEqual(done);
    expect(log).toEqual(['open', 'run', 'close', 'open', 'run', 'close', 'open', 'run']);
  });

  it('puts it back after a restart without opening what the study measures with', async () => {
    const { worker, log } = served(async () => done);
    expect(await worker.restore('study')).toEqual(restored);
    expect(log).toEqual(['put back']);
    const untouched = served(async () => done, { putBack: async () => null });
    expect(await untouched.worker.restore('study')).toMatchObject({ how: 'nothing-changed', verified: true });
  });

  it('says what it is measured on as it takes a study', async () => {
    const { worker } = served(async () => done);
    expect(await worker.hold('study', studyStarted(goalOf(8)))).toEqual({ machine });
  });

  it('takes one study at a time', async () => {
    const { worker } = served(async () => done);
    await worker.work('one', work);
    await expect(worker.work('two', work)).rejects.toThrow("reserved for study 'one'");
  });
});
