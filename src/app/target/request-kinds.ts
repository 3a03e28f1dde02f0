import type { RequestKindName } from '#spec/request-kind.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { StudiedWorkloads } from '../study/read-workloads.ts';
import { prepareHttpRequests } from './http-requests.ts';
import { promptRequests } from './prompt-requests.ts';
import type { RequestKind } from './request-profile.ts';

/** Prepares the requests of a study that are the same for every candidate. */
export const requestsOfKind: Readonly<
  Record<
    Exclude<RequestKindName, 'tensors'>,
    (spec: StudySpec, workloads: StudiedWorkloads | null) => Promise<RequestKind>
  >
> = { prompts: promptRequests, http: prepareHttpRequests };
