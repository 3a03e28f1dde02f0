import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { BYTES_PER_MIB, NS_PER_MS } from '#base/units.ts';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { isModelled } from '#perfmodel/observations.ts';
import { toSettingsKey } from '#perfmodel/settings-key.ts';
import type { ServiceLaw } from '#queueing/service-law.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { type Attempt, listAttempts } from '#study/analysis/memory-attempts.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type FittedLaws, fittedLaws } from './fitted-laws.ts';
import { readLimits, refusingArm } from './limits.ts';
import { toLoads } from './loads.ts';
import { measuredLaw } from './measured-law.ts';
import { answerTimes, fitArm, lawFields, type TwinArm, turnaroundMs } from './twin-law.ts';

/** The memory if nothing is known about it: more than any config needs. */
const PLENTY_MIB = 2 ** 24;

/**
 * Returns the device of the model; its memory is `limitMib` from refused loads, else the GPU's own
 * report.
 */
function toDevice(
  config: ModelConfig,
  attempts: readonly Attempt[],
  limitMib: number | null,
): EmulatorProfile['device'] {
  const devices = attempts.flatMap(({ measurements }) => measurements.map(({ device }) => device));
  const gpus = devices.flatMap((device) => device.gpus ?? []);
  const totals = gpus.flatMap(({ memoryTotalBytes }) => (memoryTotalBytes ? [memoryTotalBytes / BYTES_PER_MIB] : []));
  const memory_mib = limitMib ?? totals[0] ?? PLENTY_MIB;
  const isOnGpu = (config.instance_group ?? []).some(({ kind, gpus: listed }) => kind === 'KIND_GPU' || listed?.length);
  if (!isOnGpu) return { kind: 'cpu', name: 'CPU of the twin', memory_mib };
  const watts = devices.flatMap(({ gpuPowerW }) => (gpuPowerW ? [gpuPowerW] : []));
  const power_w = { idle: Math.min(...watts, Number.MAX_SAFE_INTEGER), busy: Math.max(...watts, 0) };
  return {
    kind: 'gpu',
    name: 'GPU of the twin',
    count: Math.max(1, ...devices.map(({ gpus: shown = [] }) => shown.length)),
    memory_mib,
    power_w: watts.length > 0 ? power_w : { idle: 0, busy: 1 },
  };
}

/**
 * Returns an emulator profile that reproduces a study's server: the original config, the service
 * law and load times of each combination of settings, and refused loads. Pure: the same records
 * give the same twin. Errors: UNSUPPORTED, with the reason, if the study has too little data;
 * JOURNAL_INVALID.
 */
export function fitTwin(records: readonly StudyRecord[]): EmulatorProfile {
  const state = foldStudy(records);
  const { started } = state;
  const original = toModelConfig(started.original);
  checkModelled(started);
  const attempts = listAttempts(state);
  const observations = attempts.flatMap((attempt) => attempt.observations);
  const ownSettingsKey = toSettingsKey(started.original.shape);
  const fitted = fittedLaws(attempts);
  if (!fitted)
    throw cannot(reasonFor(started, attempts), 'tune it again with --concurrency, on a server that reports statistics');
  const { network_ms, answer_lead_ms } = answerTimes(fitted.roundTripNs / NS_PER_MS);
  const loads = toLoads(records, ownSettingsKey);
  const limits = readLimits(attempts);
  const others = groupOtherSettings(attempts, ownSettingsKey);
  const law = measuredLaw(
    toLaw(fitted, ownSettingsKey, attempts),
    observations.filter(({ settingsKey }) => settingsKey === ownSettingsKey),
  );
  const arms = others.flatMap((attemptsOfOne): TwinArm[] => {
    const refusal = refusingArm(attemptsOfOne, limits);
    const arm = fitArm(attemptsOfOne, original, { fitted, base: law, loads, refusal });
    return arm ? [arm] : [];
  });
  // The last arm that applies to a config counts, which should be the most specific one.
  arms.sort((a, b) => Object.keys(a.when).length - Object.keys(b.when).length);
  return checked({
    name: `twin-of-${started.model.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`.replace(/-+$/, ''),
    description:
      `A twin of model '${started.model}' on ${state.server.name} ${state.server.version} at ${state.server.url}, ` +
      `made of what a study measured there.`,
    source: describeSource(started, fitted, limits.unexplained),
    ...(started.goal.budget && { suggested_latency_budget_ms: started.goal.budget.latencyMs }),
    device: toDevice(original, attempts, limits.memoryMib),
    models: [
      {
        config: { ...original, name: started.model },
        law: { ...lawFields(law), turnaround_ms: turnaroundMs(observations), answer_lead_ms },
        arms,
        memory: limits.memory,
        ...(limits.maxInstances !== null && { max_instances: limits.maxInstances }),
        load: { full_s: loads.fullSeconds, add_s: loads.addSeconds, remove_s: loads.removeSeconds },
        network_ms,
      },
    ],
  });
}

