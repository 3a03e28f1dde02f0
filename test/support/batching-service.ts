import { createServer, type ServerResponse } from 'node:http';
import { parseArgs } from 'node:util';

/**
 * A plain HTTP service as people write them: workers that take up to `batch` requests at once,
 * after `wait` milliseconds at most. An execution takes 8 ms and half a millisecond for each
 * request.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    workers: { type: 'string' },
    batch: { type: 'string' },
    wait: { type: 'string' },
  },
});
const of = (name: keyof typeof values): number => Number(values[name]);
const queue: ServerResponse[] = [];
let idle = of('workers');
let isDue = false;

function execute(): void {
  while (idle > 0 && queue.length > 0 && (queue.length >= of('batch') || isDue)) {
    const taken = queue.splice(0, of('batch'));
    idle -= 1;
    setTimeout(
      () => {
        for (const response of taken) response.end('{}');
        idle += 1;
        isDue = true;
        execute();
      },
      8 + taken.length / 2,
    );
  }
  if (queue.length === 0) isDue = false;
}

createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => {
    body += chunk;
  });
  request.on('end', () => {
    if (request.url !== '/inference' || !body.includes('"x"')) {
      response.writeHead(404).end();
      return;
    }
    queue.push(response);
    setTimeout(() => {
      isDue = true;
      execute();
    }, of('wait'));
    execute();
  });
}).listen(of('port'), '127.0.0.1');
