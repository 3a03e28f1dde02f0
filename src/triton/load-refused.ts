import { TrituneError } from '../base/errors.ts';

/**
 * Why a server refused a load, as far as its words tell. `invalid-config`: it could not parse or validate the config
 * (the reason is only in its log); `out-of-memory`; `no-gpu`; `init-failed`: the backend or an instance could not start.
 */
export type LoadRefusalKind = 'invalid-config' | 'out-of-memory' | 'no-gpu' | 'init-failed';

export class LoadRefusedError extends TrituneError {
  override readonly name = 'LoadRefusedError';
  readonly kind: LoadRefusalKind;
  /** The server's own words. */
  readonly serverMessage: string;

  constructor(model: string, kind: LoadRefusalKind, serverMessage: string) {
    super(
      'LOAD_REFUSED',
      `the server refused to load '${model}': ${serverMessage}`,
      'the model keeps serving as before',
    );
    this.kind = kind;
    this.serverMessage = serverMessage;
  }
}
