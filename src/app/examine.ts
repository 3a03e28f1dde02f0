import { availableParallelism } from 'node:os';
import { readTraceFile } from '#adapter/triton/tracing.ts';
import { errorLine } from '#base/error-line.ts';
import { formatMs, plainLine } from '#base/format.ts';
import { shownUrl } from '#base/secrets.ts';
import { nsToMs } from '#base/units.ts';
import { findTriton } from '#launch/triton-install.ts';
import { lookAtAgent } from '#loadgen/agents/look-at-agent.ts';
import { hasProcFiles } from '#loadgen/client/host-cpu.ts';
import { hasSharedMemory } from '#loadgen/shared-memory/shared-object.ts';
import { metricsProbe } from '#profiler/devices/device-probe.ts';
import type { AddressSpec } from '#spec/server-spec.ts';
import type { AgentsSpec } from '#spec/traffic-spec.ts';
import { readOtherConfigs } from '#triton/control/other-configs.ts';
import type { ModelIndexEntry } from '#triton/types.ts';
import { examineModel } from './examine-model.ts';
import { type Finding, failed, note, ok } from './finding.ts';
import { connectControl, resolveAddresses } from './server/addresses.ts';
import { findMetrics } from './server/find-metrics.ts';
import { leftoversIn } from './server/leftover.ts';
import { checkControllable, type OpenServer } from './server/open-server.ts';
import { readTls } from './server/read-tls.ts';
import { agentAccess } from './traffic/client-threads.ts';

/**
 * Reports for each agent whether it answers, its version, its cores, and how well its clock is
 * known. Makes it send nothing. Never throws.
 */
async function* examineAgents(spec: AgentsSpec): AsyncGenerator<Finding> {
  const { agents = [] } = spec;
  if (agents.length === 0) return;
  try {
    const access = await agentAccess(spec);
    for (const address of agents) {
      try {
        const { version, cores, offsetNs, uncertaintyNs } = await lookAtAgent(address, access);
        const clock = `clock ahead by ${formatMs(nsToMs(offsetNs))} ± ${formatMs(nsToMs(uncertaintyNs))}`;
        yield ok('agent', `${address}: tritune ${version}, ${cores} cores, ${clock}`);
      } catch (error) {
        yield failed('agent', error);
      }
    }
  } catch (error) {
    yield failed('agents', error);
  }
}

/** What a run does not know on a system other than Linux. */
const WITHOUT_PROC =
  'not Linux: what else ran on this machine, and waits for its CPUs, are unknown; its clock and its own CPU time are measured';

export type ExamineOptions = AddressSpec & AgentsSpec & { readonly model?: string };

/**
 * Server extensions: how a run uses them, what it does without them, and whether this machine can
 * use them, if that is not certain.
 */
const EXTENSIONS: readonly (readonly [name: string, use: string, without: string, isHere?: () => boolean])[] = [
  [
    'statistics',
    'statistics by batch size, for the queueing sampler',
    'the queueing sampler assumes typical execution times',
  ],
  [
    'system_shared_memory',
    'tensors in shared memory (--shared-memory system)',
    'no --shared-memory system',
    hasSharedMemory,
  ],
  ['cuda_shared_memory', "tensors in a GPU's memory (--shared-memory cuda)", 'no --shared-memory cuda'],
];

/**
 * Reports what is reachable, which features there are, and what would go wrong with a run, one
 * finding after another. Loads and changes nothing: it tests model control by unloading a model
 * that does not exist. Sends a named model that is loaded one request at a time, for about a
 * second. Never throws.
 */
export async function* examine(options: ExamineOptions): AsyncGenerator<Finding> {
  yield await machine();
  if (!hasProcFiles()) yield note('machine', WITHOUT_PROC);
  yield* examineAgents(options);
  let subject: Subject | null = null;
  try {
    const tls = await readTls(options);
    const addresses = resolveAddresses(options, tls);
    const { tls: trafficTls, headers = [] } = addresses;
    const connection = await connectControl(addresses);
    const metricsUrl = await findMetrics(options.metricsUrl, addresses, tls);
    subject = { ...connection, tls: trafficTls, headers, metricsUrl, metricsTls: tls };
    for (const look of [server, control, extensions, traces]) yield* look(subject);
    const index = await subject.client.index();
    yield repository(index);
    yield await metrics(subject, index, options.model);
    if (options.model !== undefined) yield* examineModel(subject, index, options.model);
    else yield* leftovers(subject, loadedIn(index));
  } catch (error) {
    yield failed('server', error);
  } finally {
    await subject?.client.close();
  }
}

