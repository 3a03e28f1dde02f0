import { randomUUID } from 'node:crypto';
import { WebSocket } from 'ws';
import { realClock } from '#base/clock.ts';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { nsToMs } from '#base/units.ts';
import { findTlsTrouble, secureOptions, type TlsOptions } from '#triton/wire/tls.ts';
import { AGENT_PATH, AGENT_PROTOCOL, CONTROLLER_HEADER, MAX_MESSAGE_BYTES, PROTOCOL_HEADER } from './protocol.ts';

/** How to reach agents. */
export interface AgentAccess {
  readonly token: string;
  /** If absent, connections are in plaintext. */
  readonly tls?: TlsOptions | undefined;
  /** The clock uncertainty above which an agent cannot be used. */
  readonly clockLimitNs: number;
}

/**
 * An agent accepts one controller at a time, and recognises all connections of this process by this
 * name.
 */
const controller = randomUUID();
const HANDSHAKE_LIMIT_MS = 5000;
const RETRY_EVERY_MS = 250;

/**
 * Connects to the agent at HOST:PORT, and retries for `patienceMs` while it is not there or has
 * another controller. `onOpen` gets the connection before any message can have arrived. Errors:
 * AGENT_FAILED.
 */
export async function dial(
  address: string,
  access: AgentAccess,
  { patienceMs, isRequested }: { readonly patienceMs: number; readonly isRequested: () => boolean },
  onOpen: (socket: WebSocket) => void,
): Promise<void> {
  const startNs = realClock.nowNs();
  for (;;) {
    try {
      return await dialOnce(address, access, onOpen);
    } catch (error) {
      const isLate = nsToMs(realClock.nowNs() - startNs) >= patienceMs;
      if (!(error instanceof NotNow) || isLate || !isRequested()) throw toFault(address, error);
      await realClock.sleep(RETRY_EVERY_MS);
    }
  }
}

/** A condition that may soon change. */
class NotNow extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

function dialOnce(address: string, { token, tls }: AgentAccess, onOpen: (socket: WebSocket) => void): Promise<void> {
  const socket = new WebSocket(`${tls ? 'wss' : 'ws'}://${address}${AGENT_PATH}`, {
    ...(tls && secureOptions(tls, ['http/1.1'])),
    handshakeTimeout: HANDSHAKE_LIMIT_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
    followRedirects: false,
    headers: {
      authorization: `Bearer ${token}`,
      [PROTOCOL_HEADER]: String(AGENT_PROTOCOL),
      [CONTROLLER_HEADER]: controller,
    },
  });
  return new Promise((resolve, reject) => {
    socket.once('open', () => {
      onOpen(socket);
      resolve();
    });
    socket.once('unexpected-response', (request, { statusCode = 0 }) => {
      request.destroy();
      reject(toRefusal(statusCode));
    });
    socket.on('error', (error) => reject(toTrouble(error)));
  });
}

const WHERE = 'check that `tritune fleet agent` is running there, and that this machine can reach its port';

function toRefusal(status: number): Error {
  if (status === 409)
    return new NotNow('another controller uses it', 'wait until that run has ended, or use other agents');
  if (status === 401)
    return fault('it rejected the token', 'give the token that the agent was started with: --agent-token-file FILE');
  if (status === 426)
    return fault('it uses another version of the protocol', 'install the same version of tritune on both machines');
  return fault(`it answered with status ${status}`, 'check that a tritune agent runs at this address, and not a proxy');
}

function toTrouble(error: Error): Error {
  const trouble = findTlsTrouble(error);
  if (trouble) {
    const about = trouble.message.replaceAll("the server's", "the agent's").replace('the server', 'the agent');
    return fault(about, trouble.hint.replaceAll('--tls', '--agent-tls'));
  }
  // The socket hung up in the middle: perhaps it speaks TLS.
  return new NotNow(formatMessage(error) || 'it cannot be reached', WHERE);
}

const fault = (message: string, hint: string): TrituneError => new TrituneError('AGENT_FAILED', message, hint);

function toFault(address: string, error: unknown): TrituneError {
  if (error instanceof TrituneError || error instanceof NotNow)
    return fault(`agent ${address}: ${error.message}`, error.hint);
  return fault(`agent ${address}: ${formatMessage(error)}`, WHERE);
}
