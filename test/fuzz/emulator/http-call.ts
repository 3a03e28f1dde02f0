import { expect } from 'vitest';
import type { HttpEnd } from '../../support/virtual-emulator.ts';
import { checkWords, http } from './subject.ts';

export const httpRequest = (line: string, body: Buffer | string, headers: readonly string[] = []): Buffer => {
  const bytes = Buffer.from(body as string);
  const head = [`${line} HTTP/1.1`, 'Host: x', 'Connection: close', `Content-Length: ${bytes.length}`, ...headers];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), bytes]);
};

/** A reply of the protocol: JSON with the error's words, or what was asked for. */
export function checkReply(reply: HttpEnd | null): unknown {
  if (!reply || reply.body.length === 0) return null;
  if (!/^content-type: application\/json/im.test(reply.head)) return null;
  const json = JSON.parse(reply.body.toString()) as { error?: unknown };
  if (reply.status !== 200) {
    expect(typeof json.error).toBe('string');
    checkWords(json.error as string);
  }
  return json;
}

export const httpTensor = (more: object = {}) => ({
  name: 'IN',
  datatype: 'FP32',
  shape: [1, 4],
  data: [1, 2, 3, 4],
  ...more,
});
export const binary = JSON.stringify({
  inputs: [httpTensor({ data: undefined, parameters: { binary_data_size: 16 } })],
  outputs: [{ name: 'OUT', parameters: { binary_data: true } }],
});

/** The body of a reply that must be good, over HTTP. */
export async function httpOk(line: string): Promise<Buffer> {
  const reply = await http(Buffer.from(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  expect(reply?.status).toBe(200);
  return (reply as HttpEnd).body;
}
