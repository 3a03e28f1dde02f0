import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { checkLaunch, launchServer } from '#app/server/launch.ts';
import { launchDocker } from '#launch/docker-server.ts';
import { freePorts, type ServerPorts, startOnFreePorts } from '#launch/free-ports.ts';
import { launchLocal } from '#launch/local-server.ts';
import { findTriton } from '#launch/triton-install.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { checkStudySpec } from '#spec/study-spec.ts';

/**
 * A server that is live on the port of its `--http-port=` or `--publish HOST:PORT:8000`, and writes
 * down how it was called. It has a process that does not end with it, and shared memory that it
 * does not let go of.
 */
const fakeServer = (calls: string) => `#!${process.execPath}
const { createServer } = require('node:http');
const { appendFileSync, openSync, writeFileSync } = require('node:fs');
const { randomUUID } = require('node:crypto');
const args = process.argv.slice(2);
const port = args.map((arg) => /^--http-port=(\\d+)$/.exec(arg)?.[1] ?? /:(\\d+):8000$/.exec(arg)?.[1]).find(Boolean);
const child = port && require('node:child_process').spawn('sleep', ['300'], { stdio: 'ignore' }).pid;
const region = '/dev/shm/triton_python_backend_shm_region_' + randomUUID();
if (port) {
  writeFileSync(region, Buffer.alloc(4096));
  const mmap = require(${JSON.stringify(koffi)}).load(null).func('void *mmap(void *, size_t, int, int, int, long)');
  mmap(null, 4096, 1, 1, openSync(region), 0);
}
appendFileSync(${JSON.stringify(calls)}, JSON.stringify({ args, pid: process.pid, child, region }) + '\\n');
if (port) createServer((_, response) => response.end()).listen(Number(port), '127.0.0.1');
`;

const koffi = createRequire(import.meta.url).resolve('koffi');
const directory = await mkdtemp(join(tmpdir(), 'tritune-launch-'));
const calls = join(directory, 'calls');
const binary = join(directory, 'docker');
await writeFile(binary, fakeServer(calls));
await chmod(binary, 0o755);

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

async function untilDead(pid: number): Promise<void> {
  for (let tries = 0; isAlive(pid) && tries < 500; tries++) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(isAlive(pid)).toBe(false);
}

const lastCall = async (): Promise<{ args: string[]; pid: number; child: number; region: string }> =>
  JSON.parse((await readFile(calls, 'utf8')).trim().split('\n').at(-1) as string);

let server: LaunchedServer | undefined;
afterEach(() => server?.stop());

