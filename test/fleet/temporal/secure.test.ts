import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openClient } from '#fleet/temporal/connection.ts';
import { newAuthority } from '../../support/certificates.ts';
import { languageProfileFile } from '../../support/emulator.ts';
import { AGENT_TOKEN, finishedTrials, kill, MODEL, TestFleet, until } from '../../support/fleet.ts';
import { smallLanguageStudy, TALK } from '../../support/language/small-study.ts';
import { freshDirectory } from '../../support/run-directory.ts';
import { startTlsProxy } from '../../support/tls-proxy.ts';
import { startTokenFront } from '../../support/token-front.ts';
import { sitDown } from '../../tui/pseudo-terminal.ts';

const API_KEY = 'the-api-key-of-the-test';
const HEADER = 'the-header-of-the-test';
/** Few levels, none of them measured to the last digit: no figure is looked at. */
const budget = ['--latency-budget', '500', '--concurrency', '1:16', '--precision', '20'];

let fleet: TestFleet;
let original: readonly string[];
const tls: string[] = [];
const closing: (() => Promise<void>)[] = [];

/**
 * Temporal's dev server speaks no TLS and knows no keys: before it stands a proxy with TLS both
 * ways, and then who lets in the key alone.
 */
beforeAll(async () => {
  const folder = await freshDirectory();
  const authority = await newAuthority();
  const [server, client] = [await authority.serverFor(['127.0.0.1', 'localhost']), await authority.client()];
  const files = { ca: authority.cert, cert: client.cert, key: client.key };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.pem`), text);
    tls.push(`--temporal-tls-${name}`, join(folder, `${name}.pem`));
  }
  fleet = await TestFleet.start({
    agents: 2,
    options: [...tls, '--temporal-api-key-env', 'TRITUNE_TEST_API_KEY'],
    workerOptions: ['--header-env', 'x-of-the-test:TRITUNE_TEST_HEADER'],
    env: { TRITUNE_TEST_API_KEY: API_KEY, TRITUNE_TEST_HEADER: HEADER },
    front: async (temporal) => {
      const bearer = { name: 'authorization', value: `Bearer ${API_KEY}` };
      const front = await startTokenFront({ grpcUrl: temporal, httpUrl: temporal }, [bearer]);
      const proxy = await startTlsProxy(front.grpcUrl, { ...server, clientCa: authority.cert }, ['h2']);
      closing.push(
        () => proxy.close(),
        () => front.close(),
      );
      // A name: an address is none in TLS.
      return proxy.url.replace('127.0.0.1', 'localhost');
    },
  });
  original = await fleet.configs();
});

afterAll(async () => {
  await fleet.close();
  for (const close of closing) await close();
});

describe('a fleet behind mTLS and an API key, with agents that send', () => {
  it('is tuned by a study that a person leaves, comes back to, pauses and ends on the screen', async () => {
    const started = await fleet.tune('seen', ...budget, '--max-trials', '60', '--sampler', 'random', '--detach').ended;
    expect([started.code, started.stderr]).toEqual([0, '']);
    const output = fleet.outputOf('seen');
    const attach = ['fleet', 'attach', 'seen', '--ui', 'tui', '-o', output, ...fleet.where];
    const first = sitDown(attach, { columns: 110, rows: 30, env: fleet.env });
    await first.until(/[1-9] ▶/);
    first.press('p');
    await until(async () => (await fleet.journalOf('seen')).some(({ type }) => type === 'study-paused'));
    const ended = finishedTrials(await fleet.journalOf('seen')).length;
    // Who keeps the journal dies: the pause is kept by the study's workflow.
    const machine = await fleet.keeperOf('seen');
    await kill(machine.worker);
    machine.worker = fleet.startWorker(machine);
    first.press('q');
    await first.until(/leave it running/);
    first.press('l');
    expect([await first.ended, first.written().slice(-800)]).toEqual([
      130,
      expect.stringContaining('the study continues'),
    ]);
    expect(await fleet.statusOf('seen')).toBe('RUNNING');

    const second = sitDown(attach, { columns: 110, rows: 30, env: fleet.env });
    await second.until(/paused/);
    expect(finishedTrials(await fleet.journalOf('seen'))).toHaveLength(ended);
    second.press('b');
    await second.until(/budget/);
    second.press('\u007f\u007f\u007f400\r');
    second.press('p');
    await until(async () => finishedTrials(await fleet.journalOf('seen')).length > ended);
    second.press('q');
    await second.until(/keep the best/);
    second.press('k');
    expect(await fleet.ended('seen')).toBe('COMPLETED');
    await second.until(/has ended/);
    second.press('q');
    expect(await second.ended).toBe(0);

    const records = await fleet.journalOf('seen');
    const types = records.map(({ type }) => type);
    // Whether there is a gain to decide on depends on the figures.
    expect(types).toEqual(expect.arrayContaining(['study-paused', 'study-resumed']));
    expect(records).toContainEqual(
      expect.objectContaining({
        type: 'goal-changed',
        goal: expect.objectContaining({ budget: expect.objectContaining({ latencyMs: 400 }) }),
      }),
    );
    expect(records.at(-1)).toMatchObject({ type: 'study-finished', stopReason: 'stopped by the user' });
    // What came over two sittings is all that there is.
    expect(await fleet.watched('seen')).toEqual(records);
    expect(await readFile(join(output, 'summary.json'), 'utf8')).toContain('"stopReason"');
    expect(await fleet.configs()).toEqual(original);
    const measured = records.flatMap((record) => (record.type === 'trial-measured' ? [record] : []));
    const senders = new Set(
      measured.flatMap(({ measurement }) => measurement.client.agents ?? []).map((each) => each.address),
    );
    expect(senders).toEqual(new Set(fleet.machines.map(({ agentAddress }) => agentAddress)));
    expect(measured.every(({ measurement }) => measurement.client.agents?.length === 1)).toBe(true);
  });

  it('lets nobody in without certificate or key, and says so without the key', async () => {
    const bare = fleet.where.filter((each) => !tls.includes(each));
    const withoutCertificate = await fleet.tritune('fleet', 'status', ...bare, '--temporal-tls').ended;
    expect(withoutCertificate.code).toBe(4);
    expect(withoutCertificate.stderr).toMatch(/cannot reach Temporal at .*tls/i);
    const wrong = fleet.tritune('fleet', 'status', ...fleet.where.slice(0, -1), 'TRITUNE_TEST_HEADER');
    const { code, stderr } = await wrong.ended;
    expect(code).toBe(4);
    expect(stderr).toMatch(/cannot reach Temporal/);
    expect(stderr).not.toContain(HEADER);
  });

  it('leaves nothing in the history that is not encrypted', async () => {
    const payloads = await payloadsOf('seen');
    expect(payloads.length).toBeGreaterThan(50);
    expect(new Set(payloads.map(({ encoding, form }) => `${encoding}, ${form.split(' ')[1]}`))).toEqual(
      new Set(['binary/tritune, aes-256-gcm']),
    );
    const database = await readFile(join(fleet.folder, 'temporal.db'), 'latin1');
    const writeAhead = await readFile(join(fleet.folder, 'temporal.db-wal'), 'latin1').catch(() => '');
    for (const secret of ['max_batch_size', 'latencyBudgetMs', MODEL, API_KEY, AGENT_TOKEN, HEADER])
      expect(database + writeAhead).not.toContain(secret);
  });
});

it('tells Temporal no secret even without a key, of a language model that is asked over HTTP', async () => {
  const open = await TestFleet.start({
    servers: 1,
    agents: 1,
    isEncrypted: false,
    protocol: 'http',
    model: TALK,
    profile: languageProfileFile(),
    workerOptions: ['--header-env', 'x-of-the-test:TRITUNE_TEST_HEADER'],
    env: { TRITUNE_TEST_HEADER: HEADER },
  });
  try {
    const asked = ['--endpoint', 'triton-generate', ...(await smallLanguageStudy(open.folder)), '--max-trials', '1'];
    const { code, stderr } = await open.tune('open', ...asked).ended;
    expect([code, stderr]).toEqual([expect.toSatisfy((each: number) => each === 0 || each === 3), stderr]);
    const measured = (await open.journalOf('open')).flatMap((record) =>
      record.type === 'trial-measured' ? [record.measurement] : [],
    );
    expect(new Set(measured.map(({ tokens }) => tokens?.outputTokens.mean))).toEqual(new Set([4]));
    expect(measured.every(({ client }) => client.agents?.length === 1)).toBe(true);
    const { client, close } = await openClient(open.at);
    const history = await client.workflow.getHandle('open').fetchHistory();
    await close();
    const told = payloadsIn(history).map(({ form, data }) =>
      (form.startsWith('gzip') ? gunzipSync(data) : data).toString('latin1'),
    );
    const all = told.join('\n');
    // It is readable: what must not be there could be seen.
    expect(all).toContain('max_num_seqs');
    for (const secret of [AGENT_TOKEN, HEADER]) expect(all).not.toContain(secret);
  } finally {
    await open.close();
  }
});

interface SeenPayload {
  readonly encoding: string;
  readonly form: string;
  readonly data: Buffer;
}

async function payloadsOf(study: string): Promise<readonly SeenPayload[]> {
  const { client, close } = await openClient(fleet.at);
  try {
    return payloadsIn(await client.workflow.getHandle(study).fetchHistory());
  } finally {
    await close();
  }
}

/** All payloads of a message, however deep. */
function payloadsIn(value: unknown): readonly SeenPayload[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  const { metadata, data } = value as { metadata?: Record<string, Uint8Array>; data?: Uint8Array };
  if (metadata && 'encoding' in metadata) {
    const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();
    return [{ encoding: text(metadata.encoding), form: text(metadata.form), data: Buffer.from(data ?? []) }];
  }
  return Object.values(value).flatMap(payloadsIn);
}
