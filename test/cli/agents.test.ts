import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { realClock } from '#base/clock.ts';
import type { Faults } from '#emulator/faults.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { callCli } from '../support/call-cli.ts';
import { type RunningCli, runCli, startCli, untilRecorded } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { listen } from '../support/misbehaving-server.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

/** A silent controller is given up by an agent within this time, on a busy machine. */
const GIVEN_UP_MS = 3000 + 2500;
const TOKEN = '0123456789abcdef-of-the-test';

let served = 0;
const faults: Faults = {
  failInfer: () => {
    served++;
    return null;
  },
};
// So slow that endless loads leave the CPU to others.
const emulator = await startEmulator({ profile: smallProfile({ a: 4 }), faults });
afterAll(() => emulator.close());

let directory = '';
let tokenFile = '';
const running = new Map<string, RunningCli>();
const agents: string[] = [];

/** Starts an agent in a process of its own, and gives its address. */
async function startAgent(listen = '127.0.0.1:0', target = emulator.grpcUrl): Promise<string> {
  const agent = startCli(['fleet', 'agent', '--listen', listen, '--token-file', tokenFile, '--allow-target', target]);
  const line = await new Promise<string>((resolve, reject) => {
    agent.child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    void agent.ended.then(({ stderr }) => reject(new Error(stderr)));
  });
  const address = line.trim().split(' ').at(-1) as string;
  running.set(address, agent);
  return address;
}

async function killAgent(address: string): Promise<void> {
  const agent = running.get(address);
  agent?.child.kill('SIGKILL');
  await agent?.ended;
}

beforeAll(async () => {
  directory = await freshDirectory();
  tokenFile = join(directory, 'token');
  await writeFile(tokenFile, `${TOKEN}\n`);
  agents.push(...(await Promise.all([startAgent(), startAgent(), startAgent()])));
}, 120_000);

afterAll(async () => {
  for (const { child, ended } of running.values()) {
    child.kill('SIGKILL');
    await ended;
  }
});

const withAgents = (some: readonly string[] = agents): string[] => [
  ...['--agents', some.join(','), '--agent-token-file', tokenFile, '--agent-clock-limit-ms', '1000'],
];
const profileWith = (...more: string[]): string[] => [
  ...['profile', '-m', 'm', '-i', 'grpc', '-u', emulator.grpcUrl, ...withAgents(), ...more],
];
/** Goes on until something ends it. */
const endless = ['--concurrency-range', '6', '--request-count', '10000000'];

async function untilServed(): Promise<void> {
  const before = served;
  for (let look = 0; look < 600 && served < before + 100; look++) await realClock.sleep(100);
  expect(served).toBeGreaterThanOrEqual(before + 100);
}

it('plain HTTP is sent by agents, and each says what it sent', { timeout: 180_000 }, async () => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => bodies.push(chunk.toString()));
    request.on('end', () => response.end('well'));
  });
  const target = `127.0.0.1:${await listen(server)}`;
  onTestFinished(() => void server.close());
  const two = await Promise.all([startAgent(undefined, target), startAgent(undefined, target)]);
  const outcome = await runCli([
    ...['profile', '--service-kind', 'http', '-u', `http://${target}/x`, '--body', 'hello', ...withAgents(two)],
    ...['--request-rate-range', '60', '--request-count', '120'],
  ]);
  expect(outcome).toMatchObject({ code: 0 });
  expect(outcome.stdout.match(/agent 127\.0\.0\.1:\d+: 1 thread, .* 60 sends/g)).toHaveLength(2);
  expect(new Set(bodies)).toEqual(new Set(['hello']));
});

