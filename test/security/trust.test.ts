import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { serverHost } from '#app/fleet/server-host.ts';
import { readSeriesFile, writeSeriesFile } from '#app/study/series-directory.ts';
import type { Json, JsonObject } from '#base/json.ts';
import { type Emulator, startEmulator } from '#emulator/start-emulator.ts';
import { tune } from '#library/tune.ts';
import { toOriginal } from '#space/model-configs.ts';
import { checkSeriesSpec } from '#spec/series-spec.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { configOf, goalOf, measured, studyStarted, toCandidate } from '../study/builders.ts';
import { callCli, callLab } from '../support/call-cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { startTokenFront, type TokenFront } from '../support/token-front.ts';
import { writeJournal } from '../support/write-journal.ts';

/** Acts on journals of this user, of others and of earlier versions. */

const TOKEN = `token-${randomBytes(12).toString('hex')}`;
const at = '2026-01-01T00:00:01.000Z';

let emulator: Emulator;
/** Lets through who has the token. */
let front: TokenFront;
let original: ModelConfig;
beforeAll(async () => {
  emulator = await startEmulator({ profile: smallProfile() });
  front = await startTokenFront(emulator, [{ name: 'authorization', value: `Bearer ${TOKEN}` }]);
  const client = connectGrpc(emulator.grpcUrl);
  original = await client.modelConfig('m');
  await client.close();
  process.env.TRITUNE_TEST_TRUST = TOKEN;
});
afterAll(async () => {
  delete process.env.TRITUNE_TEST_TRUST;
  await front.close();
  await emulator.close();
});

/** A server of each test that only counts who connects, and keeps what it gets. */
let [connections, received, trapUrl] = [0, '', ''];
let trap: Server;
beforeEach(async () => {
  [connections, received] = [0, ''];
  const own = createServer((socket) => {
    // A client of an earlier test may still try its own server.
    if (own === trap) connections++;
    socket.on('error', () => undefined);
    socket.once('data', (data: Buffer) => {
      received += data.toString('latin1');
      socket.destroy();
    });
  });
  trap = own;
  await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve));
  trapUrl = `127.0.0.1:${(own.address() as { port: number }).port}`;
});
afterEach(() => void trap.close());