describe('launch', () => {
  it('gives different free ports', async () => {
    expect(new Set(await freePorts(5)).size).toBe(5);
  });

  it.each([
    'listen EADDRINUSE: address already in use 127.0.0.1:8000',
    `failed to start HTTP service: Unavailable - Socket '127.0.0.1:8000' already in use`,
    'Bind for 127.0.0.1:8000 failed: port is already allocated',
  ])('starts a server on other ports after: %s', async (words) => {
    const tried: number[] = [];
    const start = async ({ grpc, http, metrics }: ServerPorts): Promise<string> => {
      tried.push(grpc, http, metrics);
      if (tried.length === 3) throw new Error(words);
      return 'started';
    };
    expect(await startOnFreePorts(start)).toBe('started');
    expect(tried).toHaveLength(6);
  });

  it('gives up after three starts on taken ports, and at once on another error', async () => {
    for (const [words, starts] of [
      ['port is already allocated', 3],
      ['no such image', 1],
    ] as const) {
      let count = 0;
      const start = async (): Promise<void> => {
        count++;
        throw new Error(words);
      };
      await expect(startOnFreePorts(start)).rejects.toThrow(words);
      expect(count).toBe(starts);
    }
  });

  it('starts a local server in explicit mode and ends it', async () => {
    server = await launchLocal({ binary, modelRepository: '/models', loadModels: ['a', 'b'], logDirectory: directory });
    const { args, pid, child, region } = await lastCall();
    expect(existsSync(region)).toBe(true);
    expect(args).toEqual(expect.arrayContaining(['--model-control-mode=explicit', '--load-model=a', '--load-model=b']));
    expect(args).toContain(`--http-port=${server.httpUrl.split(':')[1]}`);
    await server.stop();
    await untilDead(pid);
    await untilDead(child);
    expect(existsSync(region)).toBe(false);
  });

  it('tells when a server ends by itself, and writes to its log how', async () => {
    const crashing = await launchLocal({ modelRepository: '/models', binary, logDirectory: directory });
    expect(crashing.failure()).toBeNull();
    process.kill((await lastCall()).pid, 'SIGSEGV');
    await crashing.ended;
    await expect.poll(() => readFile(crashing.logFile, 'utf8')).toContain('the server ended by itself, by SIGSEGV');
    expect(crashing.failure()).toMatchObject({
      code: 'SERVER_UNREACHABLE',
      message: expect.stringMatching(/ended by itself: .*by SIGSEGV/),
      hint: `read its log in ${crashing.logFile}`,
    });
    const stopped = await launchLocal({
      modelRepository: '/models',
      binary,
      logDirectory: await mkdtemp(join(tmpdir(), 'tritune-stopped-')),
    });
    await stopped.stop();
    expect(stopped.failure()).toBeNull();
  });

  it('ends the server, and what it leaves behind, when the process that started it is killed', async () => {
    const starter = join(directory, 'starter.ts');
    const launchModule = new URL('../../src/launch/local-server.ts', import.meta.url).pathname;
    await writeFile(
      starter,
      `import { launchLocal } from ${JSON.stringify(launchModule)};
       await launchLocal(${JSON.stringify({ binary, modelRepository: '/models', logDirectory: directory })});
       console.log('up');
       setInterval(() => undefined, 1000);`,
    );
    const child = spawn(process.execPath, [starter], { stdio: ['ignore', 'pipe', 'inherit'] });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const call = await lastCall();
    expect([isAlive(call.pid), isAlive(call.child)]).toEqual([true, true]);
    child.kill('SIGKILL');
    await untilDead(call.pid);
    await untilDead(call.child);
    await expect.poll(() => existsSync(call.region), { timeout: 5000 }).toBe(false);
  });

  it('runs a container with the repository read-only and its ports on loopback', async () => {
    const path = process.env.PATH;
    process.env.PATH = `${directory}:${path}`;
    try {
      server = await launchDocker({
        image: 'triton:x',
        modelRepository: '/models',
        gpus: 'all',
        logDirectory: directory,
      });
      const { args } = await lastCall();
      expect(args.join(' ')).not.toMatch(/trace|--load-model/);
      expect(args.slice(0, 2)).toEqual(['run', '--rm']);
      expect(args).toEqual(
        expect.arrayContaining([
          '--gpus=all',
          '--mount=type=bind,"source=/models",target=/models,readonly',
          'triton:x',
        ]),
      );
      expect(args.filter((arg) => arg.startsWith('127.0.0.1:'))).toHaveLength(3);
      await server.stop();
      expect((await lastCall()).args.slice(0, 2)).toEqual(['rm', '--force']);
    } finally {
      process.env.PATH = path;
    }
  });

  it('tells a container about each model, its GPUs, and a trace file that both sides see at one path', async () => {
    const path = process.env.PATH;
    process.env.PATH = `${directory}:${path}`;
    try {
      const flags = { launch: 'docker', modelRepository: '/models', dockerImage: 'triton:x', trace: true } as const;
      const logDirectory = join(directory, 'a, "quoted" one');
      server = await launchServer({ ...flags, dockerGpus: 'device=1' }, { loadModels: ['a', 'b'], logDirectory });
      const { args } = await lastCall();
      const quoted = logDirectory.replaceAll('"', '""');
      expect(args).toContain(`--mount=type=bind,"source=${quoted}","target=${quoted}"`);
      expect(args).toContain('--gpus=device=1');
      // What comes after the image is for the server.
      expect(args.slice(args.indexOf('triton:x') + 1)).toEqual([
        'tritonserver',
        '--model-repository=/models',
        '--model-control-mode=explicit',
        '--load-model=a',
        '--load-model=b',
        `--trace-config=triton,file=${join(logDirectory, 'trace.json')}`,
      ]);
      await server.stop();
      server = await launchServer({ ...flags, dockerGpus: 'none' }, { logDirectory });
      expect((await lastCall()).args.join(' ')).not.toMatch(/--gpus|--load-model/);
    } finally {
      process.env.PATH = path;
    }
  });

  it('lets a container read its models from a cloud, with the variables for it', async () => {
    const before = { PATH: process.env.PATH, AWS_PROBE: process.env.AWS_PROBE };
    Object.assign(process.env, { PATH: `${directory}:${before.PATH}`, AWS_PROBE: 'secret of the cloud' });
    try {
      const modelRepository = 's3://http://store:9000/bucket/models';
      server = await launchServer(
        { launch: 'docker', modelRepository, dockerImage: 'triton:x', dockerGpus: 'none' },
        { logDirectory: directory },
      );
      const { args } = await lastCall();
      expect(args).toEqual(expect.arrayContaining(['--env=AWS_PROBE', `--model-repository=${modelRepository}`]));
      expect(args.join(' ')).not.toMatch(/--mount|secret of the cloud/);
    } finally {
      process.env.PATH = before.PATH;
      delete process.env.AWS_PROBE;
    }
  });

  it('starts a Triton with more options and on some of the cores', async () => {
    const flags = { modelRepository: '/models', serverCpus: '0' } as const;
    const serverArg = ['--cache-config=local,size=1048576', '--rate-limit=execution_count'];
    server = await launchServer(
      { ...flags, launch: 'local', tritonserver: binary, serverArg },
      { logDirectory: directory },
    );
    const { args, pid } = await lastCall();
    expect(args.slice(-2)).toEqual(serverArg);
    expect(await readFile(`/proc/${pid}/status`, 'utf8')).toMatch(/^Cpus_allowed_list:\t0$/m);
    await server.stop();
    await untilDead(pid);
  });

  it('runs a container with more options, on some of the cores, in our memory where tensors lie in it', async () => {
    const path = process.env.PATH;
    process.env.PATH = `${directory}:${path}`;
    try {
      const flags = {
        launch: 'docker',
        modelRepository: '/models',
        dockerImage: 'triton:x',
        dockerGpus: 'none',
      } as const;
      const argsOf = async (more: object): Promise<string[]> => {
        server = await launchServer({ ...flags, ...more }, { logDirectory: directory });
        const { args } = await lastCall();
        await server.stop();
        return args;
      };
      const args = await argsOf({ serverArg: ['--log-verbose=1'], dockerArg: ['--memory=8g'], serverCpus: '0-3' });
      expect(args).toEqual(expect.arrayContaining(['--shm-size=1g', '--cpuset-cpus=0-3']));
      expect(args.slice(-6)).toEqual([
        ...['--memory=8g', 'triton:x', 'tritonserver', '--model-repository=/models', '--model-control-mode=explicit'],
        '--log-verbose=1',
      ]);
      const shared = await argsOf({ sharedMemory: 'system' });
      expect(shared).toContain('--ipc=host');
      expect(shared.join(' ')).not.toMatch(/--shm-size|--pid/);
      expect(await argsOf({ sharedMemory: 'cuda' })).toEqual(expect.arrayContaining(['--ipc=host', '--pid=host']));
    } finally {
      process.env.PATH = path;
    }
  });

  it('refuses options that it sets itself, by their beginnings too, and those about another server', () => {
    const studyWith = (server: object) => () => checkStudySpec({ model: 'm', server }, 'it');
    for (const arg of ['--http-port=1', '--model-control=none', '--load-model=a', '--model-store=/x', 'cache', '-v'])
      expect(studyWith({ launch: 'local', serverArg: [arg] })).toThrow(/set by tritune itself|not of the form/);
    for (const arg of ['--name=x', '--publish=1:1', '--gpus=all', '--network=host'])
      expect(studyWith({ launch: 'docker', dockerArg: [arg] })).toThrow(/set by tritune itself/);
    expect(studyWith({ serverCpus: 'all' })).toThrow(/expected cores/);
    expect(studyWith({ launch: 'local', serverArg: ['--metrics-config=a', '--log-verbose=1'] })).not.toThrow();
    expect(() => checkLaunch({ launch: 'emulator', serverArg: ['--log-verbose=1'] })).toThrow(/--server-arg/);
    expect(() => checkLaunch({ launch: 'local', dockerArg: ['--memory=8g'] })).toThrow(/--docker-arg/);
    expect(() => checkLaunch({ serverCpus: '0' })).toThrow(/--server-cpus/);
  });

  it('says at once what a server said that came up and will never be live', async () => {
    const unlive = join(directory, 'unlive');
    await writeFile(
      unlive,
      `#!${process.execPath}
console.log('I0101 00:00:00.0 1 a.cc:1] "Started"\\nE0101 00:00:00.0 1 b.cc:2] "unable to find the cache"\\n+---+');
const port = Number(process.argv.find((arg) => arg.startsWith('--http-port=')).split('=')[1]);
require('node:http').createServer((_, response) => response.writeHead(400).end()).listen(port, '127.0.0.1');
`,
    );
    await chmod(unlive, 0o755);
    const launched = launchLocal({ binary: unlive, modelRepository: '/m', logDirectory: directory });
    await expect(launched).rejects.toThrow(/not live: E0101 \S+ 1 b\.cc:2\] "unable to find the cache"$/);
  });

  it('says what a server that does not come up said', async () => {
    const broken = join(directory, 'broken');
    await writeFile(broken, `#!${process.execPath}\nconsole.error('no such option');process.exit(1);\n`);
    await chmod(broken, 0o755);
    await expect(launchLocal({ binary: broken, modelRepository: '/m', logDirectory: directory })).rejects.toMatchObject(
      {
        code: 'LAUNCH_FAILED',
        message: expect.stringContaining('no such option'),
      },
    );
  });

  it('says how to get a Triton when none is installed', async () => {
    const installDirectory = join(directory, 'nothing');
    expect(await findTriton(installDirectory)).toBeNull();
    await expect(
      launchLocal({ installDirectory, modelRepository: '/m', logDirectory: directory }),
    ).rejects.toMatchObject({ code: 'LAUNCH_FAILED', hint: expect.stringContaining('install-triton') });
  });
});
