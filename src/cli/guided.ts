import { connectControl, resolveAddresses } from '#app/server/addresses.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { readOtherConfigs } from '#triton/control/other-configs.ts';
import type { TritonClient } from '#triton/types.ts';
import type { ModelChoice, ServerChoice } from '#tui/guide.ts';
import { createProgram } from './program.ts';
import type { Terminal, TerminalCanvas } from './terminal.ts';

/**
 * The usual gRPC ports of a Triton: its default, and those of NVIDIA's examples with several
 * servers.
 */
const USUAL_PORTS = [8001, 9001, 18001];

/**
 * Runs the guided start. Resolves to the arguments of the run that the person chose, or null if
 * they left.
 */
export async function guidedStart(canvas: TerminalCanvas): Promise<readonly string[] | null> {
  process.env.NODE_ENV ??= 'production';
  const { askForRun } = await import('#tui/guide-screen.ts');
  return askForRun({ ...canvas, servers: findServers, models: readModels, plan: readPlan });
}

const EMULATOR_PROFILE = 'demo';
const emulator: ServerChoice = {
  options: ['--launch', `emulator:${EMULATOR_PROFILE}`],
  name: 'emulated, to try tritune without a Triton',
};

/** Returns the servers that answer, and last the emulator, which the run would start. */
async function findServers(): Promise<readonly ServerChoice[]> {
  const choices = await Promise.all(USUAL_PORTS.map((port) => serverAt(`localhost:${port}`)));
  return [...choices.flatMap((server) => server ?? []), emulator];
}

async function serverAt(url: string): Promise<ServerChoice | null> {
  try {
    return await withClient(url, async (client) => {
      const { name, version } = await client.serverMetadata();
      return { options: ['-u', url], name: `${name} ${version}` };
    });
  } catch {
    return null;
  }
}

/** Errors: SERVER_UNREACHABLE; MODEL_UNKNOWN if the server has no model. */
async function readModels({ options: [option, url] }: ServerChoice): Promise<readonly ModelChoice[]> {
  if (option === '--launch') return emulatedModels();
  return withClient(url, async (client) => {
    const entries = await client.index();
    const names = [...new Set(entries.map(({ name }) => name))];
    if (names.length === 0)
      throw new TrituneError('MODEL_UNKNOWN', `the server at ${url} has no models`, 'check its model repository');
    const ready = entries.flatMap(({ name, state }) => (state === 'READY' ? [name] : []));
    const { configs } = await readOtherConfigs(client, ready);
    return names.map((name): ModelChoice => {
      const state = entries.find((entry) => entry.name === name && entry.state !== '')?.state ?? 'unloaded';
      const { backend, platform } = lookUp(configs, name) ?? {};
      return { name, state, backend: backend || platform || '' };
    });
  });
}

function emulatedModels(): readonly ModelChoice[] {
  const { models, suggested_latency_budget_ms: budgetMs } = loadProfile(EMULATOR_PROFILE);
  return models.map(({ config: { name, backend } }) => ({
    name: String(name),
    state: 'READY',
    backend: String(backend ?? ''),
    ...(budgetMs !== undefined && { budgetMs }),
  }));
}

async function withClient<T>(url: string, work: (client: TritonClient) => Promise<T>): Promise<T> {
  const { client } = await connectControl(resolveAddresses({ protocol: 'grpc', url }, { verify: true }));
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Returns the output of the command with `--dry-run`, with the long space last. */
async function readPlan(argv: readonly string[]): Promise<readonly string[]> {
  const said: string[] = [];
  const keep = (text: string): void => void said.push(text);
  const terminal: Terminal = { print: keep, tell: keep, status: () => undefined };
  const code = process.exitCode;
  try {
    const args = [...argv, '--dry-run'];
    await (await createProgram(terminal, args)).parseAsync(args, { from: 'user' });
  } catch (error) {
    throw new Error(formatMessage(error), { cause: error });
  } finally {
    process.exitCode = code;
  }
  const [space = '', ...rest] = said;
  return [...rest, '', ...space.split('\n')];
}
