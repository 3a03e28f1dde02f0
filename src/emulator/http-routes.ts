import type { Json } from '../base/json.ts';
import type { Backstage } from './backstage.ts';
import { countIn, jsonOf, pathSegment, textIn } from './http-request.ts';
import { changedLog, changedTrace } from './http-settings.ts';
import { ProtocolFailure } from './protocol-failure.ts';
import { isFileParameter } from './uploaded-files.ts';
import { configJson, cudaRegionMessage, regionMessage, statisticsMessage, traceSettingsJson } from './wire-messages.ts';

/** Gives the JSON of the reply, or undefined for one without a body. */
type Route = (stage: Backstage, body: Buffer) => Json | undefined | Promise<Json | undefined>;

interface Pattern {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  /** The path's groups, decoded; '' where one is missing. */
  readonly route: (model: string, version: string) => Route;
}

const MODEL = '^/v2/models/([^/]+)(?:/versions/([^/]+))?';
const CONTROLLED = '^/v2/repository/models/([^/]+)';
const REGION = '^/v2/systemsharedmemory(?:/region/([^/]+))?';

const CUDA_REGION = '^/v2/cudasharedmemory(?:/region/([^/]+))?';
const TRACE = '^/v2(?:/models/([^/]+))?/trace/setting$';

const patterns: readonly Pattern[] = [
  get('^/v2/?$', () => (stage) => ({ ...stage.identity })),
  get('^/v2/health/live$', () => () => undefined),
  get('^/v2/health/ready$', () => (stage) => whenTrue(stage.repository.isReady, 'Server not ready')),
  get('^/v2/models/stats$', () => (stage) => ({
    model_stats: stage.repository.statistics('', '').map(statisticsMessage),
  })),
  get(
    `${MODEL}/ready$`,
    (model, version) => (stage) => whenTrue(stage.repository.isModelReady(model, version), 'Model version not ready'),
  ),
  get(`${MODEL}/config$`, (model, version) => (stage) => configJson(stage.repository.effectiveConfig(model, version))),
  get(`${MODEL}/stats$`, (model, version) => (stage) => ({
    model_stats: stage.repository.statistics(model, version).map(statisticsMessage),
  })),
  get(`${MODEL}$`, (model, version) => (stage) => stage.repository.metadata(model, version) as unknown as Json),
  post('^/v2/repository/index$', () => (stage, body) => indexReply(stage, body)),
  post(`${CONTROLLED}/load$`, (model) => async (stage, body) => {
    const { config, files } = loadParametersOf(body);
    await stage.repository.load(model, config, files);
    return undefined;
  }),
  post(`${CONTROLLED}/unload$`, (model) => (stage, body) => {
    const { parameters } = parseBody(body) as { parameters?: { unload_dependents?: unknown } };
    stage.repository.unload(model, parameters?.unload_dependents === true);
    return undefined;
  }),
  get(`${REGION}/status$`, (name) => (stage) => stage.sharedMemory.status(name).map(regionMessage)),
  post(`${REGION}/register$`, (name) => (stage, body) => {
    const { key, byte_size: byteSize, offset = 0 } = parseBody(body);
    for (const [field, value] of Object.entries({ key, byte_size: byteSize })) {
      if (value === undefined)
        throw new ProtocolFailure('INVALID_ARGUMENT', `Shared memory register request has no '${field}' field`);
    }
    const region = { name, key: textIn(key), offset: countIn(offset), byteSize: countIn(byteSize) };
    stage.sharedMemory.register(region);
    return undefined;
  }),
  post(`${REGION}/unregister$`, (name) => (stage) => {
    stage.sharedMemory.unregister('system', name);
    return undefined;
  }),
  get(`${CUDA_REGION}/status$`, (name) => (stage) => stage.sharedMemory.cudaStatus(name).map(cudaRegionMessage)),
  post(`${CUDA_REGION}/register$`, (name) => (stage, body) => {
    const { raw_handle: handle, device_id: deviceId = 0, byte_size: byteSize = 0 } = parseBody(body);
    if (handle === undefined)
      throw new ProtocolFailure('INVALID_ARGUMENT', "Shared memory register request has no 'raw_handle' field");
    const bytes = Buffer.from(textIn((handle as { b64?: unknown } | null)?.b64), 'base64');
    stage.sharedMemory.registerCuda({ name, deviceId: countIn(deviceId), byteSize: countIn(byteSize) }, bytes);
    return undefined;
  }),
  post(`${CUDA_REGION}/unregister$`, (name) => (stage) => {
    stage.sharedMemory.unregister('cuda', name);
    return undefined;
  }),
  get(TRACE, (model) => (stage) => traceReply(stage, model)),
  post(TRACE, (model) => (stage, body) => {
    stage.repository.checkTraced(model);
    stage.traceSettings.update(model, changedTrace(parseBody(body)));
    return traceReply(stage, model);
  }),
  get('^/v2/logging$', () => (stage) => ({ ...stage.logSettings.read() })),
  post('^/v2/logging$', () => (stage, body) => {
    changedLog(stage.logSettings, parseBody(body));
    return { ...stage.logSettings.read() };
  }),
];

/** The route of a request, or undefined when there is none. Throws INVALID_ARGUMENT for a path with broken escapes. */
export function routeOf(method: string, path: string): Route | undefined {
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

function traceReply(stage: Backstage, model: string): Json {
  stage.repository.checkTraced(model);
  return traceSettingsJson(stage.traceSettings.read(model));
}

function whenTrue(holds: boolean, otherwise: string): undefined {
  if (!holds) throw new ProtocolFailure('INVALID_ARGUMENT', otherwise);
  return undefined;
}

/** A model that was never loaded has its name only. */
function indexReply(stage: Backstage, body: Buffer): Json {
  const { ready } = parseBody(body);
  return stage.repository.index(ready === true).map(({ name, version, state, reason }) => {
    if (state === '') return { name };
    return { name, version, state, ...(reason !== '' && { reason }) };
  });
}

/** The parameters of a load body, which must be strings: `config` holds JSON, files come as base64. */
function loadParametersOf(body: Buffer): { config: string | undefined; files: readonly string[] } {
  const { parameters } = parseBody(body);
  const entries = Object.entries((parameters ?? {}) as Record<string, unknown>);
  for (const [key, value] of entries) {
    if (key !== 'config' && !isFileParameter(key))
      throw new ProtocolFailure('INTERNAL', `unexpected error on creating Triton parameter '${key}'`);
    textIn(value);
  }
  const given = Object.fromEntries(entries) as Record<string, string>;
  return { config: given.config, files: Object.keys(given).filter(isFileParameter) };
}

function parseBody(body: Buffer): { readonly [key: string]: unknown } {
  return body.length === 0 ? {} : jsonOf(body);
}
