import { realClock } from '#base/clock.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { folderIn } from '#base/run-files.ts';
import { nsToMs } from '#base/units.ts';
import type { LaunchedServer, LaunchOptions } from '#launch/types.ts';
import type { RequestHeader } from '#loadgen/types.ts';
import type { AddressSpec } from '#spec/server-spec.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { oneOfSeveral } from '#triton/control/one-of-several.ts';
import type { ModelIndexEntry, ModelMetadata, TritonClient } from '#triton/types.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import { temporaryFolder } from '../run-directory.ts';
import {
  addressesOfLaunched,
  connectControl,
  listServers,
  resolveAddresses,
  type TritonIdentity,
} from './addresses.ts';
import { findMetrics } from './find-metrics.ts';
import { readHeaders } from './headers.ts';
import { checkLaunch, type LaunchRequest, launchServer } from './launch.ts';
import { readTls } from './read-tls.ts';
import { wantsTls } from './tls.ts';

/** Connections to servers of the same models. */
export type Replicas = readonly [TritonClient, ...TritonClient[]];

/** The connected server of a run, and the cleanup after the run, in reverse order of opening. */
export interface OpenServer {
  readonly client: TritonClient;
  readonly server: TritonIdentity;
  /** The connections behind `client`: one, or those to the servers that serve as one. */
  readonly replicas: Replicas;
  /** Headers of the requests. */
  readonly headers: readonly RequestHeader[];
  /** TLS of the traffic; undefined for plaintext. */
  readonly tls: TlsOptions | undefined;
  readonly metricsUrl: string;
  /** Whether the server was started for the run: nobody else sends to it. */
  readonly isLaunched: boolean;
  /**
   * Returns the error of a server that was started for the run and has ended by itself; null for
   * any other.
   */
  failure(): TrituneError | null;
  /** For metrics behind https:// */
  readonly metricsTls: TlsOptions;
  close(): Promise<void>;
}

/**
 * Starts the server if the options say so, with models loaded at once or later, and connects to it,
 * or to several that serve as one (`-u A,B`). `logDirectory`: where a started server logs; null for
 * a folder that is removed with the server. Errors: LAUNCH_FAILED, SERVER_*, USAGE; UNSUPPORTED for
 * servers of several versions.
 */
export async function openServer(
  options: AddressSpec & LaunchRequest,
  models: Pick<LaunchOptions, 'loadModels' | 'laterModels'>,
  logDirectory: string | null,
  signal: AbortSignal,
): Promise<OpenServer> {
  const addresses = listServers(options);
  if (addresses.length > 1) checkDivisible(options);
  const opened: OpenServer[] = [];
  const close = async (): Promise<void> => {
    for (const each of opened.toReversed()) await each.close();
  };
  try {
    for (const each of addresses) opened.push(await openOne({ ...options, ...each }, models, logDirectory, signal));
    const [first, second, ...others] = opened as [OpenServer, ...OpenServer[]];
    return second ? { ...asOne(first, second, others), close } : first;
  } catch (error) {
    await close();
    throw error;
  }
}

/** Errors: USAGE for what needs a single server. */
function checkDivisible({ launch, trace, endpoint }: AddressSpec & LaunchRequest & { endpoint?: string }): void {
  const other = launch !== undefined ? '--launch' : trace ? '--trace' : endpoint !== undefined ? '--endpoint' : null;
  if (other === null) return;
  throw new TrituneError('USAGE', `${other} works with one server only`, 'give one address with -u');
}

/** Devices are read from the first. */
function asOne(first: OpenServer, second: OpenServer, others: readonly OpenServer[]): Omit<OpenServer, 'close'> {
  const all = [first, second, ...others];
  const different = all.find(({ server }) => server.version !== first.server.version);
  if (different)
    throw new TrituneError(
      'UNSUPPORTED',
      `${different.server.url} is ${different.server.version}, and ${first.server.url} is ${first.server.version}`,
      'servers that serve as one must have one version',
    );
  if (all.some(({ tls }) => (tls === undefined) !== (first.tls === undefined)))
    throw new TrituneError('USAGE', 'some of the addresses ask for TLS, and some do not', 'write https:// before each');
  const clients = [first.client, second.client, ...others.map(({ client }) => client)] as const;
  return {
    ...first,
    client: oneOfSeveral(clients),
    replicas: clients,
    server: {
      ...first.server,
      url: all.map(({ server }) => server.url).join(),
      controlUrl: all.map(({ server }) => server.controlUrl).join(),
    },
  };
}

