import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLaunchCommand } from '#adapter/engine/launch-command.ts';
import { commandLineWithoutValues, withoutSecretValues } from '#app/server/headers.ts';
import { resumedSpec } from '#app/study/resumed-spec.ts';
import { type Emulator, startEmulator } from '#emulator/start-emulator.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { readJournal } from '#study/records/journal.ts';
import { type CliOutcome, runCli } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';
import { startTokenFront, type TokenFront } from '../support/token-front.ts';
import { writeJournal } from '../support/write-journal.ts';

const TOKEN = `token-${randomBytes(12).toString('hex')}`;
const API_KEY = `key-${randomBytes(12).toString('hex')}`;
const secrets = [TOKEN, API_KEY];

let emulator: Emulator;
let front: TokenFront;
/** A front that lets nobody infer. */
let narrow: TokenFront;
let files: { readonly token: string; readonly headers: string };

beforeAll(async () => {
  emulator = await startEmulator({ profile: smallProfile() });
  const wanted = [
    { name: 'authorization', value: `Bearer ${TOKEN}` },
    { name: 'x-api-key', value: API_KEY },
  ];
  front = await startTokenFront(emulator, wanted);
  narrow = await startTokenFront(emulator, wanted);
  narrow.refuseInferences();
  const directory = await freshDirectory();
  files = { token: join(directory, 'token'), headers: join(directory, 'headers') };
  await writeFile(files.token, `${TOKEN}\n`);
  await writeFile(files.headers, `\nX-Api-Key: ${API_KEY}\n`);
});
afterAll(async () => {
  await Promise.all([front.close(), narrow.close()]);
  await emulator.close();
});

const env = { TRITUNE_TEST_TOKEN: TOKEN, TRITUNE_TEST_KEY: API_KEY };
const fromEnvironment = ['--token-env', 'TRITUNE_TEST_TOKEN', '--header-env', 'X-Api-Key:TRITUNE_TEST_KEY'];
const fromFiles = (): string[] => ['--token-file', files.token, '--header-file', files.headers];
const quick = ['--concurrency', '1:1', '--max-trials', '1', '--precision', '50', '--time-budget', '2s'];
const tune = (...more: string[]): string[] => ['tune', '-m', 'm', ...quick, ...more];

/** All that a run has written and said. */
async function everythingOf(outcomes: readonly CliOutcome[], directory?: string): Promise<string> {
  const said = outcomes.flatMap(({ stdout, stderr }) => [stdout, stderr]);
  if (directory === undefined) return said.join('\n');
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(paths.map((path) => readFile(path, 'latin1')));
  expect(paths.map((path) => path.slice(directory.length + 1))).toContain('report.html');
  return [...said, ...paths, ...texts].join('\n');
}

function expectNoSecret(text: string): void {
  for (const secret of secrets) {
    expect(text.includes(secret), 'a secret was written or said').toBe(false);
    expect(text.includes(Buffer.from(secret).toString('base64').slice(0, 16)), 'in base64').toBe(false);
  }
}

describe('tokens and headers', () => {
  it('from the environment let a whole run through over gRPC, its resumption, and the restoring of it, and are nowhere', async () => {
    const output = await freshDirectory();
    const run = await runCli(tune('-u', front.grpcUrl, ...fromEnvironment, '-o', output, '--ui', 'json'), { env });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect((await summaryOf(output)).feasible).toBe(true);
    expect(front.refused).toBe(0);
    expect(front.passed.infer).toBeGreaterThan(10);
    expect(front.passed.control).toBeGreaterThan(5);

    // As a run that was killed before it could put the model back.
    const journal = join(output, 'journal.jsonl');
    await writeJournal(
      journal,
      (await readJournal(journal)).filter(({ type }) => type !== 'model-restored'),
    );
    const restored = await runCli(['restore', output], { env });
    expect(restored).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('original config') });
    const resumed = await runCli(['tune', '--resume', output, '--max-trials', '1'], { env });
    expect(resumed).toMatchObject({ code: 0, stderr: '' });
    expect(front.refused).toBe(0);

    const without = await runCli(['tune', '--resume', output]);
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('TRITUNE_TEST_KEY is not set') });
    const written = await everythingOf([run, restored, resumed, without], output);
    expect(written).toContain('TRITUNE_TEST_TOKEN');
    expectNoSecret(written);
  }, 180_000);

  it('from files let a whole run through over HTTP, with threads, and are nowhere', async () => {
    const output = await freshDirectory();
    const where = ['-i', 'http', '-u', front.httpUrl, '--client-threads', '2'];
    const run = await runCli(tune(...where, ...fromFiles(), '-o', output));
    expect(run).toMatchObject({ code: 0, stderr: '' });
    expect(front.refused).toBe(0);
    const written = await everythingOf([run], output);
    expect(written).toContain(files.token);
    expectNoSecret(written);
  }, 180_000);

  it.each(['grpc', 'http'] as const)(
    'are not repeated when a server that turns us away repeats them over %s',
    async (protocol) => {
      const url = { grpc: narrow.grpcUrl, http: narrow.httpUrl }[protocol];
      const output = await freshDirectory();
      const run = await runCli(tune('-i', protocol, '-u', url, ...fromFiles(), '-o', output, '--verbose'));
      expect(run.code).not.toBe(0);
      const said = await everythingOf([run]);
      expect(said + JSON.stringify(await recordsOf(output))).toContain('nobody here knows');
      const journal = await readFile(join(output, 'journal.jsonl'), 'utf8');
      expectNoSecret(said + journal);
    },
    60_000,
  );

  it.each(['grpc', 'http'] as const)('are not repeated by the error of a control call over %s', async (protocol) => {
    const url = { grpc: front.grpcUrl, http: front.httpUrl }[protocol];
    const wrong = { env: { ...env, TRITUNE_TEST_TOKEN: `${TOKEN}wrong` } };
    const args = ['config', '-m', 'm', '-i', protocol, '-u', url, '--verbose', ...fromEnvironment];
    const run = await runCli(args, wrong);
    expect(run).toMatchObject({ code: 4, stderr: expect.stringContaining('nobody here knows') });
    expectNoSecret(await everythingOf([run]));
  });
});

describe('a secret in --launch-command', () => {
  const command = `./serve --api-key ${API_KEY} --port {port} {flags}`;
  const engine = { ...toSpec({ model: 'm', launchCommand: command }) };

  it('is neither stored nor a setting, and a resumed study needs it again', () => {
    const stored = { ...engine, server: withoutSecretValues(engine.server) };
    expectNoSecret(JSON.stringify(stored));
    expect(stored.server.launchCommand).toBe('./serve --api-key … --port {port} {flags}');
    expectNoSecret(JSON.stringify(readLaunchCommand(command).originalSettings));
    expectNoSecret(commandLineWithoutValues(['tune', '--launch-command', command], engine.server).join(' '));
    expect(() => resumedSpec(stored, {}, [])).toThrow(/does not store the secret in --launch-command/);
    const again = (launchCommand: string) => resumedSpec(stored, { launchCommand }, ['launchCommand']);
    expect(again(command).server.launchCommand).toBe(command);
    expect(() => again(`${command} --other`)).toThrow(/cannot change its --launch-command/);
  });
});
