import type { Json } from '#base/json.ts';
import type { LogSettings } from '../log-settings.ts';
import { isFileParameter, type UploadedFiles } from '../models/uploaded-files.ts';
import type { ServerContext } from '../server-context.ts';
import type { TraceChange } from '../trace-settings.ts';
import {
  configJson,
  cudaRegionMessage,
  regionMessage,
  statisticsMessage,
  traceSettingsJson,
} from '../wire/messages.ts';
import { ProtocolFailure } from '../wire/protocol-failure.ts';
import { countIn, listIn, parseBodyJson, pathSegment, textIn } from './request.ts';

/**
 * Returns the body of a trace setting: strings, a list for the levels, null to clear. Throws
 * INTERNAL for any other value.
 */
function changedTrace(body: { readonly [name: string]: unknown }): TraceChange {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      if (value === null) return [name, null];
      if (name === 'trace_level') {
        return [name, listIn(value).map(textIn)];
      }
      return [name, [textIn(value)]];
    }),
  );
}

/** Applies the body of a log setting. Throws as `LogSettings.update`. */
function changedLog(settings: LogSettings, body: { readonly [name: string]: unknown }): void {
  settings.update(
    body,
    (format) => new ProtocolFailure('UNAVAILABLE', `invalid argument for --log_format, got: ${format}`),
  );
}

/** Returns the JSON of the reply; undefined for a reply without a body. */
type Route = (context: ServerContext, body: Buffer) => Json | undefined | Promise<Json | undefined>;

interface Pattern {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** The decoded groups of the path; '' for a missing one. */
  readonly route: (model: string, version: string) => Route;
}

const MODEL = '^/v2/models/([^/]+)(?:/versions/([^/]+))?';
const CONTROLLED = '^/v2/repository/models/([^/]+)';
const REGION = '^/v2/systemsharedmemory(?:/region/([^/]+))?';

const CUDA_REGION = '^/v2/cudasharedmemory(?:/region/([^/]+))?';
const TRACE = '^/v2(?:/models/([^/]+))?/trace/setting$';

const patterns: readonly Pattern[] = [
  get('^/v2/?$', () => (context) => ({ ...context.identity })),
  get('^/v2/health/live$', () => () => undefined),
  get('^/v2/health/ready$', () => (context) => whenTrue(context.repository.isReady, 'Server not ready')),
  get('^/v2/models/stats$', () => (context) => ({
    model_stats: context.repository.statistics('', '').map(statisticsMessage),
  })),
  get(
    `${MODEL}/ready$`,
    (model, version) => (context) =>
      whenTrue(context.repository.isModelReady(model, version), 'Model version not ready'),
  ),
  get(
    `${MODEL}/config$`,
    (model, version) => (context) => configJson(context.repository.effectiveConfig(model, version)),
  ),
  get(`${MODEL}/stats$`, (model, version) => (context) => ({
    model_stats: context.repository.statistics(model, version).map(statisticsMessage),
  })),
  get(`${MODEL}$`, (model, version) => (context) => context.repository.metadata(model, version) as unknown as Json),
  post('^/v2/repository/index$', () => (context, body) => indexReply(context, body)),
  post(`${CONTROLLED}/load$`, (model) => async (context, body) => {
    const { config, files } = readLoadParameters(body);
    await context.repository.load(model, config, files);
    return undefined;
  }),
  post(`${CONTROLLED}/unload$`, (model) => (context, body) => {
    const { parameters } = parseBody(body) as { parameters?: { unload_dependents?: unknown } };
    context.repository.unload(model, parameters?.unload_dependents === true);
    return undefined;
  }),
  get(`${REGION}/status$`, (name) => (context) => context.sharedMemory.status(name).map(regionMessage)),
  post(`${REGION}/register$`, (name) => (context, body) => {
    const { key, byte_size: byteSize, offset = 0 } = parseBody(body);
    for (const [field, value] of Object.entries({ key, byte_size: byteSize })) {
      if (value === undefined)
        throw new ProtocolFailure('INVALID_ARGUMENT', `Shared memory register request has no '${field}' field`);
    }
    const region = { name, key: textIn(key), offset: countIn(offset), byteSize: countIn(byteSize) };
    context.sharedMemory.register(region);
    return undefined;
  }),
  post(`${REGION}/unregister$`, (name) => (context) => {
    context.sharedMemory.unregister('system', name);
    return undefined;
  }),
  get(`${CUDA_REGION}/status$`, (name) => (context) => context.sharedMemory.cudaStatus(name).map(cudaRegionMessage)),
  post(`${CUDA_REGION}/register$`, (name) => (context, body) => {
    const { raw_handle: handle, device_id: deviceId = 0, byte_size: byteSize = 0 } = parseBody(body);
    if (handle === undefined)
      throw new ProtocolFailure('INVALID_ARGUMENT', "Shared memory register request has no 'raw_handle' field");
    const bytes = Buffer.from(textIn((handle as { b64?: unknown } | null)?.b64), 'base64');
    context.sharedMemory.registerCuda({ name, deviceId: countIn(deviceId), byteSize: countIn(byteSize) }, bytes);
    return undefined;
  }),
  post(`${CUDA_REGION}/unregister$`, (name) => (context) => {
    context.sharedMemory.unregister('cuda', name);
    return undefined;
  }),
  get(TRACE, (model) => (context) => traceReply(context, model)),
  post(TRACE, (model) => (context, body) => {
    context.repository.checkTraced(model);
    context.traceSettings.update(model, changedTrace(parseBody(body)));
    return traceReply(context, model);
  }),
  get('^/v2/logging$', () => (context) => ({ ...context.logSettings.read() })),
  post('^/v2/logging$', () => (context, body) => {
    changedLog(context.logSettings, parseBody(body));
    return { ...context.logSettings.read() };
  }),
];

