import { access, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '#launch/command.ts';
import { launchDocker } from '#launch/docker-server.ts';
import { launchLocal } from '#launch/local-server.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { emulatorForTest } from '../support/emulator.ts';
import { freshDirectory } from '../support/run-directory.ts';

/** A server that is live, and writes down how it was called. */
const fakeServer = (calls: string) => `#!${process.execPath}
const { createServer } = require('node:http');
const { writeFileSync } = require('node:fs');
const args = process.argv.slice(2);
if (args[0] === 'rm') process.exit(0);
writeFileSync(${JSON.stringify(calls)}, JSON.stringify(args));
const port = args.map((arg) => /^--http-port=(\\d+)$/.exec(arg)?.[1] ?? /:(\\d+):8000$/.exec(arg)?.[1]).find(Boolean);
if (port) createServer((_, response) => response.end()).listen(Number(port), '127.0.0.1');
`;

let directory: string;
let calls: string;
let binary: string;
beforeAll(async () => {
  directory = await freshDirectory();
  calls = join(directory, 'calls');
  // A shell would take each of these characters for one of its own.
  const place = join(directory, `a place; touch x & "$(touch x)" 'q' #`);
  await mkdir(place);
  binary = join(place, 'docker');
  await writeFile(binary, fakeServer(calls));
  await chmod(binary, 0o755);
});

let server: LaunchedServer | undefined;
afterEach(() => server?.stop());

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

describe('a launched server', () => {
  it('gets paths and names to the letter: no shell reads them', async () => {
    const marker = join(directory, 'touched');
    const hostile = [
      `with spaces`,
      `"quoted" 'twice'`,
      `; touch ${marker}`,
      `$(touch ${marker})`,
      `\`touch ${marker}\``,
      '*',
      '-x',
    ];
    const modelRepository = hostile.join('\n');
    server = await launchLocal({ binary, modelRepository, loadModels: hostile, logDirectory: directory });
    const args = JSON.parse(await readFile(calls, 'utf8')) as string[];
    expect(args).toContain(`--model-repository=${modelRepository}`);
    expect(args.filter((arg) => arg.startsWith('--load-model='))).toEqual(
      hostile.map((name) => `--load-model=${name}`),
    );
    expect(await isThere(marker)).toBe(false);
  });

  it('in a container gets one mount, read-only, whatever characters the path has', async () => {
    const path = process.env.PATH;
    process.env.PATH = `${join(binary, '..')}:${path}`;
    try {
      const common = { gpus: null, logDirectory: directory };
      server = await launchDocker({ ...common, image: 'triton:x', modelRepository: '/a:/etc,target=/b "c" $(d)' });
      const args = JSON.parse(await readFile(calls, 'utf8')) as string[];
      const mount = '--mount=type=bind,"source=/a:/etc,target=/b ""c"" $(d)",target=/models,readonly';
      expect(args.filter((arg) => /mount|volume/.test(arg))).toEqual([mount]);
      await expect(launchDocker({ ...common, image: '--privileged', modelRepository: '/a' })).rejects.toMatchObject({
        code: 'LAUNCH_FAILED',
        message: expect.stringContaining('not the name of an image'),
      });
    } finally {
      process.env.PATH = path;
    }
  });
});

describe('the emulator', () => {
  it('is reached from this machine only, unless it is told otherwise', async () => {
    const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    const outside = addresses.find(({ internal, family }) => !internal && family === 'IPv4')?.address;
    const inside = await emulatorForTest();
    const urls = [inside.grpcUrl, inside.httpUrl, new URL(inside.metricsUrl).host];
    for (const url of urls) {
      const [host, port] = url.split(':');
      expect(host).toBe('127.0.0.1');
      expect(await isOpen('127.0.0.1', Number(port))).toBe(true);
      if (outside !== undefined) expect(await isOpen(outside, Number(port)), outside).toBe(false);
      // All of 127/8 is this machine's; one that listens everywhere would answer here.
      expect(await isOpen('127.0.0.2', Number(port))).toBe(false);
    }
    const open = await emulatorForTest({ host: '0.0.0.0' });
    expect(await isOpen('127.0.0.2', Number(open.httpUrl.split(':')[1]))).toBe(true);
  });
});

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    const end = (is: boolean) => () => {
      socket.destroy();
      resolve(is);
    };
    socket.on('connect', end(true)).on('error', end(false)).on('timeout', end(false));
  });
}

describe('a build', () => {
  it('inherits what a server would, and its log has none of its secrets', async () => {
    const [log, seen] = [join(directory, 'build.log'), join(directory, 'seen')];
    const variables = { CI_PASSWORD: 'secret-of-the-ci', HF_TOKEN: 'token-for-models', CUDA_VISIBLE_DEVICES: '0' };
    Object.assign(process.env, variables);
    const words = `env > "${seen}"; echo "token $HF_TOKEN, key $KEY_SECRET" ; echo "err $HF_TOKEN" >&2; exit 3`;
    const env = { KEY_SECRET: 'key-of-the-recipe' };
    try {
      const ending = await runCommand({ words, directory, env, log }, new AbortController().signal);
      expect(ending).toBe('ended with code 3');
    } finally {
      for (const name of Object.keys(variables)) delete process.env[name];
    }
    const inherited = await readFile(seen, 'utf8');
    expect(inherited).not.toContain('CI_PASSWORD');
    for (const own of ['HF_TOKEN=token-for-models', 'CUDA_VISIBLE_DEVICES=0', 'KEY_SECRET=key-of-the-recipe', 'PATH='])
      expect(inherited).toContain(own);
    expect((await readFile(log, 'utf8')).split('\n').sort()).toEqual(['', 'err …', 'token …, key …']);
  });

  it('is over when its command is, whatever it leaves running', async () => {
    const words = ['sh', '-c', 'sleep 600 & echo $! > pid; echo done'];
    const log = join(directory, 'left.log');
    expect(await runCommand({ words, directory, env: {}, log }, new AbortController().signal)).toBeNull();
    expect(await readFile(log, 'utf8')).toBe('done\n');
    process.kill(Number(await readFile(join(directory, 'pid'), 'utf8')));
  });
});
