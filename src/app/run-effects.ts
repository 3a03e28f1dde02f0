import { isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { shownArgument, shownCommand } from '#base/secrets.ts';
import { TRITON } from '#space/model-configs.ts';
import type { HeaderSpec, TlsSpec } from '#spec/server-spec.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { isSamplerName } from '#study/search/samplers/registry.ts';
import { controlTarget, type RunToTrust, type TypedOptions } from './control-target.ts';
import { flagsAgain, headerNames } from './server/headers.ts';
import { pickTls, wantsTls } from './server/tls.ts';
import { listOriginals } from './target/triton/originals.ts';

/** What restoring a run does, one thing in each line. */
export function effectsOfRestoring(run: RunToTrust, typed: TypedOptions): readonly string[] {
  const { url, headers } = controlTarget(run, typed);
  const tls = wantsTls(typed) ? typed : run.started.spec.server;
  return [`contacts ${url}`, ...listLoads(run.started), ...listSecrets({ ...pickTls(tls), ...headers }, url)];
}

/** What resuming a run does. */
export function effectsOfResuming({ started }: RunToTrust, typed: TypedOptions): readonly string[] {
  // The space as it was used is kept beside the spec.
  return [
    ...effectsOfStudy({ ...started.spec, space: started.space as StudySpec['space'] }, typed),
    ...listLoads(started),
  ];
}

/** What the study of a spec does. */
export function effectsOfStudy(spec: StudySpec, typed: TypedOptions): readonly string[] {
  const server = { ...spec.server, ...withoutUndefined(typed) };
  const to = server.url ?? 'localhost';
  const addresses = [to, server.controlUrl, server.metricsUrl, ...(spec.traffic.agents ?? [])];
  return [
    ...addresses.flatMap((address) => (address === undefined ? [] : [`contacts ${address}`])),
    ...listRuns(spec),
    ...listAccuracyCommand(spec),
    ...variantsIn((spec.space ?? null) as Json).flatMap(effectsOfVariant),
    `tunes '${spec.model}' there`,
    ...listSecrets({ ...pickTls(server), ...flagsAgain(spec.server, typed) }, to),
    ...listAgentSecrets(spec),
    ...listFiles(spec).map((file) => `reads ${file}, and may send its content`),
    ...(spec.recording ? [`writes ${spec.recording.grid}`] : []),
  ];
}

/**
 * What a file with a study says beside its options, that its reader should know before it happens:
 * what it runs, and which secrets it sends where.
 */
export function listNotices(spec: StudySpec, named: ReadonlySet<string>): readonly string[] {
  const { server } = spec;
  const unnamed = Object.fromEntries(
    [...headerNames, 'tlsKey' as const].flatMap((name) => (named.has(name) ? [] : [[name, server[name]]])),
  ) as HeaderSpec & TlsSpec;
  const isTyped = ['launch', 'launchCommand', 'adapter', 'sampler'].some((name) => named.has(name));
  const command = named.has('accuracyCommand') ? [] : listAccuracyCommand(spec);
  const runs = [...(isTyped ? [] : listRuns(spec)), ...command];
  return [...runs, ...listSecrets(unnamed, server.url ?? 'localhost')];
}

/** What emulating the server of a run does. */
export const effectsOfEmulating = ({ started }: RunToTrust): readonly string[] => [
  `answers for '${started.model}' as its figures say; contacts, runs and sends nothing`,
];

/** The secrets that the study names, each with where it goes. */
export function listSecrets(
  { tokenEnv, tokenFile, headerEnv = [], headerFile = [], header = [], ...tls }: HeaderSpec & TlsSpec,
  to: string,
): readonly string[] {
  return [
    ...(tokenEnv === undefined ? [] : [`sends the value of the environment variable ${tokenEnv} to ${to}`]),
    ...headerEnv.map((text) => `sends the value of the environment variable ${text.split(':').at(-1)} to ${to}`),
    ...[tokenFile, ...headerFile].flatMap((file) =>
      file === undefined ? [] : [`sends the content of ${file} to ${to}`],
    ),
    ...header.map((text) => `sends the header ${text.split(':', 1)[0]} to ${to}`),
    ...(tls.tlsKey === undefined ? [] : [`identifies itself with the key in ${tls.tlsKey} to ${to}`]),
    ...(tls.tlsInsecure === true ? [`does not verify the certificate of ${to}`] : []),
  ];
}

const withoutUndefined = <T extends object>(values: T): Partial<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;

const listLoads = (started: StudyStarted): readonly string[] =>
  started.adapter === TRITON
    ? listOriginals(started).map(({ model }) => `loads, changes and unloads the model '${model}'`)
    : [`changes the settings of the server through the adapter '${started.adapter}'`];

const listAccuracyCommand = ({ accuracy }: StudySpec): readonly string[] =>
  accuracy?.command === undefined ? [] : [`runs ${shownCommand(accuracy.command[0] ?? '')}`];

function listRuns({ server, adapter, sampler }: StudySpec): readonly string[] {
  const { launch, launchCommand, dockerImage, dockerArg = [], serverArg = [], tritonserver = 'tritonserver' } = server;
  const module = sampler.name !== undefined && !isSamplerName(sampler.name) ? sampler.name : undefined;
  const server0 = [
    ...serverArg.map(shownArgument),
    ...(server.modelRepository === undefined ? [] : [`on ${server.modelRepository}`]),
  ];
  return [
    ...(launch === 'local' ? [`runs ${[tritonserver, ...server0].join(' ')}`] : []),
    ...(launch === 'docker'
      ? [`runs the image ${[dockerImage, ...dockerArg.map(shownArgument), ...server0].join(' ')}`]
      : []),
    ...(launch !== undefined && launch !== 'local' && launch !== 'docker' ? [`starts ${launch}`] : []),
    ...(launchCommand === undefined ? [] : [`runs ${shownCommand(launchCommand)}`]),
    ...[adapter, module].flatMap((path) => (path === undefined ? [] : [`runs the module ${path}`])),
  ];
}

const listAgentSecrets = ({ traffic }: StudySpec): readonly string[] =>
  [
    traffic.agentTokenEnv === undefined ? null : `the value of the environment variable ${traffic.agentTokenEnv}`,
    traffic.agentTokenFile === undefined ? null : `the content of ${traffic.agentTokenFile}`,
  ].flatMap((what) => (what === null ? [] : [`sends ${what} to the agents`]));

/** Names in the place of a file with inputs. */
const MADE_UP: ReadonlySet<string> = new Set(['random', 'zero']);

/** Files with what is sent. */
function listFiles({ traffic, together, workloads, prompts, http, server }: StudySpec): readonly string[] {
  const inputs = [traffic, ...Object.values(together?.requests ?? {})].flatMap(({ inputData = [] }) => inputData);
  const files = [
    ...inputs,
    prompts?.promptFile,
    prompts?.tokenizer,
    http?.bodyFile,
    http?.bodiesFile,
    ...(workloads?.files ?? []),
    server.engineSettings,
  ];
  return files.flatMap((file) => (file === undefined || MADE_UP.has(file) ? [] : [file]));
}

/** The variants of the search space of one model or of several. */
function variantsIn(space: Json): readonly (readonly [string, JsonObject])[] {
  if (Array.isArray(space)) return space.flatMap(variantsIn);
  if (!isJsonObject(space)) return [];
  const variants = isJsonObject(space.variants) ? Object.entries(space.variants) : [];
  return [
    ...variants.flatMap(([name, variant]) => (isJsonObject(variant) ? [[name, variant] as const] : [])),
    ...(isJsonObject(space.members) ? Object.values(space.members).flatMap((each) => variantsIn(each ?? null)) : []),
  ];
}

/** A journal may have anything in the place of a text. */
const quoteWord = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null);

function effectsOfVariant([name, { files, build }]: readonly [string, JsonObject]): readonly string[] {
  const local = isJsonObject(files) ? Object.values(files) : [];
  const paths = local.map((file) => (isJsonObject(file) ? file.path : file));
  const command = isJsonObject(build) ? build.command : undefined;
  return [
    ...paths.map((path) => `sends the content of ${quoteWord(path)} for variant '${name}'`),
    ...(command === undefined ? [] : [`runs ${[command].flat().map(quoteWord).join(' ')} to build variant '${name}'`]),
  ];
}
