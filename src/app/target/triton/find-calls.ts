import { heldByOthers } from '#adapter/triton/hold-model.ts';
import { hasVariants } from '#adapter/variants/known-builds.ts';
import { isTrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import type { StatedSpaces } from '#space/joint/given-spaces.ts';
import { isEnsemble } from '#space/joint/topology-of.ts';
import type { ModelConfigs } from '#space/model-configs.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { takesSequences } from '#triton/config/batching-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { readOtherConfigs } from '#triton/control/other-configs.ts';
import type { OpenServer, OriginalModel } from '../../server/open-server.ts';
import { checkProtected } from '../../server/protect.ts';
import type { OpenStudy } from '../../study/study.ts';
import { firstTimeoutMs } from '../../traffic/first-requests.ts';
import type { SeededTraffic } from '../../traffic/open-traffic.ts';
import { readRequests } from '../../traffic/tensor-requests.ts';
import { askModel, type CallEffects, REQUESTS_SENT } from './ask-model.ts';
import { type FrontEffects, findCallers } from './callers-of.ts';
import type { Rates } from './direct-calls.ts';
import { trafficTo } from './front-inputs.ts';
import type { FindCalls } from './models.ts';
import { readParts } from './read-together.ts';
import { whileTraced } from './traced-calls.ts';

/**
 * Backends that execute a model's own files. Any other backend may call models: Python's, and
 * unknown ones.
 */
const EXECUTES_ALONE = /^(onnxruntime|tensorrt|tensorflow|pytorch|openvino|dali|fil|tensorrtllm|vllm|identity)(_|$)/;
/** The server's refusal if a called model is not loaded (seen on Triton 2.51). */
const NOT_LOADED = /Model '([^']+)' is not ready/;
const OR = '--bls-composing names those that it calls, or none';

/**
 * True if a model may call others from its code. Skips sequences, because each one begun would have
 * to end.
 */
const mayCall = (config: ModelConfig): boolean =>
  !isEnsemble(config) && !takesSequences(config) && !EXECUTES_ALONE.test(config.backend || config.platform || '');

interface Search {
  readonly spec: StudySpec;
  readonly opened: OpenServer;
  readonly read: Map<string, OriginalModel>;
}

/**
 * Returns a function that finds the models called by BLS models, for a new study whose spec does
 * not name them. It sends a few requests to each front. The statistics of all models show which of
 * them got requests, and so do traces if the server writes them to this machine. `tell` gets a line
 * for each finding, and for what cannot be known. Errors: as `readParts`, `readRequests` and
 * `whileTraced`; USAGE for a protected model that is called but not loaded.
 */
export function callsFinder(
  { spec, started }: Pick<OpenStudy, 'spec' | 'started'>,
  { whole, members }: StatedSpaces,
  opened: OpenServer,
  tell: (line: string) => void,
): FindCalls | undefined {
  const spaces = [whole, ...Object.values(members)];
  // The user has named them, or the study is about one model alone.
  const isSettled = started !== null || spec.together?.blsComposing !== undefined || spec.levels.batch !== undefined;
  if (isSettled || spaces.some((space) => space && hasVariants(space))) return undefined;
  return async (fronts, read) => {
    const search = { spec, opened, read };
    const all = new Map<string, readonly string[]>();
    for (const { model } of fronts) {
      const answer = await askFront(search, model);
      if (!answer) continue;
      const { calls, uncalled } = await findCallers(answer, mayCall, (name) => askOther(search, name, answer.configs));
      for (const [caller, called] of calls) {
        const free = await unprotected(search, called);
        if (free.length === 0 || all.has(caller)) continue;
        all.set(caller, free);
        const how = answer.traced.has(caller) ? 'traces' : 'the statistics';
        tell(plainLine(`${caller} calls ${listed(free)} (found from ${how} of ${REQUESTS_SENT} requests); ${BY_HAND}`));
      }
      const known = new Set([...calls.values()].flat());
      const unclear = [...uncalled, ...answer.unclear.filter((name) => !known.has(name))];
      if (unclear.length > 0) tell(plainLine(`whether ${model} calls ${listed(unclear)} is not clear: ${OR}`));
    }
    return Object.fromEntries(all);
  };
}

