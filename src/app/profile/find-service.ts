import { findHttp } from './http-service.ts';
import { findPrompts } from './prompt-service.ts';
import type { FindService, ServiceKind } from './service.ts';
import { findTensors } from './tensor-service.ts';

/** What finds a service of each kind. */
export const findService: Readonly<Record<ServiceKind, FindService>> = {
  triton: findTensors,
  http: findHttp,
  language: findPrompts,
};