/** A profile that the emulator cannot serve, such as one without a backend, is an error. */
function checked(profile: unknown): EmulatorProfile {
  const read = emulatorSchema.safeParse(profile);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw cannot(`${issue?.path.join('.')}: ${issue?.message}`, 'choose a model that the emulator can serve');
}

function checkModelled({ model, original, topology }: StudyStarted): void {
  if (topology) throw cannot(`it tunes ${listed(topology.stages)} together`, 'give a study of one model');
  if (!isModelled(original.shape)) {
    throw cannot(
      `'${model}' batches sequences, is an ensemble, or is decoupled`,
      'give a study of another model: the emulator has only the dynamic batcher and the default scheduler',
    );
  }
  if ((toModelConfig(original).instance_group ?? []).some(({ gpus = [] }) => gpus.some((gpu) => gpu > 0))) {
    throw cannot(
      `'${model}' runs on another GPU than the first`,
      'give a study that uses GPU 0 only: the emulator has one GPU',
    );
  }
}

function reasonFor({ levels }: StudyStarted, attempts: readonly Attempt[]): string {
  const measured = attempts.reduce((sum, { measurements }) => sum + measurements.length, 0);
  if (measured === 0) return 'it has no measurements';
  if (levels.mode !== 'concurrency')
    return 'its load levels are request rates, which do not tell when the server is full';
  return `none of its ${measured} measurements has the server's execution times by batch size`;
}

/**
 * Returns the law of the model's own settings; if those were not measured, that of the first served
 * ones.
 */
function toLaw(fitted: FittedLaws, ownSettingsKey: string, attempts: readonly Attempt[]): ServiceLaw {
  const laws = [ownSettingsKey, ...attempts.map(({ settingsKey }) => settingsKey)].map((key) => fitted.of(key));
  return laws.find((law) => law !== null) as ServiceLaw;
}

/** Groups the attempts with other settings than the original's. */
function groupOtherSettings(
  attempts: readonly Attempt[],
  ownSettingsKey: string,
): (readonly [Attempt, ...Attempt[]])[] {
  const groups = Map.groupBy(attempts, ({ settingsKey }) => settingsKey);
  groups.delete(ownSettingsKey);
  return [...groups.values()] as unknown as [Attempt, ...Attempt[]][];
}

function describeSource(
  { at, seed, sampler, trituneVersion }: StudyStarted,
  { observations, medianResidual }: FittedLaws,
  unexplained: readonly string[],
): string {
  const missing = unexplained.map((what) => ` Not in it: ${what}.`).join('');
  return (
    `Fitted by tritune ${trituneVersion} to ${observations} measurements of the study of ${at} (sampler ${sampler}, ` +
    `seed ${seed}); half of its execution times are met to ${(100 * medianResidual).toFixed(1)} %.${missing}`
  );
}

const cannot = (reason: string, hint: string): TrituneError =>
  new TrituneError('UNSUPPORTED', `this study cannot be emulated: ${reason}`, hint);