/** A killed run against a server at this address. */
function killed(url: string, server: Partial<StudySpec['server']> = {}, more: Partial<StudyStarted> = {}) {
  const spec = toSpec({ model: 'm', url });
  const identity = { ...studyStarted(goalOf(8)).server, url, controlUrl: url };
  const started = studyStarted(goalOf(8), {
    server: identity,
    original: toOriginal(original),
    space: { name: 's', parameters: { instances: [1, 2] } },
    spec: { ...spec, server: { ...spec.server, ...server } },
    ...more,
  });
  const records: StudyRecord[] = [
    started,
    { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: started.original },
    { type: 'trial-applied', at, trial: 0, change: 'none', loadMs: 0 },
    { type: 'trial-measured', at, trial: 0, measurement: measured(1, 100, 5) },
    { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
    { type: 'trial-started', at, trial: 1, role: 'search', candidate: toCandidate(configOf(2, 4), { instances: 2 }) },
  ];
  return records;
}

async function directoryOf(records: readonly StudyRecord[], key?: Buffer | null): Promise<string> {
  const directory = await freshDirectory();
  await writeJournal(join(directory, 'journal.jsonl'), records, key);
  return directory;
}

describe('a run directory of somebody else', () => {
  const server = {
    tokenEnv: 'TRITUNE_TEST_TRUST',
    headerEnv: ['x-key:HOME'],
    headerFile: ['/etc/passwd'],
    tlsInsecure: true,
  };
  const acting = [
    ['restore', ['restore'], 'restore'],
    ['tune --resume', ['tune', '--ui', 'none', '--resume'], 'tune --resume'],
    ['record --resume', ['record', '--resume'], 'record --resume'],
    ['emulate --from', ['emulate', '--from'], 'emulate --from'],
  ] as const;

  it('--launch twin:DIR refuses the figures of others, and takes those of this user', {
    timeout: 120_000,
  }, async () => {
    for (const key of [randomBytes(32), null]) {
      const foreign = await directoryOf(killed(trapUrl, server), key);
      const { code, stderr } = await callCli(['profile', '-m', 'm', '--launch', `twin:${foreign}`]);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /^tritune: RUN_UNTRUSTED: .* is not known as a run of yours.*emulate --from \S+ --trust-run/,
      );
    }
    const own = await directoryOf(killed(trapUrl, server));
    const { stderr } = await callCli(['profile', '-m', 'm', '--launch', `twin:${own}`, '--request-count', '2']);
    expect(stderr).not.toContain('RUN_UNTRUSTED');
  });

  it.each(acting)('%s lists what it would do, does none of it and says what to type', async (_, args, command) => {
    for (const key of [randomBytes(32), null]) {
      const directory = await directoryOf(killed(trapUrl, server), key);
      const before = await readFile(join(directory, 'journal.jsonl'), 'latin1');
      const { code, stdout, stderr } = await (args[0] === 'record' ? callLab : callCli)([...args, directory]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(key ? /has the mark of another user or another machine/ : /has no mark of yours/);
      expect(stderr).toMatch(new RegExp(`RUN_UNTRUSTED: .*${command} \\S+ --trust-run`));
      if (command !== 'emulate --from') {
        for (const line of [
          `contacts ${trapUrl}`,
          `the environment variable TRITUNE_TEST_TRUST to ${trapUrl}`,
          `the environment variable HOME to ${trapUrl}`,
          `the content of /etc/passwd to ${trapUrl}`,
          `does not verify the certificate of ${trapUrl}`,
          "loads, changes and unloads the model 'm'",
        ])
          expect(stderr).toContain(line);
      }
      expect(stderr).not.toContain(TOKEN);
      expect(await readFile(join(directory, 'journal.jsonl'), 'latin1')).toBe(before);
    }
    expect(connections).toBe(0);
  });

  it('is read by report and compare', async () => {
    const directory = await directoryOf(killed(trapUrl, server).slice(0, 5), randomBytes(32));
    expect(await callCli(['report', directory])).toMatchObject({ code: 0, stderr: '' });
    const { stderr } = await callCli(['compare', directory, directory]);
    expect(stderr).not.toContain('RUN_UNTRUSTED');
    expect(connections).toBe(0);
  });

  it.each([
    ['a launched server', { launch: 'local', tritonserver: '/tmp/evil', modelRepository: '/m' }, {}, 'runs /tmp/evil'],
    [
      'an image',
      { launch: 'docker', dockerImage: 'evil/image', dockerArg: ['--privileged=true'] },
      {},
      'evil/image --privileged=true',
    ],
    ['a launch command', { launchCommand: 'evil {port} {flags}' }, {}, 'runs evil {port} {flags}'],
    ['an adapter', {}, { adapter: '/tmp/adapter.mts' }, 'runs the module /tmp/adapter.mts'],
    ['a sampler', {}, { sampler: { name: '/tmp/sampler.mts' } }, 'runs the module /tmp/sampler.mts'],
    ['agents', {}, { traffic: { agents: ['evil:7411'], agentTokenEnv: 'SECRET' } }, 'contacts evil:7411'],
    ['input data', {}, { traffic: { inputData: ['/home/me/data.json'] } }, 'reads /home/me/data.json'],
  ] as const)('tune --resume names %s, and starts nothing', async (_, own, more, line) => {
    const [started, ...others] = killed(trapUrl, own as Partial<StudySpec['server']>);
    const { spec } = started as StudyStarted;
    const changed = { ...(started as StudyStarted), spec: { ...spec, ...more } as StudySpec };
    const directory = await directoryOf([changed, ...others], randomBytes(32));
    const { code, stderr } = await callCli(['tune', '--resume', directory, '--ui', 'none']);
    expect(code).toBe(2);
    expect(stderr).toContain(line);
    expect(stderr).toContain('RUN_UNTRUSTED');
    expect(connections).toBe(0);
  });

  it('tune --resume names the build commands and files of variants', async () => {
    const variants = {
      built: { build: { command: ['sh', '-c', 'evil'] } },
      files: { files: { '1/model.onnx': { path: '/home/me/.ssh/id', sha256: 'a'.repeat(64), bytes: 1 } } },
    };
    const space = { name: 's', parameters: { instances: [1, 2] }, variants };
    const directory = await directoryOf(killed(trapUrl, {}, { space }), randomBytes(32));
    const { stderr } = await callCli(['tune', '--resume', directory, '--ui', 'none']);
    expect(stderr).toContain("runs sh -c evil to build variant 'built'");
    expect(stderr).toContain("sends the content of /home/me/.ssh/id for variant 'files'");
  });

  it('is refused with a code, whatever its space has in the place of texts', async () => {
    const odd = JSON.parse('[null,1,{},[],[[1]],{"toString":1,"valueOf":1},{"path":{"toString":1}}]') as Json[];
    for (const value of odd)
      for (const variants of [
        value,
        { v: value },
        { v: { files: value } },
        { v: { files: { a: value } } },
        { v: { build: { command: value } } },
      ])
        for (const space of [{ variants }, { members: { m: { variants } } }, { members: value }]) {
          const directory = await directoryOf(killed(trapUrl, {}, { space: space as JsonObject }), randomBytes(32));
          const { code, stderr } = await callCli(['tune', '--resume', directory, '--ui', 'none']);
          expect({ code, ends: stderr.includes('RUN_UNTRUSTED') }).toEqual({ code: 2, ends: true });
        }
  });

  it('is resumed by a program that trusts it, and only then', async () => {
    const directory = await directoryOf(killed(trapUrl, server), randomBytes(32));
    const notes: string[] = [];
    const onNote = (line: string): void => void notes.push(line);
    await expect(tune({ resume: directory }, { onNote })).rejects.toMatchObject({
      code: 'RUN_UNTRUSTED',
      hint: expect.stringContaining('trustRun: true'),
    });
    expect(notes.join('\n')).toContain(`contacts ${trapUrl}`);
    expect(connections).toBe(0);
    const plain = await directoryOf(killed(trapUrl), randomBytes(32));
    await expect(tune({ resume: plain, trustRun: true }, { onNote })).rejects.toMatchObject({
      code: 'SERVER_UNREACHABLE',
    });
  });

  it('may be a series: its list of models is marked, too', async () => {
    const directory = await freshDirectory();
    const spec = { studies: ['a', 'b'].map((model) => toSpec({ model, url: trapUrl })) };
    const models = ['a', 'b'].map((model) => ({ model, directory: model }));
    await writeSeriesFile(directory, { models, spec: checkSeriesSpec(spec, 'test'), commandLine: [] });
    expect(await readSeriesFile(directory)).toMatchObject({ origin: 'own' });
    const file = join(directory, 'series.json');
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(trapUrl, `evil.invalid:8001`));
    const { code, stderr } = await callCli(['tune', '--resume', directory, '--ui', 'none']);
    expect(code).toBe(2);
    expect(stderr).toContain('contacts evil.invalid:8001');
    expect(stderr).toContain('RUN_UNTRUSTED');
  });

  it('is put back by a worker of a fleet that trusts it, and only then', async () => {
    const state = await freshDirectory();
    const folder = join(state, 'servers', 'here', 'study');
    await mkdir(folder, { recursive: true });
    await writeJournal(join(folder, 'journal.jsonl'), killed(emulator.grpcUrl), randomBytes(32));
    const own = { server: toSpec({ model: '-', url: emulator.grpcUrl }).server, agents: {} };
    const told: string[] = [];
    const surroundings = { signal: new AbortController().signal, tell: (line: string) => void told.push(line) };
    await expect(serverHost('here', state, own, surroundings).putBack('study')).rejects.toMatchObject({
      code: 'RUN_UNTRUSTED',
      hint: expect.stringContaining('XDG_CONFIG_HOME'),
    });
    expect(told.join('\n')).toContain(`contacts ${emulator.grpcUrl}`);
    const trusting = serverHost('here', state, { ...own, trustRun: true }, surroundings);
    expect(await trusting.putBack('study')).toMatchObject({ verified: true });
  });

  it('is restored with --trust-run', async () => {
    const directory = await directoryOf(killed(emulator.grpcUrl), randomBytes(32));
    const outcome = await callCli(['restore', directory, '--trust-run']);
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('original config') });
    expect(outcome.stderr).toContain(`contacts ${emulator.grpcUrl}`);
    // The record of it does not make the run one's own.
    expect(await callCli(['restore', directory, '--force'])).toMatchObject({ code: 2 });
  });
});

