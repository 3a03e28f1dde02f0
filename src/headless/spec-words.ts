import { lookUp } from '#base/look-up.ts';
import { optionFlag } from '#base/option-flag.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { type IntegerRanges, OTHERS, rangesByInput } from '#workload/request-spec.ts';

/**
 * Returns the options of the command line that say the same as fields of a spec: `--tls-ca ca.pem`.
 * The flag of a field is its name.
 */
function optionWords(fields: object, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const value: unknown = (fields as Readonly<Record<string, unknown>>)[name];
    const flag = optionFlag(name);
    if (value === undefined || value === false || value === usual[name]) return [];
    if (value === true) return [flag];
    return listTexts(name, value).flatMap((text) => [flag, text]);
  });
}

/** Values that every command has by default. */
const usual: Readonly<Record<string, string>> = { compression: 'none', tensorFormat: 'binary', sharedMemory: 'none' };

type Writer = (value: never) => readonly string[];

/** How values are written that are no texts, numbers or lists of texts. */
const writers: Readonly<Record<string, Writer>> = {
  agents: (agents: readonly string[]) => [agents.join(',')],
  // Their values are not kept.
  header: (names: readonly string[]) => names.map((name) => `${name.split(':', 1)[0]}: VALUE`),
  shape: (shapes: Readonly<Record<string, readonly number[]>>) =>
    Object.entries(shapes).map(([input, sizes]) => `${input}:${sizes.join(',')}`),
  requestParameter: (parameters: readonly { name: string; value: unknown; type: string }[]) =>
    parameters.map(({ name, value, type }) => `${name}:${value}:${type}`),
  integers: (ranges: IntegerRanges) =>
    Object.entries(rangesByInput(ranges)).flatMap(([input, range]) =>
      rangeText(range).map((text) => (input === OTHERS ? text : `${input}=${text}`)),
    ),
  sequenceIds: rangeText,
  traceSlice: ({ fromS, toS }: { fromS: number; toS: number }) => [`${fromS}:${toS}`],
  inputTokens: distributionText,
  outputTokens: distributionText,
  turns: distributionText,
  thinkTimeMs: distributionText,
};

function rangeText({ low, high }: { low: number; high: number }): readonly string[] {
  return [`${low}:${high}`];
}

type Distribution = NonNullable<NonNullable<StudySpec['prompts']>['inputTokens']>;

function distributionText(distribution: Distribution): readonly string[] {
  if (distribution.kind === 'constant') return [`${distribution.value}`];
  if (distribution.kind === 'uniform') return rangeText(distribution);
  const { kind, mean, std, min, max } = distribution;
  const limits = min === undefined && max === undefined ? '' : `,${min ?? ''}${max === undefined ? '' : `,${max}`}`;
  return [`${kind}:${mean},${std}${limits}`];
}

function listTexts(name: string, value: unknown): readonly string[] {
  const writer = writers[name];
  if (writer) return writer(value as never);
  return Array.isArray(value) ? value.map(String) : [String(value)];
}

const tlsAndHeaders = [
  ...['tls', 'tlsCa', 'tlsCert', 'tlsKey', 'tlsServerName', 'tlsInsecure'],
  ...['header', 'headerEnv', 'headerFile', 'tokenEnv', 'tokenFile'],
];
const launched = ['launch', 'modelRepository', 'tritonserver', 'serverArg', 'serverCpus'];
const inDocker = ['dockerImage', 'dockerGpus', 'dockerArg'];
const requests = [
  ...['inputData', 'shape', 'integers', 'stringData', 'stringLength', 'maxInputSize', 'requestParameter'],
  ...['sequenceLength', 'sequenceLengthVariation', 'sequenceIds'],
];
const transport = ['streaming', 'compression', 'tensorFormat', 'sharedMemory', 'outputSharedMemorySize'];
const client = [
  ...['clientThreads', 'agents', 'agentTokenFile', 'agentTokenEnv', 'agentTls', 'agentTlsCa', 'agentTlsCert'],
  ...['agentTlsKey', 'agentPlaintext', 'agentClockLimitMs'],
];
const prompts = [
  ...['promptFile', 'inputTokens', 'outputTokens', 'prompts', 'prefixPrompts', 'prefixTokens', 'sessions', 'turns'],
  ...['thinkTimeMs', 'traceSlice', 'tokenizer'],
];

type Server = StudySpec['server'];

/**
 * Returns the options for TLS and headers, which every command takes that speaks with the server.
 */
export const secretWords = (server: Server): readonly string[] => optionWords(server, tlsAndHeaders);

/** Returns the options that start the server of the study again. */
export const launchWords = (server: Server): readonly string[] =>
  optionWords(server, server.launch === 'docker' ? [...launched, ...inDocker] : launched);

/**
 * Returns the options for the requests of a model with tensors, and who sends them. `front`: its
 * own requests among several models.
 */
export function requestWords({ traffic, together }: StudySpec, front: string): readonly string[] {
  const ownRequests = { ...traffic, ...lookUp(together?.requests, front) };
  return [...batchWords(traffic), ...optionWords(ownRequests, [...requests, ...transport, ...client])];
}

const batchWords = ({ batch }: StudySpec['traffic']): readonly string[] => (batch === 1 ? [] : ['-b', String(batch)]);

/**
 * Returns the options for what a plain HTTP service is sent, without its path, and who sends it.
 */
export const httpWords = ({ traffic, http = {} }: StudySpec): readonly string[] => [
  ...optionWords(http, ['method', 'body', 'bodyFile', 'bodiesFile', 'disableKeepalive']),
  ...optionWords(traffic, client),
];

/** Returns the options for the prompts of a language model, and who sends them. */
export function promptWords({ traffic, prompts: spec = {} }: StudySpec): readonly string[] {
  const eos = spec.ignoreEos === undefined ? [] : ['--ignore-eos', spec.ignoreEos ? 'yes' : 'no'];
  return [...optionWords(spec, prompts), ...eos, ...optionWords(traffic, client)];
}

/** Returns the options for the texts of embeddings, rerank and classify, and who sends them. */
export const textWords = (spec: StudySpec): readonly string[] => [...batchWords(spec.traffic), ...promptWords(spec)];
