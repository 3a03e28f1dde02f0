import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startNullServer } from '#loadgen/client/null-server.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { SendOutcome } from '#loadgen/types.ts';
import { startCli, untilRecorded } from '../support/cli.ts';
import { freshDirectory, summaryOf } from '../support/run-directory.ts';
import { casesOf, endsWithin, isOnServer, lastLineOf, shortRun, stageOf } from './own-stage.ts';

const dyingThread = join(import.meta.dirname, '../support/dying-thread.ts');
const ENDS_WITHIN_MS = 40_000;

interface Death {
  readonly how: string;
  readonly where: 'main' | 'threads';
}

/** A run in which something dies once another config than the original is on the server. */
async function runWithDeath({ how, where }: Death) {
  const stage = await stageOf();
  const directory = await freshDirectory();
  const output = join(directory, 'run');
  const due = join(directory, 'now');
  const run = startCli(shortRun('m', stage.url, output, '--client-threads', '2'), {
    env: {
      NODE_OPTIONS: `--import ${dyingThread} --max-old-space-size=200`,
      TRITUNE_TEST_DEATH: how,
      TRITUNE_TEST_DEATH_IN: where,
      TRITUNE_TEST_DEATH_FILE: due,
    },
  });
  await untilRecorded(output, run, isOnServer);
  await writeFile(due, '');
  const ended = await endsWithin(ENDS_WITHIN_MS, run, run.ended);
  expect(await stage.isOriginal('m')).toBe(true);
  expect(await summaryOf(output)).toMatchObject({ restored: { verified: true } });
  expect(lastLineOf(ended.stdout)).toBe("model      'm' has its original config again");
  return ended;
}

describe('something of ours that dies', { timeout: 180_000 }, () => {
  const deaths: readonly (readonly [string, RegExp])[] = [
    ['run out of memory', /memory/],
    ['throw', /a defect/],
  ];

  it.each(casesOf(1, deaths))(
    'a thread of the load generator (%s) ends the run with CLIENT_FAILED, and the model is put back',
    async (how, reason) => {
      const { code, stderr } = await runWithDeath({ how, where: 'threads' });
      expect(code).toBe(1);
      expect(lastLineOf(stderr)).toMatch(/^tritune: CLIENT_FAILED: [^\n]+ \([^\n]+\)$/);
      expect(stderr).toMatch(reason);
    },
  );

  it('an error that nobody catches ends the run in order, with INTERNAL', async () => {
    const { code, stderr } = await runWithDeath({ how: 'throw', where: 'main' });
    expect(code).toBe(1);
    expect(stderr).toBe(
      [
        'tritune: INTERNAL: a defect: stopping, and putting the model back\n',
        'tritune: INTERNAL: a defect (this is a defect of tritune: please report it)\n',
      ].join(''),
    );
  });

  it('the null server is missed by its requests only', async () => {
    const due = join(await freshDirectory(), 'now');
    const server = await startNullServer('grpc', {
      execArgv: ['--import', dyingThread],
      env: { ...process.env, TRITUNE_TEST_DEATH: 'throw', TRITUNE_TEST_DEATH_FILE: due },
    });
    const transport = openTransport('grpc', { url: server.url, timeoutMs: 1000 });
    const input = { name: 'IN', datatype: 'UINT8', shape: [1, 1], raw: Uint8Array.of(1) };
    const prepared = transport.prepare({ model: 'm', version: '', batch: 1, inputs: [input] });
    const send = (): Promise<SendOutcome> => new Promise((done) => transport.send(prepared, done));
    try {
      expect((await send()).ok).toBe(true);
      await writeFile(due, '');
      // An error that nobody hears would fail this whole file.
      while ((await send()).ok) await sleep(20);
    } finally {
      await transport.close();
      await server.stop();
    }
  });
});
