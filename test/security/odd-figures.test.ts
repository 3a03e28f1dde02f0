import { createServer, request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import type { Json } from '#base/json.ts';
import { readJournal } from '#study/records/journal.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../support/emulator.ts';
import { listen } from '../support/misbehaving-server.ts';
import { freshDirectory } from '../support/run-directory.ts';

/**
 * A Triton over HTTP whose replies are changed: `change` gets those of JSON. Returns its address.
 */
async function changed(httpUrl: string, change: (path: string, reply: Json) => Json): Promise<string> {
  const server = createServer((asked, answered) => {
    const { method, headers, url = '' } = asked;
    const forwarded = request(`http://${httpUrl}${url}`, { method, headers }, (reply) => {
      const parts: Buffer[] = [];
      reply.on('data', (part: Buffer) => parts.push(part));
      reply.on('end', () => {
        const bytes = Buffer.concat(parts);
        const isJson = /\/(?:stats|v2)$/.test(url) && reply.statusCode === 200;
        const body = isJson ? Buffer.from(JSON.stringify(change(url, JSON.parse(bytes.toString())))) : bytes;
        answered.writeHead(reply.statusCode ?? 500, { ...reply.headers, 'content-length': body.length }).end(body);
      });
    });
    asked.pipe(forwarded);
  });
  const port = await listen(server);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${port}`;
}

/** Every number of the statistics becomes one that no server should give. */
const oddNumbers = (reply: Json): Json =>
  JSON.parse(JSON.stringify(reply), (key, value: unknown) => {
    if (key === 'batch_size') return 1.5;
    return typeof value === 'number' && /count$/.test(key) ? value + 0.25 : value;
  });

it('a server with odd figures and a name of 400 KB is tuned, and the journal can be read', {
  timeout: 120_000,
}, async () => {
  const { httpUrl } = await emulatorForTest({ profile: smallProfile() });
  let stats = 0;
  const url = await changed(httpUrl, (path, reply) => {
    if (!path.endsWith('/stats')) return { ...(reply as object), name: 'x'.repeat(4e5), version: '7'.repeat(4e5) };
    stats++;
    return oddNumbers(reply);
  });
  const output = await freshDirectory();
  const run = await callCli([
    ...['tune', '-m', 'm', '-i', 'http', '-u', url, '-o', output, '--ui', 'none'],
    ...['--concurrency', '1:1', '--max-trials', '1', '--precision', '50', '--time-budget', '5s'],
  ]);
  expect([0, 3], run.stderr).toContain(run.code);
  expect(stats).toBeGreaterThan(0);
  const records = await readJournal(`${output}/journal.jsonl`);
  const [started] = records;
  expect(started?.type === 'study-started' && started.server.name).toHaveLength(1024);
  const measured = records.flatMap((record) => (record.type === 'trial-measured' ? [record.measurement.server] : []));
  expect(measured.flatMap((server) => server?.batches.map(({ size }) => size) ?? [])).toContain(2);
  expect(records.findLast(({ type }) => type === 'model-restored')).toMatchObject({ verified: true });
  expect(await callCli(['report', output])).toMatchObject({ code: 0 });
});
