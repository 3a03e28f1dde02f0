import type { NativeConnection } from '@temporalio/worker';
import { formatMessage } from '#base/errors.ts';
import type { ServerHost, ServerWorker } from './server-worker.ts';

/**
 * The interval of the search for studies that ended without restoring their servers, in
 * milliseconds.
 */
const CHECK_MS = 60_000;
/** WORKFLOW_EXECUTION_STATUS_RUNNING of Temporal's API, and NOT_FOUND of gRPC. */
const RUNNING = 1;
const NOT_FOUND = 5;

interface Watched {
  readonly connection: Pick<NativeConnection, 'workflowService'>;
  readonly namespace: string;
  readonly host: Pick<ServerHost, 'name' | 'unrestored'>;
  readonly serving: Pick<ServerWorker, 'restoreNow'>;
  readonly tell: (line: string) => void;
}

/**
 * Restores the server after studies whose workflow ended or vanished without doing so: someone
 * terminated it, or Temporal lost its data. Returns a function that stops the watch.
 */
export function watchForAbandoned(watched: Watched): () => void {
  let looking = false;
  const look = (): void => {
    if (looking) return;
    looking = true;
    lookOnce(watched)
      .catch((error: unknown) => watched.tell(`cannot look for abandoned studies: ${formatMessage(error)}`))
      .finally(() => {
        looking = false;
      });
  };
  look();
  const timer = setInterval(look, CHECK_MS);
  return () => clearInterval(timer);
}

async function lookOnce({ connection, namespace, host, serving, tell }: Watched): Promise<void> {
  for (const study of await host.unrestored()) {
    if (await isUnderWay(connection, namespace, study)) continue;
    tell(`study '${study}' ended and has left ${host.name} changed: it is put back`);
    const { detail } = await serving.restoreNow(study);
    tell(`${host.name}: ${detail}`);
  }
}

async function isUnderWay(
  { workflowService }: Watched['connection'],
  namespace: string,
  study: string,
): Promise<boolean> {
  try {
    const described = await workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: study } });
    return described.workflowExecutionInfo?.status === RUNNING;
  } catch (error) {
    if ((error as { code?: unknown }).code === NOT_FOUND) return false;
    throw error;
  }
}
