import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { MS_PER_S } from '#base/units.ts';
import type { HttpReplies } from '#profiler/http-replies.ts';
import { isThere, unpackDebian } from './debian.ts';

const run = promisify(execFile);

/** Whole seconds, because peers only accept those. */
export const RUN_S = 4;
const DEBIAN_PACKAGES = ['hey', 'wrk', 'libluajit-5.1-2'];
const AUTOCANNON = 'autocannon@8';

/** A client's report of its own latencies, in microseconds. */
export interface HttpReport {
  readonly p50Us: number;
  readonly p99Us: number;
}

/** A client that can be started, and whose output can be read. */
export interface HttpClient {
  readonly name: string;
  readonly command: (url: string, concurrency: number) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly reportOf: (stdout: string) => HttpReport;
}

const ours: HttpClient = {
  name: 'tritune',
  command: (url, concurrency) => [
    process.execPath,
    resolve(import.meta.dirname, '../src/cli/main.ts'),
    ...['profile', '--service-kind', 'http', '-u', url, '--concurrency-range', `${concurrency}`],
    // One window, after a warm-up.
    ...['-p', `${RUN_S * MS_PER_S}`, '-r', '1', '--request-timeout', '10s', '--output-format', 'json'],
  ],
  reportOf: (stdout) => {
    const { levels } = JSON.parse(stdout) as { levels: [{ replies: Pick<HttpReplies, 'percentiles'> }] };
    const { percentiles } = levels[0].replies;
    const us = (wanted: number): number =>
      1e6 * (percentiles.find(({ percentile }) => percentile === wanted)?.seconds ?? Number.NaN);
    return { p50Us: us(50), p99Us: us(99) };
  },
};

const hey = (directory: string): HttpClient => ({
  name: 'hey',
  command: (url, concurrency) => [join(directory, 'usr/bin/hey'), '-z', `${RUN_S}s`, '-c', `${concurrency}`, url],
  reportOf: (stdout) => {
    const us = (p: number): number => 1e6 * Number(new RegExp(` ${p}% in ([\\d.]+) secs`).exec(stdout)?.[1]);
    return { p50Us: us(50), p99Us: us(99) };
  },
});

const perUnitUs: Readonly<Record<string, number>> = { us: 1, ms: 1e3, s: 1e6 };

/** One thread, like ours: more would only use up a small machine. */
const wrk = (directory: string): HttpClient => ({
  name: 'wrk',
  command: (url, concurrency) => [
    join(directory, 'usr/bin/wrk'),
    '-t1',
    `-c${concurrency}`,
    `-d${RUN_S}s`,
    '--latency',
    url,
  ],
  env: { LD_LIBRARY_PATH: join(directory, 'usr/lib/x86_64-linux-gnu') },
  reportOf: (stdout) => {
    const us = (p: number): number => {
      const [, value, unit = ''] = new RegExp(` ${p}%\\s+([\\d.]+)(us|ms|s)\\b`).exec(stdout) ?? [];
      return Number(value) * (perUnitUs[unit] ?? Number.NaN);
    };
    return { p50Us: us(50), p99Us: us(99) };
  },
});

const autocannon = (directory: string): HttpClient => ({
  name: 'autocannon',
  command: (url, concurrency) => [
    process.execPath,
    join(directory, 'node_modules/autocannon/autocannon.js'),
    '--json',
    '-c',
    `${concurrency}`,
    '-d',
    `${RUN_S}`,
    url,
  ],
  reportOf: (stdout) => {
    const { latency } = JSON.parse(stdout) as { latency: { p50: number; p99: number } };
    return { p50Us: latency.p50 * 1e3, p99Us: latency.p99 * 1e3 };
  },
});

/**
 * Us and those of the others that this machine can have, fetched into the directory on first use.
 */
export async function httpClients(directory: string, note: (line: string) => void): Promise<readonly HttpClient[]> {
  await mkdir(directory, { recursive: true });
  const fetched = async (clients: readonly HttpClient[], sign: string, fetch: () => Promise<void>) => {
    if (await isThere(join(directory, sign))) return clients;
    try {
      await fetch();
      return clients;
    } catch (error) {
      note(`without ${clients.map(({ name }) => name).join(' and ')}: ${String(error).split('\n')[0]}`);
      return [];
    }
  };
  return [
    ours,
    ...(await fetched([hey(directory), wrk(directory)], 'usr/bin/wrk', () =>
      unpackDebian(directory, DEBIAN_PACKAGES, 'usr/bin/wrk'),
    )),
    ...(await fetched([autocannon(directory)], 'node_modules/autocannon', () => fetchNpm(directory))),
  ];
}

async function fetchNpm(directory: string): Promise<void> {
  const quiet = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
  await run('npm', ['install', ...quiet, '--prefix', directory, AUTOCANNON], { timeout: 120_000 });
}