it('a study of a file says before a dry run which secrets go where, and what is run', async () => {
  const file = join(await freshDirectory(), 'study.yaml');
  const server = { url: trapUrl, tokenEnv: 'TRITUNE_TEST_TRUST', tlsInsecure: true };
  await writeFile(file, JSON.stringify({ model: 'm', server, sampler: { name: '/tmp/evil.mts' } }));
  const { code, stderr } = await callCli(['tune', '--spec', file, '--dry-run']);
  expect(code).toBe(4);
  expect(stderr).toContain(`${file} sends the value of the environment variable TRITUNE_TEST_TRUST to ${trapUrl}\n`);
  expect(stderr).toContain(`${file} runs the module /tmp/evil.mts\n`);
  expect(stderr).toContain("the server's certificate is not verified");
  const typed = await callCli(['tune', '--spec', file, '--token-env', 'TRITUNE_TEST_TRUST', '--dry-run']);
  expect(typed.stderr).not.toContain('sends the value');
});

it('a run whose user can have no key says so at once, and is restored with --trust-run', async () => {
  const folder = await freshDirectory();
  const earlier = process.env.XDG_CONFIG_HOME;
  await writeFile(join(folder, 'file'), '');
  process.env.XDG_CONFIG_HOME = join(folder, 'file', 'config');
  try {
    const output = join(folder, 'run');
    const quick = ['--concurrency', '1:1', '--max-trials', '1', '--precision', '50', '--time-budget', '3s'];
    const run = await callCli(['tune', '-m', 'm', '-u', emulator.grpcUrl, ...quick, '-o', output, '--ui', 'none']);
    expect([0, 3], run.stderr).toContain(run.code);
    expect(run.stderr).toMatch(/the journal gets no mark \(.*\): restore and --resume will need --trust-run/);
    const refused = await callCli(['restore', '--force', output]);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('(this user has no key: ') });
    expect(await callCli(['restore', '--force', output, '--trust-run'])).toMatchObject({ code: 0 });
  } finally {
    process.env.XDG_CONFIG_HOME = earlier;
  }
}, 60_000);

