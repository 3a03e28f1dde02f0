import { TrituneError } from '#base/errors.ts';

/**
 * Why a server refused a load, as far as its message tells. `invalid-config`: it could not parse or
 * validate the config (only its log has the reason); `out-of-memory`; `no-gpu`; `init-failed`: the
 * backend or an instance could not start.
 */
export type LoadRefusalKind = 'invalid-config' | 'out-of-memory' | 'no-gpu' | 'init-failed';

export class LoadRefusedError extends TrituneError {
  override readonly name = 'LoadRefusedError';
  readonly kind: LoadRefusalKind;
  /** The server's own words. */
  readonly serverMessage: string;

  constructor(model: string, kind: LoadRefusalKind, serverMessage: string) {
    const oneLine = serverMessage.trim().replace(/\s*\n\s*/g, ' ');
    super('LOAD_REFUSED', `the server refused to load '${model}': ${oneLine}`, hints[kind]);
    this.kind = kind;
    this.serverMessage = serverMessage;
  }
}

const stillServing = 'a model that was loaded before keeps serving unchanged';

const hints: Readonly<Record<LoadRefusalKind, string>> = {
  'invalid-config': `read the server's log; ${stillServing}`,
  'out-of-memory': `use fewer instances or smaller batches; ${stillServing}`,
  'no-gpu': `use KIND_CPU, or a server with that GPU; ${stillServing}`,
  'init-failed': `read the server's log; ${stillServing}`,
};
