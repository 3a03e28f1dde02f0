/** The status names of Triton's core that a client can get, in gRPC's spelling. */
export type FailureStatus =
  | 'INTERNAL'
  | 'NOT_FOUND'
  | 'INVALID_ARGUMENT'
  | 'ALREADY_EXISTS'
  | 'UNAVAILABLE'
  | 'UNIMPLEMENTED'
  | 'CANCELLED'
  | 'UNKNOWN'
  // Not the core's: a proxy in front of a server uses it when it limits requests.
  | 'RESOURCE_EXHAUSTED';

/**
 * A refusal that the client gets as a gRPC status or an HTTP error body. Not for people: the text
 * is the server's.
 */
export class ProtocolFailure extends Error {
  override readonly name = 'ProtocolFailure';
  readonly status: FailureStatus;

  constructor(status: FailureStatus, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.status = status;
  }
}

/**
 * Returns a thrown value as a failure for a client. Anything unforeseen is INTERNAL with its own
 * text.
 */
export function asProtocolFailure(error: unknown): ProtocolFailure {
  if (error instanceof ProtocolFailure) return error;
  return new ProtocolFailure('INTERNAL', error instanceof Error ? error.message : String(error));
}

const httpStatuses: Partial<Record<FailureStatus, number>> = {
  INTERNAL: 500,
  NOT_FOUND: 404,
  UNAVAILABLE: 503,
  UNIMPLEMENTED: 501,
  RESOURCE_EXHAUSTED: 429,
};

/** The numbers of gRPC. */
const grpcStatuses: Record<FailureStatus, number> = {
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
};

export function toGrpcStatus(failure: ProtocolFailure): number {
  return grpcStatuses[failure.status];
}

/**
 * Triton's mapping of its codes to HTTP: four have their own status, all others of the core are
 * 400.
 */
export function toHttpStatus(failure: ProtocolFailure): number {
  return httpStatuses[failure.status] ?? 400;
}

/** Triton's prefix for messages about a request. */
export const requestTag = (id: string): string => `[request id: ${id || '<id_unknown>'}] `;

/**
 * Triton's only answer to a config that it cannot parse or that breaks a rule; the reason stays in
 * its log.
 */
export function notPolled(model: string): ProtocolFailure {
  return new ProtocolFailure('INTERNAL', `failed to load '${model}', failed to poll from model repository`);
}