describe('one’s own run', () => {
  it('is restored, also where lines after the first are damaged', async () => {
    const directory = await directoryOf(killed(emulator.grpcUrl));
    const path = join(directory, 'journal.jsonl');
    const lines = (await readFile(path, 'utf8')).split('\n');
    await writeFile(path, lines.toSpliced(2, 1).join('\n'));
    expect(await callCli(['report', directory])).toMatchObject({ code: 2, stderr: expect.stringMatching(/line 3 /) });
    const outcome = await callCli(['restore', directory]);
    expect(outcome).toMatchObject({ code: 0, stdout: expect.stringContaining('original config') });
    expect(outcome.stderr).toMatch(/is damaged: line 3 .*; its first record is sound, and restores the model/);
    expect((await callCli(['restore', directory])).stdout).toContain('nothing to do');
  });

  it('is put back by a worker of a fleet, also where lines after the first are damaged', async () => {
    const state = await freshDirectory();
    const folder = join(state, 'servers', 'here', 'study');
    await mkdir(folder, { recursive: true });
    const path = join(folder, 'journal.jsonl');
    await writeJournal(path, killed(emulator.grpcUrl));
    await writeFile(path, (await readFile(path, 'utf8')).split('\n').toSpliced(2, 1).join('\n'));
    const own = { server: toSpec({ model: '-', url: emulator.grpcUrl }).server, agents: {} };
    const host = serverHost('here', state, own, { signal: new AbortController().signal, tell: () => undefined });
    expect(await host.unrestored()).toEqual(['study']);
    expect(await host.putBack('study')).toMatchObject({ verified: true });
    expect(await host.unrestored()).toEqual([]);
  });

  it('is not restored from a damaged original', async () => {
    const directory = await directoryOf(killed(trapUrl));
    const path = join(directory, 'journal.jsonl');
    const text = await readFile(path, 'latin1');
    await writeFile(path, text.replace('"max_batch_size":8', '"max_batch_size":9'), 'latin1');
    for (const force of [[], ['--force'], ['--trust-run']]) {
      const { code, stderr } = await callCli(['restore', directory, ...force]);
      expect(code).toBe(2);
      expect(stderr).toMatch(
        /JOURNAL_INVALID: .*does not say for certain what the original config was.*config -m MODEL/,
      );
    }
    expect(connections).toBe(0);
  });

  it('sends its secrets to the server that it named them for, and to no other', async () => {
    const server = { tokenEnv: 'TRITUNE_TEST_TRUST' };
    const directory = await directoryOf(killed(front.grpcUrl, server));
    expect(await callCli(['restore', directory])).toMatchObject({ code: 0, stderr: '' });
    expect(front.refused).toBe(0);

    // As if it had been resumed at another address.
    const [started, ...others] = killed('elsewhere.invalid:8001', server);
    const moved = [
      started,
      { type: 'study-resumed', at, server: { ...(started as StudyStarted).server, controlUrl: front.grpcUrl } },
    ];
    const elsewhere = await directoryOf([...moved, ...others] as StudyRecord[]);
    const withheld = await callCli(['restore', elsewhere]);
    expect(withheld).toMatchObject({ code: 4 });
    expect(withheld.stderr).toContain('TRITUNE_TEST_TRUST to elsewhere.invalid:8001, and restore does not send it to');
    expect(front.refused).toBeGreaterThan(0);
    const typed = await callCli(['restore', elsewhere, '--token-env', 'TRITUNE_TEST_TRUST']);
    expect(typed).toMatchObject({ code: 0 });

    const resumed = await callCli(['tune', '--resume', directory, '-u', trapUrl, '--ui', 'none']);
    expect(resumed).toMatchObject({ code: 2, stderr: expect.stringMatching(/USAGE: .*names its headers for/) });
    // The protocol of an address that was typed is found by asking there.
    expect(received).not.toContain(TOKEN);
  });

  it('warns of a certificate that is not verified', async () => {
    const directory = await directoryOf(killed(trapUrl, { tlsInsecure: true }));
    const { code, stderr } = await callCli(['restore', directory]);
    expect(code).toBe(4);
    expect(stderr).toContain("the server's certificate is not verified");
  });
});
