import { DefaultFailureConverter } from '@temporalio/common';

/** Messages and stacks of errors go through the codec, too. Temporal's SDK loads this by its path. */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
