import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { capacityDocumentSchema } from '#capacity/document-schema.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { type CliOutcome, startCli } from '../support/cli.ts';
import { smallProfile } from '../support/emulator.ts';
import { listen } from '../support/misbehaving-server.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { until } from '../support/transport-suite.ts';

/** Longer than a measurement takes to see that nobody serves (`src/profiler/traffic.ts`). */
const OUTAGE_MS = 4000;

/** Waits until the command has written this, then lets the server be away for a while. */
async function withOutage(
  args: readonly string[],
  words: RegExp,
  outage: () => Promise<() => Promise<void>>,
): Promise<CliOutcome> {
  const run = startCli(args);
  let said = '';
  for (const stream of [run.child.stdout, run.child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  await until(() => words.test(said));
  const comeBack = await outage();
  await new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));
  await comeBack();
  return run.ended;
}

it('a profile waits for a Triton that is restarted, and measures the level again', { timeout: 120_000 }, async () => {
  const options = { profile: smallProfile({ a: 5, b: 1 }) };
  let emulator = await startEmulator(options);
  onTestFinished(() => emulator.close());
  const json = join(await freshDirectory(), 'levels.json');
  const url = emulator.grpcUrl;
  const grpcPort = Number(url.split(':')[1]);
  const levels = ['--concurrency', '1:3', '-v', '--json', json];
  const outcome = await withOutage(['profile', '-m', 'm', '-u', url, '-i', 'grpc', ...levels], /Pass/, async () => {
    await emulator.close();
    return async () => {
      emulator = await startEmulator({ ...options, grpcPort });
    };
  });
  expect(outcome).toMatchObject({ code: 0, stderr: expect.stringMatching(/: waiting for it, 20 s at most/) });
  const { levels: measured } = JSON.parse(await readFile(json, 'utf8')) as {
    levels: { failedRequests?: number }[];
  };
  expect(measured).toHaveLength(3);
});

it('a capacity is not lowered by a service that is restarted', { timeout: 180_000 }, async () => {
  let server: Server;
  let port = 0;
  const serve = async (): Promise<void> => {
    server = createServer((request, response) => {
      request.resume();
      setTimeout(() => response.end('{}'), 5);
    });
    port = await listen(server, port);
  };
  const end = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  await serve();
  onTestFinished(end);
  const json = join(await freshDirectory(), 'capacity.json');
  const url = `http://127.0.0.1:${port}`;
  const goal = ['-l', '200', '--time-budget', '25s', '--json', json];
  const outcome = await withOutage(
    ['capacity', '--service-kind', 'http', '-u', url, ...goal],
    /requests\/s/,
    async () => {
      await end();
      return serve;
    },
  );
  expect(outcome.stderr).toMatch(/: waiting for it, 20 s at most/);
  const { probes } = capacityDocumentSchema.parse(JSON.parse(await readFile(json, 'utf8')));
  expect(probes.filter(({ errorRate }) => errorRate > 0)).toEqual([]);
});
