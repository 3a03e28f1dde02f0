// An adapter for a server that is no Triton, for `tritune tune --adapter ./adapter.ts -m words` or
// `tune({ adapter })`.
//
// The server is made up, and starts here, so that the example runs by itself: it answers over HTTP,
// with `workers` that work side by side, each on up to `batch` requests at once. Both can be set
// while it runs, with PUT /settings.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AdapterDefinition, settingsAdapter } from 'tritune';

interface Settings {
  readonly workers: number;
  readonly batch: number;
}

/**
 * An execution takes this long, and this much more for each request in it and each other busy
 * worker.
 */
const BASE_MS = 4;
const PER_REQUEST_MS = 1;
const PER_WORKER_MS = 1;

/**
 * The made-up server. It refuses more than 8 workers, as one refuses what its memory does not hold.
 */
async function startServer(): Promise<Server> {
  let settings: Settings = { workers: 1, batch: 1 };
  let busy = 0;
  const waiting: (() => void)[] = [];
  const work = (): void => {
    while (busy < settings.workers && waiting.length > 0) {
      const taken = waiting.splice(0, settings.batch);
      busy++;
      setTimeout(
        () => {
          busy--;
          for (const answer of taken) answer();
          work();
        },
        BASE_MS + PER_REQUEST_MS * taken.length + PER_WORKER_MS * (busy - 1),
      );
    }
  };
  const server = createServer(async (request, response) => {
    if (request.url !== '/settings') {
      waiting.push(() => response.end('words'));
      work();
      return;
    }
    if (request.method === 'PUT') {
      const asked = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Settings;
      if (asked.workers > 8) response.statusCode = 507;
      else settings = asked;
    }
    response.end(response.statusCode === 507 ? 'no memory for so many workers' : JSON.stringify(settings));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/** The text of a reply. Rejects with it where the status is not 2xx. */
async function ask(url: string, init?: RequestInit): Promise<string> {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

export const adapter: AdapterDefinition = {
  name: 'words-server',
  open: async (rule) => {
    const server = await startServer();
    const url = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = settingsAdapter({
      name: 'words-server',
      version: '1',
      url,
      settings: { workers: [1, 2, 4, 8, 16], batch: [1, 4, 16] },
      read: async (signal) => JSON.parse(await ask(`http://${url}/settings`, { signal })),
      apply: async (wanted, signal) => {
        await ask(`http://${url}/settings`, { method: 'PUT', body: JSON.stringify(wanted), signal });
      },
      send: async () => {
        await ask(`http://${url}/`);
      },
      close: async () => {
        server.close();
        server.closeAllConnections();
      },
    });
    return settings.open(rule);
  },
};
