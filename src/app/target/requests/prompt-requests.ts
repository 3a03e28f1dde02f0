import { shorterWindows } from '../../../adapter/triton/profile.ts';
import { MS_PER_S } from '../../../base/units.ts';
import { defaultWindowRule, type WindowRule } from '../../../profiler/level-options.ts';
import { isTextEndpoint } from '../../../spec/language-spec.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import type { MeasurePurpose } from '../../../tuner/adapter.ts';
import { languageWindows } from '../../profile/language-windows.ts';
import { type FoundEndpoint, findEndpoint } from '../../server/find-endpoint.ts';
import type { StudiedWorkloads } from '../../study/workloads/read-workloads.ts';
import { openLanguageTraffic } from '../../traffic/open-language.ts';
import { promptsOf } from '../../traffic/prompts.ts';
import { promptWorkloads } from './prompt-workloads.ts';
import type { RequestKind } from './request-profile.ts';

/** A reply of thousands of tokens takes minutes. */
const MAX_TIMEOUT_MS = 600 * MS_PER_S;
const MIN_TIMEOUT_MS = 60 * MS_PER_S;
/** With more users a reply takes longer, but at no level worth measuring by more than this factor. */
const TIMES_SLOWEST = 20;

/**
 * Returns the time limit of a prompt. Without one by the slowest reply so far, an engine that accepts a setting and then never answers would delay
 * the study by ten minutes (Dynamo's mocker does so for prompts that fit in no step).
 */
export const promptTimeoutMs = (slowestMs: number | null): number =>
  slowestMs === null ? MAX_TIMEOUT_MS : Math.min(MAX_TIMEOUT_MS, Math.max(MIN_TIMEOUT_MS, TIMES_SLOWEST * slowestMs));

/** Measurements for which a time budget has room: the original, a few candidates, and a final. */
const MIN_MEASUREMENTS = 8;

/**
 * Returns shorter windows for a trial, which has several levels and whose best result the final measures again, and for a study whose time
 * budget would hold only a few measurements: replies take seconds.
 */
function windowsFor(purpose: MeasurePurpose | undefined, timeBudgetSeconds: number | undefined): Partial<WindowRule> {
  const maxWindows = purpose === undefined ? 6 : (shorterWindows[purpose].maxWindows ?? 3);
  const { maxWindowMs, minWindowMs, maxWarmUpMs } = { ...defaultWindowRule, ...languageWindows };
  const shareMs = ((timeBudgetSeconds ?? Number.POSITIVE_INFINITY) * MS_PER_S) / MIN_MEASUREMENTS;
  const within = (mostMs: number, fittingMs: number): number => Math.min(mostMs, Math.max(minWindowMs, fittingMs));
  return {
    ...languageWindows,
    maxVoidWindows: 1,
    maxWindows,
    maxWindowMs: within(maxWindowMs, shareMs / maxWindows),
    maxWarmUpMs: within(maxWarmUpMs, shareMs / 2),
  };
}

/** Returns the prompts of a study. Errors: USAGE, INPUT_INVALID for prompts that cannot be made or read. */
export async function promptRequests(spec: StudySpec, studied: StudiedWorkloads | null): Promise<RequestKind> {
  const { model, seed, server, traffic, limits } = spec;
  // `requestKindOf` gives no other endpoint.
  const endpoint = isTextEndpoint(server.endpoint) ? 'openai' : (server.endpoint ?? 'openai');
  const workloads = studied ? await promptWorkloads(spec, studied) : undefined;
  const { requests } = workloads?.search[0] ?? (await promptsOf(spec.prompts ?? {}, { model, seed }));
  let found: FoundEndpoint | null = null;
  return {
    requests,
    workloads,
    timeoutMs: promptTimeoutMs,
    windowsFor: (purpose) => windowsFor(purpose, limits.timeBudgetSeconds),
    open: async ({ address, headers, tls }, limitMs) => {
      const where = { address, host: address, basePath: '', headers, tls, timeoutMs: limitMs };
      found ??= await findEndpoint({
        ...where,
        asked: endpoint,
        model,
        modelVersion: '',
        path: undefined,
        extra: undefined,
      });
      return openLanguageTraffic({ ...where, model, endpoint: found.endpoint }, requests, traffic);
    },
  };
}
