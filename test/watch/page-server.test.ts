import { request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TrituneError } from '#base/errors.ts';
import { Board } from '#watch/board.ts';
import type { Controls, PageOrder } from '#watch/page-controls.ts';
import { servePage } from '#watch/page-server.ts';
import { hostile } from '../report/studies.ts';
import { fleetRecords, head } from '../support/watched-fleet.ts';

const TOKEN = 'a-token-of-the-tests-only';

async function pageForTest(controls: Controls | null = null) {
  const board = new Board(() => performance.now(), { canSteer: controls !== null });
  const lines: string[] = [];
  const tell = (line: string): void => void lines.push(line);
  const page = await servePage({ host: '127.0.0.1', port: 0, board, controls, tell });
  onTestFinished(() => page.close());
  return { board, lines, url: page.url };
}

/** Controls that write down what they were asked for. */
function controlsFor(fault?: Error): Controls & { readonly asked: [string, PageOrder][] } {
  const asked: [string, PageOrder][] = [];
  const order = async (study: string, what: PageOrder): Promise<void> => {
    if (fault) throw fault;
    asked.push([study, what]);
  };
  return { token: TOKEN, asked, order };
}

const ask = (url: string, study: string, order: unknown, authorization?: string): Promise<Response> =>
  fetch(`${url}studies/${encodeURIComponent(study)}/orders`, {
    method: 'POST',
    headers: authorization === undefined ? {} : { authorization },
    body: JSON.stringify(order),
  });

