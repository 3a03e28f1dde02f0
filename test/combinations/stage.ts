import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { shellLine } from '#base/shell-words.ts';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { type RunningAgent, startAgent } from '#loadgen/agents/serve-agent.ts';
import {
  type Combination,
  type Driver,
  type Extra,
  extras,
  type LoadKind,
  loads,
  type Subject,
  subjects,
} from '#spec/combinations.ts';
import { noLimits, TOKEN } from '../support/agents.ts';
import { everyKindProfile, languageProfile } from '../support/emulator.ts';
import { quickSpace } from '../support/language/quick-space.ts';
import { freshDirectory } from '../support/run-directory.ts';

/**
 * Returns every combination of a driver: each load alone, and each extra but a fleet with the load
 * that suits the subject.
 */
export function combinationsOf(driver: Driver): readonly Combination[] {
  return subjects.flatMap((subject) => [
    ...loads.map((load): Combination => ({ subject, driver, load, extras: [] })),
    ...extras
      .filter((extra) => extra !== 'fleet')
      .map((extra): Combination => ({ subject, driver, load: loadFor(subject, driver), extras: [extra] })),
  ]);
}

function loadFor(subject: Subject, driver: Driver): LoadKind {
  if (subject === 'several models' && driver !== 'tune') return 'workload';
  return driver === 'capacity' ? 'request rate' : 'concurrency';
}

/** Returns models of every kind, and the BLS model `outer`. */
function everyModel(): EmulatorProfile {
  const { models, ...profile } = everyKindProfile();
  const [m] = models;
  const bls = { requests: 'in-turn', stages: [[{ model: 'm' }]] };
  const outer = { ...m, config: { ...m?.config, name: 'outer' }, bls };
  return emulatorSchema.parse({ ...profile, models: [...models, outer] });
}

const MODELS: Readonly<Record<Subject, string>> = {
  'one model': 'm',
  ensemble: 'chain',
  'BLS model': 'outer',
  'several models': 'm',
  OpenAI: 'talk',
  'Triton generate': 'talk',
  'Triton gRPC': 'talk',
  'plain HTTP': 'm',
};

const isPrompt = (subject: Subject): boolean => MODELS[subject] === 'talk';

const support = (name: string): string => resolve(import.meta.dirname, '../support', name);
const commandOf = (script: string, rest: string): string =>
  `${shellLine([process.execPath, support(script)])} --port {port} ${rest}`;

/**
 * Returns what plays combinations: emulators, an agent, and the files of options; and how to end
 * it.
 */
export async function openStage() {
  const [tensors, talking] = await Promise.all([
    startEmulator({ profile: everyModel() }),
    startEmulator({ profile: languageProfile() }),
  ]);
  const agent = await startAgent({ host: '127.0.0.1', port: 0, token: TOKEN, limits: noLimits, tell: () => undefined });
  const folder = await freshDirectory();
  const file = async (name: string, content: unknown): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
    return path;
  };
  const phases = [{ durationS: 1, arrivals: { process: 'constant', perSecond: 20 } }];
  const workload = (name: string, classes: object) =>
    file(`${name}.json`, { workloadVersion: 1, name, classes, phases });
  const data = [{ IN: [1, 2, 3, 4] }, { IN: [5, 6, 7, 8] }];
  const files = {
    one: await workload('one', { all: {} }),
    several: await workload('several', { m: { model: 'm' }, second: { model: 'second' } }),
    expected: await file('expected.json', { data, validation_data: data.map(() => ({ OUT: [0, 0, 0, 0] })) }),
    body: JSON.stringify({ inputs: [{ name: 'IN', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] }),
    space: await file('space.json', { parameters: { instances: [1, 2] } }),
    engine: await file('engine.json', quickSpace(4)),
    service: await file('service.json', { parameters: { workers: [1, 2] } }),
    token: await file('token', TOKEN),
  };
  return {
    argsOf: (combination: Combination) => argsOf(combination, { tensors, talking, agent, files }),
    close: async () => {
      await agent.close();
      await talking.close();
      await tensors.close();
    },
  };
}

type Files = Readonly<
  Record<'one' | 'several' | 'expected' | 'body' | 'space' | 'engine' | 'service' | 'token', string>
>;
type Emulator = Awaited<ReturnType<typeof startEmulator>>;

interface Props {
  readonly tensors: Emulator;
  readonly talking: Emulator;
  readonly agent: RunningAgent;
  readonly files: Files;
}

