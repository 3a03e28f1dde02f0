import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Emulator, startEmulator } from '#emulator/start-emulator.ts';
import { startSupervised } from '#launch/supervised.ts';
import { connectHttp } from '#triton/control/connect.ts';
import { runCli } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { listen } from '../support/misbehaving-server.ts';
import { freshDirectory } from '../support/run-directory.ts';

const TOKEN = 'tok"en/of+the user 12345';
const FORMS = [
  ...[TOKEN, JSON.stringify(TOKEN).slice(1, -1), encodeURIComponent(TOKEN), Buffer.from(TOKEN).toString('base64')],
  Buffer.from(`user:${TOKEN}`).toString('base64'),
];

const expectNone = (text: string): void => {
  for (const form of FORMS) expect(text.includes(form), form).toBe(false);
};

/** A server that says the token wherever it can, and keeps what it is told. */
async function startEcho(): Promise<{ readonly url: string; readonly told: string[] }> {
  const told: string[] = [];
  const config = {
    name: 'm',
    backend: 'python',
    max_batch_size: 4,
    parameters: { [TOKEN]: { string_value: FORMS.join(' ') } },
  };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      told.push(`${request.url} ${body}`);
      const answer: Record<string, object> = {
        '/v2': { name: FORMS.join(' '), version: TOKEN, extensions: FORMS },
        '/v2/models/m/config': config,
        '/v2/repository/index': FORMS.map((name) => ({
          name,
          version: '1',
          state: 'UNAVAILABLE',
          reason: TOKEN,
        })) as object,
        '/v2/repository/models/m/load': {},
      };
      const found = answer[request.url ?? ''];
      response.writeHead(found ? 200 : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ?? { error: FORMS.join(' ') }));
    });
  });
  const port = await listen(server as never);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `127.0.0.1:${port}`, told };
}

describe('a secret that a server repeats', () => {
  it('is in no name, version, config, state or error, and a config goes back as it came', async () => {
    const { url, told } = await startEcho();
    const client = connectHttp(url, { headers: [{ name: 'x-key', value: TOKEN }] });
    onTestFinished(() => client.close());
    const config = await client.modelConfig('m');
    expectNone(JSON.stringify([await client.serverMetadata(), await client.index(), config]));
    await client.load('m', config);
    const sent = JSON.parse(told.find((each) => each.includes('/load'))?.replace(/^\S+ /, '') ?? '');
    expect(JSON.parse(sent.parameters.config).parameters).toEqual({ [TOKEN]: { string_value: FORMS.join(' ') } });
    const error = await client.modelMetadata('other').catch((thrown: Error) => thrown);
    expectNone(String(error));
    expect(String(error)).toContain('…');
  });
});

describe('secrets in addresses and options', () => {
  const PASSWORD = 'pass-of-the-user';
  const QUERY = 'key-in-the-query';
  const VARIABLE = 'value-of-a-variable';
  const noSecret = (text: string): void => {
    for (const secret of [PASSWORD, QUERY, VARIABLE]) expect(text).not.toContain(secret);
  };

  it('are not in a printed spec', async () => {
    const args = ['tune', '-m', 'm', '--launch', 'docker', '--model-repository', '.', '--print-spec'];
    const secret = [
      `--docker-arg=--env=ANY=${VARIABLE}`,
      `--server-arg=--vault-token=${PASSWORD}`,
      '-H',
      `x: ${QUERY}`,
    ];
    const run = await runCli([...args, ...secret]);
    expect(run.code).toBe(0);
    noSecret(run.stdout + run.stderr);
    expect(run.stdout).toContain('--env=ANY=…');
    const wrong = await runCli([...args, `--docker-arg=-e ANY=${VARIABLE}`]);
    expect(wrong.code).toBe(2);
    noSecret(wrong.stdout + wrong.stderr);
  });

  it('are not in what a study, a profile and doctor write and say', async () => {
    const emulator: Emulator = await startEmulator({ profile: smallProfile() });
    onTestFinished(() => emulator.close());
    const { host } = new URL(emulator.metricsUrl);
    const metrics = ['--metrics-url', `http://user:${PASSWORD}@${host}/metrics?token=${QUERY}`];
    const output = await freshDirectory();
    const quick = ['--concurrency', '1:1', '--max-trials', '1', '--precision', '50', '--time-budget', '2s'];
    const runs = [
      await runCli(['doctor', '-m', 'm', '-u', emulator.grpcUrl, ...metrics]),
      await runCli(['tune', '-m', 'm', '-u', emulator.grpcUrl, ...metrics, ...quick, '-o', output]),
      await runCli(['tune', '--resume', output]),
      await runCli(['profile', '-m', 'm', '-u', `http://user:${PASSWORD}@${emulator.grpcUrl}?k=${QUERY}`]),
    ];
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 2, 2]);
    expect(runs[2]?.stderr).toContain('give --metrics-url again');
    const files = (await readdir(output, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    expect(files.map(({ name }) => name)).toContain('report.html');
    for (const file of files) noSecret(await readFile(join(file.parentPath, file.name), 'latin1'));
    for (const { stdout, stderr } of runs) noSecret(stdout + stderr);
  }, 60_000);

  it('are not in the documents of plain HTTP', async () => {
    const server = createServer((_, response) => response.writeHead(500).end(`no ${QUERY} here`));
    const port = await listen(server as never);
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const directory = await freshDirectory();
    const json = join(directory, 'p.json');
    const url = `http://user:${PASSWORD}@127.0.0.1:${port}/x?key=${QUERY}`;
    const run = await runCli(['profile', '--service-kind', 'http', '-u', url, '--json', json, '-p', '100', '-r', '3']);
    noSecret(run.stdout + run.stderr + (await readFile(json, 'utf8').catch(() => '')));
  }, 60_000);
});

describe('a launched process', () => {
  it('gets only the variables that a server needs, and its log has no secret', async () => {
    const directory = await freshDirectory();
    process.env.TRITUNE_TEST_PRIVATE = 'private-to-the-user';
    process.env.HF_TOKEN = 'token-of-the-hub';
    onTestFinished(() => {
      delete process.env.TRITUNE_TEST_PRIVATE;
      delete process.env.HF_TOKEN;
    });
    const script = join(directory, 'server.mjs');
    await writeFile(script, 'console.log(JSON.stringify(process.env)); console.log(process.argv.join(" "));');
    const logFile = join(directory, 'server', 'server.log');
    const words = [process.execPath, script, '--vault-token=value-of-an-option', '--api-key', 'another-secret-value'];
    const { ended } = await startSupervised({ words, env: { GIVEN: 'yes' }, logFile });
    await ended;
    await expect.poll(() => readFile(logFile, 'utf8')).toContain('--vault-token=…');
    const log = await readFile(logFile, 'utf8');
    expect(log).toContain('"GIVEN":"yes"');
    expect(log).toContain('"PATH"');
    expect(log).toContain('"HF_TOKEN":"…"');
    expect(log).not.toContain('TRITUNE_TEST_PRIVATE');
    for (const secret of ['private-to', 'token-of-the-hub', 'value-of-an-option', 'another-secret'])
      expect(log).not.toContain(secret);
  });
});