describe('the page of studies', () => {
  it('is of its own files alone, under a policy that lets nothing else in', async () => {
    const { url } = await pageForTest();
    for (const [path, type] of [
      ['', 'text/html'],
      ['watch.js', 'text/javascript'],
      ['watch.css', 'text/css'],
      ['health', 'text/plain'],
    ]) {
      const reply = await fetch(url + path);
      expect(reply.status, path).toBe(200);
      expect(reply.headers.get('content-type')).toContain(type);
      const policy = reply.headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'; script-src 'self'");
      expect(policy).not.toMatch(/script-src[^;]*unsafe/);
      expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect(await (await fetch(url)).text()).not.toMatch(/<script>|onclick=|style=/);
    expect((await fetch(`${url}../../etc/passwd`)).status).toBe(404);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
  });

  it('streams what stands and what changes, hostile names as data', async () => {
    const { board, url } = await pageForTest();
    board.list([head(hostile)]);
    const reply = await fetch(`${url}events`);
    expect(reply.headers.get('content-type')).toBe('text/event-stream');
    const reader = (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (found: RegExp): Promise<void> => {
      while (!found.test(text)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended after ${text}`);
        text += value;
      }
    };
    await until(/event: board\ndata: [^\n]*\n\n/);
    const [started] = await fleetRecords();
    if (started) board.take(hostile, started);
    await until(/event: study\ndata: [^\n]*\n\n/);
    await reader.cancel();
    const data = [...text.matchAll(/data: ([^\n]*)\n/g)].map(([, line = '']) => JSON.parse(line));
    expect(data[0].studies[0].study).toBe(hostile);
    expect(data[1]).toMatchObject({ study: hostile, phase: 'measuring the original config' });
  });

  it('draws the front of a study whose name is anything', async () => {
    const { board, url } = await pageForTest();
    const chart = (study: string) => fetch(`${url}studies/${encodeURIComponent(study)}/front.svg?paper=narrow`);
    board.list([head(hostile)]);
    expect((await chart(hostile)).status).toBe(404);
    for (const record of await fleetRecords()) board.take(hostile, record);
    const reply = await chart(hostile);
    expect(reply.headers.get('content-type')).toContain('image/svg+xml');
    expect(await reply.text()).toMatch(/^<svg width="380"/);
    expect(Number(reply.headers.get('tritune-records'))).toBe(board.known(hostile));
    expect((await chart('another')).status).toBe(404);
  });

  it('finds trials of a study whose name is anything', async () => {
    const { board, url } = await pageForTest();
    const find = (study: string, query: string) => fetch(`${url}studies/${encodeURIComponent(study)}/trials${query}`);
    board.list([head(hostile)]);
    expect((await find(hostile, '')).status).toBe(404);
    for (const record of await fleetRecords()) board.take(hostile, record);
    const all = await (await find(hostile, '')).json();
    expect(all).toMatchObject({ total: 9, matching: 9 });
    const reply = await find(hostile, '?server=s1&words=trial');
    expect(reply.headers.get('content-type')).toBe('application/json');
    const { trials } = (await reply.json()) as { trials: { server: string }[] };
    expect(new Set(trials.map(({ server }) => server))).toEqual(new Set(['s1']));
    const none = await (await find(hostile, `?words=${encodeURIComponent(hostile)}`)).json();
    expect(none).toMatchObject({ total: 9, matching: 0 });
    const post = await fetch(`${url}studies/${encodeURIComponent(hostile)}/trials`, { method: 'POST' });
    expect(post.status).toBe(405);
  });

  it('steers nothing without a token, nor with another one', async () => {
    const looking = await pageForTest();
    expect((await ask(looking.url, 'one', { kind: 'pause' }, `Bearer ${TOKEN}`)).status).toBe(403);
    const controls = controlsFor();
    const { url, lines } = await pageForTest(controls);
    for (const shown of [undefined, '', TOKEN, `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, 'Bearer '])
      expect((await ask(url, 'one', { kind: 'pause' }, shown)).status, String(shown)).toBe(401);
    const byAddress = await fetch(`${url}studies/one/orders?token=${TOKEN}`, {
      method: 'POST',
      body: '{"kind":"pause"}',
    });
    expect(byAddress.status).toBe(401);
    expect((await fetch(`${url}studies/one/orders`, { headers: { authorization: `Bearer ${TOKEN}` } })).status).toBe(
      405,
    );
    expect(controls.asked).toEqual([]);
    expect(lines.join()).not.toContain(TOKEN);
  });

  it('passes orders on that are some, and says what became of them', async () => {
    const controls = controlsFor();
    const { url } = await pageForTest(controls);
    const given = (order: unknown) => ask(url, 'the study/1', order, `Bearer ${TOKEN}`);
    const orders: PageOrder[] = [{ kind: 'pause' }, { kind: 'stop-now' }, { kind: 'budget', latencyMs: 12.5 }];
    for (const order of orders) expect((await given(order)).status).toBe(204);
    expect(controls.asked).toEqual(orders.map((order) => ['the study/1', order]));
    const none = [
      {},
      { kind: 'rm' },
      { kind: 'budget' },
      { kind: 'budget', latencyMs: -1 },
      { kind: 'pause', more: 1 },
    ];
    for (const order of [...none, 'x'.repeat(10_000)]) expect((await given(order)).status).toBe(400);
    const failing = await pageForTest(controlsFor(new TrituneError('INPUT_INVALID', "there is no study 'x'", 'look')));
    const reply = await ask(failing.url, 'x', { kind: 'pause' }, `Bearer ${TOKEN}`);
    expect([reply.status, await reply.text()]).toEqual([502, "there is no study 'x'\n"]);
  });

  it('answers to its own names alone where it is for its own machine', async () => {
    const { url } = await pageForTest();
    const { port } = new URL(url);
    const statusFor = (host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asked = request(
          { host: '127.0.0.1', port, path: '/events', method: 'HEAD', headers: { host } },
          (reply) => {
            reply.resume();
            resolve(reply.statusCode);
          },
        );
        asked.on('error', reject).end();
      });
    expect(await statusFor('evil.example')).toBe(421);
    expect(await statusFor(`evil.example:${port}`)).toBe(421);
    for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, '[::1]:1']) {
      expect(await statusFor(host), host).toBe(200);
    }
  });

  it('refuses an address that it cannot have', async () => {
    const { url } = await pageForTest();
    const board = new Board(() => 0, { canSteer: false });
    const port = Number(new URL(url).port);
    const again = servePage({ host: '127.0.0.1', port, board, controls: null, tell: () => undefined });
    await expect(again).rejects.toMatchObject({ code: 'USAGE', hint: 'give another --listen' });
  });
});
