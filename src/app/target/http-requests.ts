import { shorterWindows, studyWindows } from '#adapter/triton/profile.ts';
import { TrituneError } from '#base/errors.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { type StudiedWorkload, type StudiedWorkloads, toProfiled } from '../study/read-workloads.ts';
import { readContent } from '../traffic/content-of-kind.ts';
import { checkEndOnly } from '../traffic/limits.ts';
import { httpRequests, openHttp } from '../traffic/open-http.ts';
import { REPLY_TIMEOUT_MS } from '../traffic/sender.ts';
import type { RequestKind, RequestWorkload } from './request-profile.ts';

/**
 * Returns the requests of a study of a plain HTTP service. Errors: USAGE, INPUT_INVALID for a body
 * that cannot be read.
 */
export async function prepareHttpRequests(spec: StudySpec, studied: StudiedWorkloads | null): Promise<RequestKind> {
  const { model, goal, server, http = {}, prompts, traffic, seed } = spec;
  checkEndOnly(goal.goodput, '--goodput');
  const options = { ...prompts, ...http, ...server, model, seed, batch: traffic.batch };
  const { host, secrets, path = '/', ...content } = await readContent(options, undefined);
  const requests = httpRequests(model, content);
  const under = (workload: StudiedWorkload): RequestWorkload => {
    const { classes } = workload.played.workload;
    if (classes.length > 1) throw oneClass(workload.name);
    return { ...toProfiled(workload, spec), requests };
  };
  const workloads = studied
    ? { rule: studied.rule, search: studied.search.map(under), final: studied.final.map(under) }
    : undefined;
  return {
    requests,
    workloads,
    windowsFor: (purpose) => ({ ...studyWindows, ...(purpose && shorterWindows[purpose]) }),
    timeoutMs: () => REPLY_TIMEOUT_MS,
    open: ({ address, tls }, timeoutMs) => {
      const { method, headers: sent, body } = content;
      const request = { method, headers: sent, body, host: host ?? address, target: path };
      const keepsAlive = http.disableKeepalive !== true;
      // A config that only refuses requests must not be the fastest.
      const to = { address, tls, request, secrets, keepsAlive, refusalsFail: true };
      return openHttp(to, requests, timeoutMs, traffic);
    },
  };
}

const oneClass = (workload: string): TrituneError =>
  new TrituneError(
    'USAGE',
    `the workload ${workload} has several classes, and a study of a plain HTTP service sends one kind of request`,
    'keep one class',
  );