describe('load from three agents', { timeout: 180_000 }, () => {
  it('is one measurement, with the clock and the verdict of each', async () => {
    const json = join(directory, 'profile.json');
    const outcome = await runCli(profileWith('--request-rate-range', '120', '--request-count', '240', '--json', json));
    expect(outcome).toMatchObject({ code: 0 });
    expect(outcome.stdout.match(/agent 127\.0\.0\.1:\d+: 1 thread, clock .* ± .* ms, drift .* 80 sends/g)).toHaveLength(
      3,
    );
    const { levels } = JSON.parse(await readFile(json, 'utf8'));
    expect(levels[0]).toMatchObject({ requests: 240, errorRate: 0 });
    expect(levels[0].client.agents.map(({ address }: { address: string }) => address)).toEqual(agents);
    for (const text of [outcome.stdout, outcome.stderr, await readFile(json, 'utf8')])
      expect(text).not.toContain(TOKEN);
  });

  it('ends with an error when an agent is killed, and never gives figures of the others alone', async () => {
    const profile = startCli(profileWith(...endless));
    await untilServed();
    const [lost = ''] = agents.slice(-1);
    await killAgent(lost);
    const { code, stdout, stderr } = await profile.ended;
    expect(stderr).toMatch(
      new RegExp(`^tritune: AGENT_FAILED: agent ${lost}: the connection was lost: .*repeat the measurement`, 'm'),
    );
    expect(code).toBe(4);
    expect(stdout).not.toMatch(/Throughput|infer\/s/);
    // The others are free again, and the next level has all three.
    expect(await startAgent(lost)).toBe(lost);
    const again = await runCli(profileWith('--concurrency-range', '6', '--request-count', '60'));
    expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/Request count: 60/) });
  });

  it.each(['SIGKILL', 'SIGSTOP'] as const)('ends soon after a %s of who controls it', async (signal) => {
    const profile = startCli(profileWith(...endless));
    await untilServed();
    profile.child.kill(signal);
    await realClock.sleep(GIVEN_UP_MS);
    const before = served;
    await realClock.sleep(500);
    expect(served).toBe(before);
    // Whoever comes next finds the agents free.
    const doctor = await runCli(['doctor', '-u', emulator.grpcUrl, ...withAgents()]);
    expect(doctor.stdout.match(/^ok +agent +127\.0\.0\.1:\d+: tritune .* cores, clock .* ± .* ms/gm)).toHaveLength(3);
    profile.child.kill('SIGKILL');
    await profile.ended;
  });

  it('tunes, also when an agent is killed and started again in the middle', async () => {
    const output = join(directory, 'study');
    const study = startCli([
      ...['tune', '-m', 'm', '-u', emulator.grpcUrl, '--concurrency', '4:4', '--max-trials', '3', '--precision', '20'],
      ...['--time-budget', '60s', '--ui', 'lines', '-o', output, ...withAgents()],
    ]);
    await untilRecorded(output, study, ({ type }) => type === 'trial-measured');
    await untilServed();
    const [lost = ''] = agents;
    await killAgent(lost);
    await startAgent(lost);
    const { code, stderr } = await study.ended;
    expect([code, stderr]).toEqual([expect.toSatisfy((each: number) => each === 0 || each === 3), stderr]);
    const measured = (await recordsOf(output)).flatMap((each) =>
      each.type === 'trial-measured' ? [each.measurement] : [],
    );
    expect(measured.length).toBeGreaterThan(1);
    for (const { client } of measured) expect(client.agents).toHaveLength(3);
    for (const file of await readdir(output, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), 'utf8')).not.toContain(TOKEN);
    }
  });
});

describe('the options about agents', { timeout: 180_000 }, () => {
  const refusal = async (...args: string[]): Promise<string> => {
    const { code, stderr } = await callCli(args);
    expect(code).toBe(2);
    return stderr;
  };
  const profile = ['profile', '-m', 'm', '-i', 'grpc', '-u', emulator.grpcUrl, '--agents', '10.0.0.1:7411'];

  it('refuse what would tell the token, or could be guessed', async () => {
    expect(await refusal(...profile, '--agent-token-file', tokenFile)).toMatch(/in plaintext.*--agent-tls-ca/);
    expect(await refusal('fleet', 'agent', '--token-file', tokenFile)).toMatch(/--allow-target/);
    const far = ['fleet', 'agent', '--listen', '0.0.0.0:0', '--allow-target', '*', '--token-file'];
    expect(await refusal(...far, tokenFile)).toMatch(/plaintext.*--tls-cert/);
    const short = join(directory, 'short');
    await writeFile(short, 'guess-me');
    const told = await refusal('fleet', 'agent', '--allow-target', '*', '--token-file', short);
    expect(told).toMatch(/shorter than 16 characters.*openssl rand/);
    expect(told).not.toContain('guess-me');
  });

  it('refuse what agents cannot do', async () => {
    const here = [...profile.slice(0, -2), ...withAgents()];
    expect(await refusal(...here, '--shared-memory', 'system')).toMatch(/cannot be used with --agents/);
    const kept = join(directory, 'export.json');
    expect(await refusal(...here, '--profile-export-file', kept)).toMatch(/one thread on this machine only/);
    const far = [...profile, '--agent-token-file', tokenFile, '--agent-plaintext'];
    expect(await refusal(...far)).toMatch(/means another machine on each agent/);
  });
});
