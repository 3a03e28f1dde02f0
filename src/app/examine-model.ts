import { realClock } from '#base/clock.ts';
import { formatFigure, listed } from '#base/format.ts';
import { nsToMs } from '#base/units.ts';
import { isModelled } from '#perfmodel/observations.ts';
import { countLimit, spaceSize } from '#space/enumerate.ts';
import { toCandidate } from '#space/model-configs.ts';
import { readShape } from '#space/shape.ts';
import { loadSpace } from '#space/source/load.ts';
import { presetFor } from '#space/source/presets.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelIndexEntry, TritonClient } from '#triton/types.ts';
import { examineRest } from './examine-rest.ts';
import { bad, type Finding, failed, note, ok } from './finding.ts';
import { leftoversIn } from './server/leftover.ts';
import { namesIn, type OpenServer } from './server/open-server.ts';

/** Milliseconds for which the model is watched for other clients' requests. */
const WATCHED_MS = 1000;

/**
 * Reports the model's state and search space, watches for a second whether others use it, and if
 * not, measures its latency at rest for another second. Errors: those of the server.
 */
export async function* examineModel(
  opened: Pick<OpenServer, 'client' | 'server' | 'tls' | 'headers'>,
  index: readonly ModelIndexEntry[],
  name: string,
): AsyncGenerator<Finding> {
  const { client } = opened;
  const entries = index.filter((entry) => entry.name === name);
  const first = entries.find(({ state }) => state === 'READY') ?? entries[0];
  if (!first) {
    yield bad(name, `the server has no such model; its models are ${namesIn(index)}`, 'MODEL_UNKNOWN');
    return;
  }
  for await (const error of leftoversIn(opened, [name])) {
    yield failed(name, error);
    return;
  }
  if (first.state !== 'READY') {
    const why = first.reason ? ` (${first.reason})` : '';
    yield note(name, `not loaded${why}; a run loads it and unloads it at the end`);
    return;
  }
  const config = await client.modelConfig(name);
  const parts = composingModels(config);
  if (parts.length > 0) yield ok(name, `loaded; an ensemble, tuned together with its models ${listed(parts)}`);
  else yield* examineAlone(name, config);
  const others = await foreignRate(client, name);
  if (others > 0) {
    const text = `other clients send about ${others.toFixed(0)} requests/s, so a run would end with FOREIGN_TRAFFIC (stop them, or add --allow-foreign-traffic)`;
    yield bad(name, text, 'FOREIGN_TRAFFIC');
    return;
  }
  yield* examineRest(opened, name);
}

function* examineAlone(name: string, config: ModelConfig): Generator<Finding> {
  const preset = presetFor(config.backend || config.platform);
  const size = spaceSize(loadSpace(preset), toCandidate(config));
  const candidates = Number.isFinite(size) ? formatFigure(size) : `more than ${formatFigure(countLimit)}`;
  const backend = config.backend || config.platform || 'no backend';
  yield ok(name, `loaded, ${backend}; search space '${preset}' with ${candidates} candidates`);
  if (isModelled(readShape(config))) return;
  yield note(name, 'sequences and decoupled models cannot be simulated; the search uses measurements only');
}

async function foreignRate(client: TritonClient, name: string): Promise<number> {
  const count = async (): Promise<number> =>
    (await client.statistics(name)).reduce((sum, { success }) => sum + success.count, 0);
  const [before, startNs] = [await count(), realClock.nowNs()];
  await realClock.sleep(WATCHED_MS);
  return (1e3 * ((await count()) - before)) / nsToMs(realClock.nowNs() - startNs);
}
