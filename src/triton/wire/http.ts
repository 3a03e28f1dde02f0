import { Agent, type buildConnector, errors, request } from 'undici';
import { interrupted, throwIfInterrupted } from '#base/abort.ts';
import { formatMessage } from '#base/errors.ts';
import { isJsonObject, type Json, type JsonObject, nestsDeeperThan } from '#base/json.ts';
import { maxDepth } from '../config/unknown.ts';
import type { TraceSettings } from '../types.ts';
import { saysOutage } from './outage.ts';
import { secureOptions, type TlsOptions } from './tls.ts';
import {
  answerLimit,
  answerTooLong,
  type CallLimits,
  type FaultKind,
  fileParameters,
  type Operation,
  type Wire,
  WireFault,
  type WireOptions,
} from './wire.ts';

interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: JsonObject;
}

/** Returns the HTTP/REST protocol on its own connections. */
export function httpWire(url: string, { tls, headers = [] }: WireOptions = {}): Wire {
  // No idle connections: control calls are rare, and a server may close an idle one just as we use
  // it.
  const agent = new Agent({
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(tls && { connect: secureConnect(tls) }),
  });
  const common = Object.fromEntries(headers.map(({ name, value }) => [name, value]));
  const origin = `${tls ? 'https' : 'http'}://${url}`;
  return {
    protocol: 'http',
    url,
    call: async (operation, limits) => {
      const answer = await exchange(agent, { origin, headers: common }, toHttpCall(operation), {
        ...limits,
        answerBytes: answerLimit(operation),
      });
      return readReply(operation, answer);
    },
    close: () => agent.destroy(),
  };
}

/** Returns the library's form of the options. */
export function secureConnect(tls: TlsOptions): buildConnector.BuildOptions {
  return secureOptions(tls, ['http/1.1']) as buildConnector.BuildOptions;
}

function toHttpCall(operation: Operation): HttpCall {
  switch (operation.kind) {
    case 'live':
      return { method: 'GET', path: '/v2/health/live' };
    case 'ready':
      return { method: 'GET', path: '/v2/health/ready' };
    case 'server-metadata':
      return { method: 'GET', path: '/v2' };
    case 'index':
      return { method: 'POST', path: '/v2/repository/index', body: {} };
    case 'model-ready':
      return { method: 'GET', path: `${modelPath(operation.model)}/ready` };
    case 'model-metadata':
      return { method: 'GET', path: modelPath(operation.model) };
    case 'model-config':
      return { method: 'GET', path: `${modelPath(operation.model)}/config` };
    case 'statistics':
      return {
        method: 'GET',
        path: operation.model === '' ? '/v2/models/stats' : `${modelPath(operation.model)}/stats`,
      };
    case 'load': {
      // The value is a string of JSON; Triton refuses the config as an object.
      const files = fileParameters(operation.files, (bytes) => Buffer.from(bytes).toString('base64'));
      const body = operation.configJson === undefined ? {} : { parameters: { config: operation.configJson, ...files } };
      return { method: 'POST', path: `${repositoryPath(operation.model)}/load`, body };
    }
    case 'unload':
      return { method: 'POST', path: `${repositoryPath(operation.model)}/unload`, body: {} };
    case 'shared-memory-status':
      return { method: 'GET', path: '/v2/systemsharedmemory/status' };
    case 'shared-memory-register': {
      const { name, key, offset, byteSize: byte_size } = operation.region;
      return { method: 'POST', path: `${regionPath(name)}/register`, body: { key, offset, byte_size } };
    }
    case 'shared-memory-unregister':
      return { method: 'POST', path: `${regionPath(operation.name)}/unregister`, body: {} };
    case 'cuda-memory-status':
      return { method: 'GET', path: '/v2/cudasharedmemory/status' };
    case 'cuda-memory-register': {
      const { name, deviceId: device_id, byteSize: byte_size } = operation.region;
      const raw_handle = { b64: Buffer.from(operation.handle).toString('base64') };
      return { method: 'POST', path: `${cudaPath(name)}/register`, body: { raw_handle, device_id, byte_size } };
    }
    case 'cuda-memory-unregister':
      return { method: 'POST', path: `${cudaPath(operation.name)}/unregister`, body: {} };
    case 'trace-settings':
      return Object.keys(operation.change).length === 0
        ? { method: 'GET', path: TRACE_PATH }
        : { method: 'POST', path: TRACE_PATH, body: traceBody(operation.change) };
  }
}

const TRACE_PATH = '/v2/trace/setting';

/**
 * The level is a list, every other setting a text; the server refuses numbers with status 500
 * (Triton 2.51).
 */
const traceBody = (change: TraceSettings): JsonObject =>
  Object.fromEntries(
    Object.entries(change).map(([name, value]) => [name, name === 'trace_level' ? [...value] : (value[0] ?? null)]),
  );

const modelPath = (model: string): string => `/v2/models/${segment(model)}`;
const repositoryPath = (model: string): string => `/v2/repository/models/${segment(model)}`;
const regionPath = (name: string): string => `/v2/systemsharedmemory/region/${segment(name)}`;
const cudaPath = (name: string): string => `/v2/cudasharedmemory/region/${segment(name)}`;
/** A name may come from a server's JSON, which can hold half of a surrogate pair. */
const segment = (name: string): string => encodeURIComponent(name.toWellFormed());