/**
 * Returns the route of a request; undefined if there is none. Throws INVALID_ARGUMENT for a path
 * with broken escapes.
 */
export function findRoute(method: string, path: string): Route | undefined {
  for (const pattern of patterns) {
    const match = pattern.method === method ? pattern.path.exec(path) : null;
    if (match) return pattern.route(pathSegment(match[1] ?? ''), pathSegment(match[2] ?? ''));
  }
  return undefined;
}

function get(path: string, route: Pattern['route']): Pattern {
  return { method: 'GET', path: new RegExp(path), route };
}

function post(path: string, route: Pattern['route']): Pattern {
  return { method: 'POST', path: new RegExp(path), route };
}

function traceReply(context: ServerContext, model: string): Json {
  context.repository.checkTraced(model);
  return traceSettingsJson(context.traceSettings.read(model));
}

function whenTrue(holds: boolean, otherwise: string): undefined {
  if (!holds) throw new ProtocolFailure('INVALID_ARGUMENT', otherwise);
  return undefined;
}

/** A model that was never loaded has only its name. */
function indexReply(context: ServerContext, body: Buffer): Json {
  const { ready } = parseBody(body);
  return context.repository.index(ready === true).map(({ name, version, state, reason }) => {
    if (state === '') return { name };
    return { name, version, state, ...(reason !== '' && { reason }) };
  });
}

/**
 * Reads the parameters of a load body, which must be strings: `config` holds JSON, files are
 * base64.
 */
function readLoadParameters(body: Buffer): { config: string | undefined; files: UploadedFiles } {
  const { parameters } = parseBody(body);
  const entries = Object.entries((parameters ?? {}) as Record<string, unknown>);
  for (const [key, value] of entries) {
    if (key !== 'config' && !isFileParameter(key))
      throw new ProtocolFailure('INTERNAL', `unexpected error on creating Triton parameter '${key}'`);
    textIn(value);
  }
  const statedParameters = Object.fromEntries(entries) as Record<string, string>;
  const uploads = Object.entries(statedParameters).filter(([name]) => isFileParameter(name));
  const files = new Map(uploads.map(([name, content]) => [name, Buffer.from(content, 'base64')]));
  return { config: statedParameters.config, files };
}

function parseBody(body: Buffer): { readonly [key: string]: unknown } {
  return body.length === 0 ? {} : parseBodyJson(body);
}
