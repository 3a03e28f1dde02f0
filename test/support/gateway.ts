import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** How a gateway knows its service. */
interface GatewayRule {
  /** HOST:PORT of the service. */
  readonly service: string;
  readonly host?: string;
  readonly basePath?: string;
}

/**
 * Starts a gateway that passes requests on to one service, if they name it by their Host header and
 * begin with its path, and else answers 404. Returns its HOST:PORT.
 */
export async function gatewayForTest({ service, host, basePath = '' }: GatewayRule): Promise<string> {
  const server = createServer((call, answer) => {
    const { url: path = '', method, headers } = call;
    if ((host !== undefined && headers.host !== host) || !path.startsWith(`${basePath}/`)) {
      call.resume();
      answer.writeHead(404).end();
      return;
    }
    const onward = request(
      `http://${service}${path.slice(basePath.length)}`,
      { method, headers: { ...headers, host: service } },
      (reply) => {
        answer.writeHead(reply.statusCode ?? 500, reply.headers);
        reply.pipe(answer);
      },
    );
    onward.on('error', () => answer.destroy());
    call.pipe(onward);
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
