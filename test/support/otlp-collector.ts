import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Span {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string }[];
  readonly events?: readonly { readonly name: string }[];
}
interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly gauge: {
    readonly dataPoints: readonly { readonly asDouble?: number; readonly attributes: readonly object[] }[];
  };
}

/** A collector of OpenTelemetry's data, as far as the tests look into it. */
export async function startCollector(status = 200) {
  const posts: { readonly path: string; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => {
      body += piece.toString();
    });
    request.on('end', () => {
      posts.push({ path: request.url ?? '', body });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const bodies = (path: string): Record<string, unknown>[] =>
    posts.filter((post) => post.path === path).map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () =>
      bodies('/v1/traces').flatMap((each) =>
        (each.resourceSpans as { scopeSpans: { spans: Span[] }[] }[]).flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    metrics: () =>
      bodies('/v1/metrics').flatMap((each) =>
        (each.resourceMetrics as { scopeMetrics: { metrics: Metric[] }[] }[]).flatMap(({ scopeMetrics }) =>
          scopeMetrics.flatMap(({ metrics }) => metrics),
        ),
      ),
    text: () => posts.map(({ body }) => body).join('\n'),
  };
}
