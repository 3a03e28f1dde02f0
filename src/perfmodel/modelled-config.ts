import { canonicalJson, type Json } from '../base/json.ts';
import { type BatcherPolicy, policyOf } from '../queueing/batcher-policy.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../triton/instances.ts';
import { variantOf } from './variant.ts';

/** A candidate as the queueing model sees it. */
export interface Choice {
  readonly candidate: Candidate;
  readonly policy: BatcherPolicy;
  /** The largest batch that can form; 1 without dynamic batching. */
  readonly largestBatch: number;
  readonly delayUs: number;
  /** What the queueing model does not know, as one text and field by field. */
  readonly variant: string;
  readonly settings: ReadonlyMap<string, string>;
  /** Choices alike in this are the same to the queueing model. */
  readonly key: string;
}

const known = new WeakMap<Candidate, Choice>();

/** Reads each candidate once: those of a study's trials are looked at before every proposal. */
export function choiceOf(candidate: Candidate): Choice {
  const choice = known.get(candidate) ?? readChoice(candidate);
  known.set(candidate, choice);
  return choice;
}

function readChoice(candidate: Candidate): Choice {
  const policy = policyOf(candidate.config, instancesOf(candidate.config));
  const largestBatch = policy.dynamicBatching ? Math.max(1, policy.maxBatchSize) : 1;
  const delayUs = largestBatch > 1 ? policy.maxQueueDelayNs / 1e3 : 0;
  const variant = variantOf(candidate.config);
  const preferred = largestBatch > 1 ? policy.preferredBatchSizes : [];
  const key = canonicalJson([
    variant,
    policy.instances,
    largestBatch,
    delayUs,
    [...preferred],
    policy.prefetch ?? true,
  ]);
  return { candidate, policy, largestBatch, delayUs, variant, settings: settingsOfVariant(variant), key };
}

/** The variant that was read last, which is that of most choices in a row: places of one variant are soon told to be alike. */
let latest: { readonly variant: string; readonly settings: Choice['settings'] } = {
  variant: 'null',
  settings: new Map(),
};

function settingsOfVariant(variant: string): Choice['settings'] {
  if (latest.variant !== variant) latest = { variant, settings: settingsOf(JSON.parse(variant)) };
  return latest.settings;
}

function settingsOf(value: Json, path = '', settings = new Map<string, string>()): Map<string, string> {
  if (value === null || typeof value !== 'object') return settings.set(path, String(value));
  for (const [name, inner] of Object.entries(value)) settingsOf(inner as Json, `${path}.${name}`, settings);
  return settings;
}
