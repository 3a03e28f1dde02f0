import type { HeaderSpec, TlsSpec } from '#spec/server-spec.ts';
import type { ServerIdentity, StudyStarted } from '#study/records/records.ts';
import { serverAddresses } from './server/address-text.ts';
import { flagsAgain, isSilent } from './server/headers.ts';

/** Options of the command line that take precedence over what the journal names. */
export interface TypedOptions extends HeaderSpec, TlsSpec {
  readonly url?: string | undefined;
  readonly controlUrl?: string | undefined;
  readonly metricsUrl?: string | undefined;
}

/** A run directory, by its first record and its latest server. */
export interface RunToTrust {
  readonly started: StudyStarted;
  readonly server: ServerIdentity;
}

/** Where the model of an earlier run is restored. */
export interface ControlTarget {
  /** HOST:PORT, or several of servers that serve as one. */
  readonly url: string;
  readonly isGrpc: boolean;
  /** The headers that go there. */
  readonly headers: HeaderSpec;
  /** The headers of the study, where they do not: the study named them for another server. */
  readonly withheld: HeaderSpec | null;
}

/**
 * Returns the server of the run's latest start, unless the options name another. A study's secrets
 * go to the server that it named them for, alone.
 */
export function controlTarget({ started, server }: RunToTrust, typed: TypedOptions): ControlTarget {
  const isGrpc = server.controlProtocol === 'grpc';
  const url = typed.url === undefined ? server.controlUrl : serverAddresses(typed.url, isGrpc ? 'grpc' : 'http');
  const headers = flagsAgain(started.spec.server, typed);
  const isMeant = !isSilent(typed) || [started.server.controlUrl, started.server.url].includes(url);
  return { url, isGrpc, headers: isMeant ? headers : {}, withheld: isMeant || isSilent(headers) ? null : headers };
}
