import { TrituneError } from '#base/errors.ts';

/**
 * The packages that a single machine does not need, in the versions that tritune is tested with.
 */
const INSTALL =
  'npm install @temporalio/client@1.24 @temporalio/worker@1.24 @temporalio/workflow@1.24 @temporalio/activity@1.24 @temporalio/common@1.24';

/**
 * Returns the packages that start and watch studies. Errors: UNSUPPORTED if Temporal's packages are
 * not installed.
 */
export const clientPackages = () =>
  installed(async () => {
    const [client, common] = await Promise.all([import('@temporalio/client'), import('@temporalio/common')]);
    return { client, common };
  });

/** Returns those and the packages that run studies. Errors: as `clientPackages`. */
export const workerPackages = () =>
  installed(async () => {
    const [client, common, worker, activity] = await Promise.all([
      import('@temporalio/client'),
      import('@temporalio/common'),
      import('@temporalio/worker'),
      import('@temporalio/activity'),
    ]);
    return { client, common, worker, activity };
  });

export type WorkerPackages = Awaited<ReturnType<typeof workerPackages>>;

async function installed<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new TrituneError('UNSUPPORTED', 'the Temporal packages that a fleet needs are not installed', INSTALL, {
      cause: error,
    });
  }
}