type Subject = Pick<OpenServer, 'client' | 'server' | 'tls' | 'headers' | 'metricsUrl' | 'metricsTls'>;
/** A config that cannot be read ends only a run of its own model. */
async function* leftovers(subject: Subject, models: readonly string[]): AsyncGenerator<Finding> {
  const { configs, unreadable, unread } = await readOtherConfigs(subject.client, models);
  for (const [model, error] of unreadable) yield note(model, errorLine(error));
  if (unread.length > 0)
    yield note('models', `${unread.length} were not looked at: there are too many, or they take too long`);
  for await (const error of leftoversIn(subject, Object.keys(configs))) yield failed('models', error);
}

type Look = (subject: Subject) => AsyncGenerator<Finding>;

async function machine(): Promise<Finding> {
  const cores = availableParallelism();
  const install = await findTriton();
  const local = install
    ? `Triton for --launch local is in ${install.directory}`
    : 'no Triton for --launch local (tritune install-triton)';
  return ok('machine', `${cores} cores for the load generator; ${local}`);
}

const server: Look = async function* ({ client, server: { name, version, url, protocol, emulated } }) {
  const what = emulated === null ? `${name} ${version}` : `tritune's emulator, profile ${emulated}`;
  yield ok('server', `${what} at ${url} (${protocol})`);
  if (!(await client.ready()))
    yield note('server', 'not ready: a model failed to load, or the server is still starting');
};

const control: Look = async function* ({ client }) {
  try {
    await checkControllable(client);
    yield ok('control', 'models can be loaded and unloaded');
  } catch (error) {
    yield failed('control', error);
  }
};

const extensions: Look = async function* ({ client }) {
  const { extensions: there } = await client.serverMetadata();
  for (const [name, use, without, isHere] of EXTENSIONS) {
    const about = name.replace('system_', '');
    if (!there.includes(name)) yield note(about, `not available: ${without}`);
    else if (isHere?.() === false) yield note(about, `not on this machine: ${without}`);
    else yield ok(about, use);
  }
};

const traces: Look = async function* ({ client }) {
  try {
    yield ok('trace', `traces (--trace) go to ${plainLine(readTraceFile(await client.traceSettings()))}`);
  } catch (error) {
    yield note('trace', errorLine(error));
  }
};

function repository(index: readonly ModelIndexEntry[]): Finding {
  const names = new Set(index.map(({ name }) => name));
  const ready = loadedIn(index);
  const list = ready.slice(0, 5).join(', ');
  const more = ready.length > 5 ? `, and ${ready.length - 5} more` : '';
  if (names.size === 0) return note('models', 'the repository is empty');
  return ok('models', `${names.size} in the repository, ${ready.length} loaded${list ? `: ${list}${more}` : ''}`);
}

const loadedIn = (index: readonly ModelIndexEntry[]): string[] => [
  ...new Set(index.filter(({ state }) => state === 'READY').map(({ name }) => name)),
];

async function metrics(
  { metricsUrl, metricsTls, headers }: Subject,
  index: readonly ModelIndexEntry[],
  requestedVersion: string | undefined,
): Promise<Finding> {
  const loaded = loadedIn(index);
  const known = loaded.find((name) => name === requestedVersion) ?? loaded[0] ?? '';
  const figures = await metricsProbe(metricsUrl, known, { tls: metricsTls, headers })(AbortSignal.timeout(5000));
  if (figures === null)
    return note(
      'metrics',
      `no metrics of this server at ${shownUrl(metricsUrl)}, so its CPU and GPU figures are unknown (give --metrics-url)`,
    );
  const { cpuUtilizationPercent, gpus = [] } = figures;
  const parts = [
    cpuUtilizationPercent === undefined ? 'no CPU figures' : 'CPU',
    gpus.length === 0 ? 'no GPU' : `${gpus.length} GPU`,
  ];
  return ok('metrics', `${parts.join(', ')} at ${shownUrl(metricsUrl)}`);
}
