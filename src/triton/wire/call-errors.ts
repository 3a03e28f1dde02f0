import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import type { ModelIndexEntry } from '../types.ts';
import { MAX_MESSAGE } from './replies.ts';
import type { FaultKind, Operation, Wire, WireFault } from './wire.ts';

/**
 * Returns the error for a fault that is not about a model but about the connection or the server
 * itself.
 */
export function callError(wire: Wire, operation: Operation, fault: WireFault): TrituneError {
  const message = fault.message.slice(0, MAX_MESSAGE);
  const server = `the server at ${wire.url} (${wire.protocol})`;
  const options = { cause: fault };
  switch (fault.kind) {
    case 'unreachable':
      return new TrituneError(
        'SERVER_UNREACHABLE',
        `cannot reach ${server}: ${message}`,
        'check that the server is running and that --url is its address',
        options,
      );
    case 'outage':
      return new TrituneError(
        'SERVER_UNREACHABLE',
        `${server} does not serve now: ${message}`,
        'wait until it has started, or read its log',
        options,
      );
    case 'wrong-protocol':
      return new TrituneError(
        'SERVER_UNREACHABLE',
        `${server} does not speak ${wire.protocol === 'grpc' ? 'gRPC' : "Triton's HTTP protocol"}: ${message}`,
        'check the port and the protocol (-i): Triton usually has gRPC on 8001 and HTTP on 8000',
        options,
      );
    case 'tls':
      return new TrituneError(
        'SERVER_UNREACHABLE',
        `cannot talk to ${server}: ${message}`,
        fault.hint ?? 'check the TLS options',
        options,
      );
    case 'timeout':
      return new TrituneError(
        'SERVER_TIMEOUT',
        `${server} did not finish '${operation.kind}' in time: ${message}`,
        operation.kind === 'load' || operation.kind === 'unload'
          ? 'allow more time, for example --load-timeout 20m; the server may still be loading the model'
          : 'check that the server is not overloaded, and that it is the one on this port',
        options,
      );
    case 'restricted':
      return new TrituneError(
        'SERVER_FAILED',
        `${server} allows '${operation.kind}' only with a secret header: ${message}`,
        'give the header with -H, --header-env or --header-file, or ask the operator of the server to open this API',
        options,
      );
    default:
      return new TrituneError(
        'SERVER_FAILED',
        `${server} failed '${operation.kind}': ${message}`,
        hintFor(operation),
        options,
      );
  }
}

function hintFor({ kind }: Operation): string {
  switch (kind) {
    case 'shared-memory-register':
      return `share this machine's /dev/shm with the server (docker: --ipc=host), and ${allowed}`;
    case 'cuda-memory-register':
      return `run the server on this machine with the same GPU numbers (docker: --gpus all --ipc=host --pid=host), and ${allowed}`;
    default:
      return "read the server's log";
  }
}

const allowed = 'allow clients to use it (newer servers: --allow-client-shm=true)';

/**
 * True for the error when a request in flight prevents an unregistration: Triton 2.51's message,
 * over both protocols.
 */
export function isRegionInUse(error: Error): boolean {
  return /Cannot unregister shared memory region .* currently in use/.test(error.message);
}

/**
 * True if the fault means that the server does not allow load and unload requests. The text is the
 * same for modes none and poll.
 */
export function isControlDisabled(fault: WireFault): boolean {
  return /explicit model load ?\/ ?unload is not allowed/.test(fault.message);
}

export function controlDisabled(wire: Wire, fault: WireFault): TrituneError {
  return new TrituneError(
    'CONTROL_DISABLED',
    `the server at ${wire.url} does not allow loading models: ${fault.message}`,
    'start the server with --model-control-mode=explicit',
    { cause: fault },
  );
}

/**
 * True for the server's answer about a model that it lacks or has not loaded: 404, or 400 from the
 * statistics.
 */
export function isModelMissing(fault: WireFault): boolean {
  return fault.kind === 'not-found' || (fault.kind === 'rejected' && /is not available$/.test(fault.message));
}

/** `known`: the names in the server's index, if it was available. */
export function modelUnknown(wire: Wire, model: string, known: readonly string[] | undefined, fault: WireFault): Error {
  const hint = known === undefined ? 'check the name' : `its models are ${listedOnce(known)}`;
  return new TrituneError('MODEL_UNKNOWN', `the server at ${wire.url} has no model '${model}'`, hint, { cause: fault });
}

export function modelUnready(entry: ModelIndexEntry, fault: WireFault): Error {
  const reason = entry.reason ? `: ${entry.reason.trim().replace(/\s*\n\s*/g, ' ')}` : '';
  const state = entry.state ? `${entry.state}${reason}` : 'in the repository only';
  return new TrituneError(
    'MODEL_UNREADY',
    `model '${entry.name}' is not loaded (${state})`,
    'load it first, or start the server with --load-model',
    {
      cause: fault,
    },
  );
}

/** Load faults that are the server's verdict on the model or its config, not trouble of its own. */
const verdicts: ReadonlySet<FaultKind> = new Set<FaultKind>(['rejected', 'failed']);

export function isLoadVerdict(fault: WireFault): boolean {
  return verdicts.has(fault.kind);
}

const listedOnce = (names: readonly string[]): string => listed([...new Set(names)].sort()) || 'none';
