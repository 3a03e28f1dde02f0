import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realClock } from '#base/clock.ts';
import { freePorts } from '#launch/free-ports.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { type CliOutcome, type RunningCli, startCli } from '../../support/cli.ts';
import { type ComposeFile, commandInPlace, type InPlace, readCompose } from '../../support/compose.ts';
import { freshDirectory } from '../../support/run-directory.ts';
import { startTemporal, type TemporalServer } from '../../support/temporal-server.ts';

const TOKEN = 'a-token-of-the-tests-only';
const LIMIT_MS = 400_000;

let compose: ComposeFile;
let place: InPlace;
let temporal: TemporalServer;
let watchUrl: string;
const running = new Map<string, RunningCli>();

/** Starts a service of the file as a process; its host name is that of a container. */
async function up(name: string): Promise<RunningCli> {
  const service = compose.services[name];
  if (!service) throw new Error(`the file has no service ${name}`);
  const started = startCli(await commandInPlace(service, place));
  running.set(name, started);
  return started;
}

/** Resolves when a worker says that it takes work, so that a study has both from its start. */
async function untilReady({ child, ended }: RunningCli): Promise<void> {
  const isReady = new Promise<boolean>((done) => {
    for (const output of [child.stdout, child.stderr])
      output?.on('data', (chunk: Buffer) => chunk.toString().includes(': ready') && done(true));
  });
  if (!(await Promise.race([isReady, ended.then(() => false)]))) throw new Error((await ended).stderr);
}

async function end(name: string): Promise<CliOutcome> {
  const { child, ended } = running.get(name) as RunningCli;
  child.kill('SIGTERM');
  running.delete(name);
  return ended;
}

beforeAll(async () => {
  compose = await readCompose();
  const folder = await freshDirectory();
  temporal = await startTemporal(join(folder, 'temporal.db'));
  const ports = await freePorts(8);
  const local = (at: number): string => `127.0.0.1:${ports[at]}`;
  watchUrl = `http://${local(1)}/`;
  const emulated = (at: number) => [[`triton-${at}:8001`, local(2 * at)] as const];
  place = {
    folder,
    variables: { MODEL: 'yolov7', LATENCY_BUDGET_MS: '2000', MAX_TRIALS: '5', STUDY: 'composed' },
    addresses: new Map([
      ['temporal:7233', temporal.address],
      ['0.0.0.0:7420', local(1)],
      ...emulated(1),
      ...emulated(2),
    ]),
    secrets: { 'payload-key': Buffer.alloc(32, 5).toString('base64'), 'watch-token': TOKEN, 'agents-token': TOKEN },
  };
  for (const at of [1, 2]) {
    const { command } = compose.services[`emulator-${at}`] as { command: readonly string[] };
    // Ports of one machine in place of those of two.
    const own = command.map((word) =>
      word
        .replace('--host=0.0.0.0', '--host=127.0.0.1')
        .replace('--grpc-port=8001', `--grpc-port=${ports[2 * at]}`)
        .replace(/--(http|metrics)-port=\d+/, '--$1-port=0'),
    );
    running.set(`emulator-${at}`, startCli(own));
  }
});

afterAll(async () => {
  for (const name of [...running.keys()]) await end(name);
  await temporal.kill();
});

describe('the compose file, with processes in place of containers', () => {
  it('tunes over both servers, and shows it on the page', async () => {
    const [, ...workers] = await Promise.all(['watch', 'worker-1', 'worker-2'].map(up));
    await Promise.all(workers.map(untilReady));
    const study = await up('study');
    const seen = await watched(watchUrl, (events) => events.some((each) => /"phase":"ended: /.test(each)));
    const { code, stdout, stderr } = await study.ended;
    running.delete('study');
    expect(stderr).not.toContain('INTERNAL');
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('has its original config again');
    const text = await readFile(join(place.folder, 'runs', 'composed', 'journal.jsonl'), 'utf8');
    const records = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as StudyRecord);
    // All trials may go to the server that is free first; the other has measured the original
    // config meanwhile.
    const servers = new Set(
      records.flatMap((record) =>
        record.type === 'trial-started' || record.type === 'original-measured' ? [record.server] : [],
      ),
    );
    expect(servers.size).toBe(2);
    const last = JSON.parse(seen.at(-1) as string);
    expect(last).toMatchObject({ study: 'composed', group: 'host', progress: { done: 5, share: 1 } });
    expect(last.servers.map(({ state }: { state: string }) => state)).toEqual(['back as it was', 'back as it was']);
    // Window by window, of both servers.
    const measuring = seen.flatMap((each) => JSON.parse(each).servers ?? []);
    for (const server of servers)
      expect(measuring.some((row) => row.server === server && row.windows.length > 0)).toBe(true);
  });

  it('steers for who has the token alone', async () => {
    const ask = (token: string, study: string) =>
      fetch(`${watchUrl}studies/${study}/orders`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ kind: 'stop-search' }),
      });
    expect((await ask('another-token-than-that', 'composed')).status).toBe(401);
    const none = await ask(TOKEN, 'no-such-study');
    expect(none.status).toBe(502);
    expect(await none.text()).toContain('no-such-study');
  });

  it('has agents that listen, and processes that end in order', async () => {
    for (const name of ['agent-1', 'agent-2']) {
      const service = compose.services[name];
      const command = await commandInPlace(service as never, {
        ...place,
        addresses: new Map([['0.0.0.0:7411', '127.0.0.1:0']]),
      });
      const agent = startCli(command);
      running.set(name, agent);
      await new Promise<void>((listens) => agent.child.stdout?.once('data', () => listens()));
    }
    for (const name of ['agent-1', 'agent-2', 'watch', 'worker-1', 'worker-2']) {
      const { code, stderr } = await end(name);
      expect(code, `${name}: ${stderr}`).toBe(0);
    }
  });
});

/** The data of the page's events of studies, until the test holds of them. */
async function watched(url: string, holds: (events: readonly string[]) => boolean): Promise<readonly string[]> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  const events: string[] = [];
  while (!limit.aborted) {
    const reply = await fetch(`${url}events`, { signal: limit }).catch(() => null);
    if (!reply?.body) {
      await realClock.sleep(250);
      continue;
    }
    let text = '';
    for await (const part of reply.body.pipeThrough(new TextDecoderStream())) {
      text += part;
      const whole = text.split('\n\n');
      text = whole.pop() ?? '';
      for (const event of whole) {
        const [, data] = /^event: study\ndata: (.*)$/.exec(event) ?? [];
        if (data) events.push(data);
      }
      if (holds(events)) return events;
    }
  }
  throw new Error(`the page did not show it within ${LIMIT_MS / 1e3} s; last: ${events.at(-1)}`);
}
