import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { exitCodes } from '#app/exit-codes.ts';
import { agentsIn } from '#app/fleet/fleet-spec.ts';
import { serverHost } from '#app/fleet/server-host.ts';
import { studyHost } from '#app/fleet/study-host.ts';
import { temporalAddress } from '#app/fleet/temporal-options.ts';
import { serverAddress } from '#app/server/address-text.ts';
import { withProtocol } from '#app/server/find-protocol.ts';
import { warnIfInsecure } from '#app/server/tls.ts';
import { agentAccess } from '#app/traffic/client-threads.ts';
import { TrituneError } from '#base/errors.ts';
import { runFleetWorker } from '#fleet/temporal/worker.ts';
import type { AddressSpec } from '#spec/server-spec.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { listenForInterrupts } from '../interrupts.ts';
import type { Terminal } from '../terminal.ts';
import type { WorkerFlags } from './fleet-options.ts';

/** `tritune fleet worker`: serves until it is interrupted. */
export async function runWorker(workerFlags: WorkerFlags, terminal: Terminal): Promise<number> {
  const { server: url, group, state, temporal } = workerFlags;
  if (!/^[\w.-]+$/.test(group))
    throw new TrituneError(
      'USAGE',
      `'${group}' is not a valid name of a group`,
      'use only letters, digits, dots, hyphens and underscores',
    );
  const flags = { ...workerFlags, ...(await withProtocol<AddressSpec>({ ...workerFlags, url })) };
  const { protocol } = flags;
  const { server, traffic } = toSpec({ ...flags, model: '-', url });
  const agents = agentsIn(traffic);
  if (agents.agents !== undefined) await agentAccess(agents);
  const name = serverAddress(url, protocol);
  const directory = resolve(state);
  const address = await temporalAddress(temporal, flags);
  const interrupts = listenForInterrupts(
    terminal.tell,
    () => 'its server may be left changed',
    'stopping; its work is done later, or by another worker',
  );
  const { signal } = interrupts;
  const tell = terminal.tell;
  const host = { server, agents, trustRun: workerFlags.trustRun };
  warnIfInsecure({ ...flags, url }, terminal);
  const serving = serverHost(name, directory, host, { signal, tell });
  try {
    await runFleetWorker(
      {
        temporal: address,
        group,
        tell,
        keeper: keeperName(directory),
        studies: studyHost(directory, host, serving, { signal, tell }),
        server: serving,
      },
      signal,
    );
    interrupts.check();
    return exitCodes.done;
  } finally {
    interrupts.release();
  }
}

/**
 * A name that stays the same for a directory on a machine, so that a restarted worker finds its
 * journals.
 */
const keeperName = (directory: string): string =>
  `${hostname()}-${createHash('sha256').update(directory).digest('hex').slice(0, 8)}`;