async function openOne(
  options: AddressSpec & LaunchRequest,
  models: Pick<LaunchOptions, 'loadModels' | 'laterModels'>,
  logDirectory: string | null,
  signal: AbortSignal,
): Promise<OpenServer> {
  if (options.launch !== undefined && wantsTls(options)) {
    throw new TrituneError('USAGE', 'a server that tritune starts does not use TLS', 'leave out the TLS options');
  }
  checkLaunch(options);
  const tls = await readTls(options);
  const launched = options.launch === undefined ? null : await launch(options, models, logDirectory, signal);
  try {
    const addresses = launched ? addressesOfLaunched(launched, options.protocol) : resolveAddresses(options, tls);
    const { client, server } = await connectControl(addresses);
    const metricsUrl = launched ? undefined : await findMetrics(options.metricsUrl, addresses, tls);
    return {
      client,
      server,
      replicas: [client],
      headers: readHeaders(options),
      tls: addresses.tls,
      metricsTls: tls,
      metricsUrl: metricsUrl ?? addresses.metricsUrl,
      isLaunched: launched !== null,
      failure: () => launched?.failure() ?? null,
      close: async () => {
        await client.close();
        await launched?.stop();
      },
    };
  } catch (error) {
    await launched?.stop();
    throw error;
  }
}

/** The log of a server that did not come up stays: the error names it. */
async function launch(
  options: LaunchRequest,
  models: Pick<LaunchOptions, 'loadModels' | 'laterModels'>,
  logDirectory: string | null,
  signal: AbortSignal,
): Promise<LaunchedServer> {
  const temporary = logDirectory === null ? await temporaryFolder() : null;
  const directory = await folderIn(temporary?.path ?? (logDirectory as string), 'server');
  const launched = await launchServer(options, { ...models, logDirectory: directory, signal }).catch(
    async (error: unknown) => {
      if (!isTrituneError(error, 'LAUNCH_FAILED')) await temporary?.remove();
      throw error;
    },
  );
  return {
    ...launched,
    stop: async () => {
      await launched.stop();
      await temporary?.remove();
    },
  };
}

/** Returns the part of a spec that `openServer` needs. */
export const toServer = ({ server, traffic, trace }: StudySpec): AddressSpec & LaunchRequest => ({
  ...server,
  ...chooseProtocol(server.endpoint),
  sharedMemory: traffic.sharedMemory,
  trace,
});

/** The endpoint of a language model may determine the protocol. */
function chooseProtocol(endpoint: string | undefined): Partial<Pick<AddressSpec, 'protocol'>> {
  if (endpoint === 'triton-generate') return { protocol: 'http' };
  return endpoint === 'triton-grpc' ? { protocol: 'grpc' } : {};
}

/** A name that no repository has, so unloading it changes nothing. */
const NO_MODEL = 'tritune-asks-whether-models-can-be-controlled';

/**
 * Errors: CONTROL_DISABLED if the server refuses load calls. In explicit mode, unloading a model
 * that does not exist succeeds; in other modes the server refuses it (checked on Triton 2.51).
 */
export async function checkControllable(client: TritonClient): Promise<void> {
  await client.unload(NO_MODEL);
}

/** Returns the models of a repository, for people; 'none' if it is empty. */
export const namesIn = (index: readonly ModelIndexEntry[]): string =>
  listed([...new Set(index.map(({ name }) => name))]) || 'none';

/** The model before the run. */
export interface OriginalModel {
  readonly config: ModelConfig;
  readonly metadata: ModelMetadata;
  readonly wasLoaded: boolean;
  /** The duration of the load, or null if the model was already loaded. */
  readonly loadMs: number | null;
}

/**
 * Reads the model's config, after loading the model if needed. Errors: MODEL_UNKNOWN with the known
 * names, MODEL_UNREADY, LOAD_REFUSED.
 */
export async function readOriginal(client: TritonClient, model: string): Promise<OriginalModel> {
  const index = await client.index();
  const entries = index.filter((entry) => entry.name === model);
  if (entries.length === 0) {
    throw new TrituneError(
      'MODEL_UNKNOWN',
      `the server has no model '${model}'`,
      `give -m with one of its models: ${namesIn(index)}`,
    );
  }
  const wasLoaded = entries.some((entry) => entry.state === 'READY');
  const startNs = realClock.nowNs();
  if (!wasLoaded) await client.load(model);
  const loadMs = wasLoaded ? null : nsToMs(realClock.nowNs() - startNs);
  try {
    const [config, metadata] = await Promise.all([client.modelConfig(model), client.modelMetadata(model)]);
    return { config, metadata, wasLoaded, loadMs };
  } catch (error) {
    if (!wasLoaded) await client.unload(model).catch(() => undefined);
    throw error;
  }
}
