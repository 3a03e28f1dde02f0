import { h2Frame } from '../../support/raw-h2.ts';
import * as h2 from '../../support/scripted-h2.ts';

/** Lines as HTTP/1 ends them. */
export const crlf = (...lines: string[]): string => lines.map((line) => `${line}\r\n`).join('');

/** Sound replies over HTTP/1, from which damaged ones are made. */
export const soundHttp1: readonly string[] = [
  `${crlf('HTTP/1.1 200 OK', 'Content-Length: 5', 'X-A:  b ', '')}hello`,
  crlf(
    'HTTP/1.1 100 Continue',
    '',
    'HTTP/1.1 500 no',
    'Transfer-Encoding: chunked',
    '',
    '3;x=y',
    'abc',
    '0',
    'T: x',
    '',
  ),
  `${crlf('HTTP/1.0 404 no', 'Connection: close', '')}{"error":"not here"}`,
  crlf('HTTP/1.1 204 No Content', 'Connection: keep-alive', ''),
  `${crlf('HTTP/1.1 200 OK', 'Content-Length: 3, 3', 'Content-Length: 3', '')}abc`,
];

const padded = Buffer.concat([Buffer.of(4), h2.okMessage(1).subarray(9), Buffer.alloc(4)]);

/** Sound replies over HTTP/2: frames of stream 1. */
export const soundH2: readonly Buffer[] = [
  h2.okResponse(1),
  Buffer.concat([h2.okHeaders(1), h2Frame(h2.DATA, 0x8, 1, padded), h2.trailers(1)]),
  Buffer.concat([h2.settingsFrame([4, 1], [5, 16_384], [1, 0]), h2.windowUpdate(0, 2 ** 31 - 1), h2.okResponse(1)]),
  Buffer.concat([
    h2Frame(h2.HEADERS, 0x28, 1, Buffer.of(1, 0, 0, 0, 0, 16, 0x88, 0)),
    h2Frame(h2.CONTINUATION, 0x4, 1, h2.field('x', 'y')),
    h2Frame(h2.PING, 0, 0, Buffer.alloc(8)),
    h2.okMessage(1),
    h2.trailers(1, '13'),
  ]),
  Buffer.concat([h2.goAway(1), h2.okResponse(1), h2Frame(h2.RST_STREAM, 0, 1, h2.uint32(7))]),
];