/** Returns the command line that plays a combination. */
async function argsOf(combination: Combination, props: Props): Promise<readonly string[]> {
  const { driver } = combination;
  const short: Readonly<Record<Driver, readonly string[]>> = {
    profile: combination.load === 'batch sizes' ? ['--output', join(await freshDirectory(), 'table')] : [],
    capacity: ['--latency-budget', '10000', '--time-budget', '3s'],
    tune: [
      ...['--latency-budget', '10000', '--max-trials', '1', '--time-budget', '2s', '--precision', '50', '--ui', 'none'],
      ...['--sampler', 'grid', '-o', join(await freshDirectory(), 'run')],
    ],
  };
  return [
    ...[driver, ...subjectArgs(combination, props), ...loadArgs(combination, props), ...short[driver]],
    ...combination.extras.flatMap((extra) => extraArgs(extra, combination, props)),
  ];
}

const PROMPTS = ['--input-tokens', '8', '--output-tokens', '4', '--prompts', '4'];

function subjectArgs({ subject, driver, load }: Combination, { tensors, talking, files }: Props): readonly string[] {
  const isTune = driver === 'tune';
  const at = (emulator: Emulator, protocol = 'grpc'): readonly string[] => [
    ...['-u', protocol === 'grpc' ? emulator.grpcUrl : emulator.httpUrl, '-i', protocol],
    ...['--metrics-url', emulator.metricsUrl],
    ...(isTune && protocol === 'http' ? ['--control-url', emulator.grpcUrl] : []),
  ];
  const model = MODELS[subject];
  if (subject === 'plain HTTP')
    return [
      ...['--service-kind', 'http', '--body', isTune ? '{"x":1}' : files.body],
      ...(isTune
        ? ['--launch-command', commandOf('batching-service.ts', '--workers {workers} --batch 4 --wait 0')]
        : ['-u', `http://${tensors.httpUrl}/v2/models/m/infer`]),
      ...(isTune ? ['--original', 'workers=1', '--space', files.service, '--path', '/inference'] : []),
    ];
  if (subject === 'OpenAI')
    return [
      ...['-m', isTune ? 'quick' : model, '--endpoint', 'openai', ...PROMPTS],
      ...(isTune
        ? [
            '--launch-command',
            commandOf('language/quick-engine.ts', '--max-num-seqs 1 {flags}'),
            '--space',
            files.engine,
          ]
        : ['-u', talking.httpUrl]),
    ];
  if (subject === 'Triton generate' || subject === 'Triton gRPC') {
    const isGrpc = subject === 'Triton gRPC';
    const protocol = isGrpc ? ['-i', 'grpc'] : isTune ? ['-i', 'http', '--control-url', talking.grpcUrl] : [];
    return [
      ...['-m', model, '--endpoint', isGrpc ? 'triton-grpc' : 'triton-generate', ...PROMPTS],
      ...['-u', isGrpc ? talking.grpcUrl : talking.httpUrl, ...protocol],
      ...(isTune ? ['--space', files.space] : []),
    ];
  }
  if (subject === 'several models' && isTune) return ['--together', 'm,second', ...at(tensors)];
  if (subject === 'several models') return [...(load === 'workload' ? [] : ['-m', 'm,second']), ...at(tensors)];
  return ['-m', model, ...at(tensors), ...(isTune && subject === 'one model' ? ['--space', files.space] : [])];
}

function loadArgs({ subject, driver, load }: Combination, { files }: Props): readonly string[] {
  const file = subject === 'several models' ? files.several : files.one;
  const requests = ['--request-count', '20'];
  const ofProfile: Readonly<Record<LoadKind, readonly string[]>> = {
    concurrency: ['--concurrency-range', '2', ...requests],
    'request rate': ['--request-rate-range', '20', ...requests],
    'batch sizes': ['--scenario', 'offline', '--batch-sizes', '1,2', '--request-count', '20'],
    workload: ['--workload', file, '--passes', '1'],
  };
  const ofTune: Readonly<Record<LoadKind, readonly string[]>> = {
    concurrency: ['--concurrency', '2:2'],
    'request rate': ['--request-rate', '20:20'],
    'batch sizes': ['--concurrency', '1:1', '--batch-size', '1:2'],
    workload: ['--workload', file, '--request-rate', '20:20'],
  };
  const ofCapacity: Readonly<Record<LoadKind, readonly string[]>> = {
    concurrency: ['--concurrency', '2'],
    'request rate': [],
    'batch sizes': ['--batch-size', '1:2'],
    workload: ['--workload', file, '--passes', '1'],
  };
  return { profile: ofProfile, tune: ofTune, capacity: ofCapacity }[driver][load];
}

function extraArgs(extra: Extra, { subject }: Combination, { agent, files }: Props): readonly string[] {
  const options: Readonly<Record<Extra, readonly string[]>> = {
    'shared memory': ['--shared-memory', 'system'],
    'expected outputs':
      isPrompt(subject) || subject === 'plain HTTP'
        ? ['--output-tolerance', '1']
        : ['--input-data', files.expected, '--output-tolerance', '1'],
    streams: ['--streaming'],
    agents: ['--agents', agent.address, '--agent-token-file', files.token],
    fleet: [],
  };
  return options[extra];
}
