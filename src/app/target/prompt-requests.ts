import { isTextEndpoint } from '#spec/language-spec.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { splitBasePath } from '#triton/wire/base-path.ts';
import { type AnsweringEndpoint, findEndpoint, sendingAddress } from '../server/find-endpoint.ts';
import type { StudiedWorkloads } from '../study/read-workloads.ts';
import { openPromptTraffic } from '../traffic/open-prompts.ts';
import { promptTimeoutMs, promptWindowsFor } from '../traffic/prompt-windows.ts';
import { preparePrompts } from '../traffic/prompts.ts';
import { promptWorkloads } from './prompt-workloads.ts';
import type { RequestKind } from './request-profile.ts';

/**
 * Returns the prompts of a study. Errors: USAGE, INPUT_INVALID for prompts that cannot be made or
 * read.
 */
export async function promptRequests(spec: StudySpec, studied: StudiedWorkloads | null): Promise<RequestKind> {
  const { model, seed, server, traffic, limits } = spec;
  // `toRequestKind` gives no other endpoint.
  const endpoint = isTextEndpoint(server.endpoint) ? 'openai' : (server.endpoint ?? 'openai');
  const workloads = studied ? await promptWorkloads(spec, studied) : undefined;
  const { requests } =
    workloads?.search[0] ?? (await preparePrompts({ ...spec.prompts, inputData: traffic.inputData }, { model, seed }));
  let answeringEndpoint: AnsweringEndpoint | null = null;
  return {
    requests,
    workloads,
    timeoutMs: promptTimeoutMs,
    windowsFor: (purpose) => promptWindowsFor(purpose, limits.timeBudgetSeconds),
    open: async ({ address, headers, tls }, limitMs) => {
      const { address: host, basePath } = splitBasePath(address);
      const where = { address: host, host, basePath, headers, tls, timeoutMs: limitMs };
      answeringEndpoint ??= await findEndpoint({
        ...where,
        requestedEndpoint: endpoint,
        model,
        modelVersion: '',
        path: undefined,
        extra: undefined,
      });
      const { endpoint: answering } = answeringEndpoint;
      const to = { ...where, address: sendingAddress(answering.kind, where), model, endpoint: answering };
      return openPromptTraffic(to, requests, traffic);
    },
  };
}