interface HttpAnswer {
  /** What was asked for, with the base path. */
  readonly path: string;
  readonly status: number;
  readonly text: string;
}

async function exchange(
  agent: Agent,
  { origin, headers }: { readonly origin: string; readonly headers: Readonly<Record<string, string>> },
  call: HttpCall,
  limits: CallLimits & { readonly answerBytes: number },
): Promise<HttpAnswer> {
  throwIfInterrupted(limits.signal);
  const url = `${origin}${call.path}`;
  const deadline = AbortSignal.timeout(limits.timeoutMs);
  const signal = limits.signal ? AbortSignal.any([deadline, limits.signal]) : deadline;
  try {
    const response = await request(url, {
      dispatcher: agent,
      method: call.method,
      signal,
      headers: call.body ? { ...headers, 'content-type': 'application/json' } : headers,
      ...(call.body && { body: JSON.stringify(call.body) }),
    });
    const { pathname: path } = new URL(url);
    return { path, status: response.statusCode, text: await textWithin(limits.answerBytes, response.body) };
  } catch (error) {
    if (error instanceof WireFault) throw error;
    if (limits.signal?.aborted) throw interrupted(limits.signal);
    throw transportFault(error, deadline.aborted, limits.timeoutMs);
  }
}

/** Returns the text of an answer, and reads no more than it may have. Errors: WireFault. */
export async function textWithin(limitBytes: number, body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > limitBytes) throw answerTooLong(limitBytes);
    pieces.push(piece);
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

function transportFault(error: unknown, deadlinePassed: boolean, timeoutMs: number): WireFault {
  if (deadlinePassed) return new WireFault('timeout', `no answer within ${timeoutMs} ms`, { cause: error });
  const isOther = error instanceof errors.HTTPParserError;
  return new WireFault(isOther ? 'wrong-protocol' : 'unreachable', transportText(error), { cause: error });
}

/** An AggregateError (several addresses of one host) has an empty message. */
function transportText(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(formatMessage).join('; ');
  return formatMessage(error);
}

function readReply(operation: Operation, answer: HttpAnswer): JsonObject {
  switch (operation.kind) {
    case 'live':
      return { live: readHealth(answer) };
    case 'ready':
    case 'model-ready':
      return { ready: readHealth(answer) };
    case 'load':
    case 'unload':
    case 'shared-memory-register':
    case 'shared-memory-unregister':
    case 'cuda-memory-register':
    case 'cuda-memory-unregister':
      if (answer.status !== 200) throw answeredFault(answer);
      return {};
    case 'index':
      return { models: readJson(answer) };
    case 'model-config':
      return { config: readJson(answer) };
    case 'shared-memory-status':
    case 'cuda-memory-status':
      return { regions: readJson(answer) };
    case 'trace-settings':
      return { settings: readJson(answer) };
    default: {
      const reply = readJson(answer);
      if (isJsonObject(reply)) return reply;
      throw new WireFault('wrong-protocol', `the answer is not a JSON object: ${excerpt(answer.text)}`);
    }
  }
}

/** Triton answers 200 for yes and 400 for no; a proxy in front of it answers 503. */
function readHealth(answer: HttpAnswer): boolean {
  if (answer.status === 200) return true;
  if (answer.status === 400 || answer.status === 503) return false;
  throw answeredFault(answer);
}

function readJson(answer: HttpAnswer): Json {
  if (answer.status !== 200) throw answeredFault(answer);
  const json = parsed(answer.text);
  if (!nestsDeeperThan(maxDepth, json)) return json;
  throw new WireFault('wrong-protocol', `the answer's JSON is nested more than ${maxDepth} deep`);
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text, exactInteger as (key: string, value: Json) => Json) as Json;
  } catch (error) {
    throw new WireFault('wrong-protocol', `the answer is not JSON: ${excerpt(text)}`, { cause: error });
  }
}

/**
 * A 64-bit integer that does not fit a JavaScript number stays text, as protobuf's JSON mapping
 * allows.
 */
function exactInteger(_key: string, value: Json, context: { readonly source?: string }): Json {
  const lossy = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return lossy && context.source !== undefined && /^-?\d+$/.test(context.source) ? context.source : value;
}

/** Returns the server's own words if they are in Triton's form. */
function answeredFault({ path, status, text }: HttpAnswer): WireFault {
  const words = errorText(text);
  const isOutage = saysOutage(status, words ?? text);
  if (words !== undefined) return new WireFault(isOutage ? 'outage' : (faultKinds[status] ?? 'other'), words);
  const kind = status >= 500 ? 'other' : 'wrong-protocol';
  const said = `HTTP status ${status} at ${path}, without an error text of Triton's: ${excerpt(text)}`;
  return new WireFault(isOutage ? 'outage' : kind, said);
}

const faultKinds: Readonly<Record<number, FaultKind>> = {
  400: 'rejected',
  403: 'restricted',
  404: 'not-found',
  405: 'wrong-protocol',
  500: 'failed',
};

function errorText(text: string): string | undefined {
  try {
    const body = JSON.parse(text) as Json;
    return isJsonObject(body) && typeof body.error === 'string' ? body.error : undefined;
  } catch {
    return undefined;
  }
}

const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text || '(empty)');
