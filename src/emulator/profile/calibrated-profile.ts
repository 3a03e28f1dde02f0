import { Document, isPair, isScalar, visit } from 'yaml';
import { nsToMs } from '../../base/units.ts';
import type { CalibratedServer } from '../../queueing/calibration/model.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { parseProfile } from './profiles.ts';

/** A model for a new profile: its config, and the server that was fitted to its results. */
export interface CalibratedModel {
  readonly config: ModelConfig;
  readonly server: CalibratedServer;
}

export interface CalibratedHead {
  readonly name: string;
  readonly description: string;
  readonly source: string;
  readonly gpu: string;
}

/** Values that a result table lacks; they are the same in every profile that is made from one. */
const NOT_IN_A_TABLE = {
  device: { memory_mib: 16384, power_w: { idle: 25, busy: 250 } },
  memory: { model_mib: 500, instance_mib: 700, sample_mib: 0.5 },
  load: { full_s: 1, add_s: 0.3, remove_s: 0.1 },
} as const;

const HEAD_LINES =
  '# Written by `tritune calibrate`. Memory, power and load times are not in a table of results: they are made up.\n';
const SIGNIFICANT_DIGITS = 4;
const LINE_WIDTH = 120;

/**
 * Returns the YAML of an emulator profile with these models. Throws PROFILE_INVALID if no emulator
 * could run it.
 */
export function calibratedProfile(head: CalibratedHead, models: readonly CalibratedModel[]): string {
  const { name, description, source, gpu } = head;
  const profile = {
    name,
    description,
    source,
    device: { kind: 'gpu', name: `${gpu} (emulated)`, ...NOT_IN_A_TABLE.device },
    models: models.map(toModel),
  };
  const document = new Document(profile, { aliasDuplicateObjects: false });
  visit(document, {
    Seq: (_, list) => {
      list.flow = list.items.every(isScalar);
    },
    Map: (_, fields) => {
      fields.flow = fields.items.every((field) => isPair(field) && isScalar(field.value));
    },
  });
  const text = HEAD_LINES + document.toString({ lineWidth: LINE_WIDTH });
  parseProfile(text, `${name}.yaml`);
  return text;
}

function toModel({ config, server }: CalibratedModel): object {
  const { law, roundTripNs, jitterNs, policy } = server;
  const { perInstance, batchExponent } = law.interference;
  const isShared = law.atOnce !== undefined && law.atOnce < policy.instances;
  return {
    config,
    law: {
      execution_ms: law.points.map(({ batchSize, executionNs }) => [batchSize, rounded(nsToMs(executionNs))]),
      interference: { per_instance: rounded(perInstance), batch_exponent: batchExponent },
      ...(isShared ? { at_once: law.atOnce } : {}),
      cv: law.cv,
      split: { input: rounded(law.split.input), output: rounded(law.split.output) },
    },
    memory: NOT_IN_A_TABLE.memory,
    load: NOT_IN_A_TABLE.load,
    network_ms: rounded(nsToMs(roundTripNs + jitterNs)),
  };
}

const rounded = (value: number): number => Number(value.toPrecision(SIGNIFICANT_DIGITS));
