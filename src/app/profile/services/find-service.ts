import { findHttp } from './http.ts';
import { findPrompts } from './prompts.ts';
import type { FindService, ServiceKind } from './service.ts';
import { findTensors } from './tensors.ts';

/** What finds a service of each kind. */
export const findService: Readonly<Record<ServiceKind, FindService>> = {
  triton: findTensors,
  http: findHttp,
  language: findPrompts,
};