const BY_HAND = '--bls-composing names them by hand';

/**
 * Returns the models called by a few requests to a front; null if it cannot call others or does not
 * reply.
 */
async function askFront(
  { spec, opened, read }: Search,
  front: string,
): Promise<(FrontEffects & Pick<CallEffects, 'unclear'>) | null> {
  const { client } = opened;
  const original = read.get(front) as OriginalModel;
  const spent = new Set<string>();
  for (;;) {
    const index = await client.index();
    const ready = index.flatMap(({ name, state }) => (state === 'READY' ? [name] : []));
    const isAlone = index.every(({ name }) => name === front);
    if (isAlone || takesSequences(original.config) || ![...read.values()].some(({ config }) => mayCall(config)))
      return null;
    const { configs, unreadable } = await readOtherConfigs(client, ready);
    const traffic = trafficTo(spec, front);
    const inputs = await readRequests(traffic, original);
    const sent = { spec: traffic, config: original.config, inputs, timeoutMs: firstTimeoutMs(spec) };
    const outcome = await whileTraced(opened, REQUESTS_SENT, () =>
      askModel(opened, sent, [...Object.keys(configs), ...unreadable.keys()]),
    );
    if (!('refusal' in outcome.result)) {
      const answer = await withoutHeld(opened, outcome.result);
      return { front, ...answer, traced: outcome.calls, configs };
    }
    const [, missing = ''] = NOT_LOADED.exec(outcome.result.refusal) ?? [];
    const isThere = index.some(({ name, state }) => name === missing && state !== 'READY');
    if (!isThere || spent.has(missing)) return null;
    spent.add(missing);
    await checkProtected(client, missing, spec.server);
    await readParts(client, { fronts: [{ model: missing }], calls: {} }, read);
  }
}

/**
 * Returns the effects of made-up requests to another model; null if they cannot be made or are
 * refused.
 */
async function askOther({ spec, opened }: Search, model: string, configs: ModelConfigs): Promise<Rates | null> {
  const { inputData: _, shape: __, requestParameter: ___, ...rest } = trafficTo(spec, model);
  const traffic: SeededTraffic = { ...rest, batch: 1 };
  try {
    const config = lookUp(configs, model) ?? {};
    const inputs = await readRequests(traffic, { config, metadata: await opened.client.modelMetadata(model) });
    const answer = await askModel(
      opened,
      { spec: traffic, config, inputs, timeoutMs: firstTimeoutMs(spec) },
      Object.keys(configs),
    );
    return 'refusal' in answer ? null : (await withoutHeld(opened, answer)).rates;
  } catch (error) {
    if (isTrituneError(error, 'INPUT_INVALID', 'UNSUPPORTED', 'USAGE')) return null;
    throw error;
  }
}

/**
 * Leaves out models that another run is studying: that run may have sent their requests, in the
 * same proportion.
 */
async function withoutHeld({ server }: OpenServer, { rates, unclear }: CallEffects): Promise<CallEffects> {
  const held = await heldByOthers([...rates.keys()], server);
  return { rates: new Map([...rates].filter(([name]) => !held.has(name))), unclear: [...unclear, ...held] };
}

/** Leaves out models that the user has protected. */
async function unprotected({ spec, opened }: Search, models: readonly string[]): Promise<readonly string[]> {
  const free: string[] = [];
  for (const model of models) {
    const isFree = await checkProtected(opened.client, model, spec.server).then(
      () => true,
      (error: unknown) => {
        if (isTrituneError(error, 'USAGE')) return false;
        throw error;
      },
    );
    if (isFree) free.push(model);
  }
  return free;
}

const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
