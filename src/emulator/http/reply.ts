import type { ServerResponse } from 'node:http';
import { type ProtocolFailure, toHttpStatus } from '../wire/protocol-failure.ts';

export function sendFailure(response: ServerResponse, failure: ProtocolFailure): void {
  sendJson(response, toHttpStatus(failure), { error: failure.message });
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
}
